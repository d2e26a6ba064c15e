"""The folder that a run writes to: its manifest, its parts, and what of them is finished."""

import json
from contextlib import contextmanager

from skshapley._tools._random import RowStream
from skshapley.batches._dataset import MANIFEST, ExplanationDataset
from skshapley.batches._files import locked, need_pyarrow, read_json, write_json
from skshapley.batches._fingerprint import differences, explainer_facts, table_digest, versions
from skshapley.batches._parts import FORMAT, Footer, write_part
from skshapley.batches._sources import OWNER, Batch

MOST_DIFFERENCES = 20


class Folder:
    """One run's folder.

    A batch is finished when its part is there whole (or, if none of its rows could be explained,
    its list of skipped rows), with the hash of the batch as it is read now. Parts are written after
    their lists of skipped rows.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path):
        self.path = path
        self._schema = None
        self._digest = ""

    @contextmanager
    def held(self):
        """Make the folder if need be, and hold it for this process."""
        need_pyarrow()
        if self.path.exists() and not self.path.is_dir():
            raise FileExistsError(f"{OWNER} got out={str(self.path)!r}, which is not a folder.")
        self.path.mkdir(parents=True, exist_ok=True)
        if not (self.path / MANIFEST).exists():
            strange = [file.name for file in self.path.iterdir() if file.name[0] not in "._"]
            if strange:
                raise FileExistsError(
                    f"{OWNER} got out={str(self.path)!r}, which holds files of something else, such"
                    f" as {min(strange)!r}; choose an empty or new folder."
                )
        with locked(self.path):
            yield

    def begin(self, explainer, source, settings, random_state) -> int:
        """Write the manifest, or compare with the one that is there; return the run's entropy."""
        fixed = {
            "settings": {**settings, "random_state": _seed(random_state)},
            "source": source.facts(),
            "explainer": explainer_facts(explainer),
            "versions": versions(),
        }
        old = read_json(self.path / MANIFEST)
        if old is None:
            entropy = RowStream.of(random_state, "explain_batches").entropy
            self._manifest = {"format": FORMAT, "entropy": str(entropy), "n_rows": None, **fixed}
            write_json(self.path / MANIFEST, self._manifest)
            return entropy
        self._manifest = old
        new = json.loads(json.dumps({"format": FORMAT, **fixed}, default=str))
        found = differences({name: old.get(name) for name in new}, new)
        if found:
            more = len(found) - MOST_DIFFERENCES
            shown = found[:MOST_DIFFERENCES] + ([f"and {more} more"] if more > 0 else [])
            raise FileExistsError(
                f"{OWNER} cannot go on in out={str(self.path)!r}, which was begun with something"
                f" else: {'; '.join(shown)}. Restore that, or choose another folder."
            )
        return int(old["entropy"])

    def _part(self, batch):
        return self.path / f"part-{batch.number:08d}.parquet"

    def _skipped(self, batch):
        return self.path / f"_skipped-{batch.number:08d}.json"

    def finished(self, batch: Batch) -> int | None:
        """Return how many rows of a batch were set aside, or None if it is still to be explained.

        Raises
        ------
        FileExistsError
            If it was explained with other data.
        """
        self._digest = table_digest(batch.X, batch.index)
        footer = Footer.of(self._part(batch))
        if footer is not None:
            self._schema = self._schema or _schema(self._part(batch))
            self._compare(batch, footer.first_row, footer.n_rows, footer.input)
            return footer.n_rows - footer.n_explained
        skipped = read_json(self._skipped(batch))
        if skipped is None or len(skipped["rows"]) < skipped["n_rows"]:
            return None
        self._compare(batch, skipped["first_row"], skipped["n_rows"], skipped["input"])
        return skipped["n_rows"]

    def _compare(self, batch, *found):
        if found != (batch.first_row, len(batch), self._digest):
            raise FileExistsError(
                f"{OWNER} cannot go on in out={str(self.path)!r}: the data of {batch} are not what"
                f" they were when they were explained. Restore them, or choose another folder."
            )

    def write(self, batch: Batch, explanation, rows, failures, typed) -> None:
        """Write the outcome of a batch, after `finished` was asked for it."""
        self._skipped(batch).unlink(missing_ok=True)  # of an attempt that died
        if failures:
            facts = {"first_row": batch.first_row, "n_rows": len(batch), "input": self._digest}
            write_json(self._skipped(batch), {**facts, "rows": failures})
        if explanation is not None:
            self._schema = write_part(
                self._part(batch), explanation, rows, batch, self._digest, typed, self._schema
            )

    def end(self, n_rows, last: Batch) -> None:
        """Write down that all rows are done.

        Raises
        ------
        FileExistsError
            If there are parts of more rows than the source has.
        """
        if max(self.path.glob("part-*"), default=self._part(last)) > self._part(last):
            raise FileExistsError(
                f"{OWNER} cannot go on in out={str(self.path)!r}: the source ends after {n_rows}"
                f" rows, and it had more. Restore them, or choose another folder."
            )
        write_json(self.path / MANIFEST, {**self._manifest, "n_rows": n_rows})

    def dataset(self) -> ExplanationDataset:
        """Return what is there, for reading."""
        return ExplanationDataset(self.path)


def _seed(random_state):
    """Return what may be said of a random state: an int, or that the entropy was drawn."""
    return "drawn" if not _is_seed(random_state) else str(int(random_state))


def _is_seed(random_state):
    return hasattr(random_state, "__index__")


def _schema(part):
    import pyarrow.parquet as pq

    return pq.read_schema(part).remove_metadata()
