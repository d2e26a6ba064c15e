"""Features that act together, by measured or estimated interactions."""

from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._importance import errors_of
from skshapley._tables import ordered_numbers
from skshapley.explanation import Explanation
from skshapley.plots._common import with_players

MAX_BINS = 10
LEAST_BIN = 12
MAX_CATEGORIES = 6
# relative to the largest attribution
ROUNDING = 1e-9


def strongest_partners(explanation, features) -> list[str | None]:
    """Return, for each feature, the feature with the strongest estimated interaction, or None.

    Within bins of similar values of a feature, its attribution would be a straight line
    if no other feature mattered. Candidates explain a part of the sum of squares around
    this line. A candidate's score is that part, minus the score that the best of as
    many noise candidates would explain. The largest positive score wins. It is a hint,
    not an estimate of an interaction.

    Noise of variance s^2 explains s^2 chi^2(q), where q counts the bins. With
    probability 1 - exp(-t), chi^2(q) stays below q + 2 sqrt(q t) + 2 t. With t = log(20
    m), the chance that any of m candidates exceeds it is one in twenty at most.

    Parameters
    ----------
    explanation : Explanation
        Explanation of one output.
    features : sequence of int
        Positions of the features.

    Returns
    -------
    partners : list of str or None
        None if no candidate has a positive score, or nothing is left to explain.

    References
    ----------
    Laurent & Massart (2000), Adaptive estimation of a quadratic functional by model
    selection, Annals of Statistics 28, Lemma 1.
    """
    if not len(features):
        return []
    candidates, player = _candidates(explanation.data)
    # Twenty for one in twenty, and the number of candidates by the union bound. Of
    # 1,800 features with additive attributions and noise (20 features; 50, 200 or 1,000
    # rows), two got a partner. Of 30 true partners, 24 were found in 50 rows, and all
    # in 200.
    t = np.log(20 * len(player))
    partners: list[str | None] = []
    for feature in features:
        column = explanation.data.iloc[:, feature]
        explained, residual, q = _explained(
            _scaled(explanation.values[:, feature]),
            _scaled(ordered_numbers(column)),
            candidates,
            _bins(column),
        )
        scores = explained - residual * (q + 2 * np.sqrt(q * t) + 2 * t)
        # A feature explains itself best and is no partner.
        scores[player == feature] = -np.inf
        significant = residual > ROUNDING**2 and scores.max(initial=0.0) > 0
        partners.append(
            explanation.feature_names[player[scores.argmax()]] if significant else None
        )
    return partners


def categories(column) -> list | None:
    """Return the categories of a column without an order, or None for one with an order."""
    if np.isfinite(ordered_numbers(column)).any() or not column.notna().any():
        return None
    return sorted(column.dropna().unique(), key=str)


