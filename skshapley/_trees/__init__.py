"""Tree ensembles and their exact values."""

from skshapley._trees._ensemble import TreeEnsemble, concatenate
from skshapley._trees._values import TreeValues

__all__ = ["TreeEnsemble", "TreeValues", "concatenate"]
