"""The folder that a run writes to: its manifest, its parts, and what of them is finished."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from skshapley.batches import _layout
from skshapley.batches._dataset import ExplanationDataset, run_of
from skshapley.batches._document_source import explains_documents
from skshapley.batches._files import (
    DamagedFileError,
    locked,
    need_pyarrow,
    read_json,
    write_json,
)
from skshapley.batches._fingerprint import differences, explainer_facts, versions
from skshapley.batches._hashes import table_digest
from skshapley.batches._parts import FORMAT, Part, write_part
from skshapley.batches._sources import OWNER, Batch, Source

if TYPE_CHECKING:
    import pyarrow as pa

MOST_DIFFERENCES = 20

Content = TypeVar("Content")


@dataclass(frozen=True, eq=False)
class Attempt:
    """What came of explaining a batch.

    Attributes
    ----------
    explanation : Explanation or None
        Of the good rows, where there are any.
    rows : ndarray of shape (r,), int
        Their positions in the source.
    pieces : list of [int, int]
        First row of each call that explained some of them, and the row after its last one.
    failures : list of dict
        The bad rows: ``row``, ``key`` and ``error`` of each.
    """

    explanation: Any
    rows: Any
    pieces: list
    failures: list


@dataclass(frozen=True, eq=False)
class Found:
    """What is on disk of a finished batch.

    Attributes
    ----------
    part : Part or None
        None if none of its rows could be explained.
    failures : list of dict
        The rows that were set aside.
    """

    part: Part | None
    failures: list


class Folder:
    """One run's folder.

    A batch is finished when its part is there undamaged (or, if none of its rows could be
    explained, its list of skipped rows), with the hash of the batch as it is read now. Parts are
    written after their lists of skipped rows, and know what these say.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._schema: pa.Schema | None = None
        self._least_interaction = 0.0
        self._documents = False
        self._digest = ""

    @contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder if need be, and hold it for this process."""
        need_pyarrow()
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{OWNER} got out={str(self.path)!r}, which is not a folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / _layout.MANIFEST).exists():
            strange = _layout.strangers(self.path)
            if strange:
                raise FileExistsError(
                    f"{OWNER} got out={str(self.path)!r}, which holds files of something else, such"
                    f" as {strange[0]!r}; choose an empty or new folder."
                )
        with locked(self.path):
            yield

    def begin(self, explainer: Any, source: Source, settings: dict) -> int:
        """Write the manifest, or compare with the one that is there; return the run's entropy."""
        random_state = getattr(explainer, "random_state", None)
        self._least_interaction = settings.get("least_interaction", 0.0)
        self._documents = explains_documents(explainer)
        fixed = {
            "settings": {**settings, "random_state": _seed(random_state)},
            "source": source.facts(),
            "explainer": explainer_facts(explainer),
            "versions": versions(),
        }
        new = json.loads(json.dumps({"format": FORMAT, **fixed}, default=str))
        manifest = self.path / _layout.MANIFEST
        try:
            old = read_json(manifest)
        except DamagedFileError as error:
            raise DamagedFileError(manifest, "restore it, or choose another folder") from error
        if old is None:
            entropy = str(getattr(explainer, "_entropy", 0))
            old = {"format": FORMAT, "entropy": entropy, "n_rows": None, **new}
            write_json(manifest, old)
        self._manifest, self._run = old, run_of(old)
        found = differences({name: old.get(name) for name in new}, new)
        if found:
            more = len(found) - MOST_DIFFERENCES
            shown = found[:MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])
            raise FileExistsError(
                f"{OWNER} cannot go on in out={str(self.path)!r}, which was begun with something"
                f" else: {'; '.join(shown)}. Restore that, or choose another folder."
            )
        return int(old["entropy"])

    def found(self, batch: Batch) -> Found | None:
        """Return what is there of a batch, or None if it is still to be explained, or again.

        Raises
        ------
        FileExistsError
            If it was explained with other data, or in another run.
        """
        n_rows = self._manifest["n_rows"]
        if n_rows is not None and batch.rows[-1] >= n_rows:
            raise FileExistsError(
                f"{OWNER} cannot go on in out={str(self.path)!r}: the source goes on after {n_rows}"
                f" rows, where it ended. Restore it, or choose another folder."
            )
        self._digest = table_digest(batch.X, batch.index)
        path = _layout.part(self.path, batch.number)
        part = _undamaged(Part.read, path)
        if part is not None:
            self._schema = self._schema or part.schema
            footer = part.footer
            self._compare(batch, path, vars(footer))
            self._keep_list(batch, footer.failures)
            return Found(part, footer.failures)
        path = _layout.skipped(self.path, batch.number)
        listed = _undamaged(read_json, path)
        if listed is None or len(listed["rows"]) < listed["n_rows"]:
            return None
        self._compare(batch, path, listed)
        return Found(None, listed["rows"])

    def _facts(self, batch: Batch) -> dict[str, Any]:
        """Return what tells the batch from others."""
        return {
            "run": self._run,
            "batch": batch.number,
            "first_row": batch.first_row,
            "n_rows": len(batch),
            "input": self._digest,
        }

    def _compare(self, batch: Batch, path: Path, found: dict[str, Any]) -> None:
        if found["run"] != self._run or found["batch"] != batch.number:
            raise FileExistsError(
                f"{OWNER} cannot go on in out={str(self.path)!r}: {path.name} belongs to another"
                f" run. Remove it, or choose another folder."
            )
        if any(found[name] != fact for name, fact in self._facts(batch).items()):
            self.refuse(f"the data of {batch}")

    def refuse(self, what: str) -> NoReturn:
        """Say what has changed, and that nobody goes on with it."""
        raise FileExistsError(
            f"{OWNER} cannot go on in out={str(self.path)!r}: {what} are not what they were when"
            f" they were explained. Restore them, or choose another folder."
        )

    def _keep_list(self, batch: Batch, failures: list) -> None:
        """See to it that the list of skipped rows is there and says what the part knows."""
        path = _layout.skipped(self.path, batch.number)
        if not failures:
            path.unlink(missing_ok=True)
            return
        listed = {**self._facts(batch), "rows": failures}
        if _undamaged(read_json, path) != listed:
            write_json(path, listed)

    def write(self, batch: Batch, attempt: Attempt, typed: bool) -> None:
        """Write the outcome of a batch, after `found` was asked for it."""
        self._keep_list(batch, attempt.failures)
        if attempt.explanation is None:
            return
        footer = {**self._facts(batch), "pieces": attempt.pieces, "failures": attempt.failures}
        self._schema = write_part(
            _layout.part(self.path, batch.number),
            attempt.explanation,
            attempt.rows,
            footer,
            batch.keyed,
            typed,
            self._schema,
            self._least_interaction,
            self._documents,
        )

    def end(self, n_rows: int, last: Batch) -> None:
        """Write down that all rows are done.

        Raises
        ------
        FileExistsError
            If the source had more rows before.
        """
        numbers = [*_layout.parts(self.path), *_layout.lists(self.path), last.number]
        if max(numbers) > last.number or self._manifest["n_rows"] not in (None, n_rows):
            raise FileExistsError(
                f"{OWNER} cannot go on in out={str(self.path)!r}: the source ends after {n_rows}"
                f" rows, and it had more. Restore them, or choose another folder."
            )
        if self._manifest["n_rows"] is None:
            write_json(self.path / _layout.MANIFEST, {**self._manifest, "n_rows": n_rows})

    def dataset(self) -> ExplanationDataset:
        """Return what is there, for reading."""
        return ExplanationDataset(self.path)


def _undamaged(read: Callable[[Path], Content], path: Path) -> Content | None:
    """Return what is read of a file, or None if it is damaged or not there."""
    try:
        return read(path)
    except (DamagedFileError, FileNotFoundError):
        return None


def _seed(random_state: Any) -> str:
    """Return what may be said of a random state: an int, or that the entropy was drawn."""
    return "drawn" if not _is_seed(random_state) else str(int(random_state))


def _is_seed(random_state: Any) -> bool:
    return hasattr(random_state, "__index__")
