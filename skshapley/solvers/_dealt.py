"""Attributions from permutations on a sample of the background, with background errors.

Each unit of walks keeps to one background row. What it gives for the player j is that row's
attribution of j, and the noise of the walks. Over the rows of the sample it is regressed on what is
known of all rows (`skshapley._references.Survey`). The error has two parts: the noise of the walks,
told by the rows that came twice; and the choice of rows, which vanishes when all of them are in.
"""

import numpy as np

from skshapley._references import Deck, Survey
from skshapley.solvers._gap import without_gap
from skshapley.solvers._silence import unseen
from skshapley.solvers._student import widening

LEAST_CHUNKS = 16  # whose spread is to tell an error
LEAST_TWICE = 4  # background rows with a second unit, to tell the noise of walks


class DealtUnits:
    """Units of walks of some instances, each against a background row of the deck.

    Parameters
    ----------
    deck : Deck
    players : ndarray of shape (r, p), int
        The players that matter to each instance.
    unit : int
        Permutations in a unit.
    """

    def __init__(self, deck: Deck, players: np.ndarray, unit: int) -> None:
        self._deck, self._players, self._unit = deck, players, unit
        self._units: list[list[np.ndarray]] = [[] for _ in players]
        self._rows: list[list[np.ndarray]] = [[] for _ in players]
        # of each instance, until it gets more units
        self._found: list[tuple[np.ndarray, np.ndarray, float, np.ndarray] | None]
        self._found = [None for _ in players]

    def add(self, rows: np.ndarray, references: np.ndarray, units: np.ndarray) -> None:
        """Take in units ``(r, u, p, k)`` and their background rows ``(r, u)``."""
        for i, row in enumerate(rows):
            self._units[row].append(units[i])
            self._rows[row].append(references[i])
            self._found[row] = None

    def estimate(
        self, gain: np.ndarray | None, scale: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return attributions, their standard errors and their background errors, ``(r, p, k)``.

        Parameters
        ----------
        gain : ndarray of shape (r, k) or None
            What attributions add up to; None where that is not known.
        scale : ndarray of shape (r, p, k)
            The size of a contribution that was not seen.
        """
        cases = [self._case(row) for row in range(len(self._players))]
        values, variances, shares, apart = (np.stack(part) for part in zip(*cases, strict=True))
        if gain is not None:
            values, taken = without_gap(values, variances, gain)
            variances = variances * (1 - taken)
        errors = unseen(np.sqrt(variances), scale, shares[:, None, None] / self._unit)
        return values, errors, np.sqrt(apart)

    def _case(self, row: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Return the results of `_estimate` for one row to explain."""
        found = self._found[row]
        if found is None:
            rows, units = np.concatenate(self._rows[row]), np.concatenate(self._units[row])
            found = self._found[row] = self._estimate(rows, units, self._players[row])
        return found

    def _estimate(
        self, rows: np.ndarray, units: np.ndarray, players: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Return values, variances, the units' sum of squared weights, background variances."""
        cards, first, place = np.unique(rows, return_index=True, return_inverse=True)
        order = np.argsort(first)  # as they were dealt
        times = np.bincount(place)[order]
        m, at = len(cards), np.argsort(order)[place]
        means = units[first[order]]
        again = np.delete(np.arange(len(rows)), first)  # few
        np.add.at(means, at[again], units[again])
        means /= times[:, None, None]
        values, missed = Survey(self._deck, cards[order], players).mean(means)
        total = _spread_of_chunks(missed, self._deck.chunk)
        # what the background's rows differ by, of the noise of walks or of their own
        rough = means.var(axis=0, ddof=1) if m > 1 else np.full_like(values, np.nan)
        left = max(0.0, 1 - m / self._deck.n_rows)
        noise, share = _noise(units, means[at], times), (1 / times).mean()
        if noise is None:
            return values, total, share / m, rough / self._deck.n_rows
        within = np.minimum(noise * share / m, total)
        own = np.maximum(rough - noise * share, 0.0)
        return values, within + left * (total - within), share / m, own / self._deck.n_rows


def _noise(units: np.ndarray, means: np.ndarray, times: np.ndarray) -> np.ndarray | None:
    """Return the variance of units on one background row ``(p, k)``, None where too few tell."""
    if (times > 1).sum() < LEAST_TWICE:
        return None
    return ((units - means) ** 2).sum(axis=0) / (times - 1).sum()


def _spread_of_chunks(missed: np.ndarray, largest: int) -> np.ndarray:
    """Return the variance of the mean of ``(m, p, k)`` by its balanced chunks, ``(p, k)``.

    It is widened as Student's t is. Where few of the chunks make up most of the spread, the degrees
    of freedom are fewer: a variance estimated from n numbers of kurtosis c varies as one with
    2 n/(c - 1) degrees.
    """
    m, size = len(missed), largest
    while size > 1 and m // size < LEAST_CHUNKS:
        size //= 2
    n = m // size
    if n < 2:
        return np.full(missed.shape[1:], np.nan)
    chunks = missed[: n * size].reshape(n, size, *missed.shape[1:]).mean(axis=1)
    chunks = chunks - chunks.mean(axis=0)
    squared = chunks**2
    squares = squared.sum(axis=0)
    varies = squares > 0
    kurtosis = n * (squared**2).sum(axis=0) / np.where(varies, squares, 1.0) ** 2
    degrees = np.where(varies, 2 * n / np.maximum(kurtosis - 1, 1e-9), n - 1)
    widened = widening(np.clip(degrees, 1.0, n - 1.0))
    return squares / ((n - 1) * n) * widened**2
