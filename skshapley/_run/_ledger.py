"""What was evaluated already: the known is filled in, and only the rest is sent."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._tools._hashing import hashed

LEAST_TIED = 0.02  # of players and background rows: with fewer ties to look for them costs more


class Evaluated(NamedTuple):
    """Requests with their values.

    Attributes
    ----------
    values : ndarray of shape (u, k)
    sent : ndarray of shape (u,), bool
        Which were really evaluated.
    new : ndarray of shape (u,), bool
        Which the instance had not asked for before: budgets count these. Fewer are sent where
        coalitions are alike in the players that differ, which may not change what is asked next.
    """

    values: np.ndarray
    sent: np.ndarray
    new: np.ndarray


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
    differing : callable or None
        Returns which players of given instances differ from a given background row each, ``(n, p)``
        bool, or None. Against a single row coalitions that are alike in those are the same request.
    """

    capacity = 2**18

    def __init__(
        self,
        n_players: int,
        n_references: int,
        rows: np.ndarray,
        keep: bool = True,
        differing: Callable[[np.ndarray, np.ndarray], np.ndarray | None] | None = None,
    ) -> None:
        self._first_row, self._keep = rows[0], keep
        self._n_references, self._differing = n_references, differing
        bits = n_players, int(n_references).bit_length(), len(rows).bit_length()
        self._shifts = np.cumsum(bits[:2]).astype(np.uint64) if sum(bits) <= 64 else None
        self._known = _Memory(len(rows), self.capacity)
        self._asked = _Memory(len(rows), self.capacity)  # without a look at what differs

    def evaluate(
        self, evaluator: Evaluator, requests: Requests, distinct: bool = False
    ) -> Evaluated:
        """Return values, and which requests were sent, and new."""
        masks = self._masks(requests)
        if distinct and not self._keep and masks is None:
            everything = np.ones(len(requests.rows), dtype=bool)
            return Evaluated(evaluator(requests), everything, everything)
        rows, words = requests.rows - self._first_row, _words(requests)
        new = None if masks is None else self._new(requests, words)
        words = words if masks is None else words & masks
        keys = self._key(requests, words)
        checks = self._check(requests, words, keys)
        met = self._known.meet(keys, checks)
        fresh = None if met.fresh.all() else np.flatnonzero(met.fresh)
        values = evaluator(requests, fresh)
        if fresh is not None:
            values = self._known.completed(values, fresh, met)
        if self._keep:
            self._known.add(rows, keys, checks, met.fresh, values)
        return Evaluated(values, met.fresh, met.fresh if new is None else new)

    def _new(self, requests: Requests, words: np.ndarray) -> np.ndarray:
        """Return which coalitions the instance had not asked for before, ``(u,)`` bool."""
        keys = self._key(requests, words)
        checks = self._check(requests, words, keys)
        fresh = self._asked.meet(keys, checks).fresh
        if self._keep:
            self._asked.add(requests.rows - self._first_row, keys, checks, fresh)
        return fresh

    def _masks(self, requests: Requests) -> np.ndarray | None:
        """Return the players in which a coalition counts, as words ``(u, w)``; None for all."""
        references = requests.references
        if references is None or references.shape[1] > 1 or self._differing is None:
            return None
        pairs = requests.rows * self._n_references + references[:, 0]
        # those of a walk come one after the other
        first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
        differing = self._differing(requests.rows[first], references[first, 0])
        if differing is None:
            self._differing = None
            return None
        # an instance with next to no ties is spared, whoever stands beside it
        place = requests.rows[first] - self._first_row
        share = np.bincount(place, differing.mean(axis=1)) / np.maximum(np.bincount(place), 1)
        spared = share > 1 - LEAST_TIED
        if spared[place].all():
            return None
        differing = differing | spared[place][:, None]
        return np.repeat(_packed(differing), np.diff(np.append(first, len(pairs))), axis=0)

    def _key(self, requests: Requests, words: np.ndarray) -> np.ndarray:
        """Return a 64-bit key of coalition, references and instance: the bits if they fit."""
        references = requests.references
        rows = (requests.rows - self._first_row).astype(np.uint64)
        if self._shifts is None or (references is not None and references.shape[1] > 1):
            return hashed([words, rows[:, None], references], 0x9E3779B97F4A7C15)
        key = words[:, 0] | (rows << self._shifts[1])
        if references is not None:
            # 0 stands for the whole background
            key |= (references[:, 0] + 1).astype(np.uint64) << self._shifts[0]
        return key

    def _check(self, requests: Requests, words: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """Return a second key, which makes 128 bits of a hashed one; the bits need none."""
        references = requests.references
        if self._shifts is not None and (references is None or references.shape[1] == 1):
            return keys
        rows = (requests.rows - self._first_row).astype(np.uint64)
        return hashed([words, rows[:, None], references], 0xD1B54A32D192ED03)


class _Met(NamedTuple):
    """Which keys are fresh, which came before in the same requests, which are in a memory."""

    fresh: np.ndarray
    later: np.ndarray
    leader: np.ndarray
    known: np.ndarray
    place: np.ndarray


class _Memory:
    """Keys, and values if they come with some, of each instance: the first `capacity` of them."""

    def __init__(self, n_rows: int, capacity: int) -> None:
        self._capacity = capacity
        self._keys = np.empty(0, dtype=np.uint64)
        self._checks = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held = np.zeros(n_rows, dtype=np.int64)

    def meet(self, keys: np.ndarray, checks: np.ndarray) -> _Met:
        """Return what is known of keys ``(u,)``."""
        later, leader = _repeats(keys, checks)
        known = place = np.empty(0, dtype=np.intp)
        if len(self._keys):
            at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            held = (self._keys[at] == keys) & (self._checks[at] == checks)
            known, place = np.flatnonzero(held), at[held]
        fresh = np.ones(len(keys), dtype=bool)
        fresh[later] = fresh[known] = False
        return _Met(fresh, later, leader, known, place)

    def completed(self, values: np.ndarray, fresh: np.ndarray, met: _Met) -> np.ndarray:
        """Return all values ``(u, k)``, those of the fresh ones given."""
        everything = np.empty((len(met.fresh), values.shape[1]))
        everything[fresh] = values
        if self._values is not None:
            everything[met.known] = self._values[met.place]
        everything[met.later] = everything[met.leader]
        return everything

    def add(
        self,
        rows: np.ndarray,
        keys: np.ndarray,
        checks: np.ndarray,
        fresh: np.ndarray,
        values: np.ndarray | None = None,
    ) -> None:
        """Keep the fresh ones of the instances that have room for them."""
        self._held += np.bincount(rows[fresh], minlength=len(self._held))
        kept = fresh & (self._held <= self._capacity)[rows]
        keys, checks = np.append(self._keys, keys[kept]), np.append(self._checks, checks[kept])
        order = np.argsort(keys, kind="stable")
        self._keys, self._checks = keys[order], checks[order]
        if values is not None:
            values = values[kept]
            if self._values is not None:
                values = np.concatenate([self._values, values])
            self._values = values[order]


def _repeats(keys: np.ndarray, checks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
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


def _coarse(keys: np.ndarray) -> np.ndarray:
    return (keys * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(48)


def _words(requests: Requests) -> np.ndarray:
    """Return the coalitions' bits as 64-bit words, ``(u, w)``."""
    if requests.bits is not None:
        return requests.bits[:, None]
    return _packed(requests.coalitions)


def _packed(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(u, p)`` as 64-bit words, ``(u, w)``."""
    packed = np.packbits(coalitions, axis=1, bitorder="little")
    words = np.zeros((len(packed), -(-packed.shape[1] // 8)), dtype="<u8")
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words
