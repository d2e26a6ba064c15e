"""Mixed rows of a conditional reward: background rows moved to the present columns."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from skshapley._tables import RowPool, as_pandas, is_frame, narwhal
from skshapley.rewards._gaussian import NormalMargins, chain_starts, moves, regressed
from skshapley.rewards._masked import MaskedModel
from skshapley.rewards._quadratic import KnownPart

# Kinds of columns, as pandas infers them
NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal", "empty")


class RankMargins:
    """Ranks of a table's numbers as quantiles of the normal distribution.

    The levels of equal numbers fill an interval. Its middle is their score, and every
    score in the interval returns this number. Between numbers and between scores, both
    conversions are linear. Results are limited to the range of the numbers.

    Parameters
    ----------
    table : ndarray of shape (n, d)
    weights : ndarray of shape (n,)
        With sum 1.
    """

    def __init__(self, table, weights) -> None:
        self._columns = [_levels(column, weights) for column in table.T]

    def standard(self, table) -> NDArray[np.float64]:
        """Return the normal scores of numbers."""
        return np.column_stack(
            [
                ndtri(np.interp(column, values, (low + high) / 2))
                for column, (values, low, high) in zip(
                    table.T,
                    self._columns,
                    strict=True,
                )
            ]
        )

    def moved(self, rows, standard, moves) -> NDArray[np.float64]:
        """Return the quantiles of the moved scores; other columns keep their values."""
        result = rows.copy()
        for column, (values, low, high) in enumerate(self._columns):
            # Unmoved rows keep their exact numbers; a round trip through quantiles
            # would round them.
            shifted = np.flatnonzero(moves[:, column])
            levels = ndtr(standard[shifted, column] + moves[shifted, column])
            # Two knots per number make its interval flat, so repeated numbers come back
            # unchanged.
            result[shifted, column] = np.interp(
                levels,
                np.column_stack([low, high]).ravel(),
                np.repeat(values, 2),
            )
        return result


def _levels(column, weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct numbers of a column, with the lowest and the highest level of each.

    The lowest and the highest level leave out half of the mean weight of the rows with
    that number. A single row then has one level.
    """
    values, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
    mass = np.bincount(inverse, weights=weights, minlength=len(values))
    ends = np.cumsum(mass)
    # Levels inside (0, 1) have finite normal quantiles.
    half = mass / counts / 2
    return values, ends - mass + half, ends - half


Margins = NormalMargins | RankMargins


@dataclass(frozen=True, eq=False)
class NumericModel(MaskedModel):
    """A response with background rows of dependent numbers.

    Attributes
    ----------
    correlation : ndarray of shape (d, d)
        Correlation of the columns in standard units.
    margins : Margins
    owner : str
        Name of the reward, for errors.
    rows : ndarray of shape (b, d)
        The background as numbers.
    scores : ndarray of shape (b, d)
        The background in standard units.
    """

    correlation: np.ndarray
    margins: Margins
    owner: str
    rows: np.ndarray
    scores: np.ndarray

    def take(self, rows, weights) -> Self:
        """Return the model with some of the background rows."""
        sample = super().take(rows, weights)
        return replace(sample, rows=self.rows[rows], scores=self.scores[rows])

    def given(self, X) -> NDArray[np.float64]:
        """Return rows to explain ``(r, d)`` as numbers."""
        return numbers(X, self.owner, "rows to explain")


@dataclass(frozen=True, eq=False, kw_only=True)
class TransportModel(NumericModel):
    """A response with background rows that move with the present columns.

    Attributes
    ----------
    part : KnownPart or None
        The known part of the response.
    """

    part: KnownPart | None = None

    def pool(self, X) -> RowPool:
        """Return the pool of moved background rows for the rows X ``(r, d)``."""
        return TransportPool(X, self)

    def moves(self, given, present, rows, references) -> NDArray[np.float64]:
        """Return the moves of background rows in standard units, ``(n, q, d)``.

        Parameters
        ----------
        given : ndarray of shape (r, d)
            Rows to explain in standard units.
        present : ndarray of shape (n, d), bool
        rows : ndarray of shape (n,), int
        references : ndarray of shape (n, q), int
        """
        starts = chain_starts(present, rows, references)
        gaps = given[rows[starts]][:, None] - self.scores[references[starts]]
        return moves(self.correlation, present, starts, gaps)

    @property
    def bytes_per_row(self) -> int:
        """Return the approximate memory of one mixed row."""
        return 64 * len(self.column_player)


