"""Exact values for tree ensembles."""

from ._ensemble import TreeEnsemble, UnreadableModelError
from ._read import read_trees

__all__ = ["TreeEnsemble", "UnreadableModelError", "read_trees"]
