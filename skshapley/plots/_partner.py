"""Which other feature a feature seems to interact with most."""

import numpy as np
import pandas as pd

from ._common import ordered_numbers

MAX_BINS = 10
LEAST_BIN = 12
MAX_CATEGORIES = 6


def strongest_partner(explanation, feature):
    """Return the name of the feature that a feature seems to interact with most, or None.

    Within bins of like values of the feature, its attribution would be a straight line if no other
    feature mattered to it. For each candidate, the part of the remaining sum of squares that it
    explains within the bins is added up, less what a candidate of pure noise would explain; the
    largest positive sum wins. A hint where to look, no estimate of an interaction.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    feature : int
        Column of the feature.
    """
    bins = _bins(explanation.data.iloc[:, feature])
    values = pd.Series(explanation.values[:, feature])
    own = ordered_numbers(explanation.data.iloc[:, feature])
    rest = pd.Series(_without_slope(values.to_numpy(), np.nan_to_num(own), bins))
    best, name = 0.0, None
    for column in range(explanation.data.shape[1]):
        if column == feature:
            continue
        explained = _explained(rest, explanation.data.iloc[:, column], bins)
        # A share of 5 % keeps the winner among pure noise from being shown.
        if explained > max(best, 0.05 * (rest**2).sum()):
            best, name = explained, explanation.feature_names[column]
    return name


def categories(column):
    """Return the categories of a column without an order, or None for one with an order."""
    if np.isfinite(ordered_numbers(column)).any() or not column.notna().any():
        return None
    return sorted(column.dropna().unique(), key=str)


def _bins(column):
    """Return the bin of each instance: a category, or some of the sorted numbers, ``(r,)``."""
    if categories(column) is not None:
        return pd.factorize(column)[0]
    ranks = pd.Series(ordered_numbers(column)).rank(method="min", na_option="bottom")
    n_bins = int(np.clip(len(column) // LEAST_BIN, 1, MAX_BINS))
    return ((ranks - 1) * n_bins // len(column)).to_numpy(dtype=int)


def _without_slope(y, x, bins):
    """Return y without its mean and its slope on x in each bin, ``(r,)``."""
    y = y - pd.Series(y).groupby(bins).transform("mean").to_numpy()
    x = x - pd.Series(x).groupby(bins).transform("mean").to_numpy()
    joint = pd.Series(x * y).groupby(bins).transform("sum").to_numpy()
    own = pd.Series(x * x).groupby(bins).transform("sum").to_numpy()
    return y - x * np.divide(joint, own, out=np.zeros(len(y)), where=own > 0)


def _explained(rest, column, bins):
    """Return the sum of squares that a column explains within bins, less that of pure noise."""
    noise = rest.var(ddof=0)
    n_bins = len(np.unique(bins))
    groups = categories(column)
    if groups is not None:
        if len(groups) > MAX_CATEGORIES:
            return 0.0
        means = rest.groupby([bins, pd.factorize(column)[0]]).transform("mean")
        return float((means**2).sum() - noise * n_bins * (len(groups) - 1))
    ranks = pd.Series(ordered_numbers(column)).rank()
    ranks = ranks.fillna(ranks.mean()).fillna(0.0).to_numpy()
    left = _without_slope(rest.to_numpy(), ranks, bins)
    return float((rest**2).sum() - (left**2).sum() - noise * n_bins)
