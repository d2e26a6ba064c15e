"""Shapley values for any fitted estimator, the scikit-learn way."""

from skshapley._functional import shapley_values

__version__ = "0.1.0"

__all__ = ["shapley_values"]
