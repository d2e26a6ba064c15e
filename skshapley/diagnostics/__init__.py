"""Diagnostics: how good a design or a set of attributions is, one subject a file."""

from skshapley.diagnostics._discrepancy import permutation_discrepancy

__all__ = ["permutation_discrepancy"]
