"""Documents as users have them: a list, a Series, an array of text, a frame of one column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skshapley._tables._inputs import as_pandas, is_frame


class Piece(str):
    """A token of a document, with the spaces and punctuation after it; it knows its place."""

    __slots__ = ("place",)
    place: int

    @classmethod
    def at(cls, place: int, text: str) -> "Piece":
        """Return the piece at a place."""
        piece = cls(text)
        piece.place = place
        return piece


@dataclass(frozen=True, eq=False)
class Documents:
    """Documents in order.

    Attributes
    ----------
    texts : list of str
    index : pandas Index
    """

    texts: list[str]
    index: pd.Index


def is_column_of_text(X: Any) -> bool:
    """Return whether X has one dimension, and text in it: no table, but a list of documents."""
    if isinstance(X, str) or is_frame(X) or getattr(X, "ndim", 1) != 1:
        return False
    if not isinstance(X, list | tuple | np.ndarray | pd.Series) and not hasattr(X, "to_list"):
        return False
    return any(isinstance(value, str) for value in _values(X))


def is_table_of_text(X: Any) -> bool:
    """Return whether X is a frame, or an array, of one column, with text in it."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    if len(shape) != 2 or shape[1] != 1 or not (is_frame(X) or isinstance(X, np.ndarray)):
        return False
    return any(isinstance(value, str) for value in _values(X))


def as_documents(X: Any, owner: str) -> Documents:
    """Return documents, checked.

    Parameters
    ----------
    X : list, Series, array of shape (r,) or (r, 1), or frame of one column
    owner : str
        Name of the class that asks, for errors.

    Raises
    ------
    TypeError
        For anything else, or a document that is no str.
    """
    if isinstance(X, str) or not (is_column_of_text(X) or is_table_of_text(X)):
        shown = f"the str {X[:40]!r}" if isinstance(X, str) else f"a {type(X).__name__}"
        raise TypeError(
            f"{owner} explains documents by their tokens here, and got {shown}: pass a list, a"
            f" Series or a frame of one column, with a str for each document."
        )
    values = _values(X)
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(
                f'{owner} got {value!r} for document {row}: every document must be a str; use ""'
                f" for one without text."
            )
    index = getattr(X, "index", None)
    index = index if isinstance(index, pd.Index) else pd.RangeIndex(len(values))
    return Documents([str(value) for value in values], index)


def _values(X: Any) -> list:
    if is_frame(X):
        return as_pandas(X).iloc[:, 0].tolist()
    if isinstance(X, np.ndarray):
        return X.ravel().tolist()
    return list(X)
