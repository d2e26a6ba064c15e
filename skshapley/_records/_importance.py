"""Importances: mean absolute attributions over many rows, and in cohorts of them."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._inference._sizes import MEAN_SIZE

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation


def importance(explanation: "Explanation") -> pd.DataFrame:
    """Return the table of `Explanation.importance`, without cohorts.

    The errors e_i of the n rows are independent, with deviations s_i. The function |.| is a
    contraction, so Var |phi_i + e_i| <= s_i^2 and | E |phi_i + e_i| - |phi_i| | <= E |e_i|.
    """
    size = np.abs(explanation.values)
    n, shape = len(size), size.shape[1:]
    noise = explanation.standard_errors
    noise = np.full(size.shape, np.nan) if noise is None else noise
    apart = explanation.background_errors
    # scaled by a power of two to about 1, because squares of large numbers overflow
    largest = np.fmax.reduce(np.concatenate([size, noise]), axis=0, initial=0.0)
    unit = np.ldexp(1.0, np.frexp(largest)[1])
    size, noise = size / unit, noise / unit
    unknown = np.full(shape, np.nan)
    total = size.std(axis=0, ddof=1) / np.sqrt(n) if n > 1 else unknown
    estimation = np.sqrt((noise**2).sum(axis=0)) / n if n else unknown
    columns = {
        "importance": size.mean(axis=0) if n else unknown,
        "standard_error": total,
        "sampling_error": np.sqrt(np.maximum(total**2 - estimation**2, 0.0)),
        "estimation_error": estimation,
        "max_bias": MEAN_SIZE * noise.mean(axis=0) if n else unknown,
        "background_error": unknown if apart is None or not n else apart.mean(axis=0) / unit,
    }
    numbers = {name: (part * unit).T.ravel() for name, part in columns.items()}
    frame = pd.DataFrame(numbers, index=player_index(explanation))
    return frame.sort_values("importance", ascending=False, kind="stable")


def player_index(explanation: "Explanation") -> pd.Index:
    """Return the index of a table of players, grouped by output."""
    if explanation.output_names is None:
        return pd.Index(explanation.feature_names, name="feature")
    levels = [explanation.output_names, explanation.feature_names]
    return pd.MultiIndex.from_product(levels, names=["output", "feature"])


def label_series(labels: Any, owner: str, word: str) -> pd.Series:
    """Return labels of rows as a Series; raise ValueError unless they are one-dimensional."""
    if np.ndim(labels) != 1:
        raise ValueError(
            f"{owner} takes {word}s as a column of the data or a label for each row; got"
            f" {type(labels).__name__} of {np.ndim(labels)} dimensions."
        )
    return pd.Series(labels)


def cohort_masks(
    explanation: "Explanation", cohorts: Any, owner: str, word: str = "cohort"
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
            f"{owner} needs a {word} for each of {len(explanation)} rows; got {len(labels)}."
        )
    # `factorize` gives missing labels the code -1; they form a cohort of their own.
    codes, found = pd.factorize(labels, sort=True)
    masks = {label: codes == code for code, label in enumerate(found)}
    return masks | ({"missing": codes < 0} if (codes < 0).any() else {})
