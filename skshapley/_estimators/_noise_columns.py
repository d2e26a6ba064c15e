"""Noise columns: permuted copies of columns, which a useful feature should beat."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables._inputs import (
    column_names,
    in_order_of,
    is_foreign,
    n_rows,
    narwhal,
    take_rows,
)


def with_noise(X: Any, n: int, rng: np.random.Generator) -> Any:
    """Return a table with n columns more, each a column drawn by chance, with its rows shuffled.

    Parameters
    ----------
    X : array, sparse matrix or frame of shape (r, d)
    n : int
    rng : numpy.random.Generator

    Returns
    -------
    table : array, sparse matrix or frame of shape (r, d + n)
    """
    if not n:
        return X
    names = column_names(X)
    drawn = rng.integers(len(names), size=n)
    orders = [rng.permutation(n_rows(X)) for _ in drawn]
    if sparse.issparse(X):
        moved = [X[order][:, [j]] for j, order in zip(drawn, orders, strict=True)]
        return sparse.hstack([X, *moved], format=X.format)
    if isinstance(X, np.ndarray):
        return np.column_stack([X, *(X[order, j] for j, order in zip(drawn, orders, strict=True))])
    new = dict(zip(_new_names(names, n), zip(drawn, orders, strict=True), strict=True))
    if is_foreign(X):
        table = narwhal(X)
        shuffled = [
            narwhal(take_rows(X, order))[names[j]].alias(name) for name, (j, order) in new.items()
        ]
        return table.with_columns(*shuffled).to_native()
    columns = {name: X.iloc[order, j].set_axis(X.index, axis=0) for name, (j, order) in new.items()}
    return pd.concat([X, pd.DataFrame(columns)], axis=1)


def shuffled_columns(X: Any, order: np.ndarray) -> Any:
    """Return a table with its columns in another order."""
    if isinstance(X, np.ndarray) or sparse.issparse(X):
        return X[:, order]
    names = column_names(X)
    return in_order_of(X, [names[j] for j in order])


def _new_names(names: list, n: int) -> list[str]:
    """Return names that the table has not."""
    start = "noise"
    while any(str(name).startswith(start) for name in names):
        start += "_"
    return [f"{start}{i}" for i in range(n)]
