"""The kernel of a Gaussian process regressor as a sum of products over columns."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._read_kernels import Kernels
from skshapley.exceptions import UnreadableModelError


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
        """Return the product of two terms; None if it is none that is known."""
        offsets = [term.offset for term in (self, other) if term.offset is not None]
        scale = self.scale + other.scale
        if offsets and (scale.any() or len(offsets) > 1):
            return None
        return Term(self.factor * other.factor, scale, *offsets)


def terms_of(kernel: Any, d: int) -> list[Term]:
    """Return a fitted kernel between new rows and the training rows, as a sum of terms.

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel
    d : int
        Number of columns.

    Raises
    ------
    UnreadableModelError
        For a kernel that is no sum of products over columns.
    """
    name, none = type(kernel).__name__, np.zeros(d)
    if name == "WhiteKernel":  # noise is of the training rows alone
        return []
    if name == "ConstantKernel":
        return [Term(kernel.constant_value, none)]
    if name == "RBF" or (name == "Matern" and np.isinf(kernel.nu)):
        return [Term(1.0, np.broadcast_to(0.5 / np.square(kernel.length_scale), d))]
    if name == "DotProduct":
        return [Term(1.0, none, kernel.sigma_0**2)]
    if name == "Sum":
        return terms_of(kernel.k1, d) + terms_of(kernel.k2, d)
    if name == "Product":
        left, right = terms_of(kernel.k1, d), terms_of(kernel.k2, d)
        found = [one * other for one in left for other in right]
        known = [term for term in found if term is not None]
        if len(known) == len(found):
            return known
    raise UnreadableModelError(
        f"The kernel {kernel} is not known to be a sum of products over columns",
        "explain it by sampling",
    )


def read_process(model: Any) -> tuple[list[Kernels], LinearTerms]:
    """Return the mean of a Gaussian process regressor: kernels, and what is linear.

    Parameters
    ----------
    model : GaussianProcessRegressor

    Returns
    -------
    kernels : list of Kernels
    rest : LinearTerms
        The mean of the targets, constant kernels and dot products.
    """
    rows, alpha = model.X_train_, np.asarray(model.alpha_)
    alpha = alpha.reshape(len(rows), -1)
    # what normalize_y=True did is found nowhere else
    k = alpha.shape[1]
    spread = np.broadcast_to(getattr(model, "_y_train_std", 1.0), k)
    mean = np.broadcast_to(getattr(model, "_y_train_mean", 0.0), k)
    alpha = alpha * spread
    kernels, coef, intercept = [], np.zeros((rows.shape[1], k)), mean.astype(np.float64)
    for term in terms_of(model.kernel_, rows.shape[1]):
        dual = term.factor * alpha
        if term.scale.any():
            kernels.append(Kernels(rows, term.scale, dual, np.zeros(k)))
        elif term.offset is None:
            intercept = intercept + dual.sum(axis=0)
        else:
            coef, intercept = coef + rows.T @ dual, intercept + term.offset * dual.sum(axis=0)
    return kernels, LinearTerms(coef, intercept)
