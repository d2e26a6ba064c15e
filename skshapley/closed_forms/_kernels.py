"""Sums of products of one-dimensional kernels: machines, Gaussian processes, kernel ridge."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from skshapley.closed_forms._products import ProductForm


class ProductKernels(ProductForm):
    """A sum over terms of a product of one factor for each column.

    The factor of column j of term t is
    ``exp(-scale[j] * abs(x[j] - centres[t, j]) ** power)``: the radial basis function
    with power 2, the Laplacian kernel with power 1.

    Parameters
    ----------
    centres : array-like of shape (T, d)
    scale : array-like of shape (d,)
    coef : array-like of shape (T, k)
    constant : array-like of shape (k,)
    power : {1, 2}, default=2

    Notes
    -----
    A row costs p ceil(p / 2) products for each term and background row. If sampling
    costs less, the model is sampled.

    References
    ----------
    Owen (1972), Multilinear extensions of games, Management Science 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import ProductKernels
    >>> form = ProductKernels(np.zeros((1, 2)), [1.0, 1.0], [[1.0]], [0.0])
    >>> form = form.fit(np.array([[3.0, 3.0]]))
    >>> form.attributions(np.array([[0.0, 0.0]]))[0, :, 0].round(2)
    array([0.5, 0.5])
    """

    label = "product kernels"

    def __init__(
        self, centres: Any, scale: Any, coef: Any, constant: Any, power: int = 2
    ) -> None:
        self.centres = np.asarray(centres, dtype=np.float64)
        self.scale = np.asarray(scale, dtype=np.float64)
        self.coef = np.asarray(coef, dtype=np.float64)
        self.constant = np.asarray(constant, dtype=np.float64)
        self.power = power
        self.n_outputs = self.coef.shape[1]

    def combined(self, matrix: Any, constant: Any = 0.0) -> "ProductKernels":
        """Return linear combinations of the outputs."""
        base = self.constant @ matrix + constant
        coef = self.coef @ matrix
        return ProductKernels(self.centres, self.scale, coef, base, self.power)

    def _products(self, rows, terms, owners, n) -> NDArray[np.float64]:
        # scale |x - z|^power = |w x - w z|^power for w = scale^(1/power): one distance
        # serves both kernels.
        metric = "sqeuclidean" if self.power == 2 else "cityblock"
        width = self.scale ** (1 / self.power)
        centres = self.centres[terms] * width
        scaled = rows * width
        distances = np.zeros((n, len(rows), len(centres)))
        for owner in np.unique(owners):
            columns = owners == owner
            distances[owner] = cdist(scaled[:, columns], centres[:, columns], metric)
        return np.exp(-distances, out=distances)
