"""Hashes of many rows of words at once."""

import numpy as np


def hashed(blocks, seed: int) -> np.ndarray:
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
