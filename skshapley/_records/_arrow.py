"""An explanation as columns of Arrow: one line for each instance and output.

Columns: ``row``, ``key:<name>`` for each key, ``output`` where there are several, ``prediction``,
``base_value``, then ``value:<player>``, ``error:<player>``, ``background:<player>`` (the error of
the background as a sample) and ``data:<player>`` for each player,
``n_evaluations``, ``n_model_rows``, ``converged``. Outputs go down the lines, so that the width
does not grow with them.
"""

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._tools._texts import unaddressed

if TYPE_CHECKING:
    import pyarrow as pa

    from skshapley.explanation import Explanation


def to_parquet(explanation: "Explanation", path: str | os.PathLike) -> None:
    """Do what `Explanation.to_parquet` does."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ImportError(
            "Explanation.to_parquet needs pyarrow, which is not installed: pip install"
            " 'skshapley[parquet]'."
        ) from error
    table = dict(arrow_columns(explanation, np.arange(len(explanation)), keyed=True, typed=True))
    unknown = [
        f"{kind}:"
        for kind, errors in (
            ("error", explanation.standard_errors),
            ("background", explanation.background_errors),
        )
        if errors is None
    ]
    kept = {name: part for name, part in table.items() if not name.startswith(tuple(unknown))}
    if explanation.others is not None:
        kept["others"] = pa.array(explanation.others.ravel())
    pq.write_table(pa.table(kept), path)


def arrow_columns(
    explanation: "Explanation", rows: np.ndarray, keyed: bool, typed: bool
) -> Iterator[tuple[str, "pa.Array"]]:
    """Yield names and arrays, one line per instance and output.

    Parameters
    ----------
    explanation : Explanation
    rows : ndarray of shape (r,), int
        What stands in ``row``.
    keyed : bool
        Whether the index of the instances is kept.
    typed : bool
        Whether integers stay so; if not, they are kept as floats.
    """
    import pyarrow as pa

    names = explanation.output_names
    r, p = explanation.values.shape[:2]
    k = 1 if names is None else len(names)

    def repeated(array: "pa.Array") -> "pa.Array":
        return array if k == 1 else array.take(np.repeat(np.arange(r), k))

    yield "row", pa.array(np.repeat(rows, k))
    if keyed:
        yield from ((name, repeated(keys)) for name, keys in key_arrays(explanation.index, typed))
    if names is not None:
        yield "output", output_array(names).take(np.tile(np.arange(k), r))
    yield "prediction", pa.array(explanation.predictions.ravel())
    yield "base_value", pa.array(explanation.base_values.ravel())
    unknown = np.full(explanation.values.shape, np.nan)
    parts = {
        "value": explanation.values,
        "error": explanation.standard_errors,
        "background": explanation.background_errors,
    }
    for kind, given in parts.items():
        numbers = unknown if given is None else given
        lines = np.moveaxis(numbers.reshape(r, p, k), 1, 0).reshape(p, r * k)
        for name, line in zip(explanation.feature_names, lines, strict=True):
            yield f"{kind}:{name}", pa.array(line)
    for position, name in enumerate(explanation.feature_names):
        yield f"data:{name}", repeated(_arrow(explanation.data.iloc[:, position], typed))
    for name in ("n_evaluations", "n_model_rows", "converged"):
        yield name, repeated(pa.array(getattr(explanation, name)))


def key_arrays(index: pd.Index, typed: bool) -> Iterator[tuple[str, "pa.Array"]]:
    """Yield names and arrays of the keys, one line per instance."""
    for position, name in enumerate(key_columns(index.names)):
        yield name, _arrow(pd.Series(index.get_level_values(position)), typed)


def output_array(names: np.ndarray) -> "pa.Array":
    """Return the labels of outputs as an array."""
    import pyarrow as pa

    labels = [_label(name) for name in names.tolist()]
    mixed = len({isinstance(label, str) for label in labels if label is not None}) > 1
    # such as 0 and "1_a" of several targets: a column has one type
    return pa.array([str(label) for label in labels] if mixed else labels)


def key_columns(names: Sequence) -> list[str]:
    """Return the columns of keys; those without a name are called by their place."""
    unnamed = "index" if len(names) == 1 else "index {}"
    return [
        f"key:{unnamed.format(position) if name is None else name}"
        for position, name in enumerate(names)
    ]


def _arrow(column: pd.Series, typed: bool) -> "pa.Array":
    """Return a column of keys or data as an Arrow array; objects of any kind as text."""
    import pyarrow as pa

    kind = column.dtype
    if isinstance(kind, pd.SparseDtype):
        column = column.sparse.to_dense()
    if isinstance(kind, pd.CategoricalDtype) and isinstance(kind.categories, pd.IntervalIndex):
        column = column.astype(object)  # pyarrow has no dictionaries of intervals
    if column.dtype == object:
        pairs = zip(column, column.isna(), strict=True)
        return pa.array([None if none else _text(value) for value, none in pairs], pa.string())
    if not typed and pd.api.types.is_integer_dtype(column):
        column = column.astype("float64")
    array = pa.array(column, from_pandas=True)
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _text(value: Any) -> str:
    return value if isinstance(value, str) else unaddressed(str(value))


def _label(name: Any) -> str | float | None:
    """Return the label of an output as a column of them holds it."""
    if isinstance(name, np.generic):
        name = name.item()
    plain = name is None or isinstance(name, (str, int, float))
    return name if plain else unaddressed(repr(name))
