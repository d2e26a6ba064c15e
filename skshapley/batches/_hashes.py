"""Hashes of arrays and tables, and texts of values, that are the same in every process."""

import sys
from hashlib import blake2b
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator

from skshapley._tables._inputs import as_pandas
from skshapley._tools._texts import unaddressed

LONGEST = 400


def digest_of(*parts) -> str:
    """Return 128 bits of a hash of arrays, texts and numbers, the same in every process."""
    state = blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            state.update(f"{part.dtype.str}{part.shape}".encode())
            state.update(np.ascontiguousarray(part).tobytes())
        else:
            state.update(repr(part).encode("utf-8", "backslashreplace"))
        state.update(b"|")
    return state.hexdigest()


def table_digest(X, index=None) -> str:
    """Return the hash of a table's values, names and types, and of its index."""
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        content: list = [X]
    elif sparse.issparse(X):
        content = [X.shape, X.data, *(part.astype(np.int64) for part in (X.indices, X.indptr))]
    else:
        frame = as_pandas(X)
        names = [(str(name), str(dtype)) for name, dtype in frame.dtypes.items()]
        content = [names, pd.util.hash_pandas_object(frame, index=False).to_numpy()]
    if index is not None and not isinstance(index, pd.RangeIndex):
        content += [list(index.names), pd.util.hash_pandas_object(index).to_numpy()]
    return digest_of(*content)


def told(value: Any) -> str:
    """Return the text of a value, whole, the same in every process."""
    if isinstance(value, BaseEstimator):
        parameters = value.get_params(deep=False).items()
        inner = ", ".join(f"{name}={told(parameter)}" for name, parameter in parameters)
        return f"{type(value).__name__}({inner})"
    if isinstance(value, (set, frozenset)):  # whose order is another in each process
        return f"{type(value).__name__}({sorted(map(told, value))})"
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        text = unaddressed(repr(value))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({digest_of(text)})"
