"""Tree ensembles and their exact values, shared by `skshapley.trees` and the solvers."""

from skshapley._trees._ensemble import TreeEnsemble, concatenate
from skshapley._trees._read import RESPONSES, TREE_MODELS, not_the_sum, read_trees
from skshapley._trees._values import TreeValues

__all__ = [
    "RESPONSES",
    "TREE_MODELS",
    "TreeEnsemble",
    "TreeValues",
    "concatenate",
    "not_the_sum",
    "read_trees",
]
