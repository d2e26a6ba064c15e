"""Exact values for tree ensembles."""

from skshapley._ensembles import TreeEnsemble, UnreadableModelError, read_trees
from skshapley.trees._exact import ExactTrees
from skshapley.trees._explainer import TreeExplainer as TreeExplainer

__all__ = ["ExactTrees", "TreeEnsemble", "UnreadableModelError", "read_trees"]
