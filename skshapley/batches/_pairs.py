"""Interactions as a Parquet file beside their part: one line for each row, output and pair.

Columns: ``row``, ``output`` where there are several, ``feature``, ``other``, ``value``,
``standard_error``. The file has the name of its part, in the folder ``_interactions``, which
readers of the parts pass over; the part knows the seal of the file.
"""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from skshapley._records._interactions import Interactions
from skshapley.batches import _layout
from skshapley.batches._files import (
    BLANK_SEAL,
    DamagedFileError,
    read_sealed,
    seal_of,
    sealed,
    write_whole,
)
from skshapley.batches._texts import plain
from skshapley.explanation import Explanation

if TYPE_CHECKING:
    import pyarrow as pa

META = b"skshapley"


def write_pairs(part: Path, explanation: Explanation, rows: np.ndarray, least: float) -> str:
    """Write the interactions of a part that is to be written, and return the seal of the file.

    Parameters
    ----------
    part : Path
    explanation : Explanation
        With interactions.
    rows : ndarray of shape (r,), int
        Positions of the instances in the source.
    least : float
        Smaller interactions, by size, are left out.
    """
    import pyarrow.parquet as pq

    path, file = _layout.pairs(part), BytesIO()
    path.parent.mkdir(exist_ok=True)
    meta = {META: b'{"seal": "' + BLANK_SEAL.encode() + b'"}'}
    table = _table(explanation, rows, least).replace_schema_metadata(meta)
    pq.write_table(table, file, write_page_checksum=True)
    data = sealed(file.getvalue())
    write_whole(path, lambda target: target.write(data))
    return seal_of(data)


def _table(explanation: Explanation, rows: np.ndarray, least: float) -> "pa.Table":
    import pyarrow as pa

    found: Any = explanation.interactions
    first, second = np.triu_indices(len(found.feature_names), 1)
    values = found.values[:, first, second].reshape(len(rows), len(first), -1)
    errors = np.full_like(values, np.nan)
    if found.standard_errors is not None:
        errors = found.standard_errors[:, first, second].reshape(values.shape)
    values, errors = (np.swapaxes(part, 1, 2) for part in (values, errors))
    row, output, pair = np.nonzero(np.abs(values) >= least)
    names = pa.array([str(name) for name in found.feature_names])
    columns = {"row": pa.array(rows[row])}
    if found.output_names is not None:
        columns["output"] = pa.array(_labels(found.output_names)).take(pa.array(output))
    for name, players in (("feature", first), ("other", second)):
        place = pa.array(players[pair], pa.int32())
        columns[name] = pa.DictionaryArray.from_arrays(place, names)
    columns["value"] = pa.array(values[row, output, pair])
    columns["standard_error"] = pa.array(errors[row, output, pair])
    return pa.table(columns)


def read_pairs(part: Path, seal: str) -> bytes:
    """Return the bytes of the interactions of a part.

    Raises
    ------
    FileNotFoundError
        If they are lost.
    DamagedFileError
        If they are not those that were written with the part.
    """
    path = _layout.pairs(part)
    try:
        data = read_sealed(path)
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{str(path)!r} is lost; explain_batches makes it anew.") from error
    if seal_of(data) != seal:
        raise DamagedFileError(path)
    return data


def interactions(
    data: bytes, index: str, rows: np.ndarray, explanation: Explanation
) -> Interactions:
    """Return the interactions of some instances of a part; 0, of unknown error, where left out.

    Parameters
    ----------
    data : bytes
        Of the file.
    index : str
        The index of pairs.
    rows : ndarray of shape (r,), int
        Positions of the instances in the source, in order.
    explanation : Explanation
        Of these instances.
    """
    import pyarrow.parquet as pq

    table = pq.read_table(BytesIO(data))
    names, outputs = explanation.feature_names, explanation.output_names
    p, k = len(names), 1 if outputs is None else len(outputs)
    row = table["row"].to_numpy()
    at = np.searchsorted(rows, row)
    kept = rows[np.minimum(at, len(rows) - 1)] == row
    first, second = (_places(table[name], map(str, names)) for name in ("feature", "other"))
    output = np.zeros(len(table), dtype=np.intp)
    if outputs is not None:
        output = _places(table["output"], _labels(outputs))
    values = np.zeros((len(rows), p, p, k))
    errors = np.full((len(rows), p, p, k), np.nan)
    errors[:, np.arange(p), np.arange(p)] = 0.0
    for square, name in ((values, "value"), (errors, "standard_error")):
        numbers = table[name].to_numpy()[kept]
        square[at[kept], first[kept], second[kept], output[kept]] = numbers
        square[at[kept], second[kept], first[kept], output[kept]] = numbers
    unknown = p > 1 and np.isnan(errors[:, *np.triu_indices(p, 1)]).all()
    shape = slice(None) if outputs is not None else 0
    return Interactions(
        values[..., shape],
        None if unknown else errors[..., shape],
        explanation.values,
        explanation.base_values,
        names,
        index,
        explanation.index,
        outputs,
    )


def _places(column: "pa.ChunkedArray", names: Iterable) -> np.ndarray:
    """Return the position of each entry among names."""
    place = {name: j for j, name in enumerate(names)}
    encoded = column.cast(column.type.value_type) if hasattr(column.type, "value_type") else column
    encoded = encoded.combine_chunks().dictionary_encode()
    found = np.array([place[name] for name in encoded.dictionary.to_pylist()], dtype=np.intp)
    return found[encoded.indices.to_numpy()]


def _labels(outputs: np.ndarray) -> list:
    """Return the labels of outputs as a column of them holds them."""
    return [name if isinstance(name, str) else plain(name) for name in outputs.tolist()]
