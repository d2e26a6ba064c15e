"""Repeated requests: their known values, and the budget that repeats and ties save.

Most requests need no look: those of a walk are all different, and two walks of an instance against
different background rows have nothing in common. So requests are kept by their *home*, the instance
and, where it is one row, the background row. Keys are made of those alone whose home came before.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._run._plan import Size
from skshapley._tables._keys import hashed
from skshapley._tools._counting import counted
from skshapley.samplers._base import Price


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
    """Cache of the evaluations for each row of a block, so that none is repeated.

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
        keys, n = Keys(n_players, n_references, len(rows)), len(rows)
        self._known = Memory(keys, n, n_references, self.capacity)
        # without a look at what differs
        self._asked = Memory(keys, n, n_references, self.capacity)

    def evaluate(
        self, evaluator: Evaluator, requests: Requests, runs: np.ndarray | None = None
    ) -> Evaluated:
        """Return values, and which requests were sent, and new.

        Parameters
        ----------
        evaluator : Evaluator
        requests : Requests
        runs : ndarray of shape (w,), int, or None
            Lengths of stretches of requests that are surely different, each of one instance and
            against the same references; None: nothing is known.
        """
        asked = Asked.of(requests, self._first_row, runs)
        masks, new = self._masks(asked), None
        if masks is not None:
            new = self._new(asked)
            asked = asked.alike(masks)
        met = self._known.meet(asked)
        fresh = None if met.fresh.all() else np.flatnonzero(met.fresh)
        values = evaluator(requests._replace(bits=None), fresh)  # of use here alone
        if fresh is not None:
            values = self._known.completed(values, fresh, met)
        if self._keep:
            self._known.add(asked, met.fresh, values)
        return Evaluated(values, met.fresh, met.fresh if new is None else new)

    def _new(self, asked: Asked) -> np.ndarray:
        """Return which coalitions the instance had not asked for before, ``(u,)`` bool."""
        fresh = self._asked.meet(asked).fresh
        if self._keep:
            self._asked.add(asked, fresh)
        return fresh

    def _masks(self, asked: Asked) -> np.ndarray | None:
        """Return the players in which a coalition counts, as words ``(u, w)``; None for all."""
        references, rows = asked.references, asked.requests.rows
        if references is None or self._differing is None or not len(rows):
            return None
        # those of a walk come one after the other
        starts, homes = asked.starts, asked.homes(self._n_references)
        first = starts[np.concatenate([[True], homes[1:] != homes[:-1]])]
        differing = self._differing(rows[first], references[first])
        if differing is None:
            self._differing = None
            return None
        if differing.all():
            return None
        # an instance with next to no ties is spared, whoever stands beside it
        place = asked.place[first]
        share = np.bincount(place, differing.mean(axis=1)) / np.maximum(np.bincount(place), 1)
        spared = share > 1 - LEAST_TIED
        if spared[place].all():
            return None
        differing = differing | spared[place][:, None]
        return np.repeat(packed(differing), np.diff(np.append(first, len(rows))), axis=0)


# Where most draws repeat, what is left of a budget is not worth the search. These are the most
# draws of an instance in all, by those that the budget surely buys, and its most further asks: at
# 16 players 24 of them spend budgets of 1,000 and 4,000 evaluations to the last, and 15,900 of
# 16,000
MOST_TIMES = 4
MOST_ASKS = 24
MOST_ROWS = 2**40  # more than anybody waits for, and a number that fits


