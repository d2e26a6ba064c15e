"""Background rows in a balanced order, their traits, and means over a table from some.

The attribution of a player against one reference depends on the reference mostly through the
player's own columns and the prediction, which are known of all rows. So it is regressed on them
over the rows that were looked at, and the table's means are put in (`_survey`).

Rows are dealt by chunks, each of which resembles the whole table: in its columns and in the
model's predictions, by the mean of smooth functions of both. A table is cut at random into groups;
a group is halved, its halves are halved again, down to single rows. Of each two neighbours one goes
to either half, so that the difference of the halves' means stays small (kernel halving; Dwivedi &
Mackey 2024, Kernel thinning, JMLR 25). Which half comes first is a coin's choice: each row is as
likely in any place, so that chunks are exchangeable, and their spread is an honest measure of what
is left to chance.

Deville & Särndal (1992), Calibration estimators in survey sampling, JASA 87; Breidt & Opsomer
(2017), Model-assisted survey estimation with modern prediction techniques, Statistical Science 32.
With traits that have mean zero over the table, the estimate is the regression's intercept: the mean
of its predictions over the table and of the residuals over the sample.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from skshapley._references._columns import (
    MOST_CATEGORIES,
    Column,
    columns_of,
    numbers_of,
    standardised,
)
from skshapley._references._herd import Features

BINS = 8  # quantile bins of a numeric column
MOST_OWN_COLUMNS = 4  # of one player that are binned
MOST_COMMON = 128  # numbers of a row that all players share
MOST_PREDICTIONS = 8
NO_BIN = BINS  # codes from here on belong to no indicator


@dataclass(frozen=True, eq=False)
class Traits:
    """Numbers that are known of each row, centred on their means over the table.

    Attributes
    ----------
    common : ndarray of shape (b, l)
        The standardised predictions and columns.
    codes : ndarray of shape (b, w), uint8
        The bin, or category, of some columns.
    shares : ndarray of shape (w, BINS)
        The part of the table in each bin.
    of_player : tuple of p ndarrays of int
        Which of these columns are a player's own.
    """

    common: np.ndarray
    codes: np.ndarray
    shares: np.ndarray
    of_player: tuple[np.ndarray, ...]

    @classmethod
    def of(
        cls,
        columns: list[Column],
        predictions: np.ndarray,
        weights: np.ndarray,
        column_player: np.ndarray,
    ) -> "Traits":
        """Return the traits of a table's rows.

        Parameters
        ----------
        columns : list of d Column
        predictions : ndarray of shape (b, k)
        weights : ndarray of shape (b,)
            With sum 1.
        column_player : ndarray of shape (d,), int
        """
        common = standardised(predictions[:, :MOST_PREDICTIONS], weights)
        numbers = standardised(numbers_of(columns), weights)
        if common.shape[1] + numbers.shape[1] <= MOST_COMMON:
            common = np.concatenate([common, numbers], axis=1)
        codes = np.column_stack([_bins(column) for column in columns])
        one_hot = codes[:, :, None] == np.arange(BINS)
        shares = np.einsum("b,bwn->wn", weights, one_hot)
        players = np.arange(column_player.max() + 1)
        own = tuple(np.flatnonzero(column_player == j)[:MOST_OWN_COLUMNS] for j in players)
        return cls(np.ascontiguousarray(common), codes, shares, own)

    def take(self, rows: np.ndarray) -> "Traits":
        """Return the traits of some rows, still centred on the table."""
        return replace(self, common=self.common[rows], codes=self.codes[rows])

    @cached_property
    def _indicators(self) -> tuple[np.ndarray, np.ndarray]:
        """The columns of each player, ``(p, most)`` int, and the centred indicators of their codes.

        The latter are ``(p, most, BINS + 1, BINS)``, all 0 where a player has fewer columns.
        """
        most = max(map(len, self.of_player))
        columns = np.zeros((len(self.of_player), most), dtype=np.intp)
        indicators = np.zeros((*columns.shape, NO_BIN + 1, BINS))
        for j, at in enumerate(self.of_player):
            columns[j, : len(at)] = at
            indicators[j, : len(at)] = np.eye(NO_BIN + 1, BINS) - self.shares[at][:, None]
        return columns, indicators

    def own(self, rows: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return the centred indicators of the players' own columns, ``(rows, players, n)``."""
        columns, indicators = self._indicators
        codes = self.codes.take(rows, axis=0).take(columns[players], axis=1)
        place = np.arange(columns.size).reshape(columns.shape)[players] * (NO_BIN + 1)
        own = indicators.reshape(-1, BINS).take(place + codes, axis=0)
        return own.reshape(len(rows), len(players), -1)


