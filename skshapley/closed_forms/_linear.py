"""Linear and polynomial responses, and sums of tables of one and two columns.

phi_i = sum of b_j (x_j - mean of z_j) over the columns j of player i, for f(x) = b_0 +
sum b_j x_j. There are no interactions.

Tables are generalised additive models with pairwise interactions. For f(x) = sum_i
g_i(x_i) + sum_{i<k} G_ik(x_i, x_k), with expectations over the background,

    phi_i = g_i(x_i) - E g_i + sum_k 1/2 (G_ik(x_i, x_k) - E G_ik
                                          + E G_ik(x_i, .) - E G_ik(., x_k)),

and the interaction of i and k is G_ik(x_i, x_k) - E G_ik(x_i, .) - E G_ik(., x_k) + E
G_ik.
"""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tables import n_rows
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
        return LinearTerms(
            self.coef @ matrix,
            self.intercept @ matrix + constant,
        )

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
        # A dense mean is relative to the first row, so that a constant column is its own
        # mean to the last bit.
        self.mean_ = (
            rows.T @ self.weights_
            if sparse.issparse(rows)
            else rows[0] + self.weights_ @ (rows - rows[0])
        )
        self.__dict__.pop("owned_", None)  # made for another background
        return self.mean_ @ self.coef + self.intercept

    @cached_property
    def owned_(self) -> sparse.csr_array:
        """The weights of a player's columns in each output, ``(d, p k)``."""
        d, k = self.coef.shape
        columns = k * self.column_player_[:, None] + np.arange(k)
        # Row j of the CSR array has the k entries of column j, so row pointers are
        # multiples of k.
        return sparse.csr_array(
            (self.coef.ravel(), columns.ravel(), k * np.arange(d + 1)),
            shape=(d, self.n_players_ * k),
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return ``X @ coef + intercept``, ``(r, k)``."""
        return as_matrix(X) @ self.coef + self.intercept

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        rows = as_matrix(X)
        players = np.arange(self.n_players_)
        if np.array_equal(self.column_player_, players) and not sparse.issparse(rows):
            # nothing to add up; + 0 leaves no -0
            return (rows - self.mean_)[:, :, None] * self.coef + 0.0
        # Subtracting the mean first would make a sparse table dense.
        values = (
            (rows @ self.owned_).toarray() - self.mean_ @ self.owned_
            if sparse.issparse(rows)
            else (rows - self.mean_) @ self.owned_
        )
        return values.reshape(len(values), self.n_players_, self.n_outputs)

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return zeros ``(r, p, p, k)``, because linear terms have no interactions."""
        return np.zeros(
            (n_rows(X), self.n_players_, self.n_players_, self.n_outputs),
        )


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
            self.powers,
            self.coef @ matrix,
            self.constant @ matrix + constant,
        )

    def _products(self, rows, terms, owners, n) -> NDArray[np.float64]:
        powers = self.powers[terms]
        products = np.ones((n, len(rows), len(powers)))
        for column, owner in enumerate(owners):
            products[owner] *= rows[:, column, None] ** powers[:, column]
        return products


Table = tuple[tuple[int, ...], NDArray[np.float64]]


class Tables(ClosedForm):
    """A sum of look-ups in tables, by the codes of one column or of two.

    Parameters
    ----------
    tables : sequence of (columns, table)
        The one or two columns, and the table ``(n, k)`` or ``(n, m, k)`` that their
        codes look up.
    constant : array-like of shape (k,)

    References
    ----------
    Lou, Caruana, Gehrke & Hooker (2013), Accurate intelligible models with pairwise
    interactions, KDD.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import Tables
    >>> both = np.array([[[0.0], [0.0]], [[0.0], [4.0]]])
    >>> form = Tables([((0, 1), both)], [0.0]).fit(np.array([[0, 0]]))
    >>> form.attributions(np.array([[1, 1]]))[0, :, 0]
    array([2., 2.])
    """

    label = "tables of one and two columns"

    def __init__(self, tables: Any, constant: Any) -> None:
        self.tables: list[Table] = [
            (tuple(columns), np.asarray(table, dtype=np.float64))
            for columns, table in tables
        ]
        self.constant = np.asarray(constant, dtype=np.float64)
        self.n_outputs = len(self.constant)
        self.additive = all(len(columns) == 1 for columns, _ in self.tables)

    def combined(self, matrix: Any, constant: Any = 0.0) -> "Tables":
        """Return linear combinations of the outputs."""
        return Tables(
            [(columns, table @ matrix) for columns, table in self.tables],
            self.constant @ matrix + constant,
        )

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of the look-ups, ``(r, k)``."""
        codes = _codes(X)
        return self.constant + sum(
            table[_at(codes, columns)] for columns, table in self.tables
        )

    def _fit(self) -> NDArray[np.float64]:
        self.codes_ = _codes(self.background_)
        # the mean of each table of two columns over the second, and over the first
        self.means_ = [self._means(*table) for table in self.tables]
        return super()._fit()

    def _means(self, columns: tuple[int, ...], table: NDArray[np.float64]) -> tuple:
        if len(columns) == 1:
            return ()
        shares = [
            np.bincount(self.codes_[:, column], self.weights_, size)
            for column, size in zip(columns, table.shape, strict=False)
        ]
        return np.tensordot(table, shares[1], (1, 0)), np.tensordot(shares[0], table, 1)

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        codes = _codes(X)
        values = np.zeros((len(codes), self.n_players_, self.n_outputs))
        for (columns, table), means in zip(self.tables, self.means_, strict=True):
            gain = table[_at(codes, columns)] - (
                self.weights_ @ table[_at(self.codes_, columns)]
            )
            first, last = self.column_player_[[columns[0], columns[-1]]]
            if first == last:
                values[:, first] += gain
                continue
            # phi_i = 1/2 [G(x_i, x_k) - E G(r_i, r_k)] + 1/2 [E G(x_i, r_k) - E G(r_i,
            # x_k)] for a table G of two columns: the mean over both orders.
            cross = means[0][codes[:, columns[0]]] - means[1][codes[:, columns[1]]]
            values[:, first] += 0.5 * (gain + cross)
            values[:, last] += 0.5 * (gain - cross)
        return values

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        codes = _codes(X)
        p = self.n_players_
        pairs = np.zeros((len(codes), p, p, self.n_outputs))
        for (columns, table), means in zip(self.tables, self.means_, strict=True):
            first, last = self.column_player_[[columns[0], columns[-1]]]
            if first == last:
                continue
            effect = table[_at(codes, columns)] + (
                self.weights_ @ table[_at(self.codes_, columns)]
            )
            for axis, column in enumerate(columns):
                effect = effect - means[axis][codes[:, column]]
            pairs[:, first, last] += effect
            pairs[:, last, first] += effect
        return pairs


def _codes(X: Any) -> NDArray[np.intp]:
    return np.asarray(X).astype(np.intp)


def _at(
    codes: NDArray[np.intp],
    columns: tuple[int, ...],
) -> tuple[NDArray[np.intp], ...]:
    """Return the positions of codes ``(..., D)`` in the table of some columns."""
    return tuple(codes[..., column] for column in columns)
