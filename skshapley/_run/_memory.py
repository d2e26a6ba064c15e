"""Repeated requests: their known values, and the budget that repeats and ties save.

Most requests need no lookup. The requests of one permutation are all different, and permutations
against different background rows share no request. A *home* is a row to explain, together with the
background row if there is a single one. Keys are computed only when a home repeats.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._run._plan import Size
from skshapley._tables._keys import hashed
from skshapley.samplers._base import Price

LEAST_TIED = 0.02  # share of players and background rows; fewer ties do not repay the search


class Ledger:
    """Cache of the evaluations for each row of a block, which avoids repeats.

    Keys are 128 bits of a hash, or the request itself if 64 bits hold it.

    Parameters
    ----------
    n_players, n_references : int
    rows : ndarray of int
        The rows to explain of the block, contiguous.
    keep : bool
        Whether the same coalitions may appear in later calls. Up to `capacity` values of a row are
        kept.
    differing : callable or None
        Returns the players that differ between rows to explain and one background row each,
        ``(n, p)`` bool, or None. Against a single background row, coalitions with the same
        differing players are the same request.
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
        bits = n_players, int(n_references).bit_length(), len(rows).bit_length()
        self._shifts = np.cumsum(bits[:2]).astype(np.uint64) if sum(bits) <= 64 else None
        self._first_row, self._keep = rows[0], keep
        self._n_references, self._differing = n_references, differing
        self._homes = np.empty(0, dtype=np.intp)  # homes of the kept requests
        self._unfiled: list[tuple[Requests, np.ndarray]] = []  # without keys
        self._keys = np.empty(0, dtype=np.uint64)
        self._checks = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held = np.zeros(len(rows), dtype=np.int64)

    def evaluate(
        self, evaluator: Evaluator, requests: Requests, runs: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values ``(u, k)``, and flags of the evaluated requests, ``(u,)`` bool.

        Parameters
        ----------
        evaluator : Evaluator
        requests : Requests
        runs : ndarray of shape (w,), int, or None
            Lengths of runs without repeats, each for one row to explain and the same background
            rows. None: unknown.
        """
        words = packed(requests.coalitions) if requests.bits is None else requests.bits[:, None]
        place = requests.rows - self._first_row
        homes = self._homes_of(requests, place)
        masks = self._masks(requests, place, homes)
        kept = Requests(place, words if masks is None else words & masks, requests.references)
        sent = np.ones(len(place), dtype=bool)
        requests = requests._replace(bits=None)  # used here only
        if runs is not None:
            homes = homes[np.cumsum(runs) - runs]
        if masks is None and runs is not None and self._are_new(homes):
            values = evaluator(requests)
            self._add(kept, values, homes)
            return values, sent
        for earlier, known in self._unfiled:
            self._file(*self._keys_of(earlier), known)
        self._unfiled = []
        keys, checks = self._keys_of(kept)
        later, leader = _repeats(keys, checks)
        at = np.minimum(np.searchsorted(self._keys, keys), max(len(self._keys) - 1, 0))
        held = np.zeros(len(keys), dtype=bool)
        if len(self._keys):
            held = (self._keys[at] == keys) & (self._checks[at] == checks)
        sent[later] = sent[held] = False
        values = np.empty((len(keys), evaluator.game.n_outputs))
        values[sent] = evaluator(requests, None if sent.all() else np.flatnonzero(sent))
        if self._values is not None:
            values[held] = self._values[at[held]]
        values[later] = values[leader]
        if not sent.all():
            kept = kept.take(np.flatnonzero(sent))
        self._add(kept, values[sent], homes)
        return values, sent

    def _homes_of(self, requests: Requests, place: np.ndarray) -> np.ndarray:
        homes = place * (self._n_references + 1)
        named = requests.references
        return homes if named is None or named.shape[1] > 1 else homes + named[:, 0] + 1

    def _are_new(self, homes: np.ndarray) -> bool:
        """Return True if no home is repeated or known."""
        ordered = np.sort(homes)
        return not ((ordered[1:] == ordered[:-1]).any() or np.isin(ordered, self._homes).any())

    def _add(self, kept: Requests, values: np.ndarray, homes: np.ndarray) -> None:
        """Keep requests and values of the rows with room for them."""
        if not self._keep:
            return
        self._held += np.bincount(kept.rows, minlength=len(self._held))
        room = (self._held <= self.capacity)[kept.rows]
        if not room.all():
            kept, values = kept.take(np.flatnonzero(room)), values[room]
        self._unfiled.append((kept, values))
        self._homes = np.union1d(self._homes, homes)

    def _file(self, keys: np.ndarray, checks: np.ndarray, values: np.ndarray) -> None:
        """Merge keys and values into the sorted keys and values."""
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
        at = np.searchsorted(self._keys, keys)
        self._keys = np.insert(self._keys, at, keys)
        self._checks = np.insert(self._checks, at, checks[order])
        known = values[:0] if self._values is None else self._values
        self._values = np.insert(known, at, values[order], axis=0)

    def _keys_of(self, kept: Requests) -> tuple[np.ndarray, np.ndarray]:
        """Return two keys of each request: coalition, background rows and row to explain."""
        place, words, references = kept.rows.astype(np.uint64), kept.coalitions, kept.references
        if self._shifts is None or (references is not None and references.shape[1] > 1):
            parts = [words, place[:, None], references]
            return hashed(parts, 0x9E3779B97F4A7C15), hashed(parts, 0xD1B54A32D192ED03)
        key = words[:, 0] | (place << self._shifts[1])
        if references is not None:
            # 0 stands for the whole background
            key |= (references[:, 0] + 1).astype(np.uint64) << self._shifts[0]
        return key, key

    def _masks(self, requests: Requests, place: np.ndarray, homes: np.ndarray) -> np.ndarray | None:
        """Return the relevant players of each coalition as words ``(u, w)``; None for all."""
        named = requests.references
        if named is None or named.shape[1] > 1 or self._differing is None or not len(place):
            return None
        first = np.flatnonzero(np.concatenate([[True], homes[1:] != homes[:-1]]))
        differing = self._differing(requests.rows[first], named[first, 0])
        if differing is None:
            self._differing = None
            return None
        if differing.all():
            return None
        # an instance with next to no ties is spared, whoever stands beside it
        own = place[first]
        share = np.bincount(own, differing.mean(axis=1)) / np.maximum(np.bincount(own), 1)
        spared = share > 1 - LEAST_TIED
        if spared[own].all():
            return None
        differing = differing | spared[own][:, None]
        return np.repeat(packed(differing), np.diff(np.append(first, len(place))), axis=0)


def _repeats(keys: np.ndarray, checks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of repeated keys, and for each of them the first position of the key."""
    ordered = np.sort(keys)
    if not (ordered[1:] == ordered[:-1]).any():
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    order = np.lexsort((checks, keys))
    keys, checks = keys[order], checks[order]
    first = np.concatenate([[True], (keys[1:] != keys[:-1]) | (checks[1:] != checks[:-1])])
    leader = order[first][np.cumsum(first) - 1]
    return order[~first], leader[~first]


def packed(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(u, p)`` as 64-bit words, ``(u, w)``."""
    bits = np.packbits(coalitions, axis=1, bitorder="little")
    words = np.zeros((len(bits), -(-bits.shape[1] // 8)), dtype="<u8")
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words


# If most draws repeat, the rest of a budget is not worth the search. These constants limit the
# draws of a row, relative to the draws that the budget surely buys, and its further designs. At 16
# players, 24 designs spend budgets of 1,000 and 4,000 evaluations completely, and 15,900 of 16,000
MOST_TIMES = 4
MOST_ASKS = 24
MOST_ROWS = 2**40  # larger than any practical budget, and safe in int64


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
        The size of the game without the players that do not matter.
    planned : int
        Draws that the budget buys if no coalition repeats.
    max_rows : int
        Model rows per row to explain.
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
        """Return the number of further draws that each row makes next, ``(r,)``.

        It is the largest power of two, in steps, that the remaining budget surely buys. Few
        different numbers let many rows share a design.

        Parameters
        ----------
        members : ndarray of shape (r,), int
            Positions of the rows to explain.
        charged : ndarray of shape (r,), int
            Model rows charged to their budgets.
        most : int
            Most draws of one design.
        steps : ndarray of shape (r,), int, or None
            Largest cost of a draw for each row; None: the price of the sampler.
        every : ndarray of shape (r,) or None
            Number of different model rows of each row to explain; None for all coalitions.
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
        """Record `n` further draws for each of the rows `members`."""
        self._made[members] += n
        self._asks[members] += 1


MOST_COMPARED = 256  # background rows to compare with each row to explain in advance
MOST_EXPONENT = 1000  # of two: with more hybrid rows, the count would overflow


class Ties:
    """The players that differ between rows to explain and background rows.

    Parameters
    ----------
    game : Game
    rows : ndarray of shape (r,), int
        The rows to explain.
    players : ndarray of shape (r, count), int
        The players that matter to each.

    Attributes
    ----------
    steps : ndarray of shape (r,), int
        Largest cost of a permutation in model rows, without both ends. At least 1.
    n_hybrids : ndarray of shape (r,)
        Number of hybrid rows between the ends of all permutations; infinity if not counted.
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
        """Return the players that differ between rows and background rows, or None for all.

        Parameters
        ----------
        members : ndarray of shape (m,), int
            Positions among the rows to explain.
        references : ndarray of shape (m, n), int

        Returns
        -------
        differing : ndarray of shape (m, n, count), bool
        """
        if self._table is not None:
            return self._table[members[:, None], references]
        return None if self._few else self._compared(members, references)

    def _compared(self, members: np.ndarray, references: np.ndarray) -> np.ndarray | None:
        """Compare rows to explain ``(m,)`` with background rows ``(m, n)``."""
        n = references.shape[1]
        found = self._game.differing(np.repeat(self._rows[members], n), references.ravel())
        if found is None:
            return None
        found = found.reshape(*references.shape, -1)
        if self._players.shape[1] < found.shape[2]:
            found = np.take_along_axis(found, self._players[members][:, None], axis=2)
        # an instance with next to no ties is spared, whoever stands beside it
        spared = found.mean(axis=(1, 2)) > 1 - LEAST_TIED
        return None if spared.all() else found | spared[:, None, None]
