"""The one place that has a reward evaluated: the known is filled in, the rest goes out in batches.

A batch is one call of the reward (for a model: one predict of about 8192 rows); a task is a run of
batches that one worker does. Both are cut by fixed numbers and by the working memory, never by
n_jobs, and results are gathered in order, so that nobody can tell afterwards how it was computed.
"""

from copy import copy
from typing import NamedTuple

import numpy as np
import sklearn
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import LokyBackend, MultiprocessingBackend, get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from skshapley._parcel import Parcel

BATCH_ROWS = 8192
TASK_BATCHES = 4


class Requests(NamedTuple):
    """Coalitions of instances, one after the other, over all players of the game.

    Attributes
    ----------
    rows : ndarray of shape (u,), int
    coalitions : ndarray of shape (u, p), bool
    references : ndarray of shape (u, q), int, or None
    bits : ndarray of shape (u,), uint64, or None
        The coalitions as the bits of one word, if the design knows them. They may number the
        players that matter to the instance only.
    """

    rows: np.ndarray
    coalitions: np.ndarray
    references: np.ndarray | None
    bits: np.ndarray | None = None

    def take(self, index):
        """Return some of the requests, by a slice or by positions."""
        return Requests(*(_taken(part, index) for part in self))


def _taken(array, index):
    if array is None or isinstance(index, slice):
        return array if array is None else array[index]
    return array.take(index, axis=0)


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
        self._parallel = None if effective_n_jobs(n_jobs) == 1 else Parallel(n_jobs=n_jobs)
        self._shared = _as_sent(game.shared)

    def __enter__(self):
        if self._parallel is not None:
            self._parallel.__enter__()
        return self

    def __exit__(self, *exc):
        if self._parallel is not None:
            self._parallel.__exit__(*exc)

    def __call__(self, requests: Requests, index: np.ndarray | None = None) -> np.ndarray:
        """Return the values of the requests, ``(u, k)``, or of those at `index`."""
        width = self.batch_width(requests)
        n = len(requests.rows) if index is None else len(index)
        values = np.empty((n, self.game.n_outputs))
        if self._parallel is None:
            for start in range(0, n, width):
                batch = slice(start, start + width)
                part = requests.take(batch if index is None else index[batch])
                values[batch] = _batch(self.game, part)
            return values
        tasks = [
            slice(start, start + width * TASK_BATCHES)
            for start in range(0, n, width * TASK_BATCHES)
        ]
        parts = (requests.take(task if index is None else index[task]) for task in tasks)
        jobs = (delayed(_task)(*self._shipped(part), width) for part in parts)
        for task, result in zip(tasks, self._parallel(jobs), strict=True):
            values[task] = result
        return values

    def batch_width(self, requests: Requests) -> int:
        """Return how many requests go into one call of the reward."""
        q = None if requests.references is None else requests.references.shape[1]
        model_rows = self.game.rows_per_value if q is None else q
        budget = sklearn.get_config()["working_memory"] * 2**20 / 8
        rows = min(BATCH_ROWS, budget // max(self.game.bytes_per_row, 1))
        return max(1, min(int(rows // model_rows), self.game.most_values))

    def _shipped(self, requests):
        """Return what a worker needs: what all share, the game of these instances, the requests."""
        needed, local = np.unique(requests.rows, return_inverse=True)
        game = copy(self.game.take(needed))
        if self._shared is not None:
            game.shared = None
        return self._shared, game, requests._replace(rows=local)


def _as_sent(shared):
    """Return what all tasks share as the active backend gets it.

    For joblib's own processes, which would read it with every task, it is a parcel. joblib's dask
    backend must find among a task's arguments, as it is, what its `scatter` names and sends once.
    """
    backend, _ = get_active_backend()
    own = isinstance(backend, LokyBackend | MultiprocessingBackend)
    return Parcel(shared) if own and shared is not None else shared


def _batch(game, requests):
    references = None if requests.references is None else requests.references[:, None]
    return game(requests.coalitions[:, None], requests.rows, references)[:, 0]


def _task(shared, game, requests, width):
    if shared is not None:
        game.shared = shared
    n = len(requests.rows)
    # as every response does; asking dask once for all of them is quicker
    with parallel_config("sequential"):
        parts = [_batch(game, requests.take(slice(i, i + width))) for i in range(0, n, width)]
    return np.concatenate(parts)


class Ledger:
    """Knows what was evaluated for each instance of a block, so that nothing is evaluated twice.

    Parameters
    ----------
    n_players, n_references : int
    rows : ndarray of int
        The instances of the block, contiguous.
    keep : bool
        Whether later calls may meet the same coalitions again. Up to `capacity` values of an
        instance are kept.
    """

    capacity = 2**18

    def __init__(self, n_players, n_references, rows, keep=True):
        self._first_row, self._keep = rows[0], keep
        bits = n_players, int(n_references).bit_length(), len(rows).bit_length()
        self._shifts = np.cumsum(bits[:2]).astype(np.uint64) if sum(bits) <= 64 else None
        self._keys = np.empty(0, dtype=np.uint64)
        self._checks = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held = np.zeros(len(rows), dtype=np.int64)

    def evaluate(self, evaluator, requests: Requests, distinct=False):
        """Return values ``(u, k)`` and which requests were really sent, ``(u,)`` bool."""
        n = len(requests.rows)
        sent = np.ones(n, dtype=bool)
        if distinct and not self._keep:
            return evaluator(requests), sent
        keys = self._key(requests)
        checks = self._check(requests, keys)
        later, leader = _repeats(keys, checks)
        sent[later] = False
        known, place = self._look_up(keys, checks)
        sent[known] = False
        fresh = None if sent.all() else np.flatnonzero(sent)
        values = evaluator(requests, fresh)
        if fresh is not None:
            everything = np.empty((n, values.shape[1]))
            everything[fresh] = values
            if self._values is not None:
                everything[known] = self._values[place]
            everything[later] = everything[leader]
            values = everything
        if self._keep:
            self._remember(requests.rows - self._first_row, keys, checks, values, sent)
        return values, sent

    def _key(self, requests):
        """Return a 64-bit key of coalition, references and instance: the bits if they fit."""
        words = _words(requests)
        references = requests.references
        rows = (requests.rows - self._first_row).astype(np.uint64)
        if self._shifts is None or (references is not None and references.shape[1] > 1):
            return _hash([words, rows[:, None], references], 0x9E3779B97F4A7C15)
        key = words[:, 0] | (rows << self._shifts[1])
        if references is not None:
            # 0 stands for the whole background
            key |= (references[:, 0] + 1).astype(np.uint64) << self._shifts[0]
        return key

    def _check(self, requests, keys):
        """Return a second key, which makes 128 bits of a hashed one; the bits need none."""
        references = requests.references
        if self._shifts is not None and (references is None or references.shape[1] == 1):
            return keys
        rows = (requests.rows - self._first_row).astype(np.uint64)
        return _hash([_words(requests), rows[:, None], references], 0xD1B54A32D192ED03)

    def _look_up(self, keys, checks):
        """Return which requests are remembered, and where."""
        if not len(self._keys):
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known = (self._keys[place] == keys) & (self._checks[place] == checks)
        return np.flatnonzero(known), place[known]

    def _remember(self, rows, keys, checks, values, sent):
        counts = np.bincount(rows[sent], minlength=len(self._held))
        self._held += counts
        kept = sent & (self._held <= self.capacity)[rows]
        keys, checks = np.append(self._keys, keys[kept]), np.append(self._checks, checks[kept])
        if self._values is not None:
            values = np.concatenate([self._values, values[kept]])
        else:
            values = values[kept]
        order = np.argsort(keys, kind="stable")
        self._keys, self._checks, self._values = keys[order], checks[order], values[order]


def _repeats(keys, checks):
    """Return the positions of keys that came before, and for each of them the first of its kind."""
    ordered = np.sort(keys)
    shared = ordered[1:][ordered[1:] == ordered[:-1]]
    if not len(shared):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    # a coarse filter finds the few requests in question without sorting all of them with their
    # places
    sieve = np.zeros(2**16, dtype=bool)
    sieve[_coarse(shared)] = True
    maybe = np.flatnonzero(sieve[_coarse(keys)])
    maybe = maybe[np.lexsort((maybe, checks[maybe], keys[maybe]))]
    same = (keys[maybe[1:]] == keys[maybe[:-1]]) & (checks[maybe[1:]] == checks[maybe[:-1]])
    starts = np.concatenate([[True], ~same])
    leader = maybe[starts][np.cumsum(starts) - 1]
    return maybe[~starts], leader[~starts]


def _coarse(keys):
    return (keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)


def _words(requests):
    """Return the coalitions' bits as 64-bit words, ``(u, w)``."""
    if requests.bits is not None:
        return requests.bits[:, None]
    packed = np.packbits(requests.coalitions, axis=1, bitorder="little")
    words = np.zeros((len(packed), -(-packed.shape[1] // 8)), dtype="<u8")
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words


def _hash(blocks, seed):
    """Return a 64-bit hash of blocks of words: splitmix64's finaliser after each word."""
    out = np.full(len(blocks[0]), seed, dtype=np.uint64)
    for block in blocks:
        for column in () if block is None else block.T:
            out ^= column.astype(np.uint64)
            out ^= out >> np.uint64(30)
            out *= np.uint64(0xBF58476D1CE4E5B9)
            out ^= out >> np.uint64(27)
            out *= np.uint64(0x94D049BB133111EB)
            out ^= out >> np.uint64(31)
            out += np.uint64(seed)
    return out
