"""The players, and the columns of mixed rows: raw columns, or columns of a pipeline.

A step that computes each column from one raw column commutes with mixing: mixing two
transformed rows gives the transformed mixed row. The first steps of a pipeline, as far
as they work column by column, therefore transform the rows and the background once. The
rest of the pipeline is called with mixtures of transformed rows, in which the columns
of one raw column stay together.
"""

from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.pipeline import Pipeline

from skshapley._records._selection import innermost
from skshapley._tables import (
    MixedColumnsError,
    Portable,
    RowPool,
    as_pandas,
    column_names,
    column_types,
    is_frame,
    n_rows,
    passes,
    row_pool,
    sources_or_trial,
    take_rows,
)
from skshapley._tools import suggested
from skshapley.rewards._methods import unwrapped
from skshapley.rewards._perceptron import has_layers
from skshapley.rewards._response import Response


def marked_players(flags, column_player, n_players) -> np.ndarray:
    """Return True for players with a flagged column, ``(..., d)`` to ``(..., p)``."""
    if n_players == flags.shape[-1] and (column_player == np.arange(n_players)).all():
        return flags
    marked = np.zeros((*flags.shape[:-1], n_players), dtype=bool)
    for column, player in enumerate(column_player):
        marked[..., player] |= flags[..., column]
    return marked


@dataclass(frozen=True, eq=False)
class Players:
    """The players: features, or groups of them, and the columns of each.

    Attributes
    ----------
    names : ndarray of shape (p,), object
    column_player : ndarray of shape (d,), int
        The player of each column.
    levels : ndarray of shape (n_levels, p), int, or None
        With nested groups, the group of each player at each level, the outermost first.
    """

    names: np.ndarray
    column_player: np.ndarray
    levels: np.ndarray | None = None

    @property
    def n_players(self) -> int:
        """Return the number of players p."""
        return len(self.names)

    @classmethod
    def from_groups(cls, groups, columns, owner) -> "Players":
        """Return the players: each group is one, and every other column is one.

        Players are ordered by their first column.

        Parameters
        ----------
        groups : mapping of name to list of columns, or None
            Columns by name, or by position. A mapping in place of a list makes nested
            groups, and the innermost ones are the players.
        columns : list
            Names of the columns.
        owner : str
            Name of the class that has the parameter, for errors.

        Raises
        ------
        ValueError
            For a column that does not exist or is in two groups, or an empty group.
        """
        owners = np.arange(len(columns))
        labels = list(columns)
        group_of_column: dict[int, object] = {}
        paths: dict[int, tuple] = {}  # the groups above a player, by its first column
        for path, name, members in innermost(groups, owner):
            positions = [_position(column, columns, name, owner) for column in members]
            for position in positions:
                if position in group_of_column:
                    raise ValueError(
                        f"{owner} got column {columns[position]!r} in group {name!r} "
                        f"and in group {group_of_column[position]!r}; a column belongs to at "
                        "most one group."
                    )
                group_of_column[position] = name
            # The first column represents the group, so players keep the order of the
            # table.
            owners[positions] = min(positions)
            labels[min(positions)] = name
            paths[min(positions)] = path
        owner_numbers, column_player = np.unique(owners, return_inverse=True)
        names = np.array(
            [str(labels[position]) for position in owner_numbers],
            dtype=object,
        )
        if len(set(names)) < len(names):
            raise ValueError(
                f"{owner} got players of the same name among {names.tolist()}: rename "
                "a group or a column."
            )
        return cls(names, column_player, _levels(owner_numbers, paths))

    def of_columns(self, flags) -> np.ndarray:
        """Return True for players with a flagged column.

        Parameters
        ----------
        flags : ndarray of shape (..., d), bool

        Returns
        -------
        marked : ndarray of shape (..., p), bool
        """
        return marked_players(flags, self.column_player, self.n_players)


def _levels(first_columns, paths) -> np.ndarray | None:
    """Return the group of each player at each level, ``(n_levels, p)``, or None."""
    depth = max(map(len, paths.values()), default=0)
    if not depth:
        return None
    above = [paths.get(column, ()) for column in first_columns.tolist()]
    levels = []
    for level in range(1, depth + 1):
        # a player without a group at this level is a group
        keys = [
            path[:level] if len(path) >= level else (path, player)
            for player, path in enumerate(above)
        ]
        levels.append(pd.factorize(pd.Series(keys, dtype=object))[0])
    return np.array(levels, dtype=np.intp)


