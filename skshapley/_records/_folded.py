"""Explanations of groups as sums over their members."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd


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
