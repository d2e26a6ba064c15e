"""An Explanation as a Parquet file and back: one line per instance and output.

Columns: ``row``, ``key:<name>`` for each key, ``output`` where there are several, ``prediction``,
``base_value``, then ``value:<player>``, ``error:<player>`` and ``data:<player>`` for each player,
``n_evaluations``, ``n_model_rows``, ``converged``. Outputs go down the lines, so that the width
does not grow with them.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from skshapley._records._settings import Settings
from skshapley.batches._files import write_whole
from skshapley.batches._fingerprint import told
from skshapley.explanation import Explanation

META = b"skshapley"
FORMAT = 1


@dataclass(frozen=True)
class Footer:
    """What a part says of itself.

    Attributes
    ----------
    batch, first_row, n_rows : int
        The batch that it holds, and its rows in the source.
    n_explained : int
        Instances in this file; the others were set aside.
    input : str
        Hash of the batch.
    keys : list
        Names of the key columns.
    feature_names : list
    output_names : list or None
    settings : dict
    """

    batch: int
    first_row: int
    n_rows: int
    n_explained: int
    input: str
    keys: list
    feature_names: list
    output_names: list | None
    settings: dict
    format: int = FORMAT

    @classmethod
    def of(cls, path: Path) -> "Footer | None":
        """Return the footer of a file, or None if it is not there, or is not a whole part."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            metadata = pq.read_metadata(path)
            footer = cls(**json.loads(metadata.metadata[META]))
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
            return None
        lines = footer.n_explained * len(footer.output_names or [None])
        return footer if metadata.num_rows == lines and footer.format == FORMAT else None


def write_part(path, explanation: Explanation, rows, batch, digest, typed, schema):
    """Write the instances of a batch that were explained; return the schema.

    Parameters
    ----------
    path : Path
    explanation : Explanation
    rows : ndarray of shape (r,), int
        Positions of the instances in the source.
    batch : Batch
    digest : str
    typed : bool
        Whether later batches have the types of this one; if not, integers are kept as floats, as
        which a later batch may bring them.
    schema : pyarrow.Schema or None
        That of the parts before.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = explanation.output_names
    footer = Footer(
        batch=batch.number,
        first_row=batch.first_row,
        n_rows=len(batch),
        n_explained=len(explanation),
        input=digest,
        keys=list(explanation.index.names) if batch.keyed else [],
        feature_names=explanation.feature_names.tolist(),
        output_names=None if names is None else names.tolist(),
        settings={name: _plain(value) for name, value in asdict(explanation.settings).items()},
    )
    columns = dict(_columns(explanation, rows, batch.keyed, typed))
    table = pa.table(columns) if schema is None else _as_before(columns, schema)
    meta = json.dumps(vars(footer), default=str)
    whole = table.replace_schema_metadata({META: meta.encode()})
    write_whole(path, lambda file: pq.write_table(whole, file, write_page_checksum=True))
    return table.schema


def _columns(explanation, rows, keyed, typed):
    """Yield names and arrays, one line per instance and output."""
    import pyarrow as pa

    names = explanation.output_names
    r, p = explanation.values.shape[:2]
    k = 1 if names is None else len(names)

    def repeated(array):
        return array if k == 1 else array.take(np.repeat(np.arange(r), k))

    yield "row", pa.array(np.repeat(rows, k))
    if keyed:
        for position, name in enumerate(_key_columns(explanation.index.names)):
            level = pd.Series(explanation.index.get_level_values(position))
            yield name, repeated(_arrow(level, typed))
    if names is not None:
        yield "output", pa.array([_plain(name) for name in names.tolist()] * r)
    yield "prediction", pa.array(explanation.predictions.ravel())
    yield "base_value", pa.array(explanation.base_values.ravel())
    errors = explanation.standard_errors
    errors = np.full(explanation.values.shape, np.nan) if errors is None else errors
    for kind, numbers in (("value", explanation.values), ("error", errors)):
        lines = np.moveaxis(numbers.reshape(r, p, k), 1, 0).reshape(p, r * k)
        for name, line in zip(explanation.feature_names, lines, strict=True):
            yield f"{kind}:{name}", pa.array(line)
    for position, name in enumerate(explanation.feature_names):
        yield f"data:{name}", repeated(_arrow(explanation.data.iloc[:, position], typed))
    for name in ("n_evaluations", "n_model_rows", "converged"):
        yield name, repeated(pa.array(getattr(explanation, name)))


def _key_columns(names):
    """Return the columns of keys; those without a name are called by their place."""
    unnamed = "index" if len(names) == 1 else "index {}"
    return [
        f"key:{unnamed.format(position) if name is None else name}"
        for position, name in enumerate(names)
    ]


def _arrow(column, typed):
    """Return a column of keys or data as an Arrow array; objects of any kind as text."""
    import pyarrow as pa

    if column.dtype == object:
        pairs = zip(column, column.isna(), strict=True)
        return pa.array([None if none else str(value) for value, none in pairs], type=pa.string())
    if not typed and pd.api.types.is_integer_dtype(column):
        column = column.astype("float64")
    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _as_before(columns, schema):
    """Return the table of the columns, in the types of the parts before."""
    import pyarrow as pa

    cast = []
    for field in schema:
        try:
            cast.append(columns[field.name].cast(field.type))
        except pa.ArrowException as error:
            raise TypeError(
                f"explain_batches got {field.name!r} as {columns[field.name].type}, which does not"
                f" go with the {field.type} of the batches before: {error}."
            ) from error
    return pa.table(cast, schema=schema)


def _plain(value):
    """Return a value that JSON knows, and that is the same in every process."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if value is None or isinstance(value, (str, int, float, bool)) else told(value)


