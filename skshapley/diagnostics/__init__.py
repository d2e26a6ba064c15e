"""Diagnostics: how good a set of permutations, of attributions or of data values is."""

from skshapley.diagnostics._discrepancy import permutation_discrepancy
from skshapley.diagnostics._masking import MaskingCurve, masking_curve
from skshapley.diagnostics._removal import removal_curve

__all__ = ["MaskingCurve", "masking_curve", "permutation_discrepancy", "removal_curve"]
