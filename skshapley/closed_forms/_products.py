"""Exact values of sums of products of one function of each player, such as kernels.

For f(x) = sum_t c_t prod_j k_j(x_j, t), against one reference r, with A_j = k_j(x_j, t) and
B_j = k_j(r_j, t), the game of one term is the product of A_j over the present and of B_j over the
absent players. Its multilinear extension along the diagonal is prod_j (q A_j + (1 - q) B_j), so
that (Owen 1972)

    phi_i  = sum_t c_t (A_i - B_i) int_0^1 prod_{j != i} (q A_j + (1 - q) B_j) dq
    I_{il} = sum_t c_t (A_i - B_i) (A_l - B_l) int_0^1 prod_{j != i, l} (q A_j + (1 - q) B_j) dq.

The integrands are polynomials of degree p - 1 and p - 2, for which ceil(p / 2) Gauss-Legendre nodes
are exact. Other indices have other distributions of q. Products without a player are multiplied
from the other factors, never by division, because a factor may be 0.
"""

from abc import abstractmethod
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from skshapley._tools import working_bytes
from skshapley.closed_forms._base import (
    SHAPLEY,
    ClosedForm,
    as_dense,
    sampling_ns,
)
from skshapley.indices import Index

# Share of the working memory for the arrays of a block, and the limit of a core's cache
BLOCK_SHARE = 1 / 8
CACHE_BYTES = 2**20
# Numbers in an array below which NumPy's calls cost more than its arithmetic
LEAST_LENGTH = 2048
# Simultaneous arrays of a block: both factors, their difference, the shares, and
# products
ARRAYS = 6

# Nanoseconds of one factor at one node, and of the model for one term: a base, and what
# a column adds. The middle of SVR and GaussianProcessRegressor with 300 and 1,500 terms
# of 5, 20 and 60 columns on one thread: 4 to 8, and 8 to 50 for a term.
NODE_NS, TERM_NS, COLUMN_NS = 5.0, 16.0, 0.4


def single_shares(A, B, nodes, reduced) -> NDArray[np.float64]:
    """Return the shares of players, ``(p, ...)``.

    A share is (A_i - B_i) times the integral of the product of the others over q.

    Parameters
    ----------
    A : ndarray of shape (p, r, T)
    B : ndarray of shape (p, b, T)
    nodes : tuple of ndarray
        The nodes q, and their weights.
    reduced : callable
        Reduces the shares of a player, an array ``(r, b, T)``.
    """
    B = B[:, None, :, :]
    step = A[:, :, None, :] - B
    shares = np.zeros_like(step)
    F = np.empty_like(step)
    # In-place operations throughout: new arrays of this size would leave the cache.
    for node, weight in zip(*nodes, strict=True):
        np.multiply(step, node, out=F)
        F += B
        # Products before and after each player, without division: a factor may be 0.
        product = _before(F)
        product *= _before(F[::-1])[::-1]
        product *= weight
        shares += product
    shares *= step
    return np.stack([reduced(share) for share in shares])


def pair_shares(A, B, nodes, reduced) -> NDArray[np.float64]:
    """Return the shares of pairs of players, ``(p, p, ...)``; see `single_shares`."""
    B = B[:, None, :, :]
    step = A[:, :, None, :] - B
    p = len(A)
    result: Any = np.zeros((p, p, *reduced(step[0]).shape))
    for node, weight in zip(*nodes, strict=True):
        F = B + node * step
        before = _before(F)
        behind = weight
        for i in range(p - 1, -1, -1):
            product = behind * step[i]  # players behind i, and between j and i
            for j in range(i - 1, -1, -1):
                result[i, j] += reduced(before[j] * product * step[j])
                product = product * F[j]
            behind = behind * F[i]
    return result + result.swapaxes(0, 1)