def read_part(path, positions=None) -> tuple[Explanation, Footer]:
    """Return the explanation in a part, and its footer.

    Parameters
    ----------
    path : Path
    positions : ndarray of int, or None
        The instances to return, by their place in the part.
    """
    import pyarrow.parquet as pq

    file = pq.ParquetFile(path, page_checksum_verification=True)
    footer = Footer(**json.loads(file.schema_arrow.metadata[META]))
    k = len(footer.output_names or [None])
    table = file.read()
    if positions is not None:
        table = table.take((positions[:, None] * k + np.arange(k)).ravel())
    return _explanation(table, footer, k), footer


def _explanation(table, footer, k):
    r = len(table) // k
    single = footer.output_names is None

    def numbers(name):
        return table[name].to_numpy()

    def by_output(names):
        lines = np.array([numbers(name) for name in names]).reshape(len(names), r, k)
        values = np.moveaxis(lines, 0, 1)
        return values[..., 0] if single else values

    players = footer.feature_names
    heads = table.take(np.arange(r) * k)
    data = heads.select([f"data:{name}" for name in players]).to_pandas()
    errors = by_output([f"error:{name}" for name in players])

    def end(name):
        return numbers(name) if single else numbers(name).reshape(r, k)

    return Explanation(
        values=by_output([f"value:{name}" for name in players]),
        standard_errors=None if np.isnan(errors).all() else errors,
        base_values=end("base_value"),
        predictions=end("prediction"),
        data=data.set_axis(players, axis=1).set_axis(_index(heads, footer.keys), axis=0),
        feature_names=np.array(players, dtype=object),
        output_names=None if single else np.array(footer.output_names, dtype=object),
        n_evaluations=heads["n_evaluations"].to_numpy(),
        n_model_rows=heads["n_model_rows"].to_numpy(),
        converged=heads["converged"].to_numpy(),
        settings=Settings(**footer.settings),
    )


def _index(heads, keys):
    if not keys:
        return pd.Index(heads["row"].to_numpy())
    columns = heads.select(_key_columns(keys)).to_pandas()
    if len(keys) > 1:
        return pd.MultiIndex.from_frame(columns, names=keys)
    return pd.Index(columns.iloc[:, 0]).rename(keys[0])
