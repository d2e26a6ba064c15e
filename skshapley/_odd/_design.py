"""The design of the sampler "odd"."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._odd._blocks import Blocks
from skshapley._odd._pairs import Pairs
from skshapley.designs import Design

ROUNDING = 1e-14  # of the largest value: a difference no larger is that of sums over the background


@dataclass(frozen=True, eq=False)
class OddDesign(Design):
    """Coalitions, each followed by its complement, placed so as to learn the odd part of a game.

    The full coalition with the empty one is among them once, or once for each block of background
    rows.

    Attributes
    ----------
    block : ndarray of shape (r, m/2), int, or None
        The block of background rows that each pair is evaluated against; None for all of them.
    blocks : tuple of Blocks or None
        For each instance, what its blocks tell about the whole background.
    drawn : ndarray of shape (r, m/2) or None
        For pairs drawn at random beyond those placed on purpose: how many pairs of that size were
        expected; NaN for pairs placed on purpose, None if all are.
    start : ndarray of shape (r, h) or None
        Logarithms of the hyper-parameters in whose light the pairs were chosen, for the fit to
        begin with; NaN for an instance that has none.
    """

    block: NDArray[np.intp] | None = None
    blocks: tuple[Blocks, ...] | None = None
    drawn: NDArray[np.float64] | None = None
    start: NDArray[np.float64] | None = None

    def pairs(self, instance: int, values: NDArray[np.float64]) -> Pairs:
        """Return the pairs of one instance from the values ``(m, k)`` of its coalitions."""
        signs = np.where(self.coalitions[instance, ::2], 1.0, -1.0)
        odd = (values[::2] - values[1::2]) / 2
        odd[np.abs(odd) <= ROUNDING * np.abs(values).max(axis=0)] = 0.0
        if self.block is None or self.blocks is None:
            return Pairs(signs, odd)
        return Pairs(signs, odd, self.block[instance], self.blocks[instance])


@dataclass(frozen=True, eq=False)
class RandomOddDesign(OddDesign):
    """Pairs against the whole background, those of each size a simple random sample of all of it.

    Some of every size are among them.
    """
