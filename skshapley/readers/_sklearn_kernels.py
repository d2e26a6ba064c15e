"""Readers of scikit-learn's support vector machines, kernel ridge and Gaussian processes."""

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley.closed_forms import LinearTerms, Part, ProductKernels
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import Ask, Form, Reader, check_method
from skshapley.readers._sklearn_linear import affine, coefficients

POWERS = {"rbf": 2, "laplacian": 1}
# Products use all columns, and a model of a sparse table only the stored ones
MOST_SPARSE_COLUMNS = 1000


def _check_kernel(model: Any, kernels: Any) -> None:
    if not isinstance(model.kernel, str) or model.kernel not in kernels:
        raise UnreadableModelError(
            f"The kernel {model.kernel!r} of {type(model).__name__} is not known to be "
            "a product over columns"
        )


def _dense(matrix: Any) -> NDArray[np.float64]:
    if sparse.issparse(matrix):
        if matrix.shape[1] > MOST_SPARSE_COLUMNS:
            raise UnreadableModelError(
                f"With {matrix.shape[1]} sparse columns, the model costs less than its "
                "closed form"
            )
        matrix = matrix.toarray()
    return np.asarray(matrix, dtype=np.float64)


def _of_machine(model: Any, method: str, ask: Ask) -> Form:
    """Return a support vector machine: linear terms, or kernels around its vectors."""
    linear = model.kernel == "linear"
    if not linear:
        _check_kernel(model, ["rbf"])
    readable: str | None = "predict"
    if hasattr(model, "decision_function"):
        # With more than two classes, only the votes of pairs of classes are sums over
        # the support vectors.
        pairs = getattr(model, "decision_function_shape", None) == "ovo"
        several = len(getattr(model, "classes_", [])) > 2
        readable = "decision_function" if pairs or not several else None
    scores = method == "score_samples" and hasattr(model, "score_samples")
    check_method(
        model,
        method,
        [readable, "score_samples"] if scores else [readable],
        readable,
    )
    if linear:
        return LinearTerms(
            coefficients(model),
            affine(model).intercept + (model.offset_ if scores else 0.0),
        )
    centres = _dense(model.support_vectors_)
    dual = _dense(model.dual_coef_)
    coef = dual.T if len(dual) == 1 else _of_pairs(dual, model.n_support_)
    constant = np.asarray(model.intercept_, dtype=np.float64)
    constant = constant + model.offset_ if scores else constant
    # no public attribute has the number for gamma="scale"
    return ProductKernels(
        centres,
        np.full(centres.shape[1], model._gamma),
        coef,
        constant,
    )


def _of_ridge(model: Any, method: str, ask: Ask) -> Form:
    _check_kernel(model, [*POWERS, "linear"])
    check_method(model, method, ["predict"])
    if model.kernel == "linear":
        dual = np.asarray(model.dual_coef_).reshape(model.X_fit_.shape[0], -1)
        return LinearTerms(np.asarray(model.X_fit_.T @ dual), np.zeros(dual.shape[1]))
    centres = _dense(model.X_fit_)
    # The default of scikit-learn's pairwise kernels for gamma=None.
    gamma = 1 / centres.shape[1] if model.gamma is None else model.gamma
    coef = np.asarray(model.dual_coef_).reshape(len(centres), -1)
    return ProductKernels(
        centres,
        np.full(centres.shape[1], gamma),
        coef,
        np.zeros(coef.shape[1]),
        POWERS[model.kernel],
    )


