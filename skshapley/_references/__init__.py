"""Samples of background rows from a table: their order, and known quantities of all rows."""

from skshapley._references._herd import herded
from skshapley._references._row_order import (
    CHUNK,
    MOST_PLACES,
    RowOrder,
    systematic_rows,
)

__all__ = ["CHUNK", "MOST_PLACES", "RowOrder", "herded", "systematic_rows"]