def _position(column, columns, group, owner) -> int:
    """Return the position of a column that is given by name or by position."""
    # Names first: a column may be named by an int that is the position of another.
    if column in columns:
        return columns.index(column)
    if isinstance(column, int | np.integer) and 0 <= column < len(columns):
        return int(column)
    raise ValueError(
        f"{owner} got an unknown column {column!r}{suggested(column, columns)} in group "
        f"{group!r}: choose among "
        f"{columns}."
    )


# Mixed background rows for the comparison with the pipeline's own columns
CHECKED_ROWS = 512
TRIED_ROWS = 128  # background rows for a trial of an unknown step


@dataclass(frozen=True, eq=False)
class MaskedModel(Portable):
    """A response and its background, in the columns of mixed rows.

    Attributes
    ----------
    response : Response
    background : array, sparse matrix or frame of shape (b, D)
    weights : ndarray of shape (b,)
    column_player : ndarray of shape (D,), int
        The player of each column.
    label : str
        Description of the mixed columns and the reason, for the record.
    steps : tuple of fitted transformers
        The first steps of a pipeline, if they are done once, before rows are mixed.
    whole : MaskedModel or None
        The model with these steps, in raw columns.
    empty : ndarray of shape (b, K)
        The response on each background row.
    v_empty : ndarray of shape (K,)
        Its mean over the whole table, also if the background is a sample of it.
    layered : bool
        Whether the layers of a perceptron give its responses.
    """

    response: Response
    background: Any
    weights: np.ndarray
    column_player: np.ndarray
    label: str = field(default="raw columns", kw_only=True)
    steps: tuple = field(default=(), kw_only=True)
    whole: "MaskedModel | None" = field(default=None, kw_only=True)
    empty: Any = field(default=None, kw_only=True)
    v_empty: Any = field(default=None, kw_only=True)
    layered: bool = field(default=False, kw_only=True)

    def evaluated(self) -> Self:
        """Return the model with its responses on the background."""
        empty = self.response.over(self.background, "background rows")
        v_empty = (self.weights[:, None] * empty).sum(axis=0)
        layered = has_layers(self, empty)
        return replace(self, empty=empty, v_empty=v_empty, layered=layered)

    def transform(self, X) -> Any:
        """Return the columns to mix, from a table of raw columns ``(n, d)``."""
        return (
            X
            if self.whole is None
            else _transformed(self.whole.response, self.steps, X)
        )

    def inputs(self, X) -> Any:
        """Return the input of the model, from a table of raw columns ``(n, d)``."""
        return self.response.in_its_container(self.transform(X))

    @property
    def takes_raw(self) -> bool:
        """True if a table like the background is the input of the model, unchanged."""
        return self.whole is None and self.inputs(self.background) is self.background

    def take(self, rows, weights) -> Self:
        """Return the model with some of the background rows.

        Parameters
        ----------
        rows : ndarray of shape (q,), int
        weights : ndarray of shape (q,)
        """
        return replace(
            self,
            background=take_rows(self.background, rows),
            weights=weights,
            whole=None if self.whole is None else self.whole.take(rows, weights),
            empty=None if self.empty is None else self.empty[rows],
        )

    def pool(self, X) -> RowPool:
        """Return the pool of mixed rows of X ``(r, D)`` and the background."""
        return row_pool(X, self.background, self.column_player)

    @property
    def bytes_per_row(self) -> int:
        """Return the approximate memory of one mixed row."""
        if sparse.issparse(self.background) and not self.response.dense:
            # About three arrays of 32 bytes per stored entry, and the overhead of a
            # row.
            return 64 + 96 * self.background.nnz // len(self.weights)
        return 24 * len(self.column_player)


def _transformed(response, steps, X) -> Any:
    """Return a table after the first steps of a model."""
    X = response.in_its_container(
        take_rows(X, np.arange(n_rows(X)))
    )  # a copy: some write into it
    for step in steps:
        X = step.transform(X)
    return X


