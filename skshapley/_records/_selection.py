"""Parts of an explanation: rows, players and outputs by position, name or label."""

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any, Generic

import numpy as np
import pandas as pd

from skshapley._records._outcome import (
    BY_OUTPUT,
    BY_PLAYER,
    BY_ROW,
    Record,
    SomeRecord,
    changed,
)
from skshapley._tools._texts import suggested

OWNER = "Explanation"
MOST_NAMES = 12


def chosen(explanation: SomeRecord, key: Any) -> SomeRecord:
    """Return the selected part; see `Explanation.__getitem__`."""
    if _are_names(key):
        return players(explanation, key)
    if not isinstance(key, tuple):
        return rows(explanation, key)
    row_key, which, output = _axes(explanation, key)
    selection = rows(explanation, row_key)
    if output is not None:
        selection = outputs(selection, output)
    return (
        selection
        if isinstance(which, slice) and which == slice(None)
        else players(selection, which)
    )


class Labels(Generic[SomeRecord]):
    """The rows of an explanation by their labels, as ``explanation.loc``."""

    def __init__(self, explanation: SomeRecord) -> None:
        self._explanation = explanation

    def __getitem__(self, key: Any) -> SomeRecord:
        """Return rows by label, a slice of labels (both ends included) or a mask.

        Players and outputs follow after a comma, as in
        ``explanation[rows, players, outputs]``. A tuple that is a label of a MultiIndex
        selects this label.
        """
        explanation = self._explanation
        label, further_keys = key, ()
        levels = isinstance(explanation.index, pd.MultiIndex)
        is_label = levels and pd.api.types.is_hashable(key) and key in explanation.index
        if isinstance(key, tuple) and key and not is_label:
            label, further_keys = key[0], key[1:]
        places = pd.Series(np.arange(len(explanation)), index=explanation.index)
        try:
            positions = places.loc[label]
        except KeyError as error:
            raise KeyError(
                f"{OWNER}.loc got {label!r}, which is not a label of its index of"
                f" {len(explanation)} rows{_hint(label, explanation.index)}."
            ) from error
        return chosen(
            explanation, (np.atleast_1d(np.asarray(positions)), *further_keys)
        )


def rows(explanation: SomeRecord, key: Any) -> SomeRecord:
    """Return rows: an int (one row, still 2-D), slice, positions or a mask."""
    if not isinstance(key, slice):
        key = _positions(
            key, len(explanation), "row", "labels are chosen with .loc[label]"
        )
    pairs = None if explanation.interactions is None else explanation.interactions[key]
    return replace(
        explanation,
        data=explanation.data.iloc[key],
        interactions=pairs,
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
    settings = replace(explanation.settings, output=name)
    return replace(_of_outputs(explanation, positions[0]), settings=settings)


def _of_outputs(explanation: SomeRecord, places: Any) -> SomeRecord:
    """Return the outputs at some positions, or the single output at an int."""
    names = np.asarray(explanation.output_names)[places]
    pairs = explanation.interactions
    return replace(
        explanation,
        output_names=names if np.ndim(places) else None,
        interactions=None if pairs is None else pairs.of_outputs(places),
        **changed(explanation, BY_OUTPUT, lambda part: part[..., places]),
    )


def _axes(explanation: Record, key: tuple) -> tuple[Any, Any, Any]:
    """Divide a key of several parts, or with an Ellipsis, into rows, players and outputs."""
    several = explanation.output_names is not None
    if len(key) == 2 and key[0] is Ellipsis and (several or not _are_names(key[1])):
        key = (slice(None), slice(None), key[1])
    key = tuple(slice(None) if part is Ellipsis else part for part in key)
    if len(key) == 3 and not several:
        what = explanation.settings.output
        selected = "" if what is None else f", that of {what!r}"
        raise ValueError(
            f"{OWNER} has a single output{selected}; got {key[2]!r} for a third index: "
            "leave it out."
        )
    if not 1 <= len(key) <= 3:
        raise TypeError(
            f"{OWNER} takes [rows, features, outputs]; got {len(key)} indices."
        )
    row_key, which, last = (*key, slice(None), None)[:3] if len(key) < 3 else key
    return (
        row_key,
        which,
        None if isinstance(last, slice) and last == slice(None) else last,
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


def labels_of(groups: Mapping, level: int, names: list, path: tuple = ()) -> dict:
    """Return the label of each grouped player: its group at a level, or itself."""
    labels: dict[Any, Any] = {}
    for name, members in groups.items():
        own_path = (*path, name)
        if isinstance(members, Mapping):
            labels |= labels_of(members, level, names, own_path)
        elif name in names:
            labels[name] = own_path[min(level, len(own_path)) - 1]
        else:
            label = own_path[min(level, len(own_path)) - 1]
            labels |= dict.fromkeys(members, label)
    return labels


def folded(explanation: Any, groups: Mapping, level: int) -> Any:
    """Return an explanation of groups of players; see `Explanation.folded`."""
    names = explanation.feature_names.tolist()
    by_name = labels_of(groups, level, names)
    unknown = [name for name in by_name if name not in names]
    if unknown or level < 1:
        raise ValueError(
            f"folded got the players {unknown} at level {level}: choose among {names}, "
            "and a level of at least 1."
        )
    labels = pd.Series([by_name.get(name, name) for name in names])
    number, group_labels = pd.factorize(labels)
    sums = {}
    for part in ("values", "standard_errors", "background_errors"):
        array = getattr(explanation, part)
        if array is not None:
            members = [array[:, number == group] for group in range(len(group_labels))]
            sums[part] = np.stack([member.sum(axis=1) for member in members], axis=1)
    columns = {}
    for group, label in enumerate(group_labels):
        table = explanation.data.iloc[:, np.flatnonzero(number == group)]
        alone = table.shape[1] == 1
        columns[label] = table.iloc[:, 0] if alone else texts_of(table)
    data = pd.DataFrame(columns, index=explanation.data.index)
    feature_names = np.array([str(label) for label in group_labels], dtype=object)
    return replace(
        explanation, **sums, data=data, feature_names=feature_names, interactions=None
    )


def texts_of(frame: pd.DataFrame, most: int = 3) -> list[str]:
    """Return the first columns of each row as one text, such as "lat=1, lon=2"."""
    parts = [
        frame.iloc[:, i].map(lambda value, name=name: f"{name}={value}")
        for i, name in enumerate(frame.columns[:most])
    ]
    ellipsis = ", ..." if frame.shape[1] > most else ""
    return [", ".join(cells) + ellipsis for cells in zip(*parts, strict=True)]
