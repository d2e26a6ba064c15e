"""Errors that name the cells of the user's table that a model does not take."""

from typing import Any

import numpy as np
import pandas as pd

from skshapley._tables._inputs import as_pandas
from skshapley.exceptions import ModelOutputError

ABOUT_NUMBERS = ("nan", "missing", "infin", "null")
ABOUT_CATEGORIES = (
    "category",
    "categories",
    "categorical",
    "unseen",
    "unknown",
    "previously",
)


def refuse_unusual_cells(X: Any, background: Any, error: Exception, owner: str) -> None:
    """Raise an error with the user's column, if its cells explain the error of a model.

    Models behind a pipeline name the columns of an inner table, or none.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        The rows that the user passed.
    background : array or frame of shape (b, d), or None
        None if X is the background.
    error : Exception
        The error of the model, which becomes the cause.
    owner : str
        Name of the calling class.
    """
    if type(error) not in (ValueError, TypeError, KeyError, ModelOutputError):
        return
    text = str(error).lower()
    kind = ModelOutputError if isinstance(error, ModelOutputError) else ValueError
    if any(word in text for word in ABOUT_NUMBERS):
        table = as_pandas(X)
        cell = _first_missing(table)
        if cell is not None:
            row, column = cell
            rows = "background rows" if background is None else "rows"
            # A batch knows the number of its row in the source.
            place = f", row {row} of {len(table)}" if len(table) > 1 else ""
            raise kind(
                f"{owner} got {rows} with missing or infinite values, which the model "
                f"does not take: {table.columns[column]!r}{place}; impute them in "
                "the model's pipeline, or leave these rows out."
            ) from error
    if background is not None and any(word in text for word in ABOUT_CATEGORIES):
        known = as_pandas(background)
        for name, column in as_pandas(X).items():
            unknown = ~column.isin(known[name].unique()) & column.notna()
            if not pd.api.types.is_numeric_dtype(column) and unknown.any():
                row = int(np.flatnonzero(unknown)[0])
                raise kind(
                    f"{owner} got {column.iloc[row]!r} in {name!r}, row {row}, which "
                    "the model does not know: leave the row out, or fit the encoder "
                    'with handle_unknown="ignore".'
                ) from error


def _first_missing(table: pd.DataFrame) -> tuple[int, int] | None:
    """Return the position of the first missing or infinite cell, or None."""
    missing = table.isna().to_numpy(copy=True)
    for column, kind in enumerate(table.dtypes):
        if pd.api.types.is_float_dtype(kind):
            numbers = table.iloc[:, column].to_numpy(np.float64, na_value=np.nan)
            missing[:, column] |= ~np.isfinite(numbers)
    if not missing.any():
        return None
    row, column = np.argwhere(missing)[0]
    return int(row), int(column)
