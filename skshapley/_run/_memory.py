"""Requests of the instances of a block, and which of them came before.

Most requests need no look: those of a walk are all different, and two walks of an instance against
different background rows have nothing in common. So requests are kept by their *home*, the instance
and, where it is one row, the background row. Keys are made of those alone whose home came before.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from skshapley._run._evaluate import Requests
from skshapley._tools._counting import counted
from skshapley._tools._hashing import hashed


@dataclass(frozen=True, eq=False)
class Asked:
    """Requests as they are looked for.

    Attributes
    ----------
    place : ndarray of shape (u,), int
        The instance of each, counted within the block.
    requests : Requests
    runs : ndarray of shape (w,), int, or None
        Lengths of stretches of requests of one home that are surely different (`Design.runs`).
        None: nothing is known.
    words : ndarray of shape (u, w), uint64, or None
        The coalitions as bits; None: not made yet.
    """

    place: np.ndarray
    requests: Requests
    runs: np.ndarray | None
    words: np.ndarray | None = None

    @classmethod
    def of(cls, requests: Requests, first_row: int, runs: np.ndarray | None) -> "Asked":
        """Return requests of a block that begins with the instance `first_row`."""
        bits = requests.bits
        words = None if bits is None else bits[:, None]
        return cls(requests.rows - first_row, requests, runs, words)

    def alike(self, masks: np.ndarray) -> "Asked":
        """Return the same with coalitions cut down to players ``(u, w)``: any may agree then."""
        words = packed(self.requests.coalitions) if self.words is None else self.words
        return replace(self, words=words & masks, runs=None)

    def kept(self) -> "Asked":
        """Return the same without its coalitions, which take more memory than their bits."""
        words = packed(self.requests.coalitions) if self.words is None else self.words
        return replace(self, words=words, requests=self.requests._replace(coalitions=words[:, :0]))

    @property
    def references(self) -> np.ndarray | None:
        """The background row of each request, where it is one, ``(u,)``."""
        named = self.requests.references
        return None if named is None or named.shape[1] > 1 else named[:, 0]

    def words_at(self, index: np.ndarray | slice) -> np.ndarray:
        """Return the words of some of the requests."""
        return packed(self.requests.coalitions[index]) if self.words is None else self.words[index]

    @property
    def starts(self) -> np.ndarray:
        """The starts of runs, ``(w,)`` int; without known runs, each request is its own."""
        if self.runs is None:
            return np.arange(len(self.place))
        return np.cumsum(self.runs) - self.runs

    def homes(self, n_references: int) -> np.ndarray:
        """Return the home of each run, ``(w,)`` int."""
        at = self.starts
        homes = self.place[at] * (n_references + 1)
        return homes if self.references is None else homes + self.references[at] + 1

    def spread(self, flags: np.ndarray) -> np.ndarray:
        """Repeat the flag of each home for all of its requests, ``(u,)``."""
        return flags if self.runs is None else np.repeat(flags, self.runs)


class Keys:
    """Keys of requests: 128 bits of a hash, or the request itself if 64 bits hold it.

    Parameters
    ----------
    n_players, n_references, n_rows : int
    """

    def __init__(self, n_players: int, n_references: int, n_rows: int) -> None:
        bits = n_players, int(n_references).bit_length(), n_rows.bit_length()
        self._shifts = np.cumsum(bits[:2]).astype(np.uint64) if sum(bits) <= 64 else None

    def __call__(self, asked: Asked, index: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        """Return a key of coalition, references and instance of some requests, and a second one."""
        words, place = asked.words_at(index), asked.place[index].astype(np.uint64)
        references = asked.requests.references
        references = None if references is None else references[index]
        if self._shifts is None or (references is not None and references.shape[1] > 1):
            parts = [words, place[:, None], references]
            return hashed(parts, 0x9E3779B97F4A7C15), hashed(parts, 0xD1B54A32D192ED03)
        key = words[:, 0] | (place << self._shifts[1])
        if references is not None:
            # 0 stands for the whole background
            key |= (references[:, 0] + 1).astype(np.uint64) << self._shifts[0]
        return key, key


class Met(NamedTuple):
    """Which requests are fresh, which came before among the same, which are in a memory."""

    fresh: np.ndarray
    later: np.ndarray
    leader: np.ndarray
    known: np.ndarray
    place: np.ndarray


@dataclass(eq=False)
class _Part:
    """Requests of one ask, limited to homes that are `left` to look up.

    Only those that were `fresh` are kept, and only of the instances that have `room`.
    """

    asked: Asked
    homes: np.ndarray
    left: np.ndarray
    fresh: np.ndarray
    room: np.ndarray
    values: np.ndarray | None


class Memory:
    """Requests, and values if they come with some, of each instance: the first `capacity` of them.

    Parameters
    ----------
    keys : Keys
    n_rows, n_references, capacity : int
    """

    def __init__(self, keys: Keys, n_rows: int, n_references: int, capacity: int) -> None:
        self._make_keys, self._n_references, self._capacity = keys, n_references, capacity
        self._parts: list[_Part] = []
        self._keys = np.empty(0, dtype=np.uint64)
        self._checks = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held = np.zeros(n_rows, dtype=np.int64)

    def meet(self, asked: Asked) -> Met:
        """Return the cached entries that match the requests."""
        homes = asked.homes(self._n_references)
        self._look_up(homes)
        at = self._maybe(asked, homes)
        keys, checks = self._make_keys(asked, at)
        later, leader = _repeats(keys, checks)
        known = place = np.empty(0, dtype=np.intp)
        if len(self._keys):
            place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
            held = (self._keys[place] == keys) & (self._checks[place] == checks)
            known, place = np.flatnonzero(held), place[held]
        if not isinstance(at, slice):
            later, leader, known = at[later], at[leader], at[known]
        fresh = np.ones(len(asked.place), dtype=bool)
        fresh[later] = fresh[known] = False
        return Met(fresh, later, leader, known, place)

    def _maybe(self, asked: Asked, homes: np.ndarray) -> np.ndarray | slice:
        """Return the requests that may have come before."""
        if asked.runs is None:
            return slice(None)
        again = np.sort(homes)
        again = again[1:][again[1:] == again[:-1]]
        before = [part.homes for part in self._parts]
        return np.flatnonzero(asked.spread(np.isin(homes, np.concatenate([again, *before]))))

    def _look_up(self, homes: np.ndarray) -> None:
        """Make the keys of earlier requests at these homes."""
        if not self._parts:
            return
        found = np.isin(np.concatenate([part.homes for part in self._parts]), homes)
        if not found.any():  # mostly, and parts are many
            return
        ends = np.cumsum([len(part.homes) for part in self._parts])
        stored = []
        for part, wanted in zip(self._parts, np.split(found, ends[:-1]), strict=True):
            wanted &= part.left
            if wanted.any():
                part.left &= ~wanted
                at = np.flatnonzero(part.asked.spread(wanted) & part.fresh)
                stored.append((part, at[part.room[part.asked.place[at]]]))
        if stored:
            self._store(stored)

    def _store(self, stored: "list[tuple[_Part, np.ndarray]]") -> None:
        """Merge the keys of some requests of each part into those that are sorted already."""
        made = [self._make_keys(part.asked, at) for part, at in stored]
        keys, checks = (np.concatenate(both) for both in zip(*made, strict=True))
        order = np.argsort(keys, kind="stable")
        keys, checks = keys[order], checks[order]
        at = np.searchsorted(self._keys, keys)
        self._keys = np.insert(self._keys, at, keys)
        self._checks = np.insert(self._checks, at, checks)
        if stored[0][0].values is not None:
            values = np.concatenate([np.asarray(part.values)[rows] for part, rows in stored])[order]
            known = values[:0] if self._values is None else self._values
            self._values = np.insert(known, at, values, axis=0)

    def completed(self, values: np.ndarray, fresh: np.ndarray, met: Met) -> np.ndarray:
        """Return all values ``(u, k)``, given the fresh ones."""
        everything = np.empty((len(met.fresh), values.shape[1]))
        everything[fresh] = values
        if self._values is not None:
            everything[met.known] = self._values[met.place]
        everything[met.later] = everything[met.leader]
        return everything

    def add(self, asked: Asked, fresh: np.ndarray, values: np.ndarray | None = None) -> None:
        """Keep the fresh ones of the instances that have room for them, with all values given."""
        self._held += counted(asked.place, fresh, len(self._held))
        for part in self._parts[-1:]:  # as those before it are already
            part.asked = part.asked.kept()
        homes = asked.homes(self._n_references)
        left, room = np.ones(len(homes), dtype=bool), self._held <= self._capacity
        self._parts.append(_Part(asked, homes, left, fresh, room, values))


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


def packed(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(u, p)`` as 64-bit words, ``(u, w)``."""
    bits = np.packbits(coalitions, axis=1, bitorder="little")
    words = np.zeros((len(bits), -(-bits.shape[1] // 8)), dtype="<u8")
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words
