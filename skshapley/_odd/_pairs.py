"""What was seen of the odd part of one instance's game."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from skshapley._odd._blocks import Blocks


@dataclass(frozen=True, eq=False)
class Pairs:
    """Points of the cube and values of the odd part there; the full coalition is one of them.

    Attributes
    ----------
    signs : ndarray of shape (n, p)
        1.0 where a player is present, -1.0 where absent.
    values : ndarray of shape (n, k)
        (v(S) - v(complement))/2.
    block : ndarray of shape (n,), int, or None
        The block of background rows that each was averaged over; None for all rows.
    blocks : Blocks or None
        What the blocks tell about the whole background.
    """

    signs: np.ndarray
    values: np.ndarray
    block: np.ndarray | None = None
    blocks: Blocks | None = None

    def __len__(self) -> int:
        return len(self.signs)

    @property
    def n_players(self) -> int:
        """Number of players."""
        return self.signs.shape[1]

    @property
    def n_blocks(self) -> int:
        """How many blocks there are, 1 for all rows together."""
        return 1 if self.block is None else len(np.unique(self.block))

    def take(self, index: np.ndarray) -> "Pairs":
        """Return some of the points."""
        block = None if self.block is None else self.block[index]
        return Pairs(self.signs[index], self.values[index], block, self.blocks)

    def outputs(self, index: np.ndarray) -> "Pairs":
        """Return some of the outputs."""
        return Pairs(self.signs, self.values[:, index], self.block, self.blocks)

    @cached_property
    def same_block(self) -> np.ndarray | None:
        """1.0 where two points share a block, ``(n, n)``; None without blocks."""
        if self.block is None:
            return None
        return (self.block[:, None] == self.block).astype(float)

    @cached_property
    def roughness(self) -> np.ndarray:
        """How much noise a point may hold, ``(n,)``: s (p - s)/(p^2/6)."""
        return size_roughness(self.signs)

    @cached_property
    def size_table(self) -> np.ndarray:
        """Covariances of the part that depends on the size alone, at variance 1, ``(n, n)``."""
        return size_covariance(self.signs, self.signs)


def size_roughness(signs: np.ndarray) -> np.ndarray:
    """Return s (p - s)/(p^2/6) of each point, ``(n,)``."""
    p = signs.shape[1]
    size = (signs.sum(axis=1) + p) / 2
    return 6 * size * (p - size) / p**2


def size_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the covariances of an odd Brownian motion in (2 s - p)/p, ``(n_a, n_b)``."""
    p = a.shape[1]
    x, y = ((signs.sum(axis=1) + p).astype(int) // 2 for signs in (a, b))
    return _covariances_of_sizes(p).take(x, axis=0).take(y, axis=1)


@cache
def _covariances_of_sizes(p: int) -> np.ndarray:
    """Return the lesser of two sizes (2 s - p)/p, negative where signs differ, for all pairs."""
    sizes = np.linspace(-1, 1, p + 1)
    table = (abs(sizes[:, None] + sizes) - abs(sizes[:, None] - sizes)) / 2
    table.flags.writeable = False
    return table
