"""An Explanation as a Parquet file and back: one line per instance and output.

Its columns are those of `_records/_arrow.py`; documents have those of `_token_lines.py`. The file
is sealed in its footer.
"""

import json
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._records._arrow import arrow_columns, key_columns
from skshapley.batches import _settings
from skshapley.batches._files import (
    BLANK_SEAL,
    DamagedFileError,
    read_sealed,
    sealed,
    write_whole,
)
from skshapley.batches._hashes import digest_of
from skshapley.batches._pairs import interactions, read_pairs, write_pairs
from skshapley.batches._token_lines import (
    first_lines,
    lines_of,
    token_columns,
    token_explanation,
)
from skshapley.explanation import Explanation

if TYPE_CHECKING:
    import pyarrow as pa

META = b"skshapley"
FORMAT = 4


@dataclass(frozen=True)
class Footer:
    """What a part says of itself.

    Attributes
    ----------
    run : str
        Hash of what is fixed in the run's manifest.
    batch, first_row, n_rows : int
        The batch that it holds, and its rows in the source.
    n_explained : int
        Instances in this file; the others were set aside.
    n_lines : int
        Lines of this file: one for each instance and output, of documents one for each token too.
    pieces : list of [int, int]
        First row of each call that explained some of them, and the row after its last one.
    failures : list of dict
        The rows that were set aside, as their list has them.
    input : str
        Hash of the batch.
    keys : list
        Names of the key columns.
    feature_names : list or None
        None of documents, whose tokens are in the lines.
    output_names : list or None
    settings : dict
    interactions : dict or None
        The index of the interactions and the seal of their file.
    seal : str
        Hash of the file, see `sealed`.
    """

    run: str
    batch: int
    first_row: int
    n_rows: int
    n_explained: int
    n_lines: int
    pieces: list
    failures: list
    input: str
    keys: list
    feature_names: list | None
    output_names: list | None
    settings: dict
    interactions: dict | None = None
    seal: str | None = None

    @classmethod
    def of(cls, path: Path) -> "Footer":
        """Return the footer of a part, without a look at the rest.

        Raises
        ------
        DamagedFileError
            If it is not the footer of a part.
        """
        return cls._in(path, path)

    @classmethod
    def _in(cls, file: Path | BytesIO, path: Path) -> "Footer":
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            metadata = pq.read_metadata(file)
            content = json.loads(metadata.metadata[META])
            whole = content.pop("digest") == cls._digest(content)
            footer = cls(**content)
        except FileNotFoundError:
            raise
        except (OSError, pa.ArrowException, KeyError, TypeError, ValueError) as error:
            raise DamagedFileError(path) from error
        if not whole or metadata.num_rows != footer.n_lines:
            raise DamagedFileError(path)
        return footer

    def metadata(self) -> dict[bytes, bytes]:
        """Return what a file says of itself, with the room for its seal."""
        content = json.loads(json.dumps(vars(self), default=str))
        text = json.dumps({"digest": self._digest(content), **content, "seal": BLANK_SEAL})
        return {META: text.encode()}

    @staticmethod
    def _digest(content: dict[str, Any]) -> str:
        return digest_of(json.dumps({**content, "seal": None}, sort_keys=True))

    @property
    def n_outputs(self) -> int:
        """Return k."""
        return len(self.output_names or [None])


@dataclass(frozen=True, eq=False)
class Part:
    """A part whose bytes are those that were written.

    Attributes
    ----------
    footer : Footer
    data : bytes
    pairs : bytes or None
        The file of interactions.
    """

    footer: Footer
    data: bytes
    pairs: bytes | None = None

    @classmethod
    def read(cls, path: Path) -> "Part":
        """Return a part, with its interactions.

        Raises
        ------
        DamagedFileError
            If its bytes are not those that were written.
        """
        data = read_sealed(path)
        footer = Footer._in(BytesIO(data), path)
        told = footer.interactions
        return cls(footer, data, None if told is None else read_pairs(path, told["seal"]))

    @property
    def schema(self) -> "pa.Schema":
        """Names and types of the columns."""
        import pyarrow.parquet as pq

        return pq.read_schema(BytesIO(self.data)).remove_metadata()

    def table(self, columns: list[str] | None = None) -> "pa.Table":
        """Return the lines as an Arrow table."""
        import pyarrow.parquet as pq

        return pq.read_table(BytesIO(self.data), columns=columns)

    def predictions(self) -> np.ndarray:
        """Return what the model said, instance by instance and output by output."""
        if self.footer.feature_names is not None:
            return self.table(["prediction"])["prediction"].to_numpy()
        table = self.table(["prediction", "position"])
        return table["prediction"].to_numpy()[first_lines(table)]

    def explanation(self, positions: np.ndarray | None = None) -> Explanation:
        """Return the explanation, or that of some instances, by their place in the part."""
        table, k = self.table(), self.footer.n_outputs
        if self.footer.feature_names is None:
            return _of_documents(table, self.footer, k, positions)
        if positions is not None:
            table = table.take((positions[:, None] * k + np.arange(k)).ravel())
        explanation = _explanation(table, self.footer, k)
        if self.pairs is None or self.footer.interactions is None:
            return explanation
        rows = table["row"].to_numpy()[::k]
        found = interactions(self.pairs, self.footer.interactions["index"], rows, explanation)
        return replace(explanation, interactions=found)


