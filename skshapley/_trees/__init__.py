"""Tree ensembles: read, and their values computed; what `skshapley.trees` and solvers share."""

from ._ensemble import TreeEnsemble, UnreadableModelError
from ._leaf_games import INDICES
from ._read import RESPONSES, read_trees
from ._values import TreeValues

__all__ = [
    "INDICES",
    "RESPONSES",
    "TreeEnsemble",
    "TreeValues",
    "UnreadableModelError",
    "read_trees",
]
