"""Repeated requests and their known values."""

import numpy as np
import pandas as pd

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._tables._rows import hashed

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
        self._n_values = np.zeros(len(rows), dtype=np.int64)

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
        new_values = evaluator(
            requests if len(new) == len(keys) else requests.take(new)
        )
        cached = new_values[:0] if self._values is None else self._values
        self._n_values += np.bincount(place[new], minlength=len(self._n_values))
        # Beyond the capacity, values are not kept and repeats are paid: memory stays
        # bounded.
        room = (self._n_values <= self.capacity)[place[new]]
        self._keys = np.concatenate([self._keys, keys[new][room]])
        self._values = np.concatenate([cached, new_values[room]])
        sent = np.zeros(len(keys), dtype=bool)
        sent[new] = True
        return np.concatenate([cached, new_values])[codes], sent


def packed(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(u, p)`` as 64-bit words, ``(u, w)``."""
    # player j is bit j % 64 of word j // 64, on machines of either byte order
    bits = np.packbits(coalitions, axis=1, bitorder="little")
    words = np.zeros((len(bits), -(-bits.shape[1] // 8)), dtype="<u8")
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words
