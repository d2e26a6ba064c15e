"""Features that act together: as interactions say, or as it seems without them."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley.explanation import Explanation
from skshapley.plots._common import errors_of, ordered_numbers

MAX_BINS = 10
LEAST_BIN = 12
MAX_CATEGORIES = 6
# Of the largest attribution
ROUNDING = 1e-9


def strongest_partner(explanation, feature) -> str | None:
    """Return the name of the feature that a feature seems to interact with most, or None.

    Within bins of similar values of the feature, its attribution would be a straight line if no
    other feature mattered. Candidates explain a part of the sum of squares around this line. A
    candidate's score is that part, minus the score that the best of as many noise candidates would
    explain. The largest positive score wins. It is a hint where to look, not an estimate of an
    interaction.

    Noise of variance s^2 explains s^2 chi^2(q), where q counts the parameters. With probability
    1 - exp(-t), chi^2(q) stays below q + 2 sqrt(q t) + 2 t. With t = log(20 p), the chance that any
    of p candidates exceeds it is one in twenty at most.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    feature : int
        Position of the feature.

    Returns
    -------
    partner : str or None
        None if no candidate has a positive score, or nothing is left to explain.

    References
    ----------
    Laurent & Massart (2000), Adaptive estimation of a quadratic functional by model selection,
    Annals of Statistics 28, Lemma 1.
    """
    data = explanation.data
    bins = _bins(data.iloc[:, feature])
    numbers = ordered_numbers(data.iloc[:, feature])
    own = _in_units(np.nan_to_num(numbers, posinf=0.0, neginf=0.0))
    rest = _without_slope(_in_units(explanation.values[:, feature]), own, bins)
    if rest.std() <= ROUNDING:
        return None  # rounding errors may well follow another feature
    explained, q = _explained(rest, data, bins)
    t = np.log(20 * data.shape[1])
    scores = explained - rest.var() * (q + 2 * np.sqrt(q * t) + 2 * t)
    scores[feature] = -np.inf
    best = int(np.argmax(scores))
    return explanation.feature_names[best] if scores[best] > 0 else None


def categories(column) -> list | None:
    """Return the categories of a column without an order, or None for one with an order."""
    if np.isfinite(ordered_numbers(column)).any() or not column.notna().any():
        return None
    return sorted(column.dropna().unique(), key=str)


def _bins(column) -> NDArray[np.int64]:
    """Return the bin of each row: a category, or some of the sorted numbers, ``(r,)``."""
    if categories(column) is not None:
        return pd.factorize(column)[0]
    ranks = pd.Series(ordered_numbers(column)).rank(method="min", na_option="bottom")
    n_bins = int(np.clip(len(column) // LEAST_BIN, 1, MAX_BINS))
    return ((ranks - 1) * n_bins // len(column)).to_numpy(dtype=int)


def _in_units(numbers) -> NDArray[np.float64]:
    """Return numbers in a power of two close to the largest, since squares of 1e200 are none."""
    return numbers / np.ldexp(1.0, np.frexp(np.abs(numbers).max(initial=0.0))[1] - 1)


def _without_slope(y, x, bins) -> NDArray[np.float64]:
    """Return y without its mean and its slope on x in each bin, ``(r,)``."""
    y = y - pd.Series(y).groupby(bins).transform("mean").to_numpy()
    x = x - pd.Series(x).groupby(bins).transform("mean").to_numpy()
    joint = pd.Series(x * y).groupby(bins).transform("sum").to_numpy()
    own = pd.Series(x * x).groupby(bins).transform("sum").to_numpy()
    return y - x * np.divide(joint, own, out=np.zeros(len(y)), where=own > 0)


def _explained(rest, data, bins) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sum of squares that each column explains in bins, and its parameters, (p,)."""
    p, labels = data.shape[1], np.unique(bins)
    explained, n_parameters = np.zeros(p), np.full(p, float(len(labels)))
    ranks = np.zeros(data.shape)
    for column in range(p):
        groups = categories(data.iloc[:, column])
        if groups is None:
            column_ranks = pd.Series(ordered_numbers(data.iloc[:, column])).rank()
            ranks[:, column] = column_ranks.fillna(column_ranks.mean()).fillna(0.0)
        elif len(groups) <= MAX_CATEGORIES:
            codes = pd.factorize(data.iloc[:, column])[0]
            means = pd.Series(rest).groupby([bins, codes]).transform("mean")
            explained[column] = (means**2).sum()
            n_parameters[column] *= max(len(groups) - 1, 1)
    for label in labels:
        here = bins == label
        centred = ranks[here] - ranks[here].mean(axis=0)
        joint, own = centred.T @ rest[here], (centred**2).sum(axis=0)
        explained += np.divide(joint**2, own, out=np.zeros(p), where=own > 0)
    return explained, n_parameters


