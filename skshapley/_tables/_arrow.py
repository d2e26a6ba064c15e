"""Conversion of pandas columns and frames to Arrow data and back, with their types.

Arrow data are checked on reading and never run code. Values without an Arrow type are
kept as text: objects of several types as JSON, categories by their names.
"""

import copyreg
import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.api.types import pandas_dtype

from skshapley._tables._model_inputs import Piece
from skshapley._tools import needed

if TYPE_CHECKING:
    import pyarrow as pa

META = b"skshapley"
# Marks before a space, which no attribute name contains
FRAME = "frame"
INDEX = "index"
# In names of Arrow types that pandas or a file does not read; their cells are objects
UNREADABLE = "decimal", "dictionary", "binary", "list<", "struct<", "map<"


def column_to_arrow(
    column: pd.Series,
    unknown: Callable[[Any], str] | None = None,
) -> tuple["pa.Array", dict]:
    """Return a column as an Arrow array, and a note of its type in pandas.

    Parameters
    ----------
    column : Series
    unknown : callable, default=None
        Returns the text of an object that JSON cannot represent. None: raise TypeError.

    Raises
    ------
    TypeError
        For an object that cannot be saved.
    """
    import pyarrow as pa

    if any(mark in str(column.dtype) for mark in UNREADABLE):
        column = column.astype(object)
    kind: Any = column.dtype
    note: dict[str, Any] = {"dtype": str(kind)}
    if isinstance(kind, pd.SparseDtype):
        note = {"dtype": str(kind.subtype), "fill": encoded(kind.fill_value)}
        # Arrow has no sparse columns; the note restores them.
        column = column.sparse.to_dense()
    if isinstance(kind, pd.CategoricalDtype):
        note |= {
            "categories": [encoded(group, unknown) for group in kind.categories],
            "of": str(kind.categories.dtype),
            "ordered": kind.ordered,
        }
        names = [str(group) for group in kind.categories]
        # Text instead of Arrow dictionaries: the note keeps the categories and their
        # order.
        texts = [None if code < 0 else names[code] for code in column.cat.codes]
        return pa.array(texts, pa.string()), note
    if isinstance(kind, (pd.PeriodDtype, pd.IntervalDtype)):
        column = column.astype(object)
    if column.dtype == object:
        values = column.tolist()
        kinds = {
            type(None if isinstance(v, float) and np.isnan(v) else v) for v in values
        }
        missing = {type(v) for v in values} - {str}
        # pandas 2 marks missing text by NaN; with None and NaN, only JSON keeps both
        if kinds <= {str, type(None)} and len(missing) < 2:
            note |= {"nan": True} if missing - {type(None)} else {}
            return pa.array(values, pa.string(), from_pandas=True), note
        texts = [None if v is None else json.dumps(encoded(v, unknown)) for v in values]
        return pa.array(texts, pa.string()), note | {"json": True}
    array = pa.array(column, from_pandas=True)
    # One chunk per column keeps the bytes equal for equal frames.
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    return array.cast(pa.string()) if pa.types.is_large_string(
        array.type
    ) else array, note


def column_from_arrow(array: "pa.ChunkedArray", note: dict) -> pd.Series:
    """Return the original column from the output of `column_to_arrow`."""
    if note.get("json"):
        values = [
            None if text is None else decoded(json.loads(text))
            for text in array.to_pylist()
        ]
        return pd.Series(values, dtype=object).astype(note["dtype"])
    if "categories" in note:
        groups = pd.Index(
            [decoded(group) for group in note["categories"]],
            dtype=note["of"],
        )
        place = {str(group): code for code, group in enumerate(groups)}
        codes = [-1 if text is None else place[text] for text in array.to_pylist()]
        return pd.Series(
            pd.Categorical.from_codes(codes, groups, ordered=note["ordered"])
        )
    kind: Any = pandas_dtype(note["dtype"])
    if note["dtype"] == "object":
        missing = np.nan if note.get("nan") else None
        values = [missing if text is None else text for text in array.to_pylist()]
        return pd.Series(values, dtype=object)
    if hasattr(kind, "__from_arrow__"):
        return pd.Series(kind.__from_arrow__(array))
    column = pd.Series(array.to_pandas().to_numpy()).astype(kind)
    if "fill" in note:
        return column.astype(pd.SparseDtype(kind, decoded(note["fill"])))
    return column


def index_to_arrow(
    index: pd.Index,
    unknown: Callable[[Any], str] | None = None,
) -> list[tuple[Any, "pa.Array", dict]]:
    """Return the name (as JSON), the array and the note of each level of an index."""
    levels = [
        index.get_level_values(place).to_series() for place in range(index.nlevels)
    ]
    return [
        (encoded(level.name, unknown), *column_to_arrow(level, unknown))
        for level in levels
    ]


def index_from_arrow(levels: list[tuple[Any, "pa.ChunkedArray", dict]]) -> pd.Index:
    """Return the original index from the output of `index_to_arrow`."""
    names = [decoded(name) for name, _, _ in levels]
    columns = [column_from_arrow(array, note) for _, array, note in levels]
    if len(columns) > 1:
        return pd.MultiIndex.from_arrays(columns, names=names)
    return pd.Index(columns[0]).rename(names[0])


