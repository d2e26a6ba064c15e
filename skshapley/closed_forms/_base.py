"""Base class of closed forms: exact attributions of a response without sampling."""

from abc import ABC, abstractmethod
from dataclasses import is_dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tables import Portable, as_pandas, is_frame, n_rows, take_rows
from skshapley.indices import INDICES, Index

SHAPLEY = INDICES["shapley"]
ROUNDING = 1e-12  # rounding error of a sum of weights
# Model rows for each player, at which permutations reach the default relative error:
# 110 to 370 against 100 to 3,000 background rows, with 6 to 107 players
ROWS_OF_PLAYER = 250
# Nanoseconds of sampling for one row passed to a fast model, and of starting a row
ROW_NS, START_NS = 450.0, 6e5


class ClosedForm(Portable, ABC):
    """A response as a formula with exact Shapley values.

    `read_model` reads it from a fitted model, and `fit` sets the background.
    A subclass writes `combined`, `predict`, `_attributions` and `pairs`.

    Attributes
    ----------
    label : str
        Name of the closed form in the settings, such as "trees".
    n_outputs : int
        Number of outputs, k.
    indices, pair_indices : frozenset of str, or None
        Names of the indices that attributions and pairs can have; None for any.
    additive : bool
        Whether the response is a sum over the columns, for any columns.
    nests : bool
        Whether the form has values of nested groups; a sum over the columns has them
        anyway.
    index : Index
        Index of the attributions, from `set_index`.
    levels : ndarray of shape (n_levels, p), int, or None
        With nested groups, the group of each player at each level, from `set_index`.
    cost_ : float
        Cost of explaining a row, in calls of the model for one row. Known after `fit`.
    n_players_ : int
        Number of players, p. Known after `fit`, as are the next four.
    column_player_ : ndarray of shape (d,), int
    background_ : array, sparse matrix or frame of shape (b, d)
    weights_ : ndarray of shape (b,)
    base_values_ : ndarray of shape (k,)
        Mean response over the background.
    """

    label: str
    n_outputs: int
    indices: frozenset[str] | None = frozenset({"shapley"})
    pair_indices: frozenset[str] | None = frozenset({"shapley"})
    additive: bool = False
    nests: bool = False
    index: Index = SHAPLEY
    levels: NDArray[np.intp] | None = None
    cost_ = 0.0

    @abstractmethod
    def combined(self, matrix: Any, constant: Any = 0.0) -> "ClosedForm":
        """Return linear combinations of the outputs, as an unfitted form.

        Parameters
        ----------
        matrix : array-like of shape (k, n)
        constant : array-like of shape (n,), default=0.0
        """

    def set_index(self, index: Index, levels: NDArray[np.intp] | None = None) -> None:
        """Set the index and the nested groups of the attributions.

        To be called before `fit` and `expected_cost`, which depend on them.

        Parameters
        ----------
        index : Index
        levels : ndarray of shape (n_levels, p), int, or None
            The group of each player at each level.
        """
        self.index = index
        self.levels = levels

    def fit(
        self,
        background: Any,
        weights: Any = None,
        column_player: Any = None,
        n_players: int | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Store the background rows, which replace absent players.

        Parameters
        ----------
        background : array, sparse matrix or frame of shape (b, d)
        weights : array-like of shape (b,) or None, default=None
            Non-negative, with a positive sum. None: equal weights.
        column_player : array-like of shape (d,), int, or None, default=None
            The player of each column. None: each column is a player.
        n_players : int or None, default=None
            Number of players; the last ones may have no column. None: players with a
            column.
        n_jobs : int or None, default=None
            Threads, if a form uses them. The values do not depend on them.

        Returns
        -------
        self
        """
        weights = np.asarray(
            np.ones(n_rows(background)) if weights is None else weights,
            dtype=np.float64,
        )
        players = np.asarray(
            np.arange(background.shape[1]) if column_player is None else column_player
        )
        total = weights.sum()
        # the weights of an explainer do not change, to the last bit
        self.weights_ = weights if abs(total - 1) < ROUNDING else weights / total
        self.background_ = background
        self.column_player_ = players
        self.n_players_ = int(players.max()) + 1 if n_players is None else n_players
        self.n_jobs_ = n_jobs
        self.base_values_ = self._fit()
        return self

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return this form with one method for all batches of a run.

        Parameters
        ----------
        n_rows : int or None
            Number of all rows, if it is known.
        batch_rows : int
        """
        return self

    def expected_cost(self, column_player: Any, n_references: int) -> float:
        """Return the cost of explaining a row, in model rows, as far as it is known before `fit`.

        Parameters
        ----------
        column_player : ndarray of shape (d,), int
        n_references : int
        """
        return 0.0

    def usual_rows(self, n_players: int, n_references: int) -> float:
        """Return the model rows of sampling a row to the default relative error.

        Parameters
        ----------
        n_players, n_references : int
        """
        return ROWS_OF_PLAYER * n_players

    def used_columns(self, n_columns: int) -> NDArray[np.bool_]:
        """Return False for columns that have no effect on the response, ``(d,)``.

        Parameters
        ----------
        n_columns : int
            Number of columns d. True for all columns if the form does not know.
        """
        return np.ones(n_columns, dtype=bool)

    @property
    def size(self) -> float:
        """The size of the terms that the response adds up, where it is known."""
        return 0.0

    def _fit(self) -> NDArray[np.float64]:
        """Prepare for the background, and return the base values ``(k,)``."""
        return self.weights_ @ self.predict(self.background_)

    @abstractmethod
    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the response of the form, ``(r, k)``, without a call of the model.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)
        """

    def attributions(self, X: Any) -> NDArray[np.float64]:
        """Return the values of the players, by `index`.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)

        Returns
        -------
        attributions : ndarray of shape (r, p, k)
            Shapley values add up to the response minus `base_values_`.
        """
        # Formulas below stack results of rows, and numpy cannot stack nothing.
        if not n_rows(X):
            return np.zeros((0, self.n_players_, self.n_outputs))
        return self._attributions(X)

    @abstractmethod
    def _attributions(self, X: Any) -> NDArray[np.float64]:
        """Return the values ``(r, p, k)`` of one or more rows."""

    @abstractmethod
    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)
        index : Index, default=Shapley's
            One of `pair_indices`.

        Returns
        -------
        pairs : ndarray of shape (r, p, p, k)
            Symmetric in the players, with zeros on the diagonal.

        References
        ----------
        Grabisch & Roubens (1999), An axiomatic approach to the concept of interaction
        among players in cooperative games, International Journal of Game Theory 28.
        """

    def attributions_and_predictions(self, X: Any) -> tuple[Any, Any]:
        """Return `attributions` and `predict`, for forms that compute both at once.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)
        """
        return self.attributions(X), self.predict(X)

    def attributions_and_pairs(self, X: Any, index: Index) -> tuple[Any, Any]:
        """Return `attributions` and `pairs`, for forms that compute both at once.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)
        index : Index
            Of the pairs.
        """
        return self.attributions(X), self.pairs(X, index)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows.

        Their weighted mean over all rows equals `attributions`. Their spread, divided
        by the square root of the number of rows, is the background error.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)
        rows : array-like of shape (q,), int
            Positions in the background.

        Returns
        -------
        attributions : ndarray of shape (r, q, p, k)
        """
        # an unfitted form of the same response
        single = self.combined(np.eye(self.n_outputs))
        single.set_index(self.index, self.levels)
        players = (self.column_player_, self.n_players_, self.n_jobs_)
        return np.stack(
            [
                single.fit(
                    take_rows(self.background_, [row]),
                    None,
                    *players,
                ).attributions(X)
                for row in rows
            ],
            axis=1,
        )

    def state(self) -> list:
        """Return the arrays and numbers that the form was made of, to compare it with others."""
        return [
            part
            for name, value in vars(self).items()
            if name[-1] != "_"
            for part in _parts(value)
        ]


def sampling_ns(n_players: int) -> float:
    """Return the nanoseconds of sampling for one row passed to a fast model."""
    return ROW_NS + START_NS / (ROWS_OF_PLAYER * n_players)


def _parts(value: Any) -> list:
    """Return the arrays and numbers of a value, of its items, or of its attributes."""
    if isinstance(value, (np.ndarray, int, float)):
        return [value]
    if isinstance(value, ClosedForm):
        return value.state()
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, dict):
        value = [*value, *value.values()]
    elif is_dataclass(value):
        value = vars(value).values()
    elif not isinstance(value, (list, tuple)):
        return []
    return [part for item in value for part in _parts(item)]


def as_matrix(X: Any) -> Any:
    """Return a table of numbers as float64: a CSR array if it is sparse, else an ndarray.

    Raises
    ------
    ValueError
        For NaN and infinity, which the models refuse too.
    """
    if sparse.issparse(X):
        matrix = sparse.csr_array(X, dtype=np.float64)
        values = matrix.data
    else:
        X = as_pandas(X) if is_frame(X) else X
        matrix = np.asarray(X, np.float64, order="C")  # rounding depends on the order
        values = matrix
    if not np.isfinite(values).all():
        # One search for both containers: the error names the row and the column in
        # either case.
        wrong = sparse.coo_array(matrix)
        place = np.flatnonzero(~np.isfinite(wrong.data))[0]
        value = "NaN" if np.isnan(wrong.data[place]) else wrong.data[place]
        raise ValueError(
            f"Exact values from a formula need finite numbers; got {value} in row "
            f"{wrong.row[place]}, column {wrong.col[place]} of its table: impute it, "
            "or leave the row out."
        )
    return matrix


def as_dense(X: Any) -> NDArray[np.float64]:
    """Return a table of numbers as an ndarray of float64."""
    matrix = as_matrix(X)
    return matrix.toarray() if sparse.issparse(matrix) else matrix
