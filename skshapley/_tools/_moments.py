"""Counts, means and summed products of groups of draws, merged part by part."""

import numpy as np
from scipy import sparse


class Moments:
    """Counts, means and products of units, by row and stratum: ``(r, b, p, k)``.

    A unit has one or several variables, each ``(p, k)``. The variance of a unit is
    assumed to be inversely proportional to its size (its number of permutations). This
    determines the weights of units.

    Parameters
    ----------
    groups : tuple of int
        ``(r, b)``.
    shape : tuple of int
        ``(p, k)``.
    variables : int, default=1

    Attributes
    ----------
    units, size : ndarray of shape (r, b)
        Units, and permutations in them.
    mean : ndarray of shape (r, b, variables, p, k)
    products : ndarray of shape (r, b, variables, variables, p, k)
        Sums over units of size times the product of two deviations.
    """

    def __init__(self, groups, shape, variables=1) -> None:
        self.units = np.zeros(groups, dtype=np.intp)
        self.size = np.zeros(groups)
        self.mean = np.zeros((*groups, variables, *shape))
        self.products = np.zeros((*groups, variables, variables, *shape))

    def add(self, rows, strata, units, unit_size) -> None:
        """Merge units ``(r, u, v, p, k)`` of v variables, in strata ``(r, u)``, into `rows`."""
        # most designs have few of the strata
        used, place = np.unique(strata, return_inverse=True)
        r, b = len(rows), len(used)
        group = (np.arange(r)[:, None] * b + place.reshape(strata.shape)).ravel()
        flat = units.reshape(-1, *units.shape[2:])
        count = np.bincount(group, minlength=r * b)
        # A product with zeros and ones is ten times as fast as sorting a thousand
        # units.
        u = len(group)
        members = sparse.csc_array(
            (np.ones(u), group, np.arange(u + 1)), shape=(r * b, u)
        )
        mean = (members @ flat.reshape(u, -1)).reshape(r * b, *flat.shape[1:])
        mean /= np.maximum(count, 1)[:, None, None, None]
        deviation = flat - mean[group]
        products = deviation[:, :, None] * deviation[:, None]
        inside = unit_size * (members @ products.reshape(u, -1))
        rows = rows[:, None], used
        old, new = (
            size.reshape(r, b, 1, 1, 1) for size in (self.size[rows], unit_size * count)
        )
        total = np.maximum(old + new, 1e-300)
        mean = mean.reshape(r, b, *mean.shape[1:])
        shift = np.where(new > 0, mean - self.mean[rows], 0.0)
        self.mean[rows] += shift * new / total
        between = (
            shift[:, :, :, None] * shift[:, :, None] * (old * new / total)[..., None]
        )
        self.products[rows] += inside.reshape(between.shape) + between
        self.units[rows] += count.reshape(r, b)
        self.size[rows] += unit_size * count.reshape(r, b)
