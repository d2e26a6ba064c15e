"""Repeated requests: their known values, and the budget that repeats and ties save."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._run._plan import Size
from skshapley._tables._keys import hashed
from skshapley.samplers._base import Price

# 2^64 over the golden ratio, as in splitmix64. Keys are 64 bits: among the 2^18 values kept for a
# row, two are equal by chance with probability 2^36/2^65, one in half a billion rows.
SEED = 0x9E3779B97F4A7C15


class Ledger:
    """Cache of the evaluations for each row of a block, which avoids repeats.

    The key of a request is a hash of 64 bits.

    Parameters
    ----------
    n_references : int
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
        n_references: int,
        rows: np.ndarray,
        keep: bool = True,
        differing: Callable[[np.ndarray, np.ndarray], np.ndarray | None] | None = None,
    ) -> None:
        self._first_row, self._keep = rows[0], keep
        self._n_references, self._differing = n_references, differing
        self._keys = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held = np.zeros(len(rows), dtype=np.int64)

    def evaluate(self, evaluator: Evaluator, requests: Requests) -> tuple[np.ndarray, np.ndarray]:
        """Return values ``(u, k)``, and flags of the evaluated requests, ``(u,)`` bool."""
        place, words, n = (
            requests.rows - self._first_row,
            packed(requests.coalitions),
            len(self._keys),
        )
        masks = self._masks(requests, place)
        words = words if masks is None else words & masks
        # Row and background row enter the hash too: equal coalitions of two rows are different
        # requests.
        keys = hashed([words, place[:, None], requests.references], SEED)
        # the kept keys differ, so that the code of each is its position
        codes = pd.factorize(np.concatenate([self._keys, keys]))[0][n:]
        # `factorize` numbers keys by first appearance, so a code above all earlier ones marks a new
        # request.
        latest = np.maximum.accumulate(np.maximum(codes, n - 1))
        new = np.flatnonzero(np.diff(latest, prepend=n - 1))
        found = evaluator(requests if len(new) == len(keys) else requests.take(new))
        known = found[:0] if self._values is None else self._values
        if self._keep:
            self._held += np.bincount(place[new], minlength=len(self._held))
            # Beyond the capacity, values are not kept and repeats are paid: memory stays bounded.
            room = (self._held <= self.capacity)[place[new]]
            self._keys = np.concatenate([self._keys, keys[new][room]])
            self._values = np.concatenate([known, found[room]])
        sent = np.zeros(len(keys), dtype=bool)
        sent[new] = True
        return np.concatenate([known, found])[codes], sent

    def _masks(self, requests: Requests, place: np.ndarray) -> np.ndarray | None:
        """Return the relevant players of each coalition as words ``(u, w)``; None for all."""
        named = requests.references
        if named is None or named.shape[1] > 1 or self._differing is None or not len(place):
            return None
        pairs = place * self._n_references + named[:, 0]
        first = np.flatnonzero(np.diff(pairs, prepend=-1))
        differing = self._differing(requests.rows[first], named[first, 0])
        if differing is None:
            # The game cannot compare rows, so later calls need not try.
            self._differing = None
            return None
        # Without ties, masks change nothing.
        if differing.all():
            return None
        return np.repeat(packed(differing), np.diff(np.append(first, len(place))), axis=0)


def packed(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(u, p)`` as 64-bit words, ``(u, w)``."""
    # player j is bit j % 64 of word j // 64, on machines of either byte order
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
        # Cheaper draws raise the limit in proportion, so it limits the cost and not the number.
        room = MOST_TIMES * self._planned * price.draw // cost - self._made[members]
        draws = np.minimum(np.minimum(rows // cost, room), most * price.draw // cost)
        sets = np.maximum(draws // price.step, 0)
        everything = self._everything if every is None else np.minimum(every, self._everything)
        over = (charged >= everything) | (self._asks[members] >= MOST_ASKS) | (sets == 0)
        # frexp returns a mantissa in [1/2, 1), so this is floor(log2) without rounding errors
        exponents = np.frexp(np.maximum(sets, 1))[1] - 1
        return np.where(over, 0, 2**exponents) * price.step

    def add(self, members: np.ndarray, n: int) -> None:
        """Record `n` further draws for each of the rows `members`."""
        self._made[members] += n
        self._asks[members] += 1


MOST_COMPARED = 256  # background rows to compare with each row to explain in advance
MOST_EXPONENT = 1000  # largest exponent of two: with more mixed rows, the count would overflow


class Ties:
    """The players that differ between rows to explain and background rows.

    Parameters
    ----------
    game : Game
    rows : ndarray of shape (r,), int
        The rows to explain.
    players : ndarray of shape (r, count), int
        The active players of each row.

    Attributes
    ----------
    steps : ndarray of shape (r,), int
        Largest cost of a permutation in model rows, without both ends. At least 1.
    n_hybrids : ndarray of shape (r,)
        Number of mixed rows between the ends of all permutations; infinity if not counted.
    """

    def __init__(self, game: Any, rows: np.ndarray, players: np.ndarray) -> None:
        self._game, self._rows, self._players = game, rows, players
        (r, count), b = players.shape, game.n_references
        self.steps, self.n_hybrids = np.full(r, max(count - 1, 1)), np.full(r, np.inf)
        # A table of all comparisons is quick for few background rows; otherwise only drawn pairs
        # are compared.
        self._few, self._table = b <= MOST_COMPARED, None
        if self._few:
            every = np.broadcast_to(np.arange(b), (r, b))
            self._table = self._compared(np.arange(r), every)
        if self._table is not None:
            sizes = self._table.sum(axis=2)
            # The last step reaches v(all), which is known, so a permutation of n players costs n -
            # 1 rows.
            self.steps = np.maximum(sizes.max(axis=1) - 1, 1)
            # 2^size mixed rows between a row and a background row, without both ends
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
        return None if found.all() else found
