"""Closed forms: responses whose exact attributions are known, and that are not sampled."""

from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._exponential import Exponential
from skshapley.closed_forms._kernels import ProductKernels
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._logistic import Logistic
from skshapley.closed_forms._read import CLOSED_FORMS, read_model
from skshapley.closed_forms._sums import Sum
from skshapley.closed_forms._trees import Trees

__all__ = [
    "CLOSED_FORMS",
    "ClosedForm",
    "Exponential",
    "LinearTerms",
    "Logistic",
    "ProductKernels",
    "Sum",
    "Trees",
    "read_model",
]