def prepare(raw: MaskedModel, n_players: int, transformed: bool) -> MaskedModel:
    """Return the model in the columns that its first steps make, or in raw columns.

    Parameters
    ----------
    raw : MaskedModel
        The model in raw columns.
    n_players : int
    transformed : bool
        Whether to mix transformed columns if this gives the same values.
    """
    try:
        if not transformed:
            raise MixedColumnsError("transformed=False was passed")
        first_steps, last_steps, source = split(raw.response, raw.background)
        steps = tuple(first_steps.values())
        table = _transformed(raw.response, steps, raw.background)
        if table.shape[1] != len(source):
            raise MixedColumnsError(
                f"the steps made {table.shape[1]} columns, not {len(source)}"
            )
        model = MaskedModel(
            raw.response.of(last_steps),
            table,
            raw.weights,
            raw.column_player[source],
            label=f"columns made once by {', '.join(first_steps)}",
            steps=steps,
            whole=raw,
        )
        _check(raw, model, n_players)
        return model
    except MixedColumnsError as reason:
        return replace(raw, label=f"raw columns: {reason}")


def split(response, background) -> tuple[dict[str, Any], Any, NDArray[np.intp]]:
    """Return a pipeline's first steps, the rest of it, and the raw column of each column.

    Raises
    ------
    MixedColumnsError
        If the model has no first step that works column by column.
    """
    if callable(response.method):
        raise MixedColumnsError("response_method is a function of the whole model")
    pipeline = unwrapped(response.estimator)
    if type(pipeline).__name__ != "Pipeline" or not isinstance(pipeline, Pipeline):
        raise MixedColumnsError(f"{type(pipeline).__name__} is not a Pipeline")
    names = getattr(pipeline, "feature_names_in_", None)
    source = np.arange(background.shape[1])
    if names is not None and is_frame(background):
        # the model may leave out some of its columns
        source = pd.Index(column_names(background)).get_indexer(names)
    n = n_rows(background)
    rows = np.linspace(0, n - 1, min(n, TRIED_ROWS)).astype(np.intp)
    steps: dict[str, Any] = {}
    sample = take_rows(background, rows)
    done = 0
    for name, step in pipeline.steps[:-1]:
        if not passes(step):
            try:
                so_far = partial(_transformed, response, steps.values(), sample)
                source = source[sources_or_trial(step, len(source), so_far)]
            # The record tells the user why the raw columns are mixed.
            except MixedColumnsError as reason:
                if not steps:
                    raise MixedColumnsError(f"{reason} (step {name!r})") from None
                break
            steps[name] = step
        done += 1
    if not steps or (source < 0).any():
        raise MixedColumnsError("the pipeline has no step that works column by column")
    left = pipeline[done:]
    return steps, left if len(left) > 1 else left[0], source


def _check(raw, model, p) -> None:
    """Raise an error if transformed mixed rows differ from mixed transformed rows."""
    b = len(model.weights)
    # Four pairs of rows for each player, so that rare values have a chance to show a
    # difference.
    number = np.arange(min(max(4 * p, 64), CHECKED_ROWS))
    # every single player, with different pairs of rows
    coalitions = (number % p)[:, None] == np.arange(p)
    # 7 and the extra shift keep the two rows different from player to player, without
    # random numbers.
    rows = number % b
    references = ((number * 7 + number // p + 1) % b)[:, None]
    transformed = model.transform(
        raw.pool(raw.background).hybrid(coalitions, rows, references)
    )
    if not _same(
        model.pool(model.background).hybrid(coalitions, rows, references),
        transformed,
    ):
        raise MixedColumnsError(
            "transformed mixed rows differ from mixed transformed rows"
        )


def _same(left, right) -> bool:
    """Return True if tables agree in kind, types and values up to rounding."""
    if type(left) is not type(right) or left.shape != right.shape:
        return False
    if column_types(left) != column_types(right):
        return False
    if sparse.issparse(left):
        # The order of stored entries is no difference.
        right = right.sorted_indices()
        pattern = (left.indptr, right.indptr), (left.indices, right.indices)
        if not all(np.array_equal(*pair) for pair in pattern):
            return False
        return np.allclose(left.data, right.data, 1e-12, 0, equal_nan=True)
    if isinstance(left, np.ndarray) and left.dtype.kind in "biuf":
        return np.allclose(left, right, 1e-12, 0, equal_nan=True)
    try:
        pd.testing.assert_frame_equal(
            as_pandas(left),
            as_pandas(right),
            rtol=1e-12,
            atol=0,
        )
    except AssertionError:
        return False
    return True
