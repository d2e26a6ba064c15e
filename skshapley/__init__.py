"""Shapley-value explanations, the scikit-learn way."""

__version__ = "0.1.0"
