"""Closed forms: responses with exact attributions, which need no sampling."""

from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._curves import Curve, Exponential, Logistic
from skshapley.closed_forms._linear import LinearTerms, Monomials, Tables
from skshapley.closed_forms._products import ProductKernels
from skshapley.closed_forms._sums import Part, Sum, part_by
from skshapley.closed_forms._trees import LinearLeaves, Trees

CLOSED_FORMS: dict[str, type[ClosedForm]] = {
    "trees": Trees,
    "linear leaves": LinearLeaves,
    "logistic": Logistic,
    "linear": LinearTerms,
    "kernels": ProductKernels,
    "exponential": Exponential,
    "curves": Curve,
    "monomials": Monomials,
    "tables": Tables,
    "sums": Sum,
}

__all__ = [
    "CLOSED_FORMS",
    "ClosedForm",
    "Curve",
    "Exponential",
    "LinearLeaves",
    "LinearTerms",
    "Logistic",
    "Monomials",
    "Part",
    "ProductKernels",
    "Sum",
    "Tables",
    "Trees",
    "part_by",
]
