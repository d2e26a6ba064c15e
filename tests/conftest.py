"""Shapley values by their definition, for tests of the whole package."""

from importlib.metadata import entry_points
from itertools import combinations
from math import factorial

import numpy as np
import pandas as pd
import pytest


def run_command(words):
    """Run the installed command ``skshapley``, and return its exit status."""
    (script,) = entry_points(group="console_scripts", name="skshapley")
    return script.load()(words)


@pytest.fixture(scope="session")
def enumerated():
    """The function `enumerate_coalitions`, which knows nothing of the package."""
    return enumerate_coalitions


def enumerate_coalitions(predict, X, background, players=None):
    """Shapley values by Shapley's formula over all coalitions, ``(r, p)`` or ``(r, p, k)``.

    v(S) is the mean of `predict` over the background's rows with the columns of S
    replaced by the instance's. `players` are lists of columns; each column by itself if
    not given.
    """
    columns = list(background.columns) if isinstance(background, pd.DataFrame) else None
    if players is None:
        players = [
            [c] for c in (range(background.shape[1]) if columns is None else columns)
        ]
    everyone = range(len(players))
    coalitions = [
        frozenset(c) for s in range(len(players) + 1) for c in combinations(everyone, s)
    ]
    values = []
    for i in range(len(X)):
        instance = X.iloc[i : i + 1] if columns is not None else X[i : i + 1]
        rows = [
            _hybrid(instance, background, [players[j] for j in c]) for c in coalitions
        ]
        stacked = pd.concat(rows) if columns is not None else np.concatenate(rows)
        outputs = np.asarray(predict(stacked), dtype=float)
        means = outputs.reshape(
            len(coalitions), len(background), *outputs.shape[1:]
        ).mean(axis=1)
        worth = dict(zip(coalitions, means, strict=True))
        values.append([_shapley(j, worth, len(players)) for j in everyone])
    return np.array(values)


def _hybrid(instance, background, players):
    rows = background.copy()
    for column in (column for members in players for column in members):
        if isinstance(rows, pd.DataFrame):
            rows[column] = instance[column].array.take([0] * len(rows))
        else:
            rows[:, column] = instance[0, column]
    return rows


def _shapley(player, worth, p):
    total = 0.0
    for coalition in worth:
        if player not in coalition:
            s = len(coalition)
            weight = factorial(s) * factorial(p - s - 1) / factorial(p)
            total = total + weight * (worth[coalition | {player}] - worth[coalition])
    return total