class Rest:
    """The remaining budgets of rows after their planned draws.

    Each row continues alone, so its draws do not depend on the other rows of the block. Only new
    model rows count: repeated coalitions are free, and so are players that agree with a background
    row. The final number of draws depends on the coalitions drawn but never on their values. It
    favours no player among those that differ from a background row. Given that number, each order
    of these players is therefore still uniform, and without ties so is each coalition of a size.

    Parameters
    ----------
    price : Price
    size : Size
        Of the game, the players that do not matter left out.
    planned : int
        Draws that the budget buys if no coalition comes twice.
    max_rows : int
        Model rows that an instance may cost.
    n_instances : int
    """

    def __init__(
        self, price: Price, size: Size, planned: int, max_rows: int, n_instances: int
    ) -> None:
        self._price, self._size = price, size
        self._budget = min(max_rows - 1, MOST_ROWS)
        self._everything = min(size.rows(2**size.n_players) - 1, MOST_ROWS)
        self._made, self._planned = np.full(n_instances, planned), planned
        self._asks = np.zeros(n_instances, dtype=np.int64)

    def draws(
        self,
        members: np.ndarray,
        charged: np.ndarray,
        most: int,
        steps: np.ndarray | None = None,
        every: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return how many further draws each instance is to make next; 0 for none, ``(r,)``.

        The largest power of two, in steps, of those that what is left surely buys: so few asks
        serve many instances.

        Parameters
        ----------
        members : ndarray of shape (r,), int
            Which instances.
        charged : ndarray of shape (r,), int
            Model rows that count against their budgets.
        most : int
            Draws in one ask.
        steps : ndarray of shape (r,), int, or None
            What a draw costs each of them at most; None for its price.
        every : ndarray of shape (r,) or None
            How many rows there are to evaluate; None for all coalitions.
        """
        price = self._price
        left = np.maximum(self._budget - charged, 0)
        rows = left * self._size.n_references // self._size.rows_per_value
        cost = price.draw if steps is None else steps
        room = MOST_TIMES * self._planned * price.draw // cost - self._made[members]
        draws = np.minimum(np.minimum(rows // cost, room), most * price.draw // cost)
        sets = np.maximum(draws // price.step, 0)
        everything = self._everything if every is None else np.minimum(every, self._everything)
        over = (charged >= everything) | (self._asks[members] >= MOST_ASKS) | (sets == 0)
        exponents = np.frexp(np.maximum(sets, 1))[1] - 1
        return np.where(over, 0, 2**exponents) * price.step

    def add(self, members: np.ndarray, n: int) -> None:
        """Note that instances `members` have made `n` further draws each."""
        self._made[members] += n
        self._asks[members] += 1


MOST_COMPARED = 256  # background rows that each instance is compared with before any is dealt
MOST_EXPONENT = 1000  # of two: more hybrid rows than can be counted


class Ties:
    """Knows in which players instances differ from background rows.

    Parameters
    ----------
    game : Game
    rows : ndarray of shape (r,), int
        The instances.
    players : ndarray of shape (r, count), int
        The players that matter to each.

    Attributes
    ----------
    steps : ndarray of shape (r,), int
        Model rows that a walk costs at most: those between its ends. At least 1.
    n_hybrids : ndarray of shape (r,)
        Hybrid rows between the ends of all walks there are, or infinity if not counted.
    """

    def __init__(self, game: Any, rows: np.ndarray, players: np.ndarray) -> None:
        self._game, self._rows, self._players = game, rows, players
        (r, count), b = players.shape, game.n_references
        self.steps, self.n_hybrids = np.full(r, max(count - 1, 1)), np.full(r, np.inf)
        self._few, self._table = b <= MOST_COMPARED, None
        if self._few:
            every = np.broadcast_to(np.arange(b), (r, b))
            self._table = self._compared(np.arange(r), every)
        if self._table is not None:
            sizes = self._table.sum(axis=2)
            self.steps = np.maximum(sizes.max(axis=1) - 1, 1)
            powers = np.ldexp(1.0, np.minimum(sizes, MOST_EXPONENT))
            self.n_hybrids = np.maximum(powers - 2, 0).sum(axis=1)

    def differing(self, members: np.ndarray, references: np.ndarray) -> np.ndarray | None:
        """Return the players in which instances differ from background rows, or None for all.

        Parameters
        ----------
        members : ndarray of shape (m,), int
            Positions among the instances.
        references : ndarray of shape (m, n), int

        Returns
        -------
        differing : ndarray of shape (m, n, count), bool
        """
        if self._table is not None:
            return self._table[members[:, None], references]
        return None if self._few else self._compared(members, references)

    def _compared(self, members: np.ndarray, references: np.ndarray) -> np.ndarray | None:
        """Compare instances ``(m,)`` with background rows ``(m, n)``."""
        n = references.shape[1]
        found = self._game.apart(np.repeat(self._rows[members], n), references.ravel())
        if found is None:
            return None
        found = found.reshape(*references.shape, -1)
        if self._players.shape[1] < found.shape[2]:
            found = np.take_along_axis(found, self._players[members][:, None], axis=2)
        # an instance with next to no ties is spared, whoever stands beside it
        spared = found.mean(axis=(1, 2)) > 1 - LEAST_TIED
        return None if spared.all() else found | spared[:, None, None]
