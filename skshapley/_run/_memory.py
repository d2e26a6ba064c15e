"""Repeated requests: their known values, and the budget that they save."""

import numpy as np
import pandas as pd

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._run._plan import Size
from skshapley._tables._keys import hashed
from skshapley.samplers._base import Price

# 2^64 over the golden ratio, as in splitmix64. Keys are 64 bits: among the 2^18 values
# kept for a row, two are equal by chance with probability 2^36/2^65, one in half a
# billion rows.
SEED = 0x9E3779B97F4A7C15


class Ledger:
    """Cache of the evaluations for each row of a block, which avoids repeats.

    The key of a request is a hash of 64 bits. Up to `capacity` values of a row are
    kept.

    Parameters
    ----------
    rows : ndarray of int
        The rows to explain of the block, contiguous.
    """

    capacity = 2**18

    def __init__(self, rows: np.ndarray) -> None:
        self._first_row = rows[0]
        self._keys = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._held = np.zeros(len(rows), dtype=np.int64)

    def evaluate(
        self, evaluator: Evaluator, requests: Requests
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values ``(u, k)``, and flags of the evaluated requests, ``(u,)`` bool."""
        place, n = requests.rows - self._first_row, len(self._keys)
        # Row and background rows enter the hash too: equal coalitions of two rows are
        # different requests.
        keys = hashed(
            [packed(requests.coalitions), place[:, None], requests.references], SEED
        )
        # the kept keys differ, so that the code of each is its position
        codes = pd.factorize(np.concatenate([self._keys, keys]))[0][n:]
        # `factorize` numbers keys by first appearance, so a code above all earlier ones
        # marks a new request.
        latest = np.maximum.accumulate(np.maximum(codes, n - 1))
        new = np.flatnonzero(np.diff(latest, prepend=n - 1))
        found = evaluator(requests if len(new) == len(keys) else requests.take(new))
        known = found[:0] if self._values is None else self._values
        self._held += np.bincount(place[new], minlength=len(self._held))
        # Beyond the capacity, values are not kept and repeats are paid: memory stays
        # bounded.
        room = (self._held <= self.capacity)[place[new]]
        self._keys = np.concatenate([self._keys, keys[new][room]])
        self._values = np.concatenate([known, found[room]])
        sent = np.zeros(len(keys), dtype=bool)
        sent[new] = True
        return np.concatenate([known, found])[codes], sent


def packed(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(u, p)`` as 64-bit words, ``(u, w)``."""
    # player j is bit j % 64 of word j // 64, on machines of either byte order
    bits = np.packbits(coalitions, axis=1, bitorder="little")
    words = np.zeros((len(bits), -(-bits.shape[1] // 8)), dtype="<u8")
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words


# If most draws repeat, the rest of a budget is not worth the search. These constants
# limit the draws of a row, relative to the draws that the budget surely buys, and its
# further designs. At 16 players, 24 designs spend budgets of 1,000 and 4,000
# evaluations completely, and 15,900 of 16,000
MOST_TIMES = 6
MOST_ASKS = 24
# Permutations against background rows have spent a budget from this share on. Players
# that agree with a row save model rows, and the last designs that they buy are small:
# on adult and bank, single rows take 1.2 to 1.6 times as long if 98 % is spent, with
# equal errors.
ENOUGH = 7 / 8
MOST_ROWS = 2**40  # larger than any practical budget, and safe in int64


class Rest:
    """The remaining budgets of rows after their planned draws.

    Each row continues alone, so its draws do not depend on the other rows of the block.
    Only new model rows count: repeated coalitions are free, and so are players that
    agree with a background row. The final number of draws depends on the coalitions
    drawn but never on their values. It favours no player among those that differ from a
    background row. Given that number, each order of these players is therefore still
    uniform, and without ties so is each coalition of a size.

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
    enough : float
        Share of the budget to spend at least.
    """

    def __init__(
        self,
        price: Price,
        size: Size,
        planned: int,
        max_rows: int,
        n_instances: int,
        enough: float,
    ) -> None:
        self._price, self._size = price, size
        self._room = np.full(n_instances, (MOST_TIMES - 1) * planned)
        self._budget = min(max_rows - 1, MOST_ROWS)
        self._enough = min(size.rows(2**size.n_players) - 1, enough * self._budget)
        self._asks = np.zeros(n_instances, dtype=np.int64)

    def draws(self, members: np.ndarray, charged: np.ndarray, most: int) -> np.ndarray:
        """Return the number of further draws that each row makes next, ``(r,)``.

        It is the largest power of two, in steps, that the remaining budget surely buys.
        Few different numbers let many rows share a design.

        Parameters
        ----------
        members : ndarray of shape (r,), int
            Positions of the rows to explain.
        charged : ndarray of shape (r,), int
            Model rows charged to their budgets.
        most : int
            Largest number of draws of one design.
        """
        left = np.maximum(self._budget - charged, 0)
        rows = left * self._size.n_references // self._size.rows_per_value
        draws = np.minimum(
            np.minimum(rows // self._price.draw, self._room[members]), most
        )
        sets = draws // self._price.step
        over = (
            (charged >= self._enough) | (self._asks[members] >= MOST_ASKS) | (sets <= 0)
        )
        # frexp returns a mantissa in [1/2, 1), so this is floor(log2) without rounding
        # errors
        exponents = np.frexp(np.maximum(sets, 1))[1] - 1
        return np.where(over, 0, 2**exponents) * self._price.step

    def add(self, members: np.ndarray, n: int) -> None:
        """Record `n` further draws for each of the rows `members`."""
        self._room[members] -= n
        self._asks[members] += 1