def check_pairs(owner, explanation) -> None:
    """Refuse an explanation without interactions."""
    if explanation.interactions is None:
        raise ValueError(
            f"{owner} got an explanation without interactions: explain with interactions=True."
        )


def measured_partner(explanation, feature) -> str | None:
    """Return the name of the feature that another one interacts with most, or None.

    By the mean size of the measured interactions; where there are none, by `strongest_partner`.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    feature : int
        Position of the feature.
    """
    if explanation.interactions is None:
        return strongest_partner(explanation, feature)
    size = np.abs(explanation.interactions.values[:, feature]).mean(axis=0)
    return explanation.feature_names[size.argmax()] if size.any() else None


def interacting(explanation, features, partner) -> list[tuple[str, str]]:
    """Return features and their partners, for drawing their interactions.

    Parameters
    ----------
    explanation : Explanation
        Of one output, with interactions.
    features : list of str, or None
        None: the two that interact most. One: followed by its partner.
    partner : str or None
        The name, or "auto" and None for the one that each interacts with most.
    """
    names, size = explanation.feature_names, explanation.interactions.values
    size = np.abs(size).mean(axis=0)
    np.fill_diagonal(size, -1.0)
    if features is None:
        features = [names[np.unravel_index(size.argmax(), size.shape)[0]]]
    chosen = partner not in (None, "auto")
    pairs = []
    for feature in features:
        column = names.tolist().index(feature)
        pairs.append((feature, partner if chosen else names[size[column].argmax()]))
    return pairs if len(pairs) > 1 else [*pairs, pairs[0][::-1]]


def of_interaction(explanation, feature, partner) -> Explanation:
    """Return an explanation with a feature's attributions replaced by its interactions.

    Parameters
    ----------
    explanation : Explanation
        Of one output, with interactions.
    feature, partner : int
    """
    found, values = explanation.interactions, explanation.values.copy()
    errors = errors_of(explanation).copy()
    values[:, feature] = found.values[:, feature, partner]
    errors[:, feature] = np.nan
    if found.standard_errors is not None:
        errors[:, feature] = found.standard_errors[:, feature, partner]
    return replace(explanation, values=values, standard_errors=errors, interactions=None)


def with_pairs(explanation, n) -> Explanation:
    """Return an explanation in which the strongest pairs of a row are players of their own.

    Each of the two players loses half the interaction, so the sum does not change. The rest of it
    has no standard error, since covariances are not on record.

    Parameters
    ----------
    explanation : Explanation
        Of one instance and one output, with interactions.
    n : int
    """
    found, names = explanation.interactions, explanation.feature_names
    first, second = np.triu_indices(len(names), 1)
    pairs = found.values[0, first, second]
    order = np.argsort(-np.abs(pairs), kind="stable")[:n]
    order = order[pairs[order] != 0]
    first, second, pairs = first[order], second[order], pairs[order]
    values, errors = explanation.values.copy(), errors_of(explanation).copy()
    for players in (first, second):
        np.subtract.at(values[0], players, pairs / 2)
        errors[:, players] = np.nan
    spread = np.full(len(order), np.nan)
    if found.standard_errors is not None:
        spread = found.standard_errors[0, first, second]
    joint = [f"{names[i]} × {names[j]}" for i, j in zip(first, second, strict=True)]
    data = pd.DataFrame({name: [None] for name in joint}, index=explanation.index, dtype=object)
    return replace(
        explanation,
        values=np.append(values, pairs[None], axis=1),
        standard_errors=np.append(errors, spread[None], axis=1),
        background_errors=None,
        data=pd.concat([explanation.data, data], axis=1),
        feature_names=np.append(names, np.array(joint, dtype=object)),
        interactions=None,
    )
