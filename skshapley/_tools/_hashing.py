"""Hashes of many rows of words at once."""

import numpy as np

FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64's finaliser
WORD = 2**64 - 1
FEW = 16  # rows, up to which whole numbers of Python's own are quicker than arrays


def hashed(blocks, seed: int) -> np.ndarray:
    """Return a 64-bit hash of blocks of words: splitmix64's finaliser after each word."""
    blocks = [block.astype(np.uint64) for block in blocks if block is not None]
    n = len(blocks[0])
    if n <= FEW:
        rows = np.concatenate(blocks, axis=1).tolist()
        return np.array([_hashed_row(row, seed) for row in rows], dtype=np.uint64)
    out = np.full(n, seed, dtype=np.uint64)
    for block in blocks:
        for column in block.T:
            out ^= column
            out ^= out >> np.uint64(30)
            out *= np.uint64(FIRST)
            out ^= out >> np.uint64(27)
            out *= np.uint64(SECOND)
            out ^= out >> np.uint64(31)
            out += np.uint64(seed)
    return out


def _hashed_row(words: list[int], seed: int) -> int:
    out = seed
    for word in words:
        out ^= word
        out = (out ^ out >> 30) * FIRST & WORD
        out = (out ^ out >> 27) * SECOND & WORD
        out = (out ^ out >> 31) + seed & WORD
    return out
