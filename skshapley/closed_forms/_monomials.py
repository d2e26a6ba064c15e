"""Polynomials of the columns: sums of products of their powers."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import as_dense
from skshapley.closed_forms._products import ProductForm, ProductGames, cost_of_products


class Monomials(ProductForm):
    """A polynomial ``sum_t coef[t] * prod_j x[j] ** powers[t, j]``.

    Parameters
    ----------
    powers : array-like of shape (T, d), int
    coef : array-like of shape (T, k)
    constant : array-like of shape (k,)

    References
    ----------
    Owen (1972), Multilinear extensions of games, Management Science 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import Monomials
    >>> form = Monomials([[1, 0], [1, 1]], [[1.0], [1.0]], [0.0]).fit(np.zeros((1, 2)))
    >>> form.attributions(np.array([[2.0, 3.0]]))[0, :, 0]
    array([5., 3.])
    """

    label = "polynomial terms"

    def __init__(self, powers: Any, coef: Any, constant: Any) -> None:
        self.powers = np.asarray(powers, dtype=np.intp)
        self.coef = np.asarray(coef, dtype=np.float64)
        self.constant = np.asarray(constant, dtype=np.float64)
        self.n_outputs = self.coef.shape[1]

    def combined(self, matrix: Any, constant: Any = 0.0) -> "Monomials":
        """Return linear combinations of the outputs."""
        return Monomials(self.powers, self.coef @ matrix, self.constant @ matrix + constant)

    def _fit(self) -> NDArray[np.float64]:
        self.rows_ = as_dense(self.background_)
        self.games_ = ProductGames(self._factors, self.coef, self.n_players_)
        return self.weights_ @ self.predict(self.background_)

    def _factors(self, rows: NDArray[np.float64], terms: slice) -> NDArray[np.float64]:
        """Return the factors of the players, ``(p, r, T')``."""
        return self._products(rows, self.powers[terms], self.column_player_, self.n_players_)

    @staticmethod
    def _products(rows: Any, powers: Any, owners: Any, n: int) -> NDArray[np.float64]:
        products = np.ones((n, len(rows), len(powers)))
        for column, owner in enumerate(owners):
            products[owner] *= rows[:, column, None] ** powers[:, column]
        return products

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the polynomial, ``(r, k)``."""
        together = np.zeros(self.powers.shape[1], dtype=np.intp)
        return self._products(as_dense(X), self.powers, together, 1)[0] @ self.coef + self.constant

    @property
    def cost_(self) -> float:  # type: ignore[override]
        """Cost of explaining an instance, in calls of the model for one row; known after `fit`."""
        return cost_of_products(len(self.weights_), self.n_players_, self.powers.shape[1])

    def state(self) -> list:
        """Return the powers, their coefficients and the constant."""
        return [self.powers, self.coef, self.constant]
