"""Hashes of many rows at once, by their words or by their values."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables._inputs import as_pandas

# Factors of splitmix64's finaliser
FIRST, SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = 2**64 - 1


def hashed(blocks, seed: int) -> np.ndarray:
    """Return a 64-bit hash of blocks of words: splitmix64's finaliser after each word."""
    blocks = [block.astype(np.uint64) for block in blocks if block is not None]
    columns: Any = np.concatenate(blocks, axis=1).T
    out: Any = np.full(columns.shape[1], seed, dtype=np.uint64)
    if columns.shape[1] == 1:
        # integers of Python take a tenth of the time of arrays of one number
        out, columns = seed, columns[:, 0].tolist()
    for column in columns:
        # Shifts copy high bits to low ones, and products carry low bits to high ones.
        # After three rounds, each input bit changes each output bit with probability
        # near 1/2.
        out ^= column
        out ^= out >> 30
        out *= FIRST
        out &= WORD
        out ^= out >> 27
        out *= SECOND
        out &= WORD
        out ^= out >> 31
        out += seed
        out &= WORD
    return np.atleast_1d(np.asarray(out, dtype=np.uint64))


# An odd constant, different from the ledger's, so that keys of rows and of requests are
# unrelated. It is part of the keys of rows, and so of their random numbers: a change
# changes sampled values.
SEED = 0x2545F4914F6CDD1D
DENSE_CELLS = 2**20  # cells of a sparse matrix to make dense in one step


def row_keys(X: Any) -> np.ndarray:
    """Return a 64-bit key of each row, ``(r,)`` uint64; equal rows have equal keys.

    Numbers of any type are compared by value, and all missing values are equal. Other
    values are hashed by pandas, with the same hash in every process. A sparse matrix
    has the keys of the equivalent array.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (r, d)
    """
    if sparse.issparse(X):
        step = max(1, DENSE_CELLS // X.shape[1])
        pieces = range(0, X.shape[0], step)
        # The keys of the dense rows, in pieces, so that memory stays bounded.
        return np.concatenate(
            [row_keys(X[start : start + step].toarray()) for start in pieces]
        )
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
    # The text "1" is no number: it must differ from 1.
    plain = numbers.notna() & ~values.map(lambda value: isinstance(value, str))
    # pandas hashes text equally in each process, unlike Python's own hash.
    texts = pd.util.hash_array(values.astype(str).to_numpy(dtype=object))
    return np.where(plain, _bits(numbers.to_numpy(dtype=np.float64)), texts)


def _bits(numbers: np.ndarray) -> np.ndarray:
    """Return numbers as words: -0 as 0, every missing number as the same."""
    # -0.0 + 0.0 is 0.0. NaNs of other bits, such as those of a division, become the one
    # of numpy
    numbers = numbers.astype(np.float64) + 0.0
    return np.where(np.isnan(numbers), np.nan, numbers).view(np.uint64)
