"""The files of a folder of results: their names, their batch records, and the lock."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from skshapley._records._parquet import ExplanationFile
from skshapley._tools._files import DamagedFileError, write_whole
from skshapley._tools._params import needed
from skshapley.batches._state import digest_of
from skshapley.explanation import Explanation

MANIFEST = "_manifest.json"
_NUMBER = r"(\d{8}|[1-9]\d{8,})"  # in the format `{:08d}`
_PART = re.compile(rf"part-{_NUMBER}\.parquet")
_SKIPPED = re.compile(rf"_skipped-{_NUMBER}\.json")


def part_path(folder: Path, number: int) -> Path:
    """Return the path of the explanations of a batch."""
    return folder / f"part-{number:08d}.parquet"


def skipped_path(folder: Path, number: int) -> Path:
    """Return the path of a batch's list of skipped rows."""
    return folder / f"_skipped-{number:08d}.json"


def batch_paths(folder: Path) -> dict[int, Path]:
    """Return the file of each batch by its number: its part, or else its list of skipped rows."""
    found: dict[int, Path] = {}
    names = [path.name for path in folder.iterdir()]
    # Parts come last and replace a list of skipped rows of the same batch.
    for pattern in (_SKIPPED, _PART):
        matches = [match for name in names if (match := pattern.fullmatch(name))]
        found |= {int(match[1]): folder / match[0] for match in matches}
    return dict(sorted(found.items()))


def foreign_files(folder: Path) -> list[str]:
    """Return the foreign files of a folder without a manifest.

    Names that begin with a dot or an underscore are ignored, as by readers of Parquet, except lists
    of skipped rows.
    """
    names = (path.name for path in folder.iterdir())
    return sorted(name for name in names if name[0] not in "._" or _SKIPPED.fullmatch(name))


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
    path : Path
    record : BatchRecord
    part : ExplanationFile or None
        None if no row of the batch could be explained.
    """

    path: Path
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
            return cls(path, BatchRecord(**content), part)
        except TypeError as error:
            raise DamagedFileError(path, "it is no part of a run") from error

    @property
    def n_explained(self) -> int:
        """The number of explained rows."""
        return 0 if self.part is None else self.part.header.n_rows

    @property
    def of_documents(self) -> bool:
        """Whether the rows are documents."""
        return self.part is not None and self.part.header.of_tokens

    def explanation(self, positions: Any = None) -> Explanation:
        """Return the explanation of all explained rows, or of some positions among them."""
        return Explanation(**self.part.parts(positions))  # type: ignore[union-attr]


def write_json(path: Path, content: dict) -> None:
    """Write JSON that people can read, with a hash of its content."""
    # A round trip, so that the hash is of what a reader will see.
    content = json.loads(json.dumps(content, default=str))
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
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DamagedFileError(path, error) from error
    if stored != _hash(content):
        raise DamagedFileError(path, "its hash is wrong")
    return content


def _hash(content: dict) -> str:
    return digest_of(json.dumps(content, sort_keys=True))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Lock a folder for this process.

    The operating system releases the lock when the process ends for any reason, unlike the mere
    existence of a file. Forked processes do not keep the lock.

    Raises
    ------
    BlockingIOError
        If another run holds it.
    OSError
        If it cannot be locked, for lack of space or rights, or because ``_lock`` is not a plain
        file.
    """
    filelock = needed("filelock", "A folder of results", "parquet")
    # A soft lock would stay after a killed run and block the next one.
    lock = filelock.FileLock(folder / "_lock", blocking=False, fallback_to_soft=False)
    try:
        held = lock.acquire()
    except filelock.Timeout as error:
        raise BlockingIOError(
            f"explain_batches got out={str(folder)!r}, which another run is writing to; wait for"
            f" it, or choose another folder."
        ) from error
    except OSError as error:
        raise OSError(
            f"explain_batches got out={str(folder)!r}, whose file _lock cannot be locked: {error}."
            f" Free space on the disk or remove the file, or choose another folder."
        ) from error
    with held:
        yield
