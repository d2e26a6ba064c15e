"""Correlations of many columns that a few common factors explain, where the rows say so.

A correlation of d columns has d (d - 1)/2 numbers, one of few factors a few d. Where these predict
rows that were left out better, the table's own correlation is mixed with it (Fan, Fan & Lv 2008).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley.rewards._gaussian import LEAST_SHRINKAGE, learned_correlation, location, shrunk

MOST_COLUMNS = 128
LEAST_ROWS = 32  # in a fold
FOLDS = 4
MOST_FACTORS = 3
MIXTURES = (0.5, 0.8, 0.95, 1.0)  # weights of the factors
ROUNDS = 20  # of finding what columns have in common
MOST_COMMON = 0.999  # of a column's variance
CLEARLY = 3.0  # standard errors, by which a row left out must be likelier


class Mixed(NamedTuple):
    """A correlation, the number of factors in it, and their weight."""

    correlation: np.ndarray
    n_factors: int
    weight: float


def mixed_correlation(standard, weights) -> Mixed | None:
    """Return the correlation that predicts rows left out best, or None for the shrunk one.

    Rows are judged by their normal likelihood, in four folds, against the correlation that is
    shrunk as Ledoit & Wolf propose.

    Parameters
    ----------
    standard : ndarray of shape (n, d)
        A table in standard units.
    weights : ndarray of shape (n,)
        With sum 1.
    """
    n, d = standard.shape
    centre, spread = location(standard, weights)
    if n < FOLDS * LEAST_ROWS or not 3 <= d <= MOST_COLUMNS or not spread.all():
        return None
    rows = (standard - centre) / spread
    fold, choices = np.arange(n) % FOLDS, _choices(d)
    gains = np.zeros((len(choices), n))
    for left in range(FOLDS):
        known, held = fold != left, fold == left
        mass = weights[known] / weights[known].sum()
        plain, _ = learned_correlation(rows[known], mass)
        base = _log_likelihood(plain, rows[held])
        own = _correlation(rows[known], mass)
        for i, mixed in enumerate(_mixtures(own, choices)):
            gains[i, held] = _log_likelihood(mixed, rows[held]) - base
    means = gains @ weights
    best = int(means.argmax())
    error = np.sqrt((weights**2) @ (gains[best] - means[best]) ** 2)
    if not means[best] > CLEARLY * error:
        return None
    own = _correlation(rows, weights)
    mixed = _mixtures(own, choices[best : best + 1])[0]
    return Mixed(shrunk(mixed, LEAST_SHRINKAGE), *choices[best])


def _choices(d) -> list[tuple[int, float]]:
    """Return numbers of factors and their weights; factors that are fewer than half the columns."""
    most = min(MOST_FACTORS, (d - 1) // 2)
    return [(factors, weight) for factors in range(1, most + 1) for weight in MIXTURES]


def _correlation(rows, mass) -> NDArray[np.float64]:
    """Return the weighted correlation of rows."""
    apart = rows - mass @ rows
    covariance = (apart * mass[:, None]).T @ apart
    spread = np.sqrt(np.diagonal(covariance))
    spread = np.where(spread > 0, spread, 1.0)
    return shrunk(covariance / np.outer(spread, spread), LEAST_SHRINKAGE)


def _mixtures(own, choices) -> list[NDArray[np.float64]]:
    """Return the table's own correlation mixed with those of factors."""
    factors = {count: _of_factors(own, count) for count in {count for count, _ in choices}}
    return [(1 - weight) * own + weight * factors[count] for count, weight in choices]


def _of_factors(own, count) -> NDArray[np.float64]:
    """Return the correlation of so many common factors, by iterated principal axes."""
    common = 1 - 1 / np.diagonal(np.linalg.inv(own))
    for _ in range(ROUNDS):
        reduced = own.copy()
        np.fill_diagonal(reduced, common)
        sizes, axes = np.linalg.eigh(reduced)
        loadings = axes[:, -count:] * np.sqrt(np.maximum(sizes[-count:], 0.0))
        common = np.minimum((loadings**2).sum(axis=1), MOST_COMMON)
    loadings *= np.sqrt(common / np.maximum((loadings**2).sum(axis=1), common))[:, None]
    found = loadings @ loadings.T
    np.fill_diagonal(found, 1.0)
    return found


def _log_likelihood(correlation, rows) -> NDArray[np.float64]:
    """Return the normal log-likelihood of each row, but for a constant."""
    factor = np.linalg.cholesky(correlation)
    inner = np.linalg.solve(factor, rows.T)
    return -np.log(np.diagonal(factor)).sum() - (inner**2).sum(axis=0) / 2
