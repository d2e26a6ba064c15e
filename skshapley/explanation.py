"""Explanation: the record of attributions, their errors and their costs."""

from skshapley._records._explanation import Explanation

__all__ = ["Explanation"]
