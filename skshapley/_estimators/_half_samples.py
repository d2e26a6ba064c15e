"""Half samples of training rows, and refits of a model on them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import delayed

from skshapley._run._evaluate import workers
from skshapley._tables import take_rows
from skshapley._tools import Stream, generator

SEEDS = 2**31


@dataclass(frozen=True, eq=False)
class Training:
    """The training data of a model, with the units that are drawn together.

    Attributes
    ----------
    estimator : estimator or callable
        A callable takes X, y (and sample_weight) and returns a fitted model.
    X : array, sparse matrix or frame of shape (n, d)
    y : array of shape (n,) or (n, k), or None
    sample_weight : ndarray of shape (n,), or None
    units : ndarray of shape (n,), int
        The unit of each row: the row itself, its group or its block.
    strata : ndarray, int
        The stratum of each unit.
    entropy : int
        Source of all random numbers.
    """

    estimator: Any
    X: Any
    y: Any
    sample_weight: np.ndarray | None
    units: np.ndarray
    strata: np.ndarray
    entropy: int

    def rows(self, number: int) -> np.ndarray:
        """Return the rows of a random half of each stratum, in order; single units are kept."""
        rng = generator(self.entropy, Stream.REFITS, number)
        is_drawn = np.zeros(len(self.strata), dtype=bool)
        for stratum in range(self.strata.max(initial=-1) + 1):
            units = rng.permutation(np.flatnonzero(self.strata == stratum))
            # A coin rounds the half of an odd number.
            half = (len(units) + rng.integers(2)) // 2
            is_drawn[units[: max(half, 1)]] = True
        return np.flatnonzero(is_drawn[self.units])

    def seeded(self, number: int) -> Any:
        """Return a clone of the estimator with new seeds; number 0 keeps given seeds."""
        estimator = self.estimator
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
        if not hasattr(estimator, "fit"):
            return estimator
        rng = generator(self.entropy, Stream.REFITS, number, 1)
        estimator = clone(estimator)
        parameters = estimator.get_params()
        seeds = {
            name: int(rng.integers(SEEDS))
            for name in sorted(parameters)
            if name.rpartition("__")[2] == "random_state"
            and (number or parameters[name] is None)
        }
        return estimator.set_params(**seeds)

    def model(self, number: int, rows: np.ndarray | None) -> Any:
        """Return a model fitted to some rows; None are all rows."""
        estimator = self.seeded(number)
        parts = [self.X, self.y, self.sample_weight]
        if rows is not None:
            parts = [None if part is None else take_rows(part, rows) for part in parts]
        X, y, weights = parts
        name = (
            f"{estimator.steps[-1][0]}__sample_weight"
            if isinstance(estimator, Pipeline)
            else "sample_weight"
        )
        options = {} if weights is None else {name: weights}
        return getattr(estimator, "fit", estimator)(X, y, **options)

    def models(
        self,
        numbers: range,
        seeds_only: bool,
        n_jobs: int | None,
    ) -> Iterator[Any]:
        """Yield the fitted refits in order."""
        yield from workers(n_jobs)(
            delayed(self.model)(number, None if seeds_only else self.rows(number))
            for number in numbers
        )


def units_of(
    estimator: Any,
    y: Any,
    n: int,
    groups: np.ndarray | None,
    blocks: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the unit of each row, and the stratum of each unit.

    Parameters
    ----------
    estimator : estimator or callable
    y : array of shape (n,) or None
    n : int
    groups : ndarray of shape (n,), or None
        Groups are drawn whole.
    blocks : int or None
        Number of blocks of successive rows, which are drawn whole.
    """
    if blocks is not None:
        groups = np.arange(n) * blocks // n
    if groups is not None:
        units = np.unique(groups, return_inverse=True)[1]
        return units, np.zeros(units.max() + 1, dtype=np.intp)
    strata = np.zeros(n, dtype=np.intp)
    # a callable does not say whether it classifies; texts and truth values are classes
    labels = y is not None and np.ndim(y) == 1
    classifies = hasattr(estimator, "fit") and is_classifier(estimator)
    if labels and (classifies or np.asarray(y).dtype.kind in "OUSb"):
        strata = np.unique(np.asarray(y), return_inverse=True)[1]
    return np.arange(n), strata
