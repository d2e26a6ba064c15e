"""What was evaluated already: the known is filled in, and only the rest is sent."""

from collections.abc import Callable

import numpy as np

from skshapley._run._evaluate import Evaluator, Requests

LEAST_TIED = 0.02  # of players and background rows: with fewer ties to look for them costs more


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
        self._keys = np.empty(0, dtype=np.uint64)
        self._checks = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held = np.zeros(len(rows), dtype=np.int64)

    def evaluate(
        self, evaluator: Evaluator, requests: Requests, distinct: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values ``(u, k)`` and which requests were really sent, ``(u,)`` bool."""
        n = len(requests.rows)
        sent = np.ones(n, dtype=bool)
        masks = self._masks(requests)
        if distinct and not self._keep and masks is None:
            return evaluator(requests), sent
        words = _words(requests)
        if masks is not None:
            words = words & masks
        keys = self._key(requests, words)
        checks = self._check(requests, words, keys)
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

    def _masks(self, requests: Requests) -> np.ndarray | None:
        """Return the players in which a coalition counts, as words ``(u, w)``; None for all."""
        references = requests.references
        if references is None or references.shape[1] > 1 or self._differing is None:
            return None
        pairs = requests.rows * self._n_references + references[:, 0]
        # those of a walk come one after the other
        first = np.flatnonzero(np.concatenate([[True], pairs[1:] != pairs[:-1]]))
        differing = self._differing(requests.rows[first], references[first, 0])
        if differing is None or differing.mean() > 1 - LEAST_TIED:
            self._differing = None  # and is not asked again
            return None
        return np.repeat(_packed(differing), np.diff(np.append(first, len(pairs))), axis=0)

    def _key(self, requests: Requests, words: np.ndarray) -> np.ndarray:
        """Return a 64-bit key of coalition, references and instance: the bits if they fit."""
        references = requests.references
        rows = (requests.rows - self._first_row).astype(np.uint64)
        if self._shifts is None or (references is not None and references.shape[1] > 1):
            return _hash([words, rows[:, None], references], 0x9E3779B97F4A7C15)
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
        return _hash([words, rows[:, None], references], 0xD1B54A32D192ED03)

    def _look_up(self, keys: np.ndarray, checks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which requests are remembered, and where."""
        if not len(self._keys):
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        known = (self._keys[place] == keys) & (self._checks[place] == checks)
        return np.flatnonzero(known), place[known]

    def _remember(
        self,
        rows: np.ndarray,
        keys: np.ndarray,
        checks: np.ndarray,
        values: np.ndarray,
        sent: np.ndarray,
    ) -> None:
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


def _hash(blocks, seed: int) -> np.ndarray:
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
