"""Exact values of sums of products of one function of each player.

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
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tools._memory import working_bytes
from skshapley.closed_forms._base import SHAPLEY, ClosedForm, as_dense
from skshapley.indices import Index

# Share of the working memory for the arrays of a block, and the limit of a core's cache
BLOCK_SHARE = 1 / 8
CACHE_BYTES = 2**20
# Numbers in an array below which NumPy's calls cost more than its arithmetic
LEAST_LENGTH = 2048
# Simultaneous arrays of a block: both factors, their difference, the shares, and products
ARRAYS = 6

# Nanoseconds of one factor at one node, and of the model for one term: a base, and what a column
# adds. The middle of SVR and GaussianProcessRegressor with 300 and 1,500 terms of 5, 20 and 60
# columns on one thread: 4 to 8, and 8 to 50 for a term.
NODE_NS, TERM_NS, COLUMN_NS = 5.0, 10.0, 0.4

Factors = Callable[[Any, slice], NDArray[np.float64]]


def cost_of_products(n_references: int, n_players: int, n_columns: int) -> float:
    """Return the cost of one row to explain, in calls of its model for one row.

    Both are proportional to the number of terms.
    """
    products = n_references * n_players * len(SHAPLEY.law(n_players - 1)[0])
    return products * NODE_NS / (TERM_NS + COLUMN_NS * n_columns)


class ProductGames:
    """Games of products, in blocks of bounded memory.

    Parameters
    ----------
    factors : callable
        ``factors(table, terms)`` returns the factors ``(p, n, len(terms))`` of the players at the n
        rows of a table, for a slice of the terms.
    coef : ndarray of shape (T, k)
        Weights of the terms in each output.
    n_players : int
    """

    def __init__(self, factors: Factors, coef: NDArray[np.float64], n_players: int) -> None:
        self.factors, self.coef, self.n_players = factors, coef, n_players

    def mean(
        self,
        X: Any,
        background: Any,
        weights: NDArray[np.float64],
        index: Index = SHAPLEY,
        pairs: bool = False,
    ) -> NDArray[np.float64]:
        """Return values against the weighted background, ``(r, p, k)``.

        Parameters
        ----------
        X, background : arrays of shape (r, d), (b, d)
        weights : ndarray of shape (b,)
            With sum 1.
        index : Index, default=Shapley's
        pairs : bool, default=False
            Whether to return interactions of pairs instead, ``(r, p, p, k)``.
        """
        p = self.n_players
        result = np.zeros((len(X), *([p, p] if pairs else [p]), self.coef.shape[1]))
        value = pair_shares if pairs else single_shares
        nodes = index.law(p - 2 if pairs else p - 1)
        for rows, refs, terms, A, B in self._blocks(X, background):
            # (p, r', T') or (p, p, r', T'): the mean over references first
            mean = value(
                A, B, nodes, lambda share, refs=refs: np.einsum("rbt,b->rt", share, weights[refs])
            )
            result[rows] += np.moveaxis(self._outputs(mean, terms), -2, 0)
        return result

    def single(self, X: Any, references: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return values against single references, ``(r, q, p, k)``."""
        result = np.zeros((len(X), len(references), self.n_players, self.coef.shape[1]))
        nodes = index.law(self.n_players - 1)
        for rows, refs, terms, A, B in self._blocks(X, references):
            share = single_shares(A, B, nodes, lambda share: share)
            result[rows, refs] += np.moveaxis(self._outputs(share, terms), 0, 2)
        return result

    def _outputs(self, shares: NDArray[np.float64], terms: slice) -> NDArray[np.float64]:
        """Return shares ``(..., T)`` as outputs ``(..., k)``.

        The sums run along each line, because the rounding of a matrix product depends on other
        lines.
        """
        return np.stack([(shares * coef).sum(axis=-1) for coef in self.coef[terms].T], axis=-1)

    def _blocks(self, X: Any, references: Any) -> Iterator[tuple]:
        """Yield rows, references and terms, and the factors of both, block by block.

        The order of blocks, and thus the rounding of a row, does not depend on other rows.
        """
        bytes_each = 8 * ARRAYS * self.n_players
        room = min(working_bytes(BLOCK_SHARE), max(CACHE_BYTES, LEAST_LENGTH * bytes_each))
        most = max(1, int(room // bytes_each))
        width = max(1, min(len(self.coef), most))  # a machine may have no support vectors
        depth = min(len(references), max(1, most // width))
        height = max(1, most // (width * depth))
        for t in range(0, len(self.coef), width):
            terms = slice(t, t + width)
            for b in range(0, len(references), depth):
                refs = slice(b, b + depth)
                B = self.factors(references[refs], terms)
                for r in range(0, len(X), height):
                    rows = slice(r, r + height)
                    yield rows, refs, terms, self.factors(X[rows], terms), B


def single_shares(A, B, nodes, kept) -> NDArray[np.float64]:
    """Return `kept` of (A_i - B_i) int prod of the others dq, an array ``(r, b, T)`` a player."""
    A, B = A[:, :, None, :], B[:, None, :, :]
    step = A - B
    shares, F = np.zeros_like(step), np.empty_like(step)
    for node, weight in zip(*nodes, strict=True):
        np.multiply(step, node, out=F)
        F += B
        others = _before(F)
        others *= _before(F[::-1])[::-1]
        others *= weight
        shares += others
    shares *= step
    return np.stack([kept(share) for share in shares])


def pair_shares(A, B, nodes, kept) -> NDArray[np.float64]:
    """Return the shares of pairs of players, ``(p, p, ...)``; see `single_shares`."""
    A, B = A[:, :, None, :], B[:, None, :, :]
    step, p = A - B, len(A)
    result: Any = np.zeros((p, p, *kept(step[0]).shape))
    for node, weight in zip(*nodes, strict=True):
        F = B + node * step
        before, behind = _before(F), weight
        for i in range(p - 1, -1, -1):
            others = behind * step[i]
            for j in range(i - 1, -1, -1):  # others: behind i, and between j and i
                result[i, j] += kept(before[j] * others * step[j])
                others = others * F[j]
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
    games_ : ProductGames
    rows_ : ndarray of shape (b, d)
        The background.
    """

    # An index is a distribution of the number of other present players.
    indices = pair_indices = None
    coef: NDArray[np.float64]
    constant: NDArray[np.float64]
    games_: ProductGames
    rows_: NDArray[np.float64]

    @abstractmethod
    def _products(self, rows: Any, terms: slice, owners: Any, n: int) -> NDArray[np.float64]:
        """Return the product of the factors of each owner's columns, ``(n, r, T')``."""

    def _fit(self) -> NDArray[np.float64]:
        self.rows_ = as_dense(self.background_)
        self.games_ = ProductGames(self._factors, self.coef, self.n_players_)
        return self.weights_ @ self.predict(self.background_)

    def _factors(self, rows: NDArray[np.float64], terms: slice) -> NDArray[np.float64]:
        return self._products(rows, terms, self.column_player_, self.n_players_)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum over the terms, ``(r, k)``."""
        rows = as_dense(X)
        step = max(1, int(working_bytes(BLOCK_SHARE) // (32 * max(1, len(self.coef)))))
        together = np.zeros(rows.shape[1], dtype=np.intp)
        parts = [
            self._products(rows[start : start + step], slice(None), together, 1)[0] @ self.coef
            for start in range(0, len(rows), step)
        ]
        return np.concatenate([*parts, np.empty((0, self.n_outputs))]) + self.constant

    @property
    def cost_(self) -> float:  # type: ignore[override]
        """Cost of explaining a row, in calls of the model for one row; known after `fit`."""
        return cost_of_products(len(self.weights_), self.n_players_, len(self.column_player_))

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self.games_.mean(as_dense(X), self.rows_, self.weights_, self.index)

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        return self.games_.mean(as_dense(X), self.rows_, self.weights_, index, pairs=True)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        return self.games_.single(as_dense(X), self.rows_[np.asarray(rows)], self.index)