def _before(F: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the product of the factors of all players before each, ``(p, ...)``."""
    before = np.empty_like(F)
    before[0] = 1.0
    for i in range(1, len(F)):
        np.multiply(before[i - 1], F[i - 1], out=before[i])
    return before


class ProductForm(ClosedForm):
    """Base class of closed forms for games that are sums of products over the players.

    Subclasses write `_products`.

    Attributes
    ----------
    coef : ndarray of shape (T, k)
        Factor of each term in each output.
    constant : ndarray of shape (k,)
    """

    # An index is a distribution of the number of other present players.
    indices = pair_indices = None
    coef: NDArray[np.float64]
    constant: NDArray[np.float64]

    @abstractmethod
    def _products(
        self,
        rows: Any,
        terms: slice,
        owners: Any,
        n: int,
    ) -> NDArray[np.float64]:
        """Return the product of the factors of each owner's columns, ``(n, r, T')``."""

    @property
    def _weights_of_terms(self) -> NDArray[np.float64]:
        """The weights of the terms in each output, ``(T, k)``."""
        return self.coef

    def _fit(self) -> NDArray[np.float64]:
        self.rows_ = as_dense(self.background_)
        return super()._fit()

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum over the terms, ``(r, k)``."""
        rows = as_dense(X)
        # 32 bytes: products of the rows with all terms, and temporaries of the same
        # size.
        step = max(1, int(working_bytes(BLOCK_SHARE) // (32 * max(1, len(self.coef)))))
        # A prediction needs no players: as one player, all columns give one product per
        # term.
        together = np.zeros(rows.shape[1], dtype=np.intp)
        parts = [
            self._products(rows[start : start + step], slice(None), together, 1)[0]
            @ self.coef
            for start in range(0, len(rows), step)
        ]
        return np.concatenate([*parts, np.empty((0, self.n_outputs))]) + self.constant

    @property
    def cost_(self) -> float:  # type: ignore[override]
        """Cost of explaining a row, in calls of the model for one row; known after `fit`."""
        nodes, _ = SHAPLEY.law(self.n_players_ - 1)
        n_terms = len(self._weights_of_terms)
        products = n_terms * len(self.weights_) * self.n_players_ * len(nodes)
        model_ns = n_terms * (TERM_NS + COLUMN_NS * len(self.column_player_))
        return products * NODE_NS / (model_ns + sampling_ns(self.n_players_))

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self._mean(
            X,
            (self.n_players_,),
            single_shares,
            self.index.law(self.n_players_ - 1),
        )

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        p = self.n_players_
        return self._mean(X, (p, p), pair_shares, index.law(p - 2))

    def _mean(self, X, shape, shares, nodes) -> NDArray[np.float64]:
        """Return shares of players or of pairs against the weighted background."""
        X = as_dense(X)
        result = np.zeros((len(X), *shape, self.n_outputs))
        for rows, refs, terms, A, B in self._blocks(X):
            # (p, r', T') or (p, p, r', T'): the mean over references first
            mean = np.moveaxis(
                shares(
                    A,
                    B,
                    nodes,
                    partial(np.einsum, "b,rbt->rt", self.weights_[refs]),
                ),
                -2,
                0,
            )
            for output, factors in enumerate(self._weights_of_terms[terms].T):
                # Sums along each line; the rounding of a matrix product depends on
                # other lines.
                result[rows, ..., output] += (mean * factors).sum(axis=-1)
        return result

    def _blocks(self, X: Any) -> Iterator[tuple]:
        """Yield rows, background rows and terms, and the factors of both, block by block.

        The order of blocks, and thus the rounding of a row, does not depend on other
        rows.
        """
        bytes_each = 8 * ARRAYS * self.n_players_
        # Blocks fit into the cache, unless numpy's calls would then cost more than the
        # arithmetic.
        room = min(
            working_bytes(BLOCK_SHARE),
            max(CACHE_BYTES, LEAST_LENGTH * bytes_each),
        )
        most = max(1, int(room // bytes_each))
        n_terms = len(self._weights_of_terms)
        players = (self.column_player_, self.n_players_)
        width = max(1, min(n_terms, most))  # a machine may have no support vectors
        depth = min(len(self.rows_), max(1, most // width))
        height = max(1, most // (width * depth))
        for t in range(0, n_terms, width):
            terms = slice(t, t + width)
            for b in range(0, len(self.rows_), depth):
                refs = slice(b, b + depth)
                B = self._products(self.rows_[refs], terms, *players)
                for r in range(0, len(X), height):
                    rows = slice(r, r + height)
                    yield (
                        rows,
                        refs,
                        terms,
                        self._products(X[rows], terms, *players),
                        B,
                    )


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
        self,
        centres: Any,
        scale: Any,
        coef: Any,
        constant: Any,
        power: int = 2,
    ) -> None:
        self.centres = np.asarray(centres, dtype=np.float64)
        self.scale = np.asarray(scale, dtype=np.float64)
        self.coef = np.asarray(coef, dtype=np.float64)
        self.constant = np.asarray(constant, dtype=np.float64)
        self.power = power
        self.n_outputs = self.coef.shape[1]

    def combined(self, matrix: Any, constant: Any = 0.0) -> "ProductKernels":
        """Return linear combinations of the outputs."""
        return ProductKernels(
            self.centres,
            self.scale,
            self.coef @ matrix,
            self.constant @ matrix + constant,
            self.power,
        )

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
