"""Hashes of many rows at once, by their words or by their values."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables._inputs import as_pandas

FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB  # of splitmix64's finaliser
WORD = 2**64 - 1
FEW = 16  # rows, up to which Python's ints are faster than arrays


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


SEED = 0x2545F4914F6CDD1D
DENSE_CELLS = 2**20  # cells of a sparse matrix to make dense in one step


def row_keys(X: Any) -> np.ndarray:
    """Return a 64-bit key of each row, ``(r,)`` uint64; equal rows have equal keys.

    Numbers of any type are compared by value, and all missing values are equal. Other values are
    hashed by pandas, with the same hash in every process. A sparse matrix has the keys of the
    equivalent array.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (r, d)
    """
    if sparse.issparse(X):
        step = max(1, DENSE_CELLS // X.shape[1])
        pieces = range(0, X.shape[0], step)
        return np.concatenate([row_keys(X[start : start + step].toarray()) for start in pieces])
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return hashed([_bits(X)], SEED)
    frame = as_pandas(X)
    columns = [_column(frame.iloc[:, j]) for j in range(frame.shape[1])]
    return hashed([np.column_stack(columns)], SEED)


def _column(series: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return _bits(series.to_numpy(dtype=np.float64, na_value=np.nan))
    values = series.astype(object).where(series.notna(), None)
    numbers = pd.to_numeric(values, errors="coerce")
    plain = numbers.notna() & ~values.map(lambda value: isinstance(value, str))
    texts = pd.util.hash_array(values.astype(str).to_numpy(dtype=object))
    return np.where(plain, _bits(numbers.to_numpy(dtype=np.float64)), texts)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as words: -0 as 0, every missing number as the same."""
    numbers = numbers.astype(np.float64) + 0.0
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
