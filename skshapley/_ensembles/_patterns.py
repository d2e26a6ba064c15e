"""Patterns: the bits of an instance in every group, by comparisons that are planned once."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

# Instances that are compared at once, so that the intermediate masks stay in the cache
ROWS = 512


class Level(NamedTuple):
    """The nodes of one depth that are above the groups or are roots of groups.

    Attributes
    ----------
    upper, ends : ndarray of int
        Positions, among the nodes of this depth, of those above the groups and of the roots.
    groups : ndarray of int
        The groups of the roots.
    row, rank, bit : ndarray
        How the upper nodes read codes, see `Codes`, and the bits of their players.
    """

    upper: np.ndarray
    ends: np.ndarray
    groups: np.ndarray
    row: np.ndarray
    rank: np.ndarray
    bit: np.ndarray


class Step(NamedTuple):
    """One inner node of each of some groups, whose answers are bits of the pattern.

    Attributes
    ----------
    groups : ndarray of int
    row, rank, shift : ndarray
        How the nodes read codes, see `Codes`, and the positions of their bits.
    """

    groups: np.ndarray
    row: np.ndarray
    rank: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True, eq=False)
class PatternReader:
    """Turns the codes of instances into their patterns.

    Attributes
    ----------
    n_trees, n_groups : int
    dtype : dtype
        The unsigned integers that hold a pattern of the largest group.
    above : tuple of Level
        What is compared above the groups, depth by depth.
    inside : tuple of Step
        What is compared in the groups.
    """

    n_trees: int
    n_groups: int
    dtype: np.dtype
    above: tuple[Level, ...]
    inside: tuple[Step, ...]

    def __call__(self, codes) -> np.ndarray:
        """Return the pattern of every instance in every group.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned

        Returns
        -------
        patterns : ndarray of shape (n_groups, r), unsigned
        """
        patterns = np.empty((self.n_groups, codes.shape[1]), dtype=self.dtype)
        for first in range(0, codes.shape[1], ROWS):
            part = slice(first, first + ROWS)
            self._fill(codes[:, part], patterns[:, part])
        return patterns

    def _fill(self, codes, patterns) -> None:
        """Write the patterns of some instances."""
        r = codes.shape[1]
        failed = np.zeros((self.n_trees, r), dtype=self.dtype)
        for upper, ends, groups, row, rank, bit in self.above:
            patterns[groups] = failed[ends]
            if not len(upper):
                break
            went_left = (np.take(codes, row, axis=0) <= rank) * bit
            so_far = failed[upper] if len(ends) else failed
            failed = np.empty((2 * len(upper), r), dtype=self.dtype)
            np.bitwise_or(so_far, went_left ^ bit, out=failed[: len(upper)])
            np.bitwise_or(so_far, went_left, out=failed[len(upper) :])
        for groups, row, rank, shift in self.inside:
            answer = (np.take(codes, row, axis=0) <= rank).astype(self.dtype) << shift
            if len(groups) == self.n_groups:
                patterns |= answer
            else:
                patterns[groups] |= answer
