"""Importances: mean absolute attributions over rows or batches, in cohorts, with their errors."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from skshapley._inference._means import Means, intervals, ranks, rounding
from skshapley._inference._sizes import MEAN_SIZE, Noise, rank_correlation
from skshapley._records._outcome import Record
from skshapley._tables import ordered_numbers
from skshapley._tools import Flag, Number, check_values, widening

# With fewer rows, a feature with a single value in all rows may have rare ones: 300 rows
# show values of 1 % and more with probability .95.
LEAST_SHOWN = 300
DIRECTION = ["direction", "direction_error"]
CONFIDENCE = {
    "confidence": Number(above=0, below=1, hint=".95, for example"),
    "simultaneous": Flag(),
}
# Share of the largest attribution: smaller ones are rounding errors of 0
ROUNDING = 1e-12
# Solvers with values shrunk towards a prior: noise does not increase them
SHRINKING = ("GaussianProcess", "LeaveOneOutProcess")


def unsorted_importance(explanation: Record) -> pd.DataFrame:
    """Return the table of `Explanation.importance`, in the order of the players."""
    values = flat(explanation.values)
    refit_errors = np.full(values.shape[1], np.nan)
    refits = explanation.refit_values
    if refits is not None and len(refits):
        sizes = np.abs(refits).mean(axis=0, keepdims=True)
        refit_errors = flat(spread_errors(sizes))[0]
    frame = mean_sizes(
        values,
        flat_errors(explanation),
        flat_errors(explanation, "background_errors"),
        refit_errors,
        table_index(explanation),
    )
    frame[DIRECTION] = directions(explanation)
    return frame


def mean_sizes(
    values: np.ndarray,
    errors: np.ndarray,
    background: np.ndarray,
    refit: np.ndarray,
    index: pd.Index,
) -> pd.DataFrame:
    """Return mean absolute attributions with their errors, in the order of the index.

    The errors e_i of the n rows are independent, with deviations s_i. The function |.|
    is a contraction, so Var |phi_i + e_i| <= s_i^2 and | E |phi_i + e_i| - |phi_i| | <=
    E |e_i|.

    Parameters
    ----------
    values, errors, background : ndarray of shape (n, k p)
        Attributions, standard errors and background errors, as `flat` and `flat_errors`
        return them.
    refit : ndarray of shape (k p,)
        The errors of the mean sizes due to the training data.
    index : Index of length k p
    """
    # scaled by a power of two to about 1, because squares of large numbers overflow
    unit = units(np.concatenate([values, np.nan_to_num(errors)]), 1)
    # pandas has NaN for the mean of no rows and the deviation of one
    size = pd.DataFrame(np.abs(values) / unit)
    noise = pd.DataFrame(errors / unit)
    of_background = pd.DataFrame(background / unit)
    total = size.sem(skipna=False)
    estimation = np.sqrt((noise**2).mean(skipna=False) / len(size))
    columns = {
        "importance": size.mean(),
        "standard_error": total,
        "rows_error": np.sqrt((total**2 - estimation**2).clip(lower=0.0)),
        "estimation_error": estimation,
        "max_bias": MEAN_SIZE * noise.mean(skipna=False),
        "background_error": of_background.mean(skipna=False),
        "refit_error": refit / unit,
    }
    return pd.DataFrame(columns).mul(unit, axis=0).set_axis(index)


def directions(explanation: Record) -> np.ndarray:
    """Return the rank correlations of data and attributions, and their errors, ``(k p, 2)``."""
    values = flat(explanation.values)
    columns = [
        ordered_numbers(explanation.data.iloc[:, player])
        for player in range(len(explanation.feature_names))
    ]
    pairs = zip(
        columns * (values.shape[1] // max(len(columns), 1)),
        values.T,
        strict=True,
    )
    return np.array([direction(*pair) for pair in pairs]).reshape(-1, 2)


def direction(data: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return the rank correlation of a column and its attributions, and its error.

    Parameters
    ----------
    data, values : ndarray of shape (n,)
        NaN in `data` for missing values.
    """
    is_known = np.isfinite(data)
    negligible = np.abs(values) <= ROUNDING * np.abs(values).max(initial=0.0)
    values = np.where(negligible, 0.0, values)
    return rank_correlation(data[is_known], values[is_known])


