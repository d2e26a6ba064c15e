"""Diagnostics of permutations, attributions, data values and rewards."""

from skshapley.diagnostics._conditional_error import conditional_error
from skshapley.diagnostics._discrepancy import permutation_discrepancy
from skshapley.diagnostics._masking import MaskingCurve, masking_curve, removal_curve

__all__ = [
    "MaskingCurve",
    "conditional_error",
    "masking_curve",
    "permutation_discrepancy",
    "removal_curve",
]