def _candidates(data) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return ranks of numbers and indicators of few categories, ``(r, m)``, and their players."""
    columns = []
    players = []
    for player in range(data.shape[1]):
        column = data.iloc[:, player]
        groups = categories(column)
        if groups is None:
            # Ranks, so that one outlier does not decide a correlation.
            ranks = pd.Series(ordered_numbers(column)).rank()
            scores = [ranks.fillna(ranks.mean()).fillna(0.0)]
        else:
            scores = [
                column == group for group in groups if len(groups) <= MAX_CATEGORIES
            ]
        columns += [np.asarray(score, dtype=np.float64) for score in scores]
        players += [player] * len(scores)
    return np.reshape(columns, (-1, len(data))).T, np.array(players, dtype=np.intp)


def _bins(column) -> NDArray[np.int64]:
    """Return the bin of each row: a category, or some of the sorted numbers, ``(r,)``."""
    if categories(column) is not None:
        return pd.factorize(column)[0]
    ranks = pd.Series(ordered_numbers(column)).rank(method="min", na_option="bottom")
    # Twelve rows per bin are few enough for narrow bins and enough for a line.
    n_bins = int(np.clip(len(column) // LEAST_BIN, 1, MAX_BINS))
    return ((ranks - 1) * n_bins // len(column)).to_numpy(dtype=int)


def _scaled(numbers) -> NDArray[np.float64]:
    """Return numbers from -1 to 1, since squares of 1e200 are infinite; 0 if not finite."""
    numbers = np.nan_to_num(numbers, posinf=0.0, neginf=0.0)
    return numbers / (np.abs(numbers).max(initial=0.0) or 1.0)


def _explained(value, own, candidates, bins) -> tuple[NDArray[np.float64], float, int]:
    """Return the part of the sum of squares that each candidate explains.

    Returns
    -------
    explained : ndarray of shape (m,)
    rest : float
        The mean square around the lines.
    q : int
        The number of bins.
    """
    explained = np.zeros(candidates.shape[1])
    residual = 0.0
    labels = np.unique(bins)
    for label in labels:
        in_bin = bins == label
        y, x, z = (
            part[in_bin] - part[in_bin].mean(axis=0)
            for part in (value, own, candidates)
        )
        # Within a bin, the feature's own slope is removed first.
        y = y - x * (x @ y / (x @ x or 1.0))
        joint = z.T @ y
        squares = (z**2).sum(axis=0)
        explained += np.divide(
            joint**2,
            squares,
            out=np.zeros(len(joint)),
            where=squares > 0,
        )
        residual += y @ y / len(value)
    return explained, residual, len(labels)


def check_pairs(owner, explanation) -> None:
    """Raise ValueError for an explanation without interactions."""
    if explanation.interactions is None:
        raise ValueError(
            f"{owner} got an explanation without interactions: explain with "
            "interactions=True."
        )


def measured_partners(explanation, features) -> list[str | None]:
    """Return, for each feature, the feature with the strongest interaction, or None.

    The mean sizes of the measured interactions decide; without interactions,
    `strongest_partners`.

    Parameters
    ----------
    explanation : Explanation
        Explanation of one output.
    features : sequence of int
        Positions of the features.
    """
    if explanation.interactions is None:
        return strongest_partners(explanation, features)
    sizes = np.abs(explanation.interactions.values[:, features]).mean(axis=0)
    return [
        explanation.feature_names[size.argmax()] if size.any() else None
        for size in sizes
    ]


def interacting(explanation, features, partner) -> list[tuple[str, str]]:
    """Return features and their partners, for drawing their interactions.

    Parameters
    ----------
    explanation : Explanation
        Explanation of one output, with interactions.
    features : list of str, or None
        None: the two features with the strongest interaction. A single feature is
        followed by its partner.
    partner : str or None
        The name; "auto" and None select the strongest partner of each feature.
    """
    names = explanation.feature_names
    size = np.abs(explanation.interactions.values).mean(axis=0)
    # Below every size of an interaction, even if all are 0.
    np.fill_diagonal(size, -1.0)
    strongest = dict(zip(names, names[size.argmax(axis=1)], strict=True))
    features = features or [names[size.max(axis=1).argmax()]]
    auto = partner in (None, "auto")
    pairs = [(feature, strongest[feature] if auto else partner) for feature in features]
    return pairs if len(pairs) > 1 else [*pairs, pairs[0][::-1]]


def with_pairs(explanation, n) -> Explanation:
    """Return an explanation with the strongest pairs of a row as separate players.

    Each of the two players loses half of the interaction, so the sum does not change.
    Their remaining values have no standard errors, because covariances are unknown.

    Parameters
    ----------
    explanation : Explanation
        Of one row and one output, with interactions.
    n : int
    """
    interactions = explanation.interactions
    names = explanation.feature_names
    players = np.array(np.triu_indices(len(names), 1))
    pairs = interactions.values[0][tuple(players)]
    order = np.argsort(-np.abs(pairs), kind="stable")[:n]
    order = order[pairs[order] != 0]
    first, second = players[:, order]
    pairs = pairs[order]
    values = explanation.values.copy()
    errors = errors_of(explanation).copy()
    for members in (first, second):
        # Unbuffered, since a player may be in several pairs.
        np.subtract.at(values[0], members, pairs / 2)
        errors[:, members] = np.nan
    # A feature gives away parts of its interactions, whose errors are unknown.
    split = replace(
        explanation,
        values=values,
        standard_errors=errors,
        background_errors=None,
        refit_values=None,
    )
    return with_players(
        split,
        [f"{names[i]} × {names[j]}" for i, j in zip(first, second, strict=True)],
        pairs[None],
        errors_of(interactions)[:1, first, second],
    )
