"""Exact values for tree ensembles."""

from skshapley._trees import TreeEnsemble, UnreadableModelError, read_trees

from ._exact import ExactTrees
from ._explainer import TreeExplainer as TreeExplainer

__all__ = ["ExactTrees", "TreeEnsemble", "UnreadableModelError", "read_trees"]