def write_part(
    path: Path,
    explanation: Explanation,
    rows: np.ndarray,
    footer: dict,
    keyed: bool,
    typed: bool,
    schema: "pa.Schema | None",
    least_interaction: float = 0.0,
    documents: bool = False,
) -> "pa.Schema":
    """Write the instances of a batch that were explained; return the schema.

    Parameters
    ----------
    path : Path
    explanation : Explanation
    rows : ndarray of shape (r,), int
        Positions of the instances in the source.
    footer : dict
        What of the footer the explanation does not say.
    keyed : bool
        Whether the instances have keys.
    typed : bool
        Whether later batches have the types of this one; if not, integers are kept as floats, as
        which a later batch may bring them.
    schema : pyarrow.Schema or None
        That of the parts before.
    least_interaction : float, default=0.0
        Smaller interactions, by size, are left out.
    documents : bool, default=False
        Whether the instances are documents, and their players the tokens of each.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names, pairs = explanation.output_names, None
    if explanation.interactions is not None:
        seal = write_pairs(path, explanation, rows, least_interaction)
        pairs = {"index": explanation.interactions.index, "seal": seal}
    lines = token_columns(explanation, rows, keyed) if documents else None
    columns = dict(lines or arrow_columns(explanation, rows, keyed, typed))
    whole = Footer(
        **footer,
        n_explained=len(explanation),
        n_lines=len(columns["row"]),
        keys=list(explanation.index.names) if keyed else [],
        feature_names=None if documents else explanation.feature_names.tolist(),
        output_names=None if names is None else names.tolist(),
        settings=_settings.written(explanation.settings),
        interactions=pairs,
    )
    table = pa.table(columns) if schema is None else _as_before(columns, schema)
    file, described = BytesIO(), table.replace_schema_metadata(whole.metadata())
    pq.write_table(described, file, write_page_checksum=True)
    data = sealed(file.getvalue())
    write_whole(path, lambda target: target.write(data))
    return table.schema


def _as_before(columns: "dict[str, pa.Array]", schema: "pa.Schema") -> "pa.Table":
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


def _explanation(table: "pa.Table", footer: Footer, k: int) -> Explanation:
    r = len(table) // k
    single = footer.output_names is None

    def numbers(name: str) -> np.ndarray:
        return table[name].to_numpy()

    def by_output(names: list[str]) -> np.ndarray:
        lines = np.array([numbers(name) for name in names]).reshape(len(names), r, k)
        values = np.moveaxis(lines, 0, 1)
        return values[..., 0] if single else values

    players: Any = footer.feature_names
    heads = table.take(np.arange(r) * k)
    data = heads.select([f"data:{name}" for name in players]).to_pandas()
    kinds = "error", "background"
    errors, apart = (by_output([f"{kind}:{name}" for name in players]) for kind in kinds)

    def end(name: str) -> np.ndarray:
        return numbers(name) if single else numbers(name).reshape(r, k)

    return Explanation(
        values=by_output([f"value:{name}" for name in players]),
        standard_errors=None if np.isnan(errors).all() else errors,
        background_errors=None if np.isnan(apart).all() else apart,
        base_values=end("base_value"),
        predictions=end("prediction"),
        data=data.set_axis(players, axis=1).set_axis(_index(heads, footer.keys), axis=0),
        feature_names=np.array(players, dtype=object),
        output_names=None if single else np.array(footer.output_names, dtype=object),
        n_evaluations=heads["n_evaluations"].to_numpy(),
        n_model_rows=heads["n_model_rows"].to_numpy(),
        converged=heads["converged"].to_numpy(),
        settings=_settings.read(footer.settings),
    )


def _of_documents(
    table: "pa.Table", footer: Footer, k: int, positions: np.ndarray | None
) -> Explanation:
    if positions is not None:
        table = lines_of(table, positions, k)
    settings = _settings.read(footer.settings)
    return token_explanation(
        table, lambda heads: _index(heads, footer.keys), footer.output_names, settings
    )


def _index(heads: "pa.Table", keys: list) -> pd.Index:
    if not keys:
        return pd.Index(heads["row"].to_numpy())
    columns = heads.select(key_columns(keys)).to_pandas()
    if len(keys) > 1:
        return pd.MultiIndex.from_frame(columns, names=keys)
    return pd.Index(columns.iloc[:, 0]).rename(keys[0])
