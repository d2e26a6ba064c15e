"""Rows from services: a dict, a list of dicts, a Series, or an array without names."""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from skshapley._tables._inputs import column_names


def as_rows_of(X: Any, like: Any, owner: str) -> Any:
    """Convert rows from a service to a frame like the background's.

    Parameters
    ----------
    X : object
        A mapping from columns to a value or a list, a sequence of mappings, a Series
        with the columns as its index, or an array ``(r, d)`` or ``(d,)``. Columns of an
        array are taken in order, with scikit-learn's warning. Anything else is returned
        unchanged.
    like : frame
        Its columns and dtypes are those of the result.
    owner : str
        Name of the calling class, for the warning.
    """
    names = column_names(like)
    if isinstance(X, pd.Series) and set(X.index) == set(names):
        rows = pd.DataFrame([X.to_list()], columns=X.index, index=[X.name])
    elif isinstance(X, Mapping):
        several = any(
            isinstance(value, list | tuple | np.ndarray) for value in X.values()
        )
        rows = pd.DataFrame(dict(X) if several else [dict(X)])
    elif (
        isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X)
    ):
        rows = pd.DataFrame([dict(row) for row in X])
    elif isinstance(X, np.ndarray) and X.ndim in (1, 2) and X.shape[-1] == len(names):
        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature "
            "names",
            UserWarning,
            stacklevel=5,
        )
        rows = pd.DataFrame(np.atleast_2d(X), columns=names)
    else:
        return X
    if not isinstance(like, pd.DataFrame):
        schema = {name: kind for name, kind in like.schema.items() if name in rows}
        return type(like)(rows[list(schema)].to_dict("list"), schema=schema)
    kinds = {name: kind for name, kind in like.dtypes.items() if name in rows}
    for name, kind in kinds.items():
        rows[name] = _cast(rows[name], kind)
    return rows


def _cast(column: pd.Series, kind: Any) -> pd.Series:
    """Return a column cast to another dtype if its values are unchanged."""
    if (
        isinstance(kind, pd.CategoricalDtype)
        and not column.dropna().isin(kind.categories).all()
    ):
        return column
    try:
        cast = column.astype(kind)
    except (TypeError, ValueError):
        return column
    missing = column.isna()
    same = (cast.astype(object) == column.astype(object)) | missing
    return cast if same.all() and (cast.isna() == missing).all() else column
