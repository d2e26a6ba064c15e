"""Means and squares of units, merged batch by batch (Chan, Golub & LeVeque 1983)."""

import numpy as np
from scipy.sparse import csr_array


class Moments:
    """Counts, means and summed squares of units, by instance and stratum: ``(r, b, p, k)``.

    The variance of a unit is taken to fall with its size (the permutations in it), which weighs
    units of unequal size.
    """

    def __init__(self, groups: tuple[int, int], shape: tuple[int, int], with_total: bool) -> None:
        self.units = np.zeros(groups, dtype=np.intp)
        self.size = np.zeros(groups)
        self.mean = np.zeros(groups + shape)
        self.squares = np.zeros(groups + shape)
        self.with_total = with_total
        self.products = np.zeros(groups + shape if with_total else 0)

    def add(self, rows: np.ndarray, strata: np.ndarray, units: np.ndarray, unit_size: int) -> None:
        """Merge units ``(r, u, p, k)`` of the strata ``(r, u)`` into the instances `rows`."""
        r, b = len(rows), self.units.shape[1]
        group = (np.arange(r)[:, None] * b + strata).ravel()
        flat = units.reshape(-1, *units.shape[2:])
        count = np.bincount(group, minlength=r * b)
        counts = np.maximum(count, 1)[:, None, None]
        mean = _sum_by(group, flat, r * b) / counts
        deviation = flat - mean[group]
        squares = unit_size * _sum_by(group, deviation**2, r * b)
        shape = (r, b, *units.shape[2:])
        old, new = self.size[rows][..., None, None], (unit_size * count).reshape(r, b, 1, 1)
        total = np.maximum(old + new, 1e-300)
        shift = np.where(new > 0, mean.reshape(shape) - self.mean[rows], 0.0)
        self.mean[rows] += shift * new / total
        self.squares[rows] += squares.reshape(shape) + shift**2 * old * new / total
        if self.with_total:
            sums = deviation.sum(axis=1, keepdims=True)
            products = unit_size * _sum_by(group, deviation * sums, r * b)
            self.products[rows] += products.reshape(shape) + (
                shift * shift.sum(axis=2, keepdims=True) * old * new / total
            )
        self.units[rows] += count.reshape(r, b)
        self.size[rows] += unit_size * count.reshape(r, b)

    def regress_on_total(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the slopes ``(r, p, k)`` on the units' sums and the squares that remain.

        The slopes have sum 1, and are 0 for a player whose contribution never varies.
        """
        total = self.products.sum(axis=2, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(total > 0, self.products / total, 0.0)
        rest = np.maximum(self.squares - slope * self.products, 0.0)
        return slope[:, 0], rest


def _sum_by(group: np.ndarray, flat: np.ndarray, n: int) -> np.ndarray:
    """Return the sums of ``(u, p, k)`` by group, ``(n, p, k)``, each in the order of the units."""
    members = csr_array(
        (np.ones(len(group)), (group, np.arange(len(group)))), shape=(n, len(group))
    )
    return (members @ flat.reshape(len(group), -1)).reshape(n, *flat.shape[1:])
