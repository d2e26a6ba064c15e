"""Interactions of shapiq, from ours and into ours."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._tools._params import needed

if TYPE_CHECKING:
    from skshapley._records._interactions import Interactions

# shapiq's names of the indices of pairs
NAMES = {
    "shapley": "k-SII",
    "banzhaf": "BII",
    "faithful-shapley": "FSII",
    "faithful-banzhaf": "FBII",
    "shapley-taylor": "STII",
}

READ = {theirs: ours for ours, theirs in NAMES.items()} | {"SII": "shapley"}
# Whose values of each order are an index of their own, whatever the highest order. Those of all
# others add up to a game: a player's value is what pairs leave of it, and each has half a pair.
OF_ANY_ORDER = ("SII", "BII")
ADD_UP = ("SII", "k-SII", "STII", "FSII")  # whose values of players are Shapley's


def to_shapiq(interactions: "Interactions") -> list:
    """Return shapiq's InteractionValues; see `Interactions.to_shapiq`."""
    shapiq = needed("shapiq", "Interactions.to_shapiq")
    if interactions.output_names is not None:
        raise ValueError(
            f"Interactions.to_shapiq takes one output; choose it by .output(name), one of"
            f" {interactions.output_names.tolist()}."
        )
    whole = interactions.index == "shapley"
    p = len(interactions.feature_names)
    errors, found = interactions.standard_errors, []
    first, second = np.triu_indices(p, 1)
    for row, base in enumerate(interactions.base_values.tolist()):
        pairs = interactions.values[row, first, second].tolist()
        values: dict[tuple[int, ...], float] = dict(
            zip(zip(first.tolist(), second.tolist(), strict=True), pairs, strict=True)
        )
        if whole:
            main = interactions.main_effects[row].tolist()
            values[()] = base
            values.update({(j,): value for j, value in enumerate(main)})
        found.append(
            shapiq.InteractionValues(
                values=values,
                index=NAMES[interactions.index],
                min_order=0 if whole else 2,
                max_order=2,
                n_players=p,
                estimated=errors is None or bool(errors[row].any()),
                baseline_value=base,
            )
        )
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
            f"{owner} takes {index} of order 2, whose pairs are those of an index; got order"
            f" {order}, where pairs are what triples leave."
        )
    pairs = np.stack([each.get_n_order_values(2) for each in theirs])
    pairs = (pairs + pairs.transpose(0, 2, 1)) / 2
    single = np.stack([_of_order_one(each) for each in theirs])
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


def _of_order_one(theirs: Any) -> np.ndarray:
    """Return the values of players, NaN where there are pairs alone, ``(p,)``."""
    if theirs.min_order > 1:
        return np.full(theirs.n_players, np.nan)
    return theirs.get_n_order_values(1)


def _empty(theirs: Any) -> float:
    """Return v(empty); NaN if shapiq stores the index of the empty set in its place."""
    if theirs.index in ("BII", "FBII") and theirs.min_order == 0:
        return np.nan
    return theirs.baseline_value
