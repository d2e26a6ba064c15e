"""Frames and arrays in one file that runs no code when it is read: arrays of numbers and JSON.

The file is a zip of ``.npy`` arrays and one ``record.json``. ``numpy.load`` opens it, too.
"""

import io
import json
import zipfile
from typing import Any

import numpy as np
import pandas as pd

from skshapley._tables._scalars import decoded, encoded

RECORD = "record.json"

Arrays = dict[str, np.ndarray]


def pack(content: dict, arrays: Arrays, compress: bool = True) -> bytes:
    """Return a file of JSON and arrays; the same bytes for the same content.

    Parameters
    ----------
    content : dict
        Of what JSON knows.
    arrays : dict of str to ndarray
        Of numbers, dates or bools: objects are refused.
    compress : bool, default=True
    """
    file = io.BytesIO()
    method = zipfile.ZIP_DEFLATED if compress else zipfile.ZIP_STORED
    with zipfile.ZipFile(file, "w", method) as archive:
        # a ZipInfo of its own has a fixed date, and takes no method from the archive
        archive.writestr(zipfile.ZipInfo(RECORD), json.dumps(content), method)
        for name, array in arrays.items():
            part = io.BytesIO()
            np.lib.format.write_array(part, np.ascontiguousarray(array), allow_pickle=False)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), part.getvalue(), method)
    return file.getvalue()


def unpack(data: bytes) -> tuple[dict, Arrays]:
    """Return what `pack` was given."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        content = json.loads(archive.read(RECORD))
        arrays = {
            name.removesuffix(".npy"): np.lib.format.read_array(
                io.BytesIO(archive.read(name)), allow_pickle=False
            )
            for name in archive.namelist()
            if name != RECORD
        }
    return content, arrays


def write_frame(frame: pd.DataFrame, arrays: Arrays, name: str) -> dict:
    """Return a frame as JSON; its numbers go into `arrays`, under names that begin with `name`.

    Columns of numbers of one type share an array.
    """
    together: dict[str, list[int]] = {}
    columns: list[dict] = []
    for position, kind in enumerate(frame.dtypes):
        if isinstance(kind, np.dtype) and kind.kind in "biufcmM":
            block = f"{name}.{kind.str.lstrip('<>|=')}"
            together.setdefault(block, []).append(position)
            columns.append({"kind": "block", "array": block, "at": len(together[block]) - 1})
        else:
            column = frame.iloc[:, position]
            columns.append(_write_column(column, arrays, f"{name}.{position}"))
    for block, positions in together.items():
        arrays[block] = frame.iloc[:, positions].to_numpy()
    return {
        "columns": columns,
        "names": write_index(frame.columns, arrays, f"{name}.names"),
        "index": write_index(frame.index, arrays, f"{name}.index"),
    }


def read_frame(content: dict, arrays: Arrays) -> pd.DataFrame:
    """Return the frame that was written."""
    index = read_index(content["index"], arrays)
    columns = [
        pd.Series(arrays[column["array"]][:, column["at"]])
        if column["kind"] == "block"
        else _read_column(column, arrays)
        for column in content["columns"]
    ]
    parts = {place: column.set_axis(index) for place, column in enumerate(columns)}
    frame = pd.DataFrame(parts, index=index, columns=range(len(columns)))
    return frame.set_axis(read_index(content["names"], arrays), axis=1)


def write_index(index: pd.Index, arrays: Arrays, name: str) -> dict:
    """Return an index as JSON; its numbers go into `arrays`."""
    content: dict[str, Any] = {"names": [encoded(level) for level in index.names]}
    if isinstance(index, pd.RangeIndex):
        return content | {"range": [index.start, index.stop, index.step]}
    levels = [index.get_level_values(level) for level in range(index.nlevels)]
    return content | {
        "levels": [
            _write_column(level.to_series(), arrays, f"{name}.{place}")
            for place, level in enumerate(levels)
        ]
    }


def read_index(content: dict, arrays: Arrays) -> pd.Index:
    """Return the index that was written."""
    names = [decoded(name) for name in content["names"]]
    if "range" in content:
        return pd.RangeIndex(*content["range"], name=names[0])
    levels = [_read_column(level, arrays) for level in content["levels"]]
    if len(levels) > 1:
        return pd.MultiIndex.from_arrays(levels, names=names)
    return pd.Index(levels[0], name=names[0])


def _write_column(column: pd.Series, arrays: Arrays, name: str) -> dict:
    kind = column.dtype
    if isinstance(kind, np.dtype) and kind.kind in "biufcmM":
        arrays[name] = column.to_numpy()
        return {"kind": "array", "array": name}
    if isinstance(kind, pd.CategoricalDtype):
        arrays[f"{name}.codes"] = column.cat.codes.to_numpy()
        groups = _write_column(column.cat.categories.to_series(), arrays, f"{name}.categories")
        return {"kind": "codes", "array": f"{name}.codes", "of": groups, "ordered": kind.ordered}
    if isinstance(kind, pd.DatetimeTZDtype):
        arrays[name] = column.dt.tz_convert("UTC").dt.tz_localize(None).to_numpy()
        return {"kind": "moments", "array": name, "dtype": str(kind)}
    if isinstance(kind, pd.SparseDtype):
        dense = _write_column(column.sparse.to_dense(), arrays, name)
        fill = encoded(kind.fill_value)
        return {"kind": "sparse", "of": dense, "fill": fill, "dtype": str(kind.subtype)}
    if pd.api.types.is_numeric_dtype(kind) and hasattr(kind, "numpy_dtype"):  # Int64, boolean
        arrays[name] = column.to_numpy(dtype=kind.numpy_dtype, na_value=kind.numpy_dtype.type(0))
        arrays[f"{name}.missing"] = column.isna().to_numpy()
        return {"kind": "masked", "array": name, "dtype": str(kind)}
    try:
        values = [encoded(value) for value in column]
    except TypeError as error:
        raise TypeError(f"Column {column.name!r} cannot be kept: {error}") from error
    return {"kind": "values", "values": values, "dtype": str(kind)}


def _read_column(content: dict, arrays: Arrays) -> pd.Series:
    kind = content["kind"]
    array = arrays.get(content.get("array", ""))
    if kind == "array":
        return pd.Series(array)
    if kind == "codes":
        groups = pd.Index(_read_column(content["of"], arrays))
        return pd.Series(pd.Categorical.from_codes(array, groups, ordered=content["ordered"]))
    if kind == "moments":
        return pd.Series(array).dt.tz_localize("UTC").astype(content["dtype"])
    if kind == "sparse":
        dense = _read_column(content["of"], arrays)
        return dense.astype(pd.SparseDtype(content["dtype"], decoded(content["fill"])))
    if kind == "masked":
        column = pd.Series(array).astype(content["dtype"])
        return column.mask(pd.Series(arrays[f"{content['array']}.missing"]))
    if kind == "values":
        return pd.Series([decoded(value) for value in content["values"]], dtype=content["dtype"])
    raise ValueError(f"there is no kind of column {kind!r}")
