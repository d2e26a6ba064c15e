"""Sums of tables of one and two columns: generalised additive models with pairwise interactions.

For f(x) = sum_i g_i(x_i) + sum_{i<k} G_ik(x_i, x_k), with expectations over the
background,

    phi_i = g_i(x_i) - E g_i + sum_k 1/2 (G_ik(x_i, x_k) - E G_ik
                                          + E G_ik(x_i, .) - E G_ik(., x_k)),

and the interaction of i and k is G_ik(x_i, x_k) - E G_ik(x_i, .) - E G_ik(., x_k) + E
G_ik.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import SHAPLEY, ClosedForm
from skshapley.indices import Index

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
        tables = [(columns, table @ matrix) for columns, table in self.tables]
        return Tables(tables, self.constant @ matrix + constant)

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
            mean = self.weights_ @ table[_at(self.codes_, columns)]
            gain = table[_at(codes, columns)] - mean
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
            mean = self.weights_ @ table[_at(self.codes_, columns)]
            effect = table[_at(codes, columns)] + mean
            for axis, column in enumerate(columns):
                effect = effect - means[axis][codes[:, column]]
            pairs[:, first, last] += effect
            pairs[:, last, first] += effect
        return pairs


def _codes(X: Any) -> NDArray[np.intp]:
    return np.asarray(X).astype(np.intp)


def _at(
    codes: NDArray[np.intp], columns: tuple[int, ...]
) -> tuple[NDArray[np.intp], ...]:
    """Return the positions of codes ``(..., D)`` in the table of some columns."""
    return tuple(codes[..., column] for column in columns)
