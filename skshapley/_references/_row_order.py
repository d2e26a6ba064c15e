"""Background rows in a balanced order, their traits, and estimated means over a table.

The attribution of a player against one background row depends mostly on that row's
prediction and its values in the player's columns. Both are known for all rows. The
attribution is regressed on them over the sampled rows, and evaluated at the table's
means (`RowOrder.mean`).

Rows are used in chunks. Each chunk resembles the whole table in its columns and in the
model's predictions, by the means of smooth functions of both. A table is divided at
random into groups. Each group is halved repeatedly, down to single rows. Of two
adjacent rows, one goes to each half, so that the difference of the halves' means stays
small (kernel halving; Dwivedi & Mackey 2024, Kernel thinning, JMLR 25). A coin decides
the order of the halves, so each row is equally likely at every position. Chunks are
therefore exchangeable, and their spread measures the remaining random error.

Deville & Särndal (1992), Calibration estimators in survey sampling, JASA 87; Breidt &
Opsomer (2017), Model-assisted survey estimation with modern prediction techniques,
Statistical Science 32. Traits have mean zero over the table, so the estimate is the
regression's intercept. It is the mean of the predictions over the table plus the mean
of the residuals over the sample. A control variate with a known mean over the table,
such as an attribution of the log-odds, joins the traits.
"""

from dataclasses import dataclass
from itertools import compress

import numpy as np

from skshapley._references._herd import (
    MOST_CATEGORIES,
    columns_of,
    fourier,
    indicators_of,
    is_category,
    standardised,
)

# Numbers in the comments of this file are for four functions of seven columns (smooth,
# steps, a rare event, an exponential), 3,000 background rows, and 700 and 3,000 model
# rows. 95.7 % of the nominal 95 % intervals contain the value against the whole table.

# Quantile bins of a numeric column. With 4 bins, the squared error is 1.05 times as
# large.
BINS = 8
# Rows that give the quantiles; all rows give the means. Sorting 10,000 rows of each
# column takes a sixth of the time of ``fit``.
QUANTILE_ROWS = 2048
MOST_OWN_COLUMNS = 4  # binned columns of one player
MOST_COMMON = 128  # numbers of a row that all players share
MOST_PREDICTIONS = 8
NO_BIN = BINS  # codes from here on belong to no indicator


@dataclass(frozen=True, eq=False)
class Traits:
    """Known numbers of each row, centred on their means over the table.

    Attributes
    ----------
    common : ndarray of shape (b, l)
        The standardised predictions and columns.
    codes : ndarray of shape (b, d + 1), uint8
        The bin, or category, of each column; the last column is in no bin.
    centred : ndarray of shape (d + 1, BINS + 1, BINS)
        For each column and code: the indicators of the bins, minus their means over the
        table.
    of_player : ndarray of shape (p, w), int
        The own columns of each player; -1 for players with fewer columns.
    """

    common: np.ndarray
    codes: np.ndarray
    centred: np.ndarray
    of_player: np.ndarray

    @classmethod
    def of(
        cls,
        columns,
        numbers,
        predicted,
        weights,
        column_player,
        rows,
        sample,
    ) -> "Traits":
        """Return the traits of some rows of a table.

        Parameters
        ----------
        columns : list of d ndarrays of shape (b,)
        numbers : ndarray of shape (n, c)
            The standardised columns of these rows.
        predicted : ndarray of shape (n, k)
            The standardised predictions of these rows.
        weights : ndarray of shape (b,)
            With sum 1.
        column_player : ndarray of shape (d,), int
        rows : ndarray of shape (n,), int
        sample : ndarray of shape (m,), int
            The rows that give the quantiles.
        """
        common = predicted[:, :MOST_PREDICTIONS]
        if common.shape[1] + numbers.shape[1] <= MOST_COMMON:
            common = np.concatenate([common, numbers], axis=1)
        codes = np.full((len(rows), len(columns) + 1), NO_BIN, dtype=np.uint8)
        centred = np.tile(np.eye(NO_BIN + 1, BINS), (len(columns) + 1, 1, 1))
        for j, column in enumerate(columns):
            bins = _bins(column, sample)
            codes[:, j] = bins[rows]
            centred[j] -= np.bincount(bins, weights, NO_BIN + 1)[:BINS]
        most = min(np.bincount(column_player).max(), MOST_OWN_COLUMNS)
        of_player = np.full((column_player.max() + 1, most), -1)
        for j, player_columns in enumerate(of_player):
            at = np.flatnonzero(column_player == j)[:most]
            player_columns[: len(at)] = at
        return cls(np.ascontiguousarray(common), codes, centred, of_player)

    def own(self, rows: np.ndarray, players: np.ndarray) -> np.ndarray:
        """Return the centred indicators of the players' own columns, ``(rows, players, n)``."""
        columns = self.of_player[players]
        codes = self.codes.take(rows, axis=0).take(columns, axis=1)
        # one gather of whole lines: comparing each code with each bin takes twice as
        # long
        lines = codes + np.arange(len(self.centred))[columns] * (NO_BIN + 1)
        traits = self.centred.reshape(-1, BINS).take(lines, axis=0)
        return traits.reshape(len(rows), len(players), -1)


