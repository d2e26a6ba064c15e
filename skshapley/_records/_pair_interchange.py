"""Conversions of interactions from and to shapiq."""

from typing import Any

import numpy as np
import pandas as pd

from skshapley._tools._params import needed

# shapiq's names of the indices of pairs
NAMES = {
    "shapley": "k-SII",
    "banzhaf": "BII",
    "faithful-shapley": "FSII",
    "faithful-banzhaf": "FBII",
    "shapley-taylor": "STII",
}

READ = {theirs: ours for ours, theirs in NAMES.items()} | {"SII": "shapley"}
# Indices with separate values of each order. The values of all other indices add up to a game: a
# player's Shapley value is its value of order 1 plus half of its pairs.
OF_ANY_ORDER = ("SII", "BII")
ADD_UP = ("SII", "k-SII", "STII", "FSII")  # indices with Shapley values of players


def to_shapiq(record: Any, index: str, players: np.ndarray | None, budgets: Any = None) -> list:
    """Return shapiq's InteractionValues of each row.

    Parameters
    ----------
    record : Explanation or Interactions
        Interactions include values of pairs.
    index : str
        shapiq's name of the index.
    players : ndarray of shape (r, p), or None
        Values of players. None: only pairs.
    budgets : sequence of int or None, default=None
        Evaluations of each row.
    """
    owner = f"{type(record).__name__}.to_shapiq"
    shapiq = needed("shapiq", owner)
    if record.output_names is not None:
        raise ValueError(
            f"{owner} takes one output; choose it by .output(name), one of"
            f" {record.output_names.tolist()}."
        )
    p, order = len(record.feature_names), record.values.ndim - 1
    errors, pairs, found = record.standard_errors, np.array(np.triu_indices(p, 1)).T, []
    for row, base in enumerate(record.base_values.tolist()):
        values: dict[tuple[int, ...], float] = {}
        if players is not None:
            values = {(): base, **{(j,): value for j, value in enumerate(players[row].tolist())}}
        if order == 2:
            values |= {(i, j): float(record.values[row, i, j]) for i, j in pairs.tolist()}
        one = shapiq.InteractionValues(
            values=values,
            index=index,
            min_order=2 if players is None else 0,
            max_order=order,
            n_players=p,
            estimated=errors is None or bool(errors[row].any()),
            estimation_budget=None if budgets is None else budgets[row],
            baseline_value=base,
        )
        found.append(one)
    return found


def parts_of_shapiq(theirs: Any, feature_names: Any) -> dict:
    """Return the parts of Interactions with the numbers of `InteractionValues` of order 2."""
    owner = "Interactions.from_shapiq"
    theirs = list(theirs) if isinstance(theirs, (list, tuple)) else [theirs]
    kinds = {(each.index, each.max_order, each.n_players) for each in theirs}
    index, order, p = next(iter(kinds), (None, 0, 0))
    if len(kinds) != 1 or order < 2 or index not in READ:
        choices = ", ".join(f'"{name}"' for name in READ)
        raise ValueError(
            f"{owner} takes values of order 2 of one of the indices {choices}, of the same players"
            f" for each row; got (index, max_order, n_players) = {sorted(kinds)}."
        )
    if order > 2 and index not in OF_ANY_ORDER:
        raise ValueError(
            f"{owner} takes {index} of order 2; got order {order}, where values of pairs depend on"
            f" larger sets. Compute it with max_order=2."
        )
    pairs = np.stack([each.get_n_order_values(2) for each in theirs])
    pairs = (pairs + pairs.transpose(0, 2, 1)) / 2
    single = np.full((len(theirs), p), np.nan)  # if there are only pairs
    for row, each in enumerate(theirs):
        if each.min_order <= 1:
            single[row] = each.get_n_order_values(1)
    if index not in OF_ANY_ORDER:
        single = single + pairs.sum(axis=2) / 2
    names = [f"x{j}" for j in range(p)] if feature_names is None else feature_names
    return dict(
        values=pairs,
        standard_errors=None,
        attributions=single,
        base_values=np.array([_empty(each) for each in theirs], dtype=float),
        feature_names=np.array(names, dtype=object),
        index=READ[index],
        rows=pd.RangeIndex(len(theirs)),
    )


def _empty(theirs: Any) -> float:
    """Return v(empty); NaN if shapiq stores the index of the empty set in its place."""
    if theirs.index in ("BII", "FBII") and theirs.min_order == 0:
        return np.nan
    return theirs.baseline_value
