"""Diagnostics: how good a design or a set of attributions is, one subject a file."""

from skshapley.diagnostics._discrepancy import permutation_discrepancy
from skshapley.diagnostics._masking import MaskingCurve, masking_curve
from skshapley.diagnostics._removal import removal_curve

__all__ = ["MaskingCurve", "masking_curve", "permutation_discrepancy", "removal_curve"]
