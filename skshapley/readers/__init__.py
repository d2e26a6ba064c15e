"""Readers of fitted models as closed forms: one table for all libraries."""

from skshapley.readers._base import TreeReader
from skshapley.readers._registry import READERS, read_model

__all__ = ["READERS", "TreeReader", "read_model"]