class TransportPool(RowPool):
    """Rows to explain, and background rows moved to them.

    Parameters
    ----------
    X : array or frame of shape (r, d)
    model : TransportModel

    Attributes
    ----------
    given : ndarray of shape (r, d)
        The rows to explain in standard units.
    """

    def __init__(self, X, model: TransportModel) -> None:
        super().__init__(X, model.background, model.column_player)
        self._model = model
        self._given = model.given(X)
        self.given = model.margins.standard(self._given)

    def hybrid(self, coalitions, rows, references, moves=None) -> Any:
        """Return rows moved by `moves` ``(n, q, d)``, in the background's container."""
        if moves is None:
            moves = self.moves(coalitions, rows, references)
        present = coalitions[:, self.column_player]
        (n, q), d = references.shape, present.shape[1]
        flat = references.ravel()
        hybrid = self._model.margins.moved(
            self._model.rows[flat],
            self._model.scores[flat],
            moves.reshape(-1, d),
        ).reshape(n, q, d)
        # Present columns have exactly the values of the row, not values up to rounding.
        np.copyto(
            hybrid,
            self._given[rows][:, None],
            where=present[:, None],
        )
        return like(self.background, hybrid.reshape(-1, d))

    def moves(self, coalitions, rows, references) -> NDArray[np.float64]:
        """Return the moves of the references ``(n, q)`` in standard units, ``(n, q, d)``."""
        return self._model.moves(
            self.given,
            coalitions[:, self.column_player],
            rows,
            references,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class CausalModel(TransportModel):
    """A response with background rows moved as if the present columns were set.

    Attributes
    ----------
    components : tuple of ndarray of shape (d,), bool
        The columns of each component, causes before effects.
    confounded : tuple of bool
    """

    components: tuple[np.ndarray, ...]
    confounded: tuple[bool, ...]

    def moves(self, given, present, rows, references) -> NDArray[np.float64]:
        """Return the moves of background rows that follow the effects of present columns."""
        gaps = given[rows][:, None] - self.scores[references]
        shifts = np.where(present[:, None], gaps, 0.0)
        earlier = np.zeros(present.shape[1], dtype=bool)
        for component, confounded in zip(self.components, self.confounded, strict=True):
            conditions = np.broadcast_to(earlier, present.shape)
            if not confounded:  # its present columns predict the absent ones
                conditions = conditions | (present & component)
            np.copyto(
                shifts,
                regressed(self.correlation, conditions, shifts),
                where=(component & ~present)[:, None],
            )
            # All columns of earlier components are known now: set, or moved as effects.
            earlier = earlier | component
        return shifts


class UnsupportedColumnError(ValueError):
    """Raised for a column that a reward of numbers does not take, not the model."""


def numbers(X, owner, what) -> NDArray[np.float64]:
    """Return a table as floats, or raise ValueError for missing values or other columns.

    Parameters
    ----------
    X : array or frame of shape (n, d)
    owner, what : str
        The reward and the table, for errors.

    Raises
    ------
    UnsupportedColumnError
    """
    frame = as_pandas(X)
    table = np.empty(frame.shape)
    for j, (name, column) in enumerate(frame.items()):
        fault = f"is {column.dtype}: encode it"
        # Objects may hold numbers, which the dtype alone does not show.
        kind = pd.api.types.infer_dtype(column, skipna=True)
        numeric_objects = kind == "mixed" and not column.map(type).eq(str).any()
        if (
            kind in NUMBERS or numeric_objects
        ):  # a TypeError for objects that are no numbers
            table[:, j] = column.to_numpy(np.float64, na_value=np.nan)
            if np.isfinite(table[:, j]).all():
                continue
            fault = "has missing or infinite values: impute them"
        raise UnsupportedColumnError(
            f"{owner} takes finite numbers, and column {name!r} of the {what} "
            f'{fault} first, or choose reward="surrogate", which takes any column.'
        )
    return table


def like(table, rows) -> Any:
    """Return rows of floats in the container and the precision of a table."""
    if not is_frame(table):
        return rows.astype(np.result_type(table.dtype, np.float32), copy=False)
    if isinstance(table, pd.DataFrame):
        rows = rows.astype(np.float32) if (table.dtypes == np.float32).all() else rows
        return pd.DataFrame(rows, columns=table.columns, copy=False)
    import narwhals as nw

    frame = narwhal(table)
    table = nw.from_numpy(rows, schema=frame.columns, backend=frame.implementation)
    return table.to_native()
