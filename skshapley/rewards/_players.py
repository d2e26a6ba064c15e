"""Players: features, or groups of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from skshapley._records._selection import columns_of
from skshapley._tables._arrow import Portable
from skshapley._tables._inputs import as_pandas
from skshapley._tools._texts import suggested


def marked_players(flags, column_player, n_players) -> np.ndarray:
    """Return True for players with a flagged column, ``(..., d)`` to ``(..., p)``."""
    if n_players == flags.shape[-1] and (column_player == np.arange(n_players)).all():
        return flags
    marked = np.zeros((*flags.shape[:-1], n_players), dtype=bool)
    for column, player in enumerate(column_player):
        marked[..., player] |= flags[..., column]
    return marked


@dataclass(frozen=True, eq=False)
class Players(Portable):
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
        owners, labels = np.arange(len(columns)), list(columns)
        group_of_column: dict[int, object] = {}
        paths: dict[int, tuple] = {}  # the groups above a player, by its first column
        for path, name, members in _innermost(_checked(groups, owner)):
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
            [str(labels[position]) for position in owner_numbers], dtype=object
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
        flags : ndarray of shape (r, d), bool

        Returns
        -------
        marked : ndarray of shape (r, p), bool
        """
        return marked_players(flags, self.column_player, self.n_players)

    @cached_property
    def _labels(self) -> pd.Index:
        """The cached index of player names; making it takes longer than making a frame."""
        return pd.Index(self.names.tolist())

    def table(self, X: Any) -> pd.DataFrame:
        """Return the rows with one column per player; groups and lists become text.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            The rows, with one column per feature.
        """
        # The usual case, without a copy for each column.
        if type(X) is np.ndarray and self.n_players == X.shape[1]:
            return pd.DataFrame(X.copy(), columns=self._labels, copy=False)
        frame = _with_texts(as_pandas(X))
        if self.n_players == frame.shape[1]:  # no group: nothing to gather
            return frame.set_axis(self._labels, axis=1).copy()
        players = range(self.n_players)
        members = [np.flatnonzero(self.column_player == player) for player in players]
        return columns_of(frame, self.names, members)


def _checked(groups, owner) -> Mapping[Any, Any]:
    """Return the groups as a mapping, or raise ValueError."""
    if groups is None:
        return {}
    if not hasattr(groups, "items") or not all(
        isinstance(members, (list, tuple, np.ndarray, pd.Index, Mapping))
        and len(members)
        for members in groups.values()
    ):
        raise ValueError(
            f"{owner} takes groups as None or {{name: [columns, ...]}} with at least "
            f"one column each, or as such dicts in a dict; got {groups!r}."
        )
    for members in groups.values():
        if isinstance(members, Mapping):
            _checked(members, owner)
    return groups


def _innermost(groups, path=()) -> Iterator[tuple[tuple, Any, Any]]:
    """Yield the names above, the name and the columns of each innermost group."""
    for name, members in groups.items():
        if isinstance(members, Mapping):
            yield from _innermost(members, (*path, name))
        else:
            yield path, name, members


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
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        levels.append([numbers[key] for key in keys])
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


def _with_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with lists, arrays and dicts converted to text.

    They cannot be counted, drawn or saved otherwise.
    """
    frame = frame.copy(deep=False)
    kinds = frame.dtypes
    for name in kinds.index[kinds.map(pd.api.types.is_object_dtype)]:
        # pandas cannot group, sort or compare values that have no hash.
        if frame[name].map(lambda value: type(value).__hash__ is None).any():
            frame[name] = frame[name].map(str, na_action="ignore")
    return frame
