"""The one place that has a reward evaluated: what is known is filled in, the rest goes out in batches.

A batch is one call of the reward (for a model: one predict of about 8192 rows); a task is a run of batches
that one worker does. Both are cut by fixed numbers and by the working memory, never by n_jobs, and results
are gathered in order, so that nobody can tell afterwards how it was computed.
"""

from typing import NamedTuple

import numpy as np
import sklearn
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

BATCH_ROWS = 8192
TASK_BATCHES = 4


class Requests(NamedTuple):
    """Coalitions of instances, one after the other, over all players of the game.

    Attributes
    ----------
    rows : ndarray of shape (u,), int
    coalitions : ndarray of shape (u, p), bool
    references : ndarray of shape (u, q), int, or None
    """

    rows: np.ndarray
    coalitions: np.ndarray
    references: np.ndarray | None

    def take(self, index):
        """Return some of the requests."""
        references = None if self.references is None else self.references[index]
        return Requests(self.rows[index], self.coalitions[index], references)


class Evaluator:
    """Evaluates a game's coalitions in batches, on `n_jobs` workers.

    Use it as a context, which keeps the workers between calls.

    Parameters
    ----------
    game : Game
    n_jobs : int or None
    """

    def __init__(self, game, n_jobs=None):
        self.game = game
        self._sequential = effective_n_jobs(n_jobs) == 1
        self._parallel = None if self._sequential else Parallel(n_jobs=n_jobs)

    def __enter__(self):
        if self._parallel is not None:
            self._parallel.__enter__()
        return self

    def __exit__(self, *exc):
        if self._parallel is not None:
            self._parallel.__exit__(*exc)

    def __call__(self, requests: Requests) -> np.ndarray:
        """Return the values of the requests, ``(u, k)``."""
        width = self.batch_width(requests)
        n = len(requests.rows)
        values = np.empty((n, self.game.n_outputs))
        if self._parallel is None:
            for start in range(0, n, width):
                index = slice(start, start + width)
                values[index] = _batch(self.game, requests.take(index))
            return values
        task = width * TASK_BATCHES
        slices = [slice(start, start + task) for start in range(0, n, task)]
        jobs = (delayed(_task)(*self._shipped(requests.take(s)), width) for s in slices)
        for index, part in zip(slices, self._parallel(jobs), strict=True):
            values[index] = part
        return values

    def batch_width(self, requests: Requests) -> int:
        """Return how many requests go into one call of the reward."""
        q = None if requests.references is None else requests.references.shape[1]
        model_rows = self.game.rows_per_value if q is None else q
        budget = sklearn.get_config()["working_memory"] * 2**20 / 8
        rows = min(BATCH_ROWS, budget // max(self.game.bytes_per_row, 1))
        return max(1, int(rows // model_rows))

    def _shipped(self, requests):
        """Return the game of these instances alone, and their requests: what a worker needs."""
        needed, local = np.unique(requests.rows, return_inverse=True)
        return self.game.take(needed), requests._replace(rows=local)


def _batch(game, requests):
    references = None if requests.references is None else requests.references[:, None]
    return game(requests.coalitions[:, None], requests.rows, references)[:, 0]


def _task(game, requests, width):
    n = len(requests.rows)
    return np.concatenate(
        [_batch(game, requests.take(slice(i, i + width))) for i in range(0, n, width)]
    )


class Ledger:
    """Remembers what was evaluated for each instance, so that nothing is evaluated twice.

    A coalition against its references is known by two 64-bit hashes of its bits; two different ones
    agree in both with probability 2^-128. Up to `capacity` values an instance are kept.

    Parameters
    ----------
    keep : bool
        Whether later calls may meet the same coalitions again.
    """

    capacity = 2**18

    def __init__(self, keep=True):
        self._keep = keep
        self._first = np.empty(0, dtype=np.uint64)
        self._second = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held: dict[int, int] = {}

    def evaluate(self, evaluator, requests: Requests, distinct=False):
        """Return values ``(u, k)`` and which requests were really sent, ``(u,)`` bool."""
        n = len(requests.rows)
        if distinct and not self._keep and not len(self._first):
            return evaluator(requests), np.ones(n, dtype=bool)
        first, second = _hashes(requests)
        order = np.argsort(first, kind="stable")
        repeated = np.zeros(n, dtype=bool)
        sorted_first, sorted_second = first[order], second[order]
        repeated[1:] = (sorted_first[1:] == sorted_first[:-1]) & (
            sorted_second[1:] == sorted_second[:-1]
        )
        group = np.cumsum(~repeated) - 1
        leaders = order[~repeated]
        known, place = self._look_up(first[leaders], second[leaders])
        fresh = np.sort(leaders[~known])
        if len(fresh) == n:
            values = evaluator(requests)
        else:
            values = np.empty((n, evaluator.game.n_outputs))
            values[fresh] = evaluator(requests.take(fresh))
            if known.any():
                values[leaders[known]] = self._values[place[known]]
            values[order] = values[leaders][group]
        sent = np.zeros(n, dtype=bool)
        sent[fresh] = True
        if self._keep:
            self._remember(requests.rows[fresh], first[fresh], second[fresh], values[fresh])
        return values, sent

    def _look_up(self, first, second):
        if not len(self._first):
            return np.zeros(len(first), dtype=bool), np.zeros(len(first), dtype=np.intp)
        place = np.minimum(np.searchsorted(self._first, first), len(self._first) - 1)
        return (self._first[place] == first) & (self._second[place] == second), place

    def _remember(self, rows, first, second, values):
        counts = np.bincount(rows) if len(rows) else np.empty(0, dtype=int)
        full = [
            row
            for row in np.flatnonzero(counts)
            if self._held.get(row, 0) + counts[row] > self.capacity
        ]
        kept = ~np.isin(rows, full)
        for row in np.flatnonzero(counts):
            self._held[row] = self._held.get(row, 0) + int(counts[row])
        first = np.concatenate([self._first, first[kept]])
        second = np.concatenate([self._second, second[kept]])
        known = (
            values[kept] if self._values is None else np.concatenate([self._values, values[kept]])
        )
        order = np.argsort(first, kind="stable")
        self._first, self._second, self._values = first[order], second[order], known[order]


def _hashes(requests):
    """Return two 64-bit hashes of (instance, coalition, references), ``(u,)`` each."""
    bits = np.packbits(requests.coalitions, axis=1)
    width = -(-bits.shape[1] // 8) * 8
    if bits.shape[1] < width:
        bits = np.pad(bits, ((0, 0), (0, width - bits.shape[1])))
    words = [bits.view(np.uint64), requests.rows[:, None].astype(np.uint64)]
    if requests.references is not None:
        words.append(requests.references.astype(np.uint64))
    return tuple(_hash(words, np.uint64(seed)) for seed in (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03))


def _hash(words, seed):
    # splitmix64's finaliser after every word
    out = np.full(len(words[0]), seed)
    for block in words:
        for column in block.T:
            out ^= column
            out ^= out >> np.uint64(30)
            out *= np.uint64(0xBF58476D1CE4E5B9)
            out ^= out >> np.uint64(27)
            out *= np.uint64(0x94D049BB133111EB)
            out ^= out >> np.uint64(31)
            out += seed
    return out