def _of_pairs(
    dual: NDArray[np.float64],
    counts: NDArray[np.int32],
) -> NDArray[np.float64]:
    """Return the coefficients ``(T, pairs)`` of each pair of classes.

    Row m of `dual` holds the coefficients of each class's vectors against its m-th
    other class.
    """
    rows = [slice(start, stop) for start, stop in pairwise(np.cumsum([0, *counts]))]
    pairs = [(i, j) for i in range(len(counts)) for j in range(i + 1, len(counts))]
    coef = np.zeros((dual.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        # libsvm leaves the class itself out, so class j is row j - 1 for the vectors of
        # i < j.
        coef[rows[i], column] = dual[j - 1, rows[i]]
        coef[rows[j], column] = dual[i, rows[j]]
    return coef


@dataclass(frozen=True)
class Term:
    """``factor * exp(-sum of scale (x - z) ** 2)``, times ``offset + x . z`` if there is an offset.

    Attributes
    ----------
    factor : float
    scale : ndarray of shape (d,)
    offset : float or None
    """

    factor: float
    scale: NDArray[np.float64]
    offset: float | None = None

    def __mul__(self, other: "Term") -> "Term | None":
        """Return the product of two terms; None if the product has no known form."""
        offsets = [term.offset for term in (self, other) if term.offset is not None]
        scale = self.scale + other.scale
        # A linear term times an exponential is neither a product over columns nor
        # linear.
        if offsets and (scale.any() or len(offsets) > 1):
            return None
        return Term(self.factor * other.factor, scale, *offsets)


def _terms_of(kernel: Any, d: int) -> list[Term]:
    """Return a fitted kernel between new rows and the training rows, as a sum of terms.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    d : int
        Number of columns.

    Raises
    ------
    UnreadableModelError
        For a kernel that is not a sum of products over columns.
    """
    name = type(kernel).__name__
    if name == "WhiteKernel":  # noise belongs to the training rows only
        return []
    if name == "ConstantKernel":
        return [Term(kernel.constant_value, np.zeros(d))]
    if name == "RBF" or (name == "Matern" and np.isinf(kernel.nu)):
        # RBF divides the squared distance by 2 l^2, so the scale of a column is 0.5 /
        # l^2.
        return [Term(1.0, np.broadcast_to(0.5 / np.square(kernel.length_scale), d))]
    if name == "DotProduct":
        return [Term(1.0, np.zeros(d), kernel.sigma_0**2)]
    if name == "Sum":
        return _terms_of(kernel.k1, d) + _terms_of(kernel.k2, d)
    if name == "Product":
        products = [
            left * right
            for left, right in product(_terms_of(kernel.k1, d), _terms_of(kernel.k2, d))
        ]
        terms = [term for term in products if term is not None]
        if len(terms) == len(products):
            return terms
    raise UnreadableModelError(
        f"The kernel {kernel} is not known to be a sum of products over columns"
    )


def _of_process(model: Any, method: str, ask: Ask) -> Form:
    """Return the mean of a Gaussian process regressor: kernels and a linear part."""
    check_method(model, method, ["predict"], "predict")
    rows = model.X_train_
    alpha = np.asarray(model.alpha_).reshape(len(rows), -1)
    # no public attribute has the scale of normalize_y=True
    k = alpha.shape[1]
    spread = np.broadcast_to(getattr(model, "_y_train_std", 1.0), k)
    mean = np.broadcast_to(getattr(model, "_y_train_mean", 0.0), k)
    # The process is fitted to standardised targets; predictions are scaled back
    # linearly.
    alpha = alpha * spread
    parts = []
    coef = np.zeros((rows.shape[1], k))
    intercept = mean.astype(np.float64)
    for term in _terms_of(model.kernel_, rows.shape[1]):
        dual = term.factor * alpha
        if term.scale.any():
            parts.append(Part(ProductKernels(rows, term.scale, dual, np.zeros(k))))
        elif term.offset is None:
            intercept += dual.sum(axis=0)
        else:
            coef += rows.T @ dual
            intercept += term.offset * dual.sum(axis=0)
    return [*parts, Part(LinearTerms(coef, intercept))]


READERS: dict[str, Reader] = {
    **dict.fromkeys(("SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM"), _of_machine),
    "KernelRidge": _of_ridge,
    "GaussianProcessRegressor": _of_process,
}
