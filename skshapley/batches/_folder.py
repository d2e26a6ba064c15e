"""The folder of a run: its manifest, its parts, and the finished ones among them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from skshapley._records._header import FORMAT
from skshapley._records._parquet import arrow_table, write_table
from skshapley._tools._files import DamagedFileError, write_whole
from skshapley._tools._params import needed
from skshapley.batches._dataset import run_of
from skshapley.batches._files import (
    MANIFEST,
    BatchFile,
    BatchRecord,
    batch_paths,
    foreign_files,
    locked,
    part_path,
    read_json,
    skipped_path,
    write_json,
)
from skshapley.batches._fingerprint import (
    described,
    differences,
    explainer_facts,
    table_digest,
    versions,
)
from skshapley.batches._sources import OWNER, Batch, Source

if TYPE_CHECKING:
    import pyarrow as pa

CHANGED = "have changed since they were explained. Restore them"


@dataclass(frozen=True, eq=False)
class Attempt:
    """The outcome of explaining a batch.

    Attributes
    ----------
    explanation : Explanation or None
        The explanation of the good rows, if any.
    pieces : list of [int, int]
        First row of each call that explained some rows, and the row after the last one.
    failures : list of dict
        The bad rows: ``row``, ``key`` and ``error`` of each.
    """

    explanation: Any
    pieces: list
    failures: list


class Folder:
    """One run's folder.

    A batch is finished if its file is intact and has the hash of the batch as it is read now. The
    file is its part, or its list of skipped rows if no row could be explained.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._schema: pa.Schema | None = None
        self._typed = True
        self._digest = ""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder if necessary, and lock it for this process."""
        needed("pyarrow", "A folder of results", "parquet")
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{OWNER} got out={str(self.path)!r}, which is not a folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / MANIFEST).exists():
            strange = foreign_files(self.path)
            if strange:
                raise FileExistsError(
                    f"{OWNER} got out={str(self.path)!r}, which holds other files, such as"
                    f" {strange[0]!r}; choose an empty or new folder."
                )
        with locked(self.path):
            yield

    def begin(self, explainer: Any, source: Source, settings: dict) -> int:
        """Write the manifest, or compare it with the existing one; return the run's entropy."""
        self._typed = source.typed
        random_state: Any = getattr(explainer, "random_state", None)
        # A drawn seed differs between processes; the entropy in the manifest replaces it.
        seed = str(int(random_state)) if hasattr(random_state, "__index__") else "drawn"
        fixed = {
            "format": FORMAT,
            "settings": {**settings, "random_state": seed},
            "source": source.facts,
            "explainer": explainer_facts(explainer),
            "versions": versions(),
        }
        # The same round trip as the stored manifest: tuples become lists.
        new = json.loads(json.dumps(fixed, default=str))
        manifest = self.path / MANIFEST
        try:
            old = read_json(manifest)
        except FileNotFoundError:
            entropy = str(getattr(explainer, "_entropy", 0))
            old = {"entropy": entropy, "n_rows": None, **new}
            write_json(manifest, old)
        except DamagedFileError as error:
            raise OSError(
                f"{OWNER} cannot resume the run: {error} Or choose another folder."
            ) from error
        self._manifest, self._run = old, run_of(old)
        found = differences({name: old.get(name) for name in new}, new)
        if found:
            raise FileExistsError(
                f"{OWNER} cannot resume the run in out={str(self.path)!r}, begun with something"
                f" else: {'; '.join(found)}. Restore that, or choose another folder."
            )
        return int(old["entropy"])

    def found(self, batch: Batch) -> BatchFile | None:
        """Return the file of a batch, or None if the batch must be explained.

        Raises
        ------
        FileExistsError
            If the batch was explained with other data, or in another run.
        """
        n_rows = self._manifest["n_rows"]
        if n_rows is not None and batch.rows[-1] >= n_rows:
            self.refuse(f"the source now has more than {n_rows} rows. Restore it")
        # Kept for `write`, which follows with the same batch.
        self._digest = table_digest(batch.X, batch.index)
        skipped = skipped_path(self.path, batch.number)
        # A damaged part is no error: the batch is explained again and replaces it.
        for path in (part_path(self.path, batch.number), skipped):
            try:
                found = BatchFile.read(path)
                schema: Any = None if found.part is None else found.part.table().schema
            except (DamagedFileError, FileNotFoundError):
                continue
            self._compare(batch, found)
            if found.part is not None:
                import pyarrow as pa

                # without the metadata added by reading
                plain = pa.schema([column.remove_metadata() for column in schema])
                self._schema = self._schema or plain
                skipped.unlink(missing_ok=True)  # left by a run that died
            return found
        return None

    def _facts(self, batch: Batch) -> dict[str, Any]:
        """Return the facts that identify the batch."""
        return {
            "run": self._run,
            "batch": batch.number,
            "first_row": batch.first_row,
            "n_rows": len(batch),
            "input": self._digest,
        }

    def _compare(self, batch: Batch, found: BatchFile) -> None:
        record = asdict(found.record)
        if record["run"] != self._run or record["batch"] != batch.number:
            self.refuse(f"{found.path.name} belongs to another run. Remove it")
        if any(record[name] != fact for name, fact in self._facts(batch).items()):
            self.refuse(f"the data of {batch} {CHANGED}")

    def refuse(self, why: str) -> NoReturn:
        """Raise FileExistsError: the run cannot resume."""
        raise FileExistsError(
            f"{OWNER} cannot resume the run in out={str(self.path)!r}: {why}, or choose another"
            f" folder."
        )

    def write(self, batch: Batch, attempt: Attempt) -> None:
        """Write the outcome of a batch, after `found`."""
        record = {**self._facts(batch), "pieces": attempt.pieces, "failures": attempt.failures}
        skipped = skipped_path(self.path, batch.number)
        if attempt.explanation is None:
            write_json(skipped, asdict(BatchRecord(**record)))
            return
        table, header = arrow_table(
            attempt.explanation,
            np.concatenate([np.arange(*piece) for piece in attempt.pieces]),
            keyed=batch.keyed,
            typed=self._typed,
            unknown=described,
        )
        # Readers of the whole folder need one schema; a batch may infer another, as for empty
        # columns.
        table = table if self._schema is None else _as_before(table, self._schema)
        self._schema = table.schema
        path = part_path(self.path, batch.number)
        write_whole(path, lambda file: write_table(file, table, header, record))
        skipped.unlink(missing_ok=True)

    def end(self, n_rows: int, last: Batch) -> None:
        """Record that all rows are done.

        Raises
        ------
        FileExistsError
            If the source had more rows before.
        """
        if max(batch_paths(self.path), default=last.number) > last.number or self._manifest[
            "n_rows"
        ] not in (None, n_rows):
            self.refuse(f"the source ends after {n_rows} rows, and it had more. Restore them")
        if self._manifest["n_rows"] is None:
            write_json(self.path / MANIFEST, {**self._manifest, "n_rows": n_rows})


def _as_before(table: "pa.Table", schema: "pa.Schema") -> "pa.Table":
    """Return a table with the types of the earlier parts."""
    import pyarrow as pa

    cast = []
    for column in schema:
        try:
            found = table[column.name]
            # Arrow would parse text as numbers, and a column that changed its type would go
            # unnoticed.
            if pa.types.is_string(found.type) != pa.types.is_string(column.type):
                raise TypeError("text is no number")
            cast.append(found.cast(column.type))
        except (pa.ArrowException, TypeError, KeyError) as error:
            types = dict(zip(table.column_names, table.schema.types, strict=True))
            raise TypeError(
                f"{OWNER} got {column.name!r} as {types.get(column.name)}, which does not match"
                f" the type {column.type} of earlier batches: {error}."
            ) from error
    return pa.table(cast, schema=schema)
