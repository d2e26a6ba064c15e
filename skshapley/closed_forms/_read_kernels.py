"""The kernels of scikit-learn's models that are products over columns."""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley.closed_forms._read_linear import MACHINES, kinds, responses_of_machine
from skshapley.exceptions import UnreadableModelError

POWERS = {"rbf": 2, "laplacian": 1}
# Products take all columns, and a model of a sparse table only those that are stored
MOST_SPARSE_COLUMNS = 1000


class Kernels(NamedTuple):
    """The parameters of `ProductKernels`."""

    centres: NDArray[np.float64]
    scale: NDArray[np.float64]
    coef: NDArray[np.float64]
    constant: NDArray[np.float64]
    power: int = 2


def read_kernels(model: Any, method: str) -> Kernels | None:
    """Return the kernels of a support vector machine or of kernel ridge; None for other models.

    Raises
    ------
    UnreadableModelError
        For a kernel that is no product over columns, or a response that is no sum of kernels.
    """
    names = kinds(model)
    if names & MACHINES:
        return _of_machine(model, method)
    if "KernelRidge" in names:
        _check_kernel(model, POWERS)
        if method != "predict":
            raise _no_sum(model, method)
        centres = _dense(model.X_fit_)
        gamma = 1 / centres.shape[1] if model.gamma is None else model.gamma
        coef = np.asarray(model.dual_coef_).reshape(len(centres), -1)
        scale = np.full(centres.shape[1], gamma)
        return Kernels(centres, scale, coef, np.zeros(coef.shape[1]), POWERS[model.kernel])
    return None


def _no_sum(model: Any, method: str, instead: str | None = None) -> UnreadableModelError:
    hint = "explain it by sampling" if instead is None else f"choose response_method={instead!r}"
    return UnreadableModelError(
        f"{type(model).__name__}.{method} is not a sum over its kernels", hint, instead
    )


def _check_kernel(model: Any, known: Any) -> None:
    if not isinstance(model.kernel, str) or model.kernel not in known:
        raise UnreadableModelError(
            f"The kernel {model.kernel!r} of {type(model).__name__} is not known to be a product"
            f" over columns",
            "explain it by sampling",
        )


def _dense(matrix: Any) -> NDArray[np.float64]:
    if sparse.issparse(matrix):
        if matrix.shape[1] > MOST_SPARSE_COLUMNS:
            raise UnreadableModelError(
                f"Kernels of {matrix.shape[1]} sparse columns cost the model less than products",
                "explain it by sampling",
            )
        matrix = matrix.toarray()
    return np.asarray(matrix, dtype=np.float64)


def _of_machine(model: Any, method: str) -> Kernels:
    _check_kernel(model, ["rbf"])
    readable = responses_of_machine(model)
    scores = method == "score_samples" and hasattr(model, "score_samples")
    if method != readable and not scores:
        raise _no_sum(model, method, readable)
    centres, dual = _dense(model.support_vectors_), _dense(model.dual_coef_)
    coef = dual.T if len(dual) == 1 else _of_pairs(dual, model.n_support_)
    constant = np.asarray(model.intercept_, dtype=np.float64)
    constant = constant + model.offset_ if scores else constant
    # the number that gamma="scale" stood for is found nowhere else
    return Kernels(centres, np.full(centres.shape[1], model._gamma), coef, constant)


def _of_pairs(dual: NDArray[np.float64], counts: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the coefficients ``(T, pairs)`` of each pair of classes.

    Row m of `dual` holds the coefficients of each class's vectors against its m-th other class.
    """
    ends = np.cumsum([0, *counts])
    own = [slice(a, b) for a, b in pairwise(ends)]
    pairs = [(i, j) for i in range(len(counts)) for j in range(i + 1, len(counts))]
    coef = np.zeros((dual.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        coef[own[i], column] = dual[j - 1, own[i]]
        coef[own[j], column] = dual[i, own[j]]
    return coef