def _bins(column: Column) -> np.ndarray:
    """Return the bin of each row by quantiles, or its category, ``(b,)`` uint8."""
    numbers = column.content
    if column.is_category:
        return np.where(numbers < MOST_CATEGORIES, numbers, NO_BIN).astype(np.uint8)
    known = np.isfinite(numbers)
    if not known.any():
        return np.full(len(numbers), NO_BIN, dtype=np.uint8)
    edges = np.unique(np.quantile(numbers[known], np.linspace(0, 1, BINS + 1)[1:-1]))
    return np.where(known, np.searchsorted(edges, numbers, side="right"), NO_BIN).astype(np.uint8)


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


PENALTY = 5.0  # rows' worth of "no effect" on each coefficient
LEAST_REGRESSED = 24  # rows, below which a plain mean serves
MOST_LEVERAGE = 0.9  # a row that is fitted by itself alone tells no error


@dataclass(frozen=True, eq=False)
class Survey:
    """A sample of a table's rows, made ready to estimate means of many quantities.

    Parameters
    ----------
    deck : Deck
    rows : ndarray of shape (m,), int
        The rows that were looked at, in the order in which they were dealt.
    players : ndarray of shape (p,), int
        The players whose attributions are estimated.
    """

    deck: Deck
    rows: np.ndarray
    players: np.ndarray

    def mean(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return estimates of table means, and the errors of each row's prediction by the others.

        For each player and output the regression serves where it predicts rows that it has not
        seen better than the plain mean does.

        Parameters
        ----------
        values : ndarray of shape (m, p, k)
            One for each row.

        Returns
        -------
        means : ndarray of shape (p, k)
        errors : ndarray of shape (m, p, k)
        """
        m = len(values)
        means = values.mean(axis=0)
        errors = (values - means) * (m / max(m - 1, 1))
        traits = self.deck.traits
        if traits is None or m < LEAST_REGRESSED:
            return means, errors
        fitted, unseen = self._regressed(values, traits)
        better = (unseen**2).sum(axis=0) < (errors**2).sum(axis=0)
        return np.where(better, fitted, means), np.where(better, unseen, errors)

    def _regressed(self, values: np.ndarray, traits: Traits) -> tuple[np.ndarray, np.ndarray]:
        """Return the intercepts and the leave-one-out errors of ridge regressions."""
        (m, p, k), rows = values.shape, self.rows
        common = np.column_stack([np.ones(m), traits.common.take(rows, axis=0)])  # (m, l)
        penalty = np.full(common.shape[1], PENALTY)
        penalty[0] = 0.0
        factor = cholesky(common.T @ common + np.diag(penalty), lower=True, check_finite=False)
        # what the common traits predict of y is seen seen' y
        turn = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False).T
        seen = common @ turn
        own = traits.own(rows, self.players)  # (m, p, n)
        n = own.shape[2]
        flat = own.reshape(m, p * n)
        beyond = seen @ (seen.T @ flat)
        beyond = np.subtract(flat, beyond, out=beyond).reshape(m, p, n)
        # by player, as views: products of them are copied nowhere
        by_player, wide = own.transpose(1, 0, 2), beyond.transpose(1, 0, 2)  # (p, m, n)
        inverse = np.linalg.inv(by_player.swapaxes(1, 2) @ wide + PENALTY * np.eye(n))
        slopes = inverse @ (wide.swapaxes(1, 2) @ values.transpose(1, 0, 2))
        rest = values.reshape(m, p * k) - (by_player @ slopes).transpose(1, 0, 2).reshape(m, p * k)
        told = seen.T @ rest
        left = (rest - seen @ told).reshape(m, p, k)
        taken = np.einsum("pmn,pmn->mp", wide, wide @ inverse)
        free = 1 - np.einsum("ml,ml->m", seen, seen)[:, None] - taken
        return (turn[0] @ told).reshape(p, k), left / np.maximum(free, 1 - MOST_LEVERAGE)[
            :, :, None
        ]
