"""Readings: what a value says to all nodes of an ensemble, as one number for each feature.

A feature's readings are the places between its thresholds, one after the other, and "missing"; or
its categories. A row of few is read by one search, and each reading sets its own bits in the
patterns of all groups.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Readings(NamedTuple):
    """The readings of all features that trees ask for, from `plan_readings`.

    Attributes
    ----------
    starts : ndarray of shape (n,), int64
        The first reading of each feature: those that have thresholds, and those with categories.
    feature : ndarray of shape (n_numeric,), int64
        The features that have thresholds.
    thresholds : ndarray of shape (n,), complex128
        The feature in the real part and the threshold in the imaginary one: complex numbers are
        ordered by the former first, so that one search finds the place of any feature's value. Two
        more follow those of each feature, so that a place is a reading. NaN comes after the last.
    side : {"left", "right"}
    missing : ndarray of shape (n_numeric,), int64
        The readings of missing values.
    categories : tuple of (int, int, int)
        The features that have categories, the first reading of each and how many categories have
        one: those of other values, and of missing ones, come after them.
    codes : ndarray of shape (n_readings, most), int64
        The codes that a reading stands for, as positions among the codes of all rows.
    """

    starts: np.ndarray
    feature: np.ndarray
    thresholds: np.ndarray
    side: Any
    missing: np.ndarray
    categories: tuple[tuple[int, int, int], ...]
    codes: np.ndarray

    def __call__(self, X) -> NDArray[np.int64]:
        """Return the readings of the features of a float64 matrix, ``(r, n)``."""
        x = X if len(self.feature) == X.shape[1] else X.take(self.feature, axis=1)
        value = np.empty(x.shape, dtype=np.complex128)
        value.real, value.imag = self.feature, x
        found = self.thresholds.searchsorted(value, self.side)
        n = len(self.thresholds)
        if found.max(initial=0) == n:
            found = np.where(found == n, self.missing, found)
        if not self.categories:
            return found
        others = [_categories(X[:, feature], first, n) for feature, first, n in self.categories]
        return np.column_stack([found, *others])


def _categories(x, first, n) -> NDArray[np.int64]:
    """Return the readings of a feature with categories, ``(r,)``."""
    missing = np.isnan(x)
    category = np.where((x >= 0) & (x < n), x, n).astype(np.int64)
    category[missing] = n + 1
    return first + category


def plan_readings(codes) -> Readings | None:
    """Return the readings of an ensemble; None where zero is missing to some nodes.

    Parameters
    ----------
    codes : Codes
    """
    if any(row.zero_missing for row in codes.numeric_rows):
        return None
    starts = np.cumsum(codes.sizes) - codes.sizes
    feature, pieces, missing, told, n = [], [np.empty(0, dtype=np.complex128)], [], [], 0
    rows_of: dict[int, list] = {}
    for number, row in enumerate(codes.numeric_rows):
        rows_of.setdefault(row.feature, []).append((number, row))
    for name, rows in rows_of.items():
        thresholds = codes.thresholds[name]
        last = np.array([name + 0.5, name + 0.5], dtype=np.complex128)
        own = np.empty(len(thresholds), dtype=np.complex128)
        own.real, own.imag = name, thresholds
        pieces += [own, last]
        feature.append(name)
        places = np.arange(len(thresholds) + 1)
        told.append([
            np.append(places, 0 if row.missing_left else len(thresholds)) + starts[number]
            for number, row in rows
        ])  # fmt: skip
        n += len(thresholds) + 2
        missing.append(n - 1)
    categories = []
    for name, first, table in codes.category_tables:
        categories.append((name, n, table.shape[1] - 2))
        told.append(list(table + starts[first : first + len(table), None]))
        n += table.shape[1]
    most = max(map(len, told), default=1)
    # Those of fewer rows say their first code again, which sets the same bits.
    filled = [np.stack(some + some[:1] * (most - len(some)), axis=1) for some in told]
    return Readings(
        starts=np.cumsum([0, *(len(some) for some in filled)])[:-1],
        feature=np.array(feature, dtype=np.int64),
        thresholds=np.concatenate(pieces),
        side="right" if codes.strict else "left",
        missing=np.array(missing, dtype=np.int64),
        categories=tuple(categories),
        codes=np.concatenate([np.empty((0, most), dtype=np.int64), *filled]).astype(np.int64),
    )
