"""Exact values for tree ensembles."""

from ._ensemble import TreeEnsemble, UnreadableModelError
from ._exact import ExactTrees
from ._explainer import TreeExplainer as TreeExplainer
from ._read import read_trees

__all__ = ["ExactTrees", "TreeEnsemble", "UnreadableModelError", "read_trees"]
