"""Importances with intervals, ranks and tests, from explanations in memory or batch by batch."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skshapley._inference._means import Means
from skshapley._inference._simultaneous import intervals, ranks
from skshapley._inference._sizes import Noise
from skshapley._records._importance import player_index
from skshapley._tools._constraints import Flag, Number, check_values

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation

CONFIDENCE = {
    "confidence": Number(above=0, below=1, hint=".95, for example"),
    "simultaneous": Flag(),
}
# Solvers with values shrunk towards a prior: noise does not increase them
SHRINKING = ("GaussianProcess", "LeaveOneOutProcess")


def inferred_importance(
    batches: Callable[[], Iterable["Explanation"]],
    sample: "Explanation",
    confidence: float,
    simultaneous: bool,
) -> pd.DataFrame:
    """Return the table of `Explanation.importance` with a confidence.

    Parameters
    ----------
    batches : callable
        Returns a new iterator of the explanations.
    sample : Explanation
        Some of the rows, to estimate the sizes of attributions and errors.
    confidence : float
    simultaneous : bool
    """
    unit = units(flat(sample.values), len(sample.feature_names))
    noise = noise_of(sample)
    left, apart = np.zeros((2, len(unit)))

    def scores() -> Iterable[np.ndarray]:
        for batch in batches():
            errors = flat_errors(batch)
            left[:] += noise.most_bias(errors).sum(axis=0) / unit
            apart[:] += flat_errors(batch, "background_errors").sum(axis=0) / unit
            yield noise.sizes(flat(batch.values), errors) / unit

    means = Means.of_batches(scores())
    table = inferences(means, confidence, simultaneous, sample)
    # A mean size is not negative, although its estimate without bias may be.
    table["low"] = table["low"].clip(lower=0.0)
    table.insert(2, "max_bias", left / means.n)
    table.insert(3, "background_error", apart / means.n)
    numbers = table.columns.difference(["rank", "best_rank", "worst_rank"])
    table[numbers] = table[numbers].mul(unit, axis=0)
    return table.sort_values("importance", ascending=False, kind="stable")


def noise_of(sample: "Explanation") -> Noise:
    """Return the noise in the attributions, ``(k p,)``."""
    noise = Noise.of(flat(sample.values), flat_errors(sample))
    shrunk = (sample.settings.solver or "").startswith(SHRINKING)
    return replace(noise, kept=np.ones_like(noise.kept)) if shrunk else noise


def inferences(
    means: Means, confidence: float, simultaneous: bool, explanation: "Explanation"
) -> pd.DataFrame:
    """Return means, errors, intervals and ranks of players, in the order of the explanation.

    Ranks are among the players of each output.
    """
    low, high = intervals(means, confidence, simultaneous)
    table = pd.DataFrame(
        {"importance": means.values, "standard_error": means.errors, "low": low, "high": high},
        index=player_index(explanation),
    )
    p = len(explanation.feature_names)
    places = []
    for start in range(0, len(table), p):
        own = slice(start, start + p)
        places.append(np.stack(ranks(means.part(own), confidence, simultaneous), axis=1))
    table[["rank", "best_rank", "worst_rank"]] = np.concatenate(places)
    return table


def flat(array: np.ndarray) -> np.ndarray:
    """Return numbers ``(n, p)`` or ``(n, p, k)`` as ``(n, k p)``, in the order of the index."""
    return array if array.ndim == 2 else np.swapaxes(array, 1, 2).reshape(len(array), -1)


def flat_errors(explanation: "Explanation", kind: str = "standard_errors") -> np.ndarray:
    """Return errors as `flat` does; NaN without errors."""
    errors = getattr(explanation, kind)
    return flat(np.full(explanation.values.shape, np.nan) if errors is None else errors)


def long_frame(
    rows: pd.Index, outputs: np.ndarray | None, players: dict[str, np.ndarray], numbers: dict
) -> pd.DataFrame:
    """Return a frame with one line per row, output and player (or pair of players).

    Parameters
    ----------
    rows : Index of length r
    outputs : ndarray of shape (k,), or None
        None omits their column.
    players : dict of ndarray of shape (p,)
        Names by column.
    numbers : dict of ndarray of shape (r, k p)
        Numbers by column, as `flat` returns them.
    """
    k, p = 1 if outputs is None else len(outputs), len(next(iter(players.values())))
    columns = {"row": np.repeat(rows.to_numpy(), k * p)}
    if outputs is not None:
        columns["output"] = np.tile(np.repeat(outputs.astype(object), p), len(rows))
    columns |= {name: np.tile(labels, len(rows) * k) for name, labels in players.items()}
    return pd.DataFrame(columns | {name: part.ravel() for name, part in numbers.items()})


def units(values: np.ndarray, n_players: int) -> np.ndarray:
    """Return a power of two near the largest size of each output, for each of its players.

    Squares of large numbers overflow.
    """
    largest = np.abs(values).max(axis=0, initial=0.0).reshape(-1, n_players).max(axis=1)
    return np.repeat(np.ldexp(1.0, np.frexp(largest)[1]), n_players)


def check_confidence(owner: str, confidence: float, simultaneous: bool) -> None:
    """Raise ValueError for an invalid confidence."""
    check_values(owner, {"confidence": confidence, "simultaneous": simultaneous}, CONFIDENCE)
