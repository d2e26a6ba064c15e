"""Pairs of complementary coalitions: their design, and observed values of both parts of a game.

With s in {-1, 1}^p for a coalition, f(s) = (v(S) - v(complement))/2 is the odd part of
the game and g(s) = (v(S) + v(complement))/2 the even part. Background rows may be
divided into blocks, each with pairs of its own. The game of each row is modelled as a
common game plus an own game. Own games are independent and identically distributed,
with variance g q. A block is the mean over q rows and shares no row with another block,
so its own game has variance g. The whole background, sum_r w_r v_r, has an own part of
variance g q sum_r w_r^2. Its covariance with a block's own game is g times the weight
of the block's rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tools import log_binomial
from skshapley.designs import Design

# share of the whole's variance: blocks that leave at most this much complete it
NOTHING = 1e-12
# Rounding of sums over the background, relative to the largest value. Half the
# difference of two values of size 1 is a multiple of 1.1e-16, and a sum over a
# background adds some of these.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class Blocks:
    """Weights of the blocks of background rows for one row to explain.

    Attributes
    ----------
    share : ndarray of shape (n,)
        Weight of each block's rows: the covariance of its own game with the whole
        background's own part, relative to its variance.
    whole : float
        Variance of the whole background's own part, relative to the same variance.
    """

    share: np.ndarray
    whole: float

    @classmethod
    def of(cls, rows: np.ndarray, weights: np.ndarray, part: float = 1.0) -> "Blocks":
        """Return the shares of blocks of `rows`.

        Parameters
        ----------
        rows : ndarray of shape (n, q), int
            The background rows of each block, without repetition.
        weights : ndarray of shape (b,)
            Of the background rows, with sum 1.
        part : float, default=1.0
            The share of these background rows, if they are a sample.
        """
        return cls(
            weights[rows].sum(axis=1) * part,
            rows.shape[1] * float(weights @ weights) * part,
        )

    @property
    def complete(self) -> bool:
        """Whether the blocks make up the whole background, by their shares."""
        return self.whole - self.share @ self.share <= NOTHING * self.whole


@dataclass(frozen=True, eq=False)
class Pairs:
    """Points of the cube and the values of one part of a game there.

    Attributes
    ----------
    signs : ndarray of shape (n, p)
        1.0 where a player is present, -1.0 where absent.
    values : ndarray of shape (n, k)
    block : ndarray of shape (n,), int, or None
        The block of background rows behind each value; None for all rows.
    blocks : Blocks or None
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

    def take(self, index: np.ndarray) -> "Pairs":
        """Return some of the points."""
        return Pairs(
            self.signs[index],
            self.values[index],
            None if self.block is None else self.block[index],
            self.blocks,
        )

    def outputs(self, index: np.ndarray) -> "Pairs":
        """Return some of the outputs."""
        return replace(self, values=self.values[:, index])

    def by_block(self) -> list[np.ndarray]:
        """Return the places of each block's points; without blocks, of all points."""
        block = np.zeros(len(self)) if self.block is None else self.block
        return [
            np.flatnonzero(block == b) for b in range(int(block.max(initial=0)) + 1)
        ]

    @cached_property
    def same_block(self) -> np.ndarray | None:
        """1.0 where two points share a block, ``(n, n)``; None without blocks."""
        block = self.block
        return None if block is None else (block[:, None] == block).astype(float)

    @cached_property
    def roughness(self) -> np.ndarray:
        """Relative noise of the points, ``(n,)``: s (p - s)/(p^2/6) for s players."""
        p = self.n_players
        size = (self.signs.sum(axis=1) + p) / 2
        return 6 * size * (p - size) / p**2

    @cached_property
    def unseen(self) -> np.ndarray:
        """Share of all pairs of the same size that are not among these, ``(n,)``; 1 with blocks."""
        if self.block is not None:
            return np.ones(len(self))
        p = self.n_players
        size = (self.signs > 0).sum(axis=1)
        size = np.minimum(size, p - size)
        of_size = np.exp(log_binomial(p, size)) / np.where(2 * size == p, 2, 1)
        return np.maximum(1 - np.bincount(size)[size] / of_size, 0.0)


def relative(pairs: Pairs) -> Pairs:
    """Return the points without the full coalitions, relative to the full coalition's value.

    No interaction depends on a constant. The full coalition's value has no noise, so
    subtracting it removes the constant and nothing else. Each block has its own
    constant.

    Parameters
    ----------
    pairs : Pairs
        The full coalition is among them, once for each block.
    """
    full = pairs.signs.min(axis=1) > 0
    values = pairs.values[full]
    inner = pairs.take(~full)
    if pairs.block is not None:
        values = values[np.argsort(pairs.block[full])][inner.block]
    return replace(inner, values=inner.values - values)


def spread_places(n: int, most: int, n_first: int) -> NDArray[np.intp]:
    """Return `most` of n places: the first ones, and others evenly spread over the rest."""
    return np.append(
        np.arange(n_first),
        np.linspace(n_first, n - 1, most - n_first).round().astype(int),
    )


@dataclass(frozen=True, eq=False)
class OddDesign(Design):
    """Coalitions, each followed by its complement, placed to estimate the odd part of a game.

    The full and the empty coalition are included once, or once for each block of
    background rows.

    Attributes
    ----------
    block : ndarray of shape (r, m/2), int, or None
        The block of background rows for each pair; None for all background rows.
    blocks : tuple of Blocks or None
        The weights of the blocks of each row to explain.
    drawn : ndarray of shape (r, m/2) or None
        Expected number of pairs of the same size, for randomly drawn pairs. NaN for
        pairs placed on purpose; None if all pairs are.
    ranked : ndarray of shape (r, p), int, or None
        The players of each row to explain, those with the largest effects first, if the
        pairs are the single players and then pairs of players by rank.
    """

    block: NDArray[np.intp] | None = None
    blocks: tuple[Blocks, ...] | None = None
    drawn: NDArray[np.float64] | None = None
    ranked: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class RandomOddDesign(OddDesign):
    """Pairs for the whole background: a simple random sample of the pairs of each size.

    Every size has at least one pair.
    """


# a design, the position of a row to explain in it, and that row's values ``(m, k)``
Seen = tuple[OddDesign, int, NDArray[np.float64]]


def observed(seen: Sequence[Seen]) -> tuple[Pairs, Pairs, NDArray[np.float64]]:
    """Return the odd and the even part of one row's values, and the pairs' `OddDesign.drawn`."""
    signs = np.where(
        np.concatenate([design.coalitions[i, ::2] for design, i, _ in seen]),
        1.0,
        -1.0,
    )
    values = np.concatenate([values for *_, values in seen])
    even = (values[::2] + values[1::2]) / 2
    odd = odd_part(values)
    random = [design.drawn[i] for design, i, _ in seen if design.drawn is not None]
    drawn = np.concatenate(random) if random else np.full(len(signs), np.nan)
    block = [design.block[i] for design, i, _ in seen if design.block is not None]
    first, row, _ = seen[0]
    blocks: tuple[Any, Any] = (
        (np.concatenate(block), first.blocks[row])
        if block and first.blocks
        else (None, None)
    )
    return Pairs(signs, odd, *blocks), Pairs(signs, even, *blocks), drawn


def odd_part(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the odd part of values of coalitions and their complements, ``(..., n, k)``.

    Parameters
    ----------
    values : ndarray of shape (..., 2 n, k)
    """
    odd = (values[..., ::2, :] - values[..., 1::2, :]) / 2
    return np.where(
        np.abs(odd) <= ROUNDING * np.abs(values).max(axis=-2, keepdims=True),
        0.0,
        odd,
    )
