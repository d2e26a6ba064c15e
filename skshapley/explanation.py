"""Explanation: the record of attributions, their errors and their costs; and its settings."""

from skshapley._records._explanation import Explanation
from skshapley._records._outcome import Settings

__all__ = ["Explanation", "Settings"]