def frame_to_bytes(frame: pd.DataFrame) -> bytes:
    """Return a frame as an Arrow file; the same bytes for the same frame."""
    pa = needed("pyarrow", "a frame in a skops file", "parquet")
    columns = [column_to_arrow(frame.iloc[:, place]) for place in range(frame.shape[1])]
    levels = index_to_arrow(frame.index)
    names = frame.columns
    content = {
        "names": [encoded(name) for name in names],
        "of": [encoded(name) for name in names.names],
        "kind": None if names.nlevels > 1 else str(names.dtype),
        "levels": [name for name, _, _ in levels],
        "notes": [note for _, note in columns] + [note for _, _, note in levels],
    }
    arrays = [array for array, _ in columns] + [array for _, array, _ in levels]
    table = pa.table(arrays, [str(place) for place in range(len(arrays))])
    file = BytesIO()
    with pa.ipc.new_file(
        file,
        table.schema.with_metadata({META: json.dumps(content)}),
    ) as writer:
        writer.write_table(table)
    return file.getvalue()


def frame_from_bytes(data: bytes) -> pd.DataFrame:
    """Return the original frame from the output of `frame_to_bytes`."""
    table = (
        needed("pyarrow", "a frame in a skops file", "parquet")
        .ipc.open_file(BytesIO(data))
        .read_all()
    )
    content = json.loads(table.schema.metadata[META])
    names = [decoded(name) for name in content["names"]]
    p = len(content["names"])
    pairs = [*zip(table.columns, content["notes"], strict=True)]
    index = index_from_arrow(
        [(key, *pair) for key, pair in zip(content["levels"], pairs[p:], strict=True)]
    )
    columns = [column_from_arrow(*pair).set_axis(index) for pair in pairs[:p]]
    # Numbered first: a dict of names would lose repeated ones.
    frame = pd.DataFrame(dict(enumerate(columns)), index=index, columns=range(p))
    of = [decoded(name) for name in content["of"]]
    if content["kind"] is None:
        return frame.set_axis(pd.MultiIndex.from_tuples(names, names=of), axis=1)
    return frame.set_axis(pd.Index(names, dtype=content["kind"], name=of[0]), axis=1)


class Portable:
    """Mixin that returns frames as bytes in the state for skops.

    skops saves arrays, texts and bytes, but no frames. Pickles and copies contain the
    frames.
    """

    def __getstate__(self) -> Any:
        """Return the attributes, frames and indices as bytes."""
        state: Any = super().__getstate__()
        packed = {}
        for name, part in (state or {}).items():
            if isinstance(part, pd.DataFrame):
                packed[f"{FRAME} {name}"] = frame_to_bytes(part)
            elif isinstance(part, pd.Index):
                packed[f"{INDEX} {name}"] = frame_to_bytes(pd.DataFrame(index=part))
            else:
                packed[name] = part
        return packed

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the attributes; frames and indices are decoded from bytes."""
        plain = {}
        for marked, part in state.items():
            mark, _, name = marked.rpartition(" ")
            if mark:
                frame = frame_from_bytes(part)
                part = frame.index if mark == INDEX else frame
            plain[name] = part
        getattr(super(), "__setstate__", self.__dict__.update)(plain)

    def __reduce_ex__(self, protocol: Any) -> tuple:
        """Return the constructor and state for pickles and copies."""
        new: Any = copyreg.__newobj__  # type: ignore[attr-defined]
        return new, (type(self),), super().__getstate__()


_PLAIN = (str, bool, int, float, type(None))

# Encoders and decoders of values of other types; the first match is used.
_TYPES: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "NaT": (type(pd.NaT), lambda value: None, lambda text: pd.NaT),
    "NA": (type(pd.NA), lambda value: None, lambda text: pd.NA),
    "Timestamp": (pd.Timestamp, pd.Timestamp.isoformat, pd.Timestamp),
    "Timedelta": (pd.Timedelta, pd.Timedelta.isoformat, pd.Timedelta),
    "datetime": (dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    "date": (dt.date, dt.date.isoformat, dt.date.fromisoformat),
    "time": (dt.time, dt.time.isoformat, dt.time.fromisoformat),
    "Decimal": (Decimal, str, Decimal),
    "Period": (
        pd.Period,
        lambda value: [value.ordinal, value.freqstr],
        lambda parts: pd.Period(ordinal=parts[0], freq=parts[1]),
    ),
    "Interval": (
        pd.Interval,
        lambda value: [encoded(value.left), encoded(value.right), value.closed],
        lambda parts: pd.Interval(decoded(parts[0]), decoded(parts[1]), parts[2]),
    ),
    "Piece": (
        Piece,
        lambda piece: [piece.place, str(piece)],
        lambda parts: Piece.at(*parts),
    ),
    "tuple": (
        tuple,
        lambda value: [encoded(part) for part in value],
        lambda parts: tuple(decoded(part) for part in parts),
    ),
}


def encoded(value: Any, unknown: Callable[[Any], str] | None = None) -> Any:
    """Return a value in a form that JSON can store.

    Parameters
    ----------
    value : object
    unknown : callable, default=None
        Returns the text of a value of any other type. None refuses such values.

    Raises
    ------
    TypeError
        For a value of another type.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, np.str_):
        return str(value)
    if isinstance(value, np.generic) and value.dtype.kind in "biufmM":
        number = value.astype(np.int64) if value.dtype.kind in "mM" else value
        return {"type": "numpy", "value": [value.dtype.str, number.item()]}
    for name, (kind, write, _) in _TYPES.items():
        if isinstance(value, kind):
            return {"type": name, "value": write(value)}
    if unknown is not None:
        return unknown(value)
    raise TypeError(
        f"it contains {value!r} of type {type(value).__name__}; convert it to a "
        "number, a text or a date first."
    )


def decoded(content: Any) -> Any:
    """Return the original value of an encoded one."""
    if not isinstance(content, dict):
        return content
    if content["type"] == "numpy":
        kind, number = content["value"]
        return np.array(number).astype(kind)[()]
    return _TYPES[content["type"]][2](content["value"])
