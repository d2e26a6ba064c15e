"""Documents as sources of batches: each batch is a frame of one column."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import Any

import pandas as pd

from skshapley._tables._documents import is_column_of_text
from skshapley._tables._inputs import is_frame
from skshapley.batches._sources import OWNER, Wanted

PIECE_DOCUMENTS = 1024  # documents per frame, for an iterator of single documents
UNNAMED = "text"


def explains_documents(explainer: Any) -> bool:
    """Return True if an explainer was fitted on documents."""
    return getattr(explainer, "documents_", None) is not None


@dataclass(frozen=True, eq=False)
class WantedDocuments(Wanted):
    """The column of documents, and the keys.

    Attributes
    ----------
    usual : str or None
        Name of the column in ``fit``, if any.
    """

    usual: str | None = None

    def of(self, names) -> list:
        """Return the column of documents, or raise ValueError if it is ambiguous."""
        columns = super().of(names)
        if self.columns is None and self.usual in columns:
            return [self.usual]
        if len(columns) != 1:
            raise ValueError(
                f"{OWNER} explains documents here, and got the columns {columns} beside keys="
                f"{self.keys}: name the column with the documents, such as"
                f" columns=[{(columns or list(names) or ['text'])[0]!r}]."
            )
        return columns


def framed(source: Any, name: Any) -> Any:
    """Return documents in frames of one column; paths, frames and Arrow data are unchanged.

    Parameters
    ----------
    source : list, Series, array of shape (r,), iterable of str or of these, or any other source
    name : str or None
        Of the column.
    """
    library = type(source).__module__.partition(".")[0]
    if isinstance(source, str | PathLike) or is_frame(source) or library == "pyarrow":
        return source
    if is_column_of_text(source):
        return _frame(source, name)
    # An array of two dimensions is a table with a column of texts.
    if isinstance(source, Iterable) and getattr(source, "ndim", 0) < 2:
        return _frames(source, name)
    return source


def _frames(items: Iterable, name: Any) -> Iterator[Any]:
    """Yield frames of some single documents, or of each piece."""
    items = iter(items)
    for first in items:
        if not isinstance(first, str):
            yield _frame(first, name) if is_column_of_text(first) else first
            continue
        yield _frame([first, *islice(items, PIECE_DOCUMENTS - 1)], name)


def _frame(documents: Any, name: Any) -> pd.DataFrame:
    index = documents.index if isinstance(documents, pd.Series) else None
    column = UNNAMED if name is None else name
    texts = pd.Series(list(documents), index=index, dtype=object)
    return texts.to_frame(column)