def refit_sizes(explanation: Record) -> np.ndarray:
    """Return the sums of sizes over rows by each refit, ``(b, k p)``; no refits give no line."""
    refits = explanation.refit_values
    if refits is None:
        return np.empty((0, flat(explanation.values).shape[1]))
    return flat(np.moveaxis(np.abs(refits).sum(axis=0), 1, 0))


def inferred_importance(
    batches: Callable[[], Iterable[Record]],
    sample: Record,
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
    bias = np.zeros(len(unit))
    of_background = np.zeros(len(unit))
    of_refits = np.zeros(refit_sizes(sample).shape)

    def scores() -> Iterable[np.ndarray]:
        for batch in batches():
            errors = flat_errors(batch)
            bias[:] += noise.most_bias(errors).sum(axis=0) / unit
            of_background[:] += (
                flat_errors(batch, "background_errors").sum(axis=0) / unit
            )
            of_refits[:] += refit_sizes(batch) / unit
            yield noise.sizes(flat(batch.values), errors) / unit

    means = Means.of_batches(scores())
    n = means.n
    if n > 1:
        texts = sample.data.astype(str)
        # columns with one value in all rows
        constant = np.resize((texts == texts.iloc[0]).all().to_numpy(), len(unit))
        # rare data that no row has may have other attributions
        used = np.abs(means.values) > rounding(means)
        unknown = constant & used & (n < LEAST_SHOWN)
        means = replace(means, above=np.where(unknown, np.inf, means.above))
    refit_errors = np.full(len(unit), np.nan)
    if len(of_refits):
        # zero means with the covariance of the refits
        none = np.zeros(len(unit))
        refits = Means(
            none,
            np.atleast_2d(np.cov(of_refits / n, rowvar=False)),
            float(len(of_refits)),
            none,
            none,
            none,
        )
        means = means.minus(refits)
        refit_errors = refits.errors
    size_errors = {
        "max_bias": bias / n,
        "background_error": of_background / n,
        "refit_error": refit_errors,
    }
    table = inferences(means, confidence, simultaneous, sample, unit, size_errors)
    # A mean size is not negative, although its estimate without bias may be.
    table["low"] = table["low"].clip(lower=0.0)
    table[DIRECTION] = directions(sample)
    return table.sort_values("importance", ascending=False, kind="stable")


def noise_of(sample: Record) -> Noise:
    """Return the noise in the attributions, ``(k p,)``."""
    noise = Noise.of(flat(sample.values), flat_errors(sample))
    shrunk = (sample.settings.solver or "").startswith(SHRINKING)
    return replace(noise, exempt=np.ones_like(noise.exempt)) if shrunk else noise


def inferences(
    means: Means,
    confidence: float,
    simultaneous: bool,
    explanation: Record,
    unit: np.ndarray,
    size_errors: dict[str, np.ndarray] | None = None,
) -> pd.DataFrame:
    """Return means, errors, intervals and ranks of players, in the order of the explanation.

    Parameters
    ----------
    means : Means
        In the units of `unit`.
    confidence : float
    simultaneous : bool
    explanation : Explanation
        Its players. Ranks are among those of each output.
    unit : ndarray of shape (k p,)
        The table has the units of the attributions.
    size_errors : dict of ndarray by name, default=None
        More errors of mean sizes, in the units of `unit`. None: the means have signs.
    """
    low, high = intervals(means, confidence, simultaneous, size_errors is not None)
    table = pd.DataFrame(
        {
            "importance": means.values,
            "standard_error": means.errors,
            **(size_errors or {}),
            "low": low,
            "high": high,
        },
        index=table_index(explanation),
    ).mul(unit, axis=0)
    p = len(explanation.feature_names)
    parts = [means.part(slice(start, start + p)) for start in range(0, len(table), p)]
    table[["rank", "best_rank", "worst_rank"]] = np.concatenate(
        [np.stack(ranks(part, confidence, simultaneous), axis=1) for part in parts],
    )
    return table


def flat(array: np.ndarray) -> np.ndarray:
    """Return numbers ``(n, p)`` or ``(n, p, k)`` as ``(n, k p)``, in the order of the index."""
    n, p, *k = array.shape
    return np.swapaxes(array, 1, 2).reshape(n, k[0] * p) if k else array


def flat_errors(explanation: Record, kind: str = "standard_errors") -> np.ndarray:
    """Return errors as `flat` does; NaN without errors."""
    return flat(errors_of(explanation, kind))


def errors_of(record: Any, kind: str = "standard_errors") -> np.ndarray:
    """Return errors in the shape of the values; NaN if the record has none."""
    errors = getattr(record, kind)
    return np.full(record.values.shape, np.nan) if errors is None else errors


def long_frame(
    rows: pd.Index,
    outputs: np.ndarray | None,
    players: dict[str, np.ndarray],
    numbers: dict,
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
    k = 1 if outputs is None else len(outputs)
    p = len(next(iter(players.values())))
    columns = {"row": np.repeat(rows.to_numpy(), k * p)}
    if outputs is not None:
        columns["output"] = np.tile(np.repeat(outputs.astype(object), p), len(rows))
    columns |= {
        name: np.tile(labels, len(rows) * k) for name, labels in players.items()
    }
    return pd.DataFrame(
        columns | {name: part.ravel() for name, part in numbers.items()}
    )


def units(values: np.ndarray, n_players: int) -> np.ndarray:
    """Return a power of two near the largest size of each output, for each of its players.

    Squares of large numbers overflow.
    """
    largest = np.abs(values).max(axis=0, initial=0.0).reshape(-1, n_players).max(axis=1)
    return np.repeat(np.ldexp(1.0, np.frexp(largest)[1]), n_players)


def check_confidence(owner: str, confidence: float, simultaneous: bool) -> None:
    """Raise ValueError for an invalid confidence."""
    check_values(
        owner,
        {"confidence": confidence, "simultaneous": simultaneous},
        CONFIDENCE,
    )


def table_index(explanation: Record) -> pd.Index:
    """Return the index of a table of players, grouped by output."""
    if explanation.output_names is None:
        return pd.Index(explanation.feature_names, name="feature")
    return pd.MultiIndex.from_product(
        [explanation.output_names, explanation.feature_names],
        names=["output", "feature"],
    )


def label_series(labels: Any, owner: str, word: str) -> pd.Series:
    """Return labels of rows as a Series; raise ValueError unless they are one-dimensional."""
    if np.ndim(labels) != 1:
        raise ValueError(
            f"{owner} takes {word}s as a column of the data or a label for each row; "
            f"got {type(labels).__name__} of {np.ndim(labels)} dimensions."
        )
    return pd.Series(labels)


def cohort_masks(
    explanation: Record,
    cohorts: Any,
    owner: str,
    word: str = "cohort",
) -> dict[Any, np.ndarray]:
    """Return the rows of each cohort as a mask by label, in the order of the labels.

    Parameters
    ----------
    explanation : Explanation
    cohorts : str or array-like of shape (r,)
        A column of `explanation.data`, or a label (or True and False) for each row.
    owner : str
        Who asks.
    word : str, default="cohort"
        The word for a cohort, for errors.
    """
    if isinstance(cohorts, str):
        if cohorts not in explanation.data.columns:
            raise ValueError(
                f"{owner} got {word}s={cohorts!r}: choose a column among"
                f" {explanation.data.columns.tolist()}, or pass a label for each row."
            )
        cohorts = explanation.data[cohorts]
    labels = label_series(cohorts, owner, word)
    if not len(labels) or len(labels) != len(explanation):
        raise ValueError(
            f"{owner} needs a {word} for each of {len(explanation)} rows; got "
            f"{len(labels)}."
        )
    # `factorize` gives missing labels the code -1; they form a cohort of their own.
    codes, names = pd.factorize(labels, sort=True)
    masks = {label: codes == code for code, label in enumerate(names)}
    missing = (codes < 0) | masks.get("missing", False)
    return masks | ({"missing": missing} if missing.any() else {})


def spread_errors(refit_values: np.ndarray) -> np.ndarray:
    """Return the standard errors by the spread over refits, the third axis.

    They are widened as for Student's t: 1.96 of them contain 95 %.
    """
    deviations = refit_values.std(axis=2, ddof=1)
    return deviations * widening(np.array(refit_values.shape[2] - 1, dtype=float))


def size_ranks(values: np.ndarray) -> np.ndarray:
    """Return the ranks of sizes along the second axis, 0 for the largest."""
    return np.argsort(np.argsort(-np.abs(values), axis=1, kind="stable"), axis=1)
