"""Linear and polynomial responses.

phi_i = sum of b_j (x_j - mean of z_j) over the columns j of player i, for f(x) = b_0 +
sum b_j x_j. There are no interactions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tables._inputs import n_rows
from skshapley.closed_forms._base import SHAPLEY, ClosedForm, as_matrix
from skshapley.closed_forms._products import ProductForm
from skshapley.indices import Index


class LinearTerms(ClosedForm):
    """A response that is linear in its columns, ``X @ coef + intercept``.

    Parameters
    ----------
    coef : array-like of shape (d, k)
    intercept : array-like of shape (k,)

    References
    ----------
    Strumbelj & Kononenko (2014), Explaining prediction models and individual
    predictions with feature contributions, Knowledge and Information Systems 41.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import LinearTerms
    >>> form = LinearTerms([[1.0], [-2.0]], [3.0]).fit(
    ...     np.array([[0.0, 0.0], [2.0, 2.0]])
    ... )
    >>> form.attributions(np.array([[4.0, 4.0]]))[0, :, 0]
    array([ 3., -6.])
    """

    label = "linear terms"
    # A sum over players has the same values by all indices, and no interactions.
    indices = pair_indices = None
    additive = True

    def __init__(self, coef: Any, intercept: Any) -> None:
        self.coef = np.asarray(coef, dtype=np.float64)
        self.intercept = np.asarray(intercept, dtype=np.float64)
        self.n_outputs = self.coef.shape[1]

    def combined(self, matrix: Any, constant: Any = 0.0) -> "LinearTerms":
        """Return linear combinations of the outputs."""
        return LinearTerms(self.coef @ matrix, self.intercept @ matrix + constant)

    def of_columns(self, matrix: Any, shift: Any) -> "LinearTerms":
        """Return the same response of the columns X in ``X @ matrix + shift``.

        Parameters
        ----------
        matrix : ndarray of shape (n_columns, d)
        shift : ndarray of shape (d,)
        """
        return LinearTerms(matrix @ self.coef, self.intercept + shift @ self.coef)

    def used_columns(self, n_columns: int) -> NDArray[np.bool_]:
        """Return True for columns with a coefficient other than 0, ``(d,)``."""
        return (self.coef != 0).any(axis=1)

    def _fit(self) -> NDArray[np.float64]:
        rows = as_matrix(self.background_)
        if sparse.issparse(rows):
            self.mean_ = rows.T @ self.weights_
        # from the first row on, so that a constant column is its own mean to the last
        # bit
        else:
            self.mean_ = rows[0] + self.weights_ @ (rows - rows[0])
        # the weights (d, p k) of a player's columns in each output
        d, k = self.coef.shape
        columns = k * self.column_player_[:, None] + np.arange(k)
        # Row j of the CSR array has the k entries of column j, so row pointers are
        # multiples of k.
        owned = self.coef.ravel(), columns.ravel(), k * np.arange(d + 1)
        self.owned_ = sparse.csr_array(owned, shape=(d, self.n_players_ * k))
        return self.mean_ @ self.coef + self.intercept

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return ``X @ coef + intercept``, ``(r, k)``."""
        return as_matrix(X) @ self.coef + self.intercept

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        rows = as_matrix(X)
        if sparse.issparse(rows):
            # Subtracting the mean first would make a sparse table dense.
            values = (rows @ self.owned_).toarray() - self.mean_ @ self.owned_
        else:
            values = (rows - self.mean_) @ self.owned_
        return values.reshape(len(values), self.n_players_, self.n_outputs)

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return zeros ``(r, p, p, k)``, because linear terms have no interactions."""
        return np.zeros((n_rows(X), self.n_players_, self.n_players_, self.n_outputs))


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
        return Monomials(
            self.powers, self.coef @ matrix, self.constant @ matrix + constant
        )

    def _products(self, rows, terms, owners, n) -> NDArray[np.float64]:
        powers = self.powers[terms]
        products = np.ones((n, len(rows), len(powers)))
        for column, owner in enumerate(owners):
            products[owner] *= rows[:, column, None] ** powers[:, column]
        return products
