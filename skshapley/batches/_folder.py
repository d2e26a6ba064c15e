"""The folder of a run: its manifest, its parts, and the finished ones among them."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np

from skshapley._records._format import FORMAT
from skshapley._records._parquet import ExplanationFile, arrow_table, write_table
from skshapley._tools import DamagedFileError, needed, write_whole
from skshapley.batches._fingerprint import (
    described,
    differences,
    digest_of,
    explainer_facts,
    table_digest,
    versions,
)
from skshapley.batches._sources import OWNER, Batch, Source
from skshapley.explanation import Explanation

MANIFEST = "_manifest.json"
# The explanations of a batch, and its list of skipped rows, by its number
PART = "part-{:08d}.parquet"
SKIPPED = "_skipped-{:08d}.json"
_NUMBER = r"(\d{8}|[1-9]\d{8,})"  # in the format `{:08d}`
_PART = re.compile(rf"part-{_NUMBER}\.parquet")
_SKIPPED = re.compile(rf"_skipped-{_NUMBER}\.json")
CHANGED = "have changed since they were explained. Restore them"


def batch_paths(folder: Path) -> dict[int, Path]:
    """Return the file of each batch by its number: its part, or else its list of skipped rows."""
    paths: dict[int, Path] = {}
    names = [path.name for path in folder.iterdir()]
    # Parts come last and replace a list of skipped rows of the same batch.
    for pattern in (_SKIPPED, _PART):
        matches = [match for name in names if (match := pattern.fullmatch(name))]
        paths |= {int(match[1]): folder / match[0] for match in matches}
    return dict(sorted(paths.items()))


@dataclass(frozen=True)
class BatchRecord:
    """The run and the rows of a batch, as recorded in its file.

    Attributes
    ----------
    run : str
        Hash of the fixed part of the run's manifest.
    batch, first_row, n_rows : int
        The batch, and its rows in the source.
    input : str
        Hash of the rows.
    pieces : list of [int, int]
        First row of each call that explained some rows, and the row after the last one.
    failures : list of dict
        The rows set aside: ``row``, ``key`` and ``error`` of each.
    """

    run: str
    batch: int
    first_row: int
    n_rows: int
    input: str
    pieces: list
    failures: list


@dataclass(frozen=True, eq=False)
class BatchFile:
    """The file of a finished batch.

    Attributes
    ----------
    record : BatchRecord
    part : ExplanationFile or None
        None if no row of the batch could be explained.
    """

    record: BatchRecord
    part: ExplanationFile | None

    @classmethod
    def read(cls, path: Path) -> Self:
        """Return the file of a batch; only the header of a part is read.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        DamagedFileError
            If the file has changed since it was written.
        """
        part = ExplanationFile.open(path) if path.suffix == ".parquet" else None
        content = read_json(path) if part is None else part.header.part
        try:
            return cls(BatchRecord(**content), part)
        except TypeError as error:
            raise DamagedFileError(path, "it is no part of a run") from error

    @property
    def n_explained(self) -> int:
        """The number of explained rows."""
        return 0 if self.part is None else self.part.header.n_rows

    def explanation(self, positions: Any = None) -> Explanation:
        """Return the explanation of all explained rows, or of some positions among them."""
        return Explanation(**self.part.parts(positions))  # type: ignore[union-attr]


def write_json(path: Path, content: dict) -> None:
    """Write JSON that people can read, with a hash of its content."""
    text = json.dumps({**content, "hash": _hash(content)}, indent=1, ensure_ascii=False)
    write_whole(path, lambda file: file.write(text.encode("utf-8", "backslashreplace")))


def read_json(path: Path) -> dict:
    """Return the content of a file of `write_json`.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    DamagedFileError
        If the file has changed since it was written.
    """
    try:
        content = json.loads(path.read_bytes())
        stored = content.pop("hash")
    except (
        ValueError,
        KeyError,
        AttributeError,
        TypeError,
        RecursionError,
    ) as error:
        raise DamagedFileError(path, error) from error
    if stored != _hash(content):
        raise DamagedFileError(path, "its hash is wrong")
    return content


def _hash(content: dict) -> str:
    return digest_of(json.dumps(content, sort_keys=True))


def run_of(manifest: dict) -> str:
    """Return the hash of the fixed part of a manifest, which identifies the run."""
    # The number of rows is known at the end of a run only.
    return _hash({name: fact for name, fact in manifest.items() if name != "n_rows"})


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

    A batch is finished if its file is intact and has the hash of the batch as it is
    read now. The file is its part, or its list of skipped rows if no row could be
    explained.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._schema: Any = None
        self._typed = True
        self._facts: dict[str, Any] = {}

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder if necessary, and lock it for this process.

        The operating system releases the lock when the process ends for any reason,
        unlike the mere existence of a file. Forked processes do not keep the lock.

        Raises
        ------
        FileExistsError
            If the path is a file, or the folder holds other files.
        BlockingIOError
            If another run holds it.
        OSError
            If it cannot be locked, for lack of space or rights, or because ``_lock`` is
            not a plain file.
        """
        needed("pyarrow", "A folder of results", "parquet")
        filelock = needed("filelock", "A folder of results", "parquet")
        subject = f"{OWNER} got out={str(self.path)!r}"
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{subject}, which is not a folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / MANIFEST).exists():
            # Readers of Parquet ignore names that begin with a dot or an underscore.
            strange = sorted(
                path.name
                for path in self.path.iterdir()
                if path.name[0] not in "._" or _SKIPPED.fullmatch(path.name)
            )
            if strange:
                raise FileExistsError(
                    f"{subject}, which holds other files, such as {strange[0]!r}; choose "
                    "an empty or new folder."
                )
        # A soft lock would stay after a killed run and block the next one.
        lock = filelock.FileLock(
            self.path / "_lock",
            blocking=False,
            fallback_to_soft=False,
        )
        try:
            acquired = lock.acquire()
        except filelock.Timeout as error:
            raise BlockingIOError(
                f"{subject}, which another run is writing to; wait for it, or choose "
                "another folder."
            ) from error
        except OSError as error:
            raise OSError(
                f"{subject}, whose file _lock cannot be locked: {error}. Free space on "
                "the disk or remove the file, or choose another folder."
            ) from error
        with acquired:
            yield

    def begin(self, explainer: Any, source: Source, settings: dict) -> int:
        """Write the manifest, or compare it with the existing one; return the run's entropy."""
        self._typed = source.typed
        random_state: Any = getattr(explainer, "random_state", None)
        # A drawn seed differs between processes; the entropy in the manifest replaces
        # it.
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
            old = {"entropy": str(explainer._way.entropy), "n_rows": None, **new}
            write_json(manifest, old)
        except DamagedFileError as error:
            raise OSError(
                f"{OWNER} cannot resume the run: {error} Or choose another folder."
            ) from error
        self._manifest = old
        self._run = run_of(old)
        changes = differences({name: old.get(name) for name in new}, new)
        if changes:
            raise FileExistsError(
                f"{OWNER} cannot resume the run in out={str(self.path)!r}, begun with "
                f"something else: {'; '.join(changes)}. Restore that, or choose another "
                "folder."
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
        self._facts = {
            "run": self._run,
            "batch": batch.number,
            "first_row": batch.first_row,
            "n_rows": len(batch),
            "input": table_digest(batch.X, batch.index),
        }
        skipped = self.path / SKIPPED.format(batch.number)
        # A damaged part is no error: the batch is explained again and replaces it.
        for path in (self.path / PART.format(batch.number), skipped):
            try:
                batch_file = BatchFile.read(path)
                schema: Any = (
                    None if batch_file.part is None else batch_file.part.table().schema
                )
            except (DamagedFileError, FileNotFoundError):
                continue
            record = vars(batch_file.record)
            changed = [
                name for name, fact in self._facts.items() if record[name] != fact
            ]
            if "run" in changed or "batch" in changed:
                self.refuse(f"{path.name} belongs to another run. Remove it")
            if changed:
                self.refuse(f"the data of {batch} {CHANGED}")
            if batch_file.part is not None:
                import pyarrow as pa

                # without the metadata added by reading
                self._schema = self._schema or pa.schema(
                    [column.remove_metadata() for column in schema],
                )
                skipped.unlink(missing_ok=True)  # left by a run that died
            return batch_file
        return None

    def refuse(self, why: str) -> NoReturn:
        """Raise FileExistsError: the run cannot resume."""
        raise FileExistsError(
            f"{OWNER} cannot resume the run in out={str(self.path)!r}: {why}, or "
            "choose another folder."
        )

    def write(self, batch: Batch, attempt: Attempt) -> None:
        """Write the outcome of a batch, after `found`."""
        record = {**self._facts, "pieces": attempt.pieces, "failures": attempt.failures}
        skipped = self.path / SKIPPED.format(batch.number)
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
        # Readers of the whole folder need one schema; a batch may infer another, as for
        # empty columns.
        table = table if self._schema is None else _as_before(table, self._schema)
        self._schema = table.schema
        write_whole(
            self.path / PART.format(batch.number),
            lambda file: write_table(file, table, header, record),
        )
        skipped.unlink(missing_ok=True)

    def end(self, n_rows: int, last: Batch) -> None:
        """Record that all rows are done.

        Raises
        ------
        FileExistsError
            If the source had more rows before.
        """
        if max(
            batch_paths(self.path),
            default=last.number,
        ) > last.number or self._manifest["n_rows"] not in (None, n_rows):
            self.refuse(
                f"the source ends after {n_rows} rows, and it had more. Restore them"
            )
        if self._manifest["n_rows"] is None:
            write_json(self.path / MANIFEST, {**self._manifest, "n_rows": n_rows})


def _as_before(table: Any, schema: Any) -> Any:
    """Return a table with the types of the earlier parts."""
    import pyarrow as pa

    cast = []
    for column in schema:
        try:
            column_now = table[column.name]
            # Arrow would parse text as numbers, and a column that changed its type
            # would go unnoticed.
            if pa.types.is_string(column_now.type) != pa.types.is_string(column.type):
                raise TypeError("text is no number")
            cast.append(column_now.cast(column.type))
        except (pa.ArrowException, TypeError, KeyError) as error:
            types = dict(zip(table.column_names, table.schema.types, strict=True))
            raise TypeError(
                f"{OWNER} got {column.name!r} as {types.get(column.name)}, which does "
                f"not match the type {column.type} of earlier batches: {error}."
            ) from error
    return pa.table(cast, schema=schema)
