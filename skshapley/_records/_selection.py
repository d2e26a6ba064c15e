"""Parts of an explanation: rows, players and outputs by position, name or label."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import chain
from typing import Any, Generic

import numpy as np
import pandas as pd

from skshapley._records._outcome import (
    BY_OUTPUT,
    BY_PLAYER,
    BY_ROW,
    SomeRecord,
    changed,
)
from skshapley._tools import Count, check_values, suggested

OWNER = "Explanation"
MOST_NAMES = 12


def chosen(explanation: SomeRecord, key: Any) -> SomeRecord:
    """Return the selected part; see `Explanation.__getitem__`."""
    if _are_names(key):
        return players(explanation, key)
    if not isinstance(key, tuple):
        return rows(explanation, key)
    several = explanation.output_names is not None
    if len(key) == 2 and key[0] is Ellipsis and (several or not _are_names(key[1])):
        key = (slice(None), slice(None), key[1])
    key = tuple(slice(None) if part is Ellipsis else part for part in key)
    if len(key) == 3 and not several:
        what = explanation.settings.output
        selected = "" if what is None else f", that of {what!r}"
        raise ValueError(
            f"{OWNER} has a single output{selected}; got {key[2]!r} for a third index: "
            "leave it out.",
        )
    if not 1 <= len(key) <= 3:
        raise TypeError(
            f"{OWNER} takes [rows, features, outputs]; got {len(key)} indices.",
        )
    row_key, which, output_key = (*key, slice(None), slice(None))[:3]
    selection = rows(explanation, row_key)
    if not _is_all(output_key):
        selection = outputs(selection, output_key)
    return selection if _is_all(which) else players(selection, which)


def _is_all(key: Any) -> bool:
    return isinstance(key, slice) and key == slice(None)


@dataclass(frozen=True)
class LabelIndexer(Generic[SomeRecord]):
    """The rows of an explanation by their labels, as ``explanation.loc``."""

    explanation: SomeRecord

    def __getitem__(self, key: Any) -> SomeRecord:
        """Return rows by label, a slice of labels (both ends included) or a mask.

        Players and outputs follow after a comma, as in
        ``explanation[rows, players, outputs]``. A tuple that is a label of a MultiIndex
        selects this label.
        """
        explanation = self.explanation
        levels = isinstance(explanation.index, pd.MultiIndex)
        is_label = levels and pd.api.types.is_hashable(key) and key in explanation.index
        has_parts = isinstance(key, tuple) and key and not is_label
        label, *further_keys = key if has_parts else (key,)
        places = pd.Series(np.arange(len(explanation)), index=explanation.index)
        try:
            positions = places.loc[label]
        except KeyError as error:
            raise KeyError(
                f"{OWNER}.loc got {label!r}, which is not a label of its index of"
                f" {len(explanation)} rows{_hint(label, explanation.index)}."
            ) from error
        return chosen(
            explanation,
            (np.atleast_1d(np.asarray(positions)), *further_keys),
        )


def rows(explanation: SomeRecord, key: Any) -> SomeRecord:
    """Return rows: an int (one row, still 2-D), slice, positions or a mask."""
    if not isinstance(key, slice):
        key = _positions(
            key,
            len(explanation),
            "row",
            "labels are chosen with .loc[label]",
        )
    return replace(
        explanation,
        data=explanation.data.iloc[key],
        interactions=None
        if explanation.interactions is None
        else explanation.interactions[key],
        **changed(explanation, BY_ROW, lambda part: part[key]),
    )


def players(explanation: SomeRecord, key: Any) -> SomeRecord:
    """Return some players, by name or position, in the given order.

    The sum of the other values is stored in `others`, so the values still add up.
    """
    places = _places(key, explanation.feature_names, "feature")
    if len(set(places.tolist())) < len(places):
        raise ValueError(f"{OWNER} takes each feature once; got {key!r}.")
    left = np.ones(len(explanation.feature_names), dtype=bool)
    left[places] = False
    left_out = explanation.others
    if left.any():
        remainder = explanation.values[:, left].sum(axis=1)
        left_out = remainder if left_out is None else left_out + remainder
    return replace(
        explanation,
        data=explanation.data.iloc[:, places],
        feature_names=explanation.feature_names[places],
        # main effects would need interactions with unselected players
        interactions=None,
        others=left_out,
        **changed(explanation, BY_PLAYER, lambda part: part[:, places]),
    )


def outputs(explanation: SomeRecord, key: Any) -> SomeRecord:
    """Return one output, by name or position, or several of them as a slice or list."""
    names: Any = explanation.output_names
    places = _places(key, names, "output")
    if not isinstance(key, (str, int, np.integer)):
        return _of_outputs(explanation, places)
    label = names.tolist()[places[0]]
    if isinstance(label, (int, np.integer)) and key in names.tolist() and label != key:
        raise ValueError(
            f"{OWNER} has output {label!r} at position {key}, and {key!r} elsewhere: "
            f"choose by label with .output({label!r}) or .output({key!r})."
        )
    return output(explanation, label)


def output(explanation: SomeRecord, name: Any) -> SomeRecord:
    """Return the explanation of one output; see `Explanation.output`."""
    names = explanation.output_names
    if names is None:
        raise ValueError(
            f"{OWNER} has a single output; .output({name!r}) is not needed."
        )
    positions = np.flatnonzero([label == name for label in names])
    if not len(positions):
        raise ValueError(f"{OWNER} has no output {name!r}{_hint(name, names)}.")
    return replace(
        _of_outputs(explanation, positions[0]),
        settings=replace(explanation.settings, output=name),
    )


def _of_outputs(explanation: SomeRecord, places: Any) -> SomeRecord:
    """Return the outputs at some positions, or the single output at an int."""
    pairs = explanation.interactions
    return replace(
        explanation,
        output_names=np.asarray(explanation.output_names)[places]
        if np.ndim(places)
        else None,
        interactions=None if pairs is None else pairs.of_outputs(places),
        **changed(explanation, BY_OUTPUT, lambda part: part[..., places]),
    )


def _are_names(key: Any) -> bool:
    """Return True for a name or a sequence of names."""
    if isinstance(key, (list, np.ndarray, pd.Index, pd.Series)):
        return (
            np.ndim(key) == 1
            and len(key) > 0
            and all(isinstance(name, str) for name in key)
        )
    return isinstance(key, str)


def _places(key: Any, names: np.ndarray, what: str) -> np.ndarray:
    """Return the positions of names, positions, a slice or a mask, as an array."""
    labels = names.tolist()
    if not _are_names(key):
        return _positions(key, len(labels), what, "names are given as a list")
    selected = [key] if isinstance(key, str) else list(key)
    for name in selected:
        if name not in labels:
            raise KeyError(f"{OWNER} has no {what} {name!r}{_hint(name, names)}.")
    return np.array([labels.index(name) for name in selected], dtype=np.intp)


def _positions(key: Any, n: int, what: str, hint: str) -> np.ndarray:
    """Return an int, slice, positions or a mask as positions of n things."""
    try:
        if isinstance(key, slice):
            return np.arange(n)[key]
        places = np.atleast_1d(np.asarray(key))
        # An empty list is an array of floats, which NumPy refuses as positions.
        return np.arange(n)[places if places.size else places.astype(np.intp)]
    except (IndexError, TypeError) as error:
        raise type(error)(
            f"{OWNER} has {n} {what}s, and takes an int, a slice, positions or a mask "
            f"of them; got {key!r} ({hint})."
        ) from error


def _hint(name: Any, known: Any) -> str:
    """Return a hint for an error: similar names, or all names if they are few."""
    # The search takes 3 ms for 1,000 names, and .6 s for 100,000.
    texts = [str(label) for label in known[:1000]]
    if len(texts) <= MOST_NAMES:
        return f"{suggested(name, texts)}: choose one of {known.tolist()}"
    similar = get_close_matches(str(name), texts)
    return f": did you mean {' or '.join(map(repr, similar))}?" if similar else ""


def innermost(
    groups: Any,
    owner: str,
    path: tuple = (),
) -> list[tuple[tuple, Any, Any]]:
    """Return the names above, the name and the columns of each innermost group.

    Parameters
    ----------
    groups : mapping or None
    owner : str
        Name of the class that has the groups, for errors.
    path : tuple of str
        The names of the groups that contain these.

    Raises
    ------
    ValueError
        If the groups or their parts are no mappings to columns, or empty.
    """
    if groups is None:
        return []
    if not hasattr(groups, "items") or not all(
        isinstance(members, (list, tuple, np.ndarray, pd.Index, Mapping))
        and len(members)
        for members in groups.values()
    ):
        raise ValueError(
            f"{owner} takes groups as None or {{name: [columns, ...]}} with at least "
            f"one column each, or as such dicts in a dict; got {groups!r}."
        )
    parts = [
        innermost(members, owner, (*path, name))
        if isinstance(members, Mapping)
        else [(path, name, members)]
        for name, members in groups.items()
    ]
    return [*chain(*parts)]


def paths_of(explanation: Any, groups: Mapping | None) -> list[tuple[str, ...]]:
    """Return the names of the groups above each player, the outermost first."""
    names = [str(name) for name in explanation.feature_names]
    paths: dict[str, tuple] = {}
    for above, key, columns in innermost(groups, OWNER):
        name = str(key)
        path = tuple(map(str, above))
        members = [str(column) for column in columns]
        # an innermost group of the explainer is a player
        if members == [name] or (name in names and not set(members) <= set(names)):
            paths[name] = path
        else:
            paths |= dict.fromkeys(members, (*path, name))
    unknown = [name for name in paths if name not in names]
    if unknown:
        raise ValueError(
            f"{OWNER} got groups of the features {unknown}: choose among {names}."
        )
    return [paths.get(name, ()) for name in names]


def folded(explanation: Any, groups: Mapping, level: int) -> Any:
    """Return an explanation of groups of players; see `Explanation.folded`."""
    check_values(OWNER, {"level": level}, {"level": Count()})
    members: dict[tuple, list[int]] = {}
    names = {}
    for player, path in enumerate(paths_of(explanation, groups)):
        # positions differ from all names of groups
        unit = (*path, player)[:level]
        names[unit] = (*path, str(explanation.feature_names[player]))[:level]
        members.setdefault(unit, []).append(player)
    ends = [name[-1] for name in names.values()]
    labels = [
        name[-1] if ends.count(name[-1]) == 1 else " / ".join(name)
        for name in names.values()
    ]
    if len(set(labels)) < len(labels):
        raise ValueError(
            f"{OWNER} got groups with the names of features outside them: rename the "
            f"groups among {labels}."
        )
    return summed(explanation, labels, list(members.values()))


def summed(explanation: Any, labels: list, members: list[list[int]]) -> Any:
    """Return an explanation of sums over players.

    Parameters
    ----------
    explanation : Explanation
    labels : list of str
        The names of the sums.
    members : list of list of int
        The players of each sum.
    """
    return replace(
        explanation,
        data=columns_of(explanation.data, labels, members),
        feature_names=np.array([str(label) for label in labels], dtype=object),
        interactions=None,
        **changed(
            explanation,
            BY_PLAYER,
            lambda part: np.stack([part[:, m].sum(axis=1) for m in members], axis=1),
        ),
    )


def columns_of(frame: pd.DataFrame, labels: Any, members: list) -> pd.DataFrame:
    """Return a frame with one column for each group of columns, several as text.

    Parameters
    ----------
    frame : DataFrame
    labels : sequence of str
    members : list of sequence of int
        The positions of each group's columns.
    """
    columns = {}
    for label, places in zip(labels, members, strict=True):
        table = frame.iloc[:, places]
        columns[label] = table.iloc[:, 0] if table.shape[1] == 1 else _texts(table)
    return pd.DataFrame(columns, index=frame.index)


def _texts(frame: pd.DataFrame, most: int = 3) -> list[str]:
    """Return the first columns of each row as one text, such as "lat=1, lon=2"."""
    parts = [
        frame.iloc[:, i].map(lambda value, name=name: f"{name}={value}")
        for i, name in enumerate(frame.columns[:most])
    ]
    ellipsis = ", ..." if frame.shape[1] > most else ""
    return [", ".join(cells) + ellipsis for cells in zip(*parts, strict=True)]
