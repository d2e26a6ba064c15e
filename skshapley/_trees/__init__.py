"""Tree ensembles and their exact values, shared by `skshapley.trees` and the solvers."""

from skshapley._trees._ensemble import TreeEnsemble, concatenate
from skshapley._trees._read import TREE_MODELS, read_trees
from skshapley._trees._values import TreeValues

__all__ = ["TREE_MODELS", "TreeEnsemble", "TreeValues", "concatenate", "read_trees"]
