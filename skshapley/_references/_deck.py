"""An order of the background rows in which the first few represent all.

Rows are dealt by chunks, each of which resembles the whole table: in its columns and in the
model's predictions, by the mean of smooth functions of both. A table is cut at random into groups;
a group is halved, its halves are halved again, down to single rows. Of each two neighbours one goes
to either half, so that the difference of the halves' means stays small (kernel halving; Dwivedi &
Mackey 2024, Kernel thinning, JMLR 25). Which half comes first is a coin's choice: each row is as
likely in any place, so that chunks are exchangeable, and their spread is an honest measure of what
is left to chance.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from skshapley._references._columns import columns_of, numbers_of, standardised
from skshapley._references._features import Features
from skshapley._references._traits import Traits

CHUNK = 8  # rows
GROUP_ROWS = 512  # that are halved together
MOST_CARDS = 2**15  # rows in a deck: more than an instance can use, and little to hold


@dataclass(frozen=True, eq=False)
class Deck:
    """Background rows in a balanced order, with known quantities of all rows.

    Attributes
    ----------
    cards : ndarray of shape (n,), int
        Rows of the background, chunk after chunk; a row of large weight comes several times.
    chunk : int
        How many of them make a balanced set; any power of 2 below does, too.
    n_rows : float
        How many rows of equal weight the table has that they are a sample of.
    traits : Traits or None
        What is known of each row and of the table.
    """

    cards: np.ndarray
    chunk: int
    n_rows: float
    traits: Traits | None = None

    @classmethod
    def plain(cls, weights: np.ndarray, rng: np.random.Generator) -> "Deck":
        """Return rows in random order, by their weights."""
        cards = _by_weight(weights, rng)
        return cls(rng.permutation(cards), 1, 1 / float(weights @ weights))

    @classmethod
    def balanced(
        cls,
        table: Any,
        predictions: np.ndarray,
        weights: np.ndarray,
        column_player: np.ndarray,
        rng: np.random.Generator,
    ) -> "Deck":
        """Return rows in an order in which each chunk resembles the table.

        Parameters
        ----------
        table : array or frame of shape (b, d)
        predictions : ndarray of shape (b, k)
        weights : ndarray of shape (b,)
            With sum 1.
        column_player : ndarray of shape (d,), int
            The player of each column.
        rng : numpy.random.Generator
        """
        columns = columns_of(table)
        numbers = standardised(np.concatenate([numbers_of(columns), predictions], axis=1), weights)
        cards = _by_weight(weights, rng)
        features = Features.of(numbers[cards], rng)(numbers[cards])
        key = standardised(predictions, weights).sum(axis=1)[cards]
        traits = None  # of mixtures of columns, which are no player's own
        if len(columns) == len(column_player):
            traits = Traits.of(columns, predictions, weights, column_player)
        order = balanced_order(features, key, rng)
        return cls(cards[order], CHUNK, 1 / float(weights @ weights), traits)

    def cut(self, rows: np.ndarray) -> "Deck":
        """Return the deck of a table that keeps only these of its rows, all cards among them.

        Parameters
        ----------
        rows : ndarray of shape (n,), int
            In order.
        """
        traits = None if self.traits is None else self.traits.take(rows)
        return replace(self, cards=np.searchsorted(rows, self.cards), traits=traits)

    def dealt(self, rng: np.random.Generator) -> np.ndarray:
        """Return the cards with their chunks in random order, ``(n,)``."""
        whole = len(self.cards) // self.chunk * self.chunk
        chunks = self.cards[:whole].reshape(-1, self.chunk)
        return np.concatenate([chunks[rng.permutation(len(chunks))].ravel(), self.cards[whole:]])


def _by_weight(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return rows, each about as often as its weight says (systematic sampling)."""
    b = len(weights)
    if weights.min() == weights.max():
        return np.arange(b) if b <= MOST_CARDS else np.sort(rng.choice(b, MOST_CARDS, False))
    n = min(MOST_CARDS, 8 * b)
    at = np.cumsum(weights)
    return np.searchsorted(at / at[-1], (np.arange(n) + rng.random()) / n).clip(0, b - 1)


def balanced_order(features: np.ndarray, key: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an order of rows in which each aligned chunk of 2^j rows resembles all of them.

    Parameters
    ----------
    features : ndarray of shape (n, m)
        What the means of chunks are to agree in.
    key : ndarray of shape (n,)
        Rows that are alike in it are first choices to go to different halves.
    rng : numpy.random.Generator
    """
    rest, parts, size = rng.permutation(len(features)), [], GROUP_ROWS
    while size > 1:
        count = len(rest) // size
        groups, rest = rest[: count * size].reshape(count, size), rest[count * size :]
        by_key = np.argsort(key[groups], axis=1, kind="stable")
        groups = np.take_along_axis(groups, by_key, axis=1)
        while groups.shape[1] > 1 and len(groups):
            groups = _halves(features, groups, rng)
        parts.append(groups.ravel())
        size //= 2
    return np.concatenate([*parts, rest])


def _halves(features: np.ndarray, groups: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the two halves of each group, one after the other, ``(2 g, s / 2)``."""
    count, size = groups.shape
    first, second = np.empty((2, count, size // 2), dtype=groups.dtype)
    excess = np.zeros((count, features.shape[1]), dtype=features.dtype)
    for t in range(size // 2):
        pair = groups[:, 2 * t], groups[:, 2 * t + 1]
        difference = features[pair[0]] - features[pair[1]]
        # whichever makes the halves' sums more alike
        straight = np.einsum("gm,gm->g", excess, difference) <= 0
        excess += np.where(straight[:, None], difference, -difference)
        first[:, t] = np.where(straight, *pair)
        second[:, t] = np.where(straight, *pair[::-1])
    swapped = rng.random((count, 1)) < 0.5
    first, second = np.where(swapped, second, first), np.where(swapped, first, second)
    return np.stack([first, second], axis=1).reshape(2 * count, -1)