def _bins(column: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return each row's bin, by quantiles of some rows, or its category, ``(b,)`` uint8."""
    numbers = np.ascontiguousarray(column)
    if is_category(column):
        return np.where(numbers < MOST_CATEGORIES, numbers, NO_BIN).astype(np.uint8)
    finite = np.isfinite(numbers)
    sorted_numbers = np.sort(numbers[rows][finite[rows]])
    if not len(sorted_numbers):
        return np.full(len(numbers), NO_BIN, dtype=np.uint8)
    # equal edges leave bins empty; np.quantile would take a third of the time of
    # ``fit``
    edges = sorted_numbers[np.arange(1, BINS) * len(sorted_numbers) // BINS]
    # Seven comparisons take a quarter of the time of a binary search in a large table.
    return np.where(
        finite,
        (numbers >= edges[:, None]).sum(axis=0, dtype=np.uint8),
        NO_BIN,
    )


# Rows of a chunk, whose means give the error. With 4, the halves represent the table
# less well: the squared error is 1.08 times as large, and intervals cover 94.4 %. With
# 16, fewer chunks give an error, for .99 of the squared error.
CHUNK = 8
# Features for halving groups, and rows per group. With 128 features and groups of 512
# rows, ``fit`` takes three times as long, and explanations have the same errors
N_FEATURES = 32
GROUP_ROWS = 64
MOST_PLACES = (
    2**15
)  # rows in an order: more than one explanation uses, and little memory
# Ridge penalty of each coefficient, in rows. With 50, the squared error is 1.33 times
# as large. With .5, intervals are 5 % wider, because leave-one-out errors grow with the
# leverage.
PENALTY = 5.0
# Rows; with fewer, the plain mean is used, as 8 bins and the common numbers would fit
# each row. Without any regression, the squared error is 2.76 times as large.
LEAST_REGRESSED = 24
MOST_LEVERAGE = 0.9  # a row that determines its own fit has no useful residual


@dataclass(frozen=True, eq=False)
class RowOrder:
    """Background rows in a balanced order, with known quantities of all rows.

    Attributes
    ----------
    rows : ndarray of shape (q,), int
        The kept rows of the background: all rows, up to 32,768.
    places : ndarray of shape (n,), int
        Positions in `rows`, chunk after chunk; a row of large weight appears several
        times.
    chunk : int
        Number of places in a balanced set; each smaller power of 2 is balanced, too.
    n_rows : float
        Effective number of rows of the sampled table.
    weighted : bool
        Whether weights differ, so that rows have several places or none.
    traits : Traits or None
        Known quantities of each kept row, and of the table.
    """

    rows: np.ndarray
    places: np.ndarray
    chunk: int
    n_rows: float
    weighted: bool
    traits: Traits | None = None

    @property
    def population(self) -> float:
        """The number of draws that leave nothing unseen."""
        return len(self.places) if self.weighted else self.n_rows

    @classmethod
    def plain(cls, weights: np.ndarray, rng: np.random.Generator) -> "RowOrder":
        """Return rows in random order, by their weights."""
        rows, places = _by_weight(weights, rng)
        return cls(
            np.arange(len(weights)),
            rng.permutation(rows[places]),
            1,
            1 / float(weights @ weights),
            _differ(weights),
        )

    @classmethod
    def balanced(
        cls,
        table,
        predictions,
        weights,
        column_player,
        rng,
        used=None,
    ) -> "RowOrder":
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
        used : ndarray of shape (d,), bool, or None, default=None
            False for columns that have no effect on the predictions. None: all columns.
        """
        columns = columns_of(table)
        if used is not None and len(columns) == len(used) and used.any():
            columns = list(compress(columns, used))
            column_player = column_player[used]
        rows, places = _by_weight(weights, rng)
        predicted = standardised(predictions.T, weights, rows)
        numbers = standardised(indicators_of(columns), weights, rows)
        features_and_predictions = np.concatenate([numbers, predicted], axis=1)[places]
        features_and_predictions = features_and_predictions.astype(np.float32)
        features = fourier(features_and_predictions, rng, N_FEATURES)(
            features_and_predictions
        )
        order = balanced_order(features, predicted.sum(axis=1)[places], rng)
        # mixtures of columns belong to no player
        mixed = len(columns) != len(column_player)
        traits = (
            None
            if mixed
            else Traits.of(
                columns,
                numbers,
                predicted,
                weights,
                column_player,
                rows,
                rows[places[order[:QUANTILE_ROWS]]],
            )
        )
        return cls(
            rows,
            places[order],
            CHUNK,
            1 / float(weights @ weights),
            _differ(weights),
            traits,
        )

    def mean(
        self,
        values: np.ndarray,
        rows: np.ndarray,
        players: np.ndarray,
        control: np.ndarray,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return estimates of table means, and leave-one-out errors of each row's prediction.

        For each player and output, the regression on the traits is used if it predicts
        left-out rows better than the plain mean does.

        Parameters
        ----------
        values : ndarray of shape (r, m, p, k)
            One for each row of r samples.
        rows : ndarray of shape (r, m), int
            The sampled rows, in this order.
        players : ndarray of shape (r, p), int
            The players to estimate attributions for.
        control : ndarray of shape (r, m, p, c)
            Control variates of each player, with mean 0 over the table; NaN for a
            sample without.

        Returns
        -------
        means : ndarray of shape (r, p, k)
        errors : ndarray of shape (r, m, p, k)
        """
        m = values.shape[1]
        means = values.mean(axis=1)
        errors = (values - means[:, None]) * (m / max(m - 1, 1))
        if self.traits is None or m < LEAST_REGRESSED:
            return means, errors
        for sample, (of_sample, sampled, row_players, row_control) in enumerate(
            zip(values, rows, players, control, strict=True)
        ):
            finite_control = row_control[:, :, ~np.isnan(row_control[0, 0])]
            fitted, unseen = _regressed(
                self.traits,
                of_sample,
                sampled,
                row_players,
                finite_control,
            )
            better = (unseen**2).sum(axis=0) < (errors[sample] ** 2).sum(axis=0)
            means[sample] = np.where(better, fitted, means[sample])
            errors[sample] = np.where(better, unseen, errors[sample])
        return means, errors

    def shuffled(self, rng: np.random.Generator) -> np.ndarray:
        """Return the places with their chunks in random order, ``(n,)``."""
        whole = len(self.places) // self.chunk * self.chunk
        chunks = self.places[:whole].reshape(-1, self.chunk)
        return np.concatenate(
            [chunks[rng.permutation(len(chunks))].ravel(), self.places[whole:]]
        )


def _differ(weights: np.ndarray) -> bool:
    return bool(weights.min() < weights.max())


def systematic_rows(ends: np.ndarray, n: int, start: float) -> np.ndarray:
    """Return n rows in proportion to weight, at equal steps along their cumulative weights.

    Parameters
    ----------
    ends : ndarray of shape (b,)
        Cumulative weights of sum 1.
    n : int
    start : float
        The first place, in [0, 1) steps.
    """
    places = (np.arange(n) + start) / n
    return np.searchsorted(ends, places).clip(0, len(ends) - 1)


def _by_weight(
    weights: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to keep, and positions in them, in proportion to weight (systematic sampling)."""
    b = len(weights)
    if _differ(weights):
        n = min(MOST_PLACES, 8 * b)
        ends = np.cumsum(weights)
        places = systematic_rows(ends / ends[-1], n, rng.random())
    else:
        places = (
            np.arange(b)
            if b <= MOST_PLACES
            else np.sort(rng.choice(b, MOST_PLACES, False))
        )
    if b <= MOST_PLACES:
        return np.arange(b), places
    return np.unique(places, return_inverse=True)


def balanced_order(
    features: np.ndarray,
    key: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return an order of rows in which each aligned chunk of 2^j rows resembles all of them.

    Parameters
    ----------
    features : ndarray of shape (n, m)
        Features with equal means in all chunks.
    key : ndarray of shape (n,)
        Rows with similar keys go to different halves first.
    rng : numpy.random.Generator
    """
    remaining = rng.permutation(len(features))
    sizes = [GROUP_ROWS >> level for level in range(GROUP_ROWS.bit_length() - 1)]
    whole_groups = {}
    coins: dict[int, list[np.ndarray]] = {size: [] for size in sizes}
    for size in sizes:
        count = len(remaining) // size
        groups = remaining[: count * size].reshape(count, size)
        remaining = remaining[count * size :]
        ranks = np.argsort(key[groups], axis=1, kind="stable")
        whole_groups[size] = np.take_along_axis(groups, ranks, axis=1)
        for part in sizes[sizes.index(size) :]:
            coins[part].append(rng.random((count * size // part, 1)))
    # Groups of all sizes are halved together: steps of few rows take as long as of many.
    halves = np.empty((0, GROUP_ROWS), dtype=np.intp)
    for size in sizes:
        groups = np.concatenate([halves, whole_groups[size]])
        halves = _halves(features, groups, np.concatenate(coins[size]) < 0.5)
    return np.concatenate([halves.ravel(), remaining])


def _halves(
    features: np.ndarray,
    groups: np.ndarray,
    swapped: np.ndarray,
) -> np.ndarray:
    """Return the two halves of each group, one after the other, ``(2 g, s / 2)``.

    Parameters
    ----------
    features : ndarray of shape (n, m)
    groups : ndarray of shape (g, s), int
    swapped : ndarray of shape (g, 1), bool
        Whether the second half comes first.
    """
    count, size = groups.shape
    pairs = groups.reshape(count, size // 2, 2)
    differences = features.take(pairs[:, :, 0].T, axis=0)  # (s / 2, g, m)
    differences -= features.take(pairs[:, :, 1].T, axis=0)
    signs = np.empty((size // 2, count), dtype=features.dtype)
    excess = np.zeros(differences.shape[1:], dtype=features.dtype)
    for sign, difference in zip(signs, differences, strict=True):
        # the assignment with the smaller difference of the halves' sums
        sign[:] = np.where(np.einsum("gm,gm->g", excess, difference) <= 0, 1, -1)
        excess += difference * sign[:, None]
    straight = signs.T > 0
    halves = np.where((swapped != straight)[:, :, None], pairs, pairs[:, :, ::-1])
    return halves.swapaxes(1, 2).reshape(2 * count, size // 2)


def _regressed(
    traits: Traits,
    values: np.ndarray,
    rows: np.ndarray,
    players: np.ndarray,
    control: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the intercepts ``(p, k)`` and the leave-one-out errors of ridge regressions."""
    m, p, k = values.shape
    common = np.column_stack([np.ones(m), traits.common.take(rows, axis=0)])  # (m, l)
    penalty = np.full(common.shape[1], PENALTY)
    penalty[0] = 0.0
    # the prediction of y by the common traits is weighed common' y
    inverse = np.linalg.inv(common.T @ common + np.diag(penalty))
    weighed = common @ inverse
    row_traits = traits.own(rows, players)  # (m, p, n)
    if control.size:
        size = np.sqrt((control**2).mean(axis=0))
        row_traits = np.concatenate(
            [row_traits, control / np.where(size > 0, size, 1.0)],
            axis=2,
        )
    n = row_traits.shape[2]
    flat = row_traits.reshape(m, p * n)
    beyond = weighed @ (common.T @ flat)
    beyond = np.subtract(flat, beyond, out=beyond).reshape(m, p, n)
    # by player, as views, so that their products make no copies
    by_player = row_traits.transpose(1, 0, 2)
    wide = beyond.transpose(1, 0, 2)  # (p, m, n)
    inverses = np.linalg.inv(by_player.swapaxes(1, 2) @ wide + PENALTY * np.eye(n))
    slopes = inverses @ (wide.swapaxes(1, 2) @ values.transpose(1, 0, 2))
    residuals = values.reshape(m, p * k) - (by_player @ slopes).transpose(
        1,
        0,
        2,
    ).reshape(m, p * k)
    projected = common.T @ residuals
    left = (residuals - weighed @ projected).reshape(m, p, k)
    explained_share = np.einsum("pmn,pmn->mp", wide, wide @ inverses)
    free = 1 - np.einsum("ml,ml->m", weighed, common)[:, None] - explained_share
    left /= np.maximum(free, 1 - MOST_LEVERAGE)[:, :, None]
    return (inverse[0] @ projected).reshape(p, k), left
