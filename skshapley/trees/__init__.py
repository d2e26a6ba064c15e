"""Exact values for tree ensembles."""

from skshapley._trees import TreeEnsemble
from skshapley.readers._registry import read_trees
from skshapley.trees._explainer import TreeExplainer as TreeExplainer

__all__ = ["TreeEnsemble", "read_trees"]
