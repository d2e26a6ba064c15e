"""What a run of batches leaves on disk, read back."""

import json
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from skshapley._records._inferred import check_confidence, inferred_importance
from skshapley.batches import _layout
from skshapley.batches._files import DamagedFileError, need_pyarrow, read_json
from skshapley.batches._hashes import digest_of
from skshapley.batches._parts import Footer, Part
from skshapley.batches._token_lines import of_tokens, side_by_side, strongest_tokens
from skshapley.explanation import Explanation

SAMPLE_ROWS = 10_000  # whose attributions tell the sizes of all
MOST_TOKENS = 1000  # whose means are compared, with a covariance of each pair


def run_of(manifest: dict) -> str:
    """Return the hash of what is fixed in a manifest, by which parts know their run."""
    fixed = {name: fact for name, fact in manifest.items() if name != "n_rows"}
    return digest_of(json.dumps(fixed, sort_keys=True))


class ExplanationDataset:
    """Explanations in a folder of Parquet files, as `explain_batches` writes them.

    Iterating gives the Explanation of one batch after another, so that a folder of any size can be
    worked through. `pandas.read_parquet` reads the same folder as one wide table.

    Parameters
    ----------
    path : str or path
        The folder.

    Attributes
    ----------
    path : Path
    manifest : dict
        Settings, data, model and versions of the run, and ``n_rows`` once it has finished.

    Raises
    ------
    FileNotFoundError
        If the folder was not written by `explain_batches`.
    OSError
        If its manifest is damaged; and, when they are read, for parts that are damaged or lost.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.batches import ExplanationDataset, explain_batches
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(np.zeros((1, 2)))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = explain_batches(explainer, np.eye(2), folder)
    ...     dataset = ExplanationDataset(folder)
    ...     dataset.finished, len(dataset), dataset.read().values.tolist()
    (True, 2, [[1.0, 0.0], [0.0, 2.0]])
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        need_pyarrow()
        self.path = Path(path)
        manifest = read_json(self.path / _layout.MANIFEST)
        if manifest is None:
            raise FileNotFoundError(
                f"ExplanationDataset got {str(path)!r}, which holds no {_layout.MANIFEST}; pass a"
                f" folder that explain_batches has written."
            )
        self.manifest = manifest

    @property
    def finished(self) -> bool:
        """Whether the run came to its end, and every row was explained or set aside."""
        return self.manifest["n_rows"] is not None

    def __len__(self) -> int:
        """Return the number of instances that were explained."""
        return sum(footer.n_explained for _, footer in self._parts())

    def __iter__(self) -> Iterator[Explanation]:
        """Yield the Explanation of each batch."""
        for path, _ in self._parts():
            yield Part.read(path).explanation()

    def read(self, max_rows: int | None = None) -> Explanation:
        """Return the instances as one Explanation.

        Parameters
        ----------
        max_rows : int or None, default=None
            Read so many at most, evenly spread over all of them: enough for a picture.

        Raises
        ------
        ValueError
            If there are none, or for a max_rows that is no count.
        """
        if max_rows is not None and (not isinstance(max_rows, (int, np.integer)) or max_rows < 1):
            raise ValueError(
                f"ExplanationDataset.read takes max_rows as None or a positive int; got"
                f" {max_rows!r}."
            )
        return self.take(self._spread(max_rows))

    def _spread(self, max_rows: int | None) -> np.ndarray:
        """Return the positions of so many instances at most, evenly spread over all of them."""
        total = len(self)
        n = total if max_rows is None else min(max_rows, total)
        return np.arange(n) * total // max(n, 1)

    def importance(self, confidence: float = 0.95, simultaneous: bool = True) -> pd.DataFrame:
        """Return `Explanation.importance` with a confidence, one batch in memory at a time.

        The sizes of attributions and errors, by which the bias of noise is removed, are told by up
        to 10,000 instances, evenly spread over all of them. Of documents the players are tokens,
        which are worth 0 where they do not occur; the table has up to 1,000 of them, those with the
        largest sums of sizes, and its intervals and ranks do not know of the others.

        Parameters
        ----------
        confidence : float, default=0.95
            Of intervals and ranks.
        simultaneous : bool, default=True
            Whether they hold for all players at once, or each by itself.

        Raises
        ------
        ValueError
            If there are no instances, or for a confidence that is none.
        """
        check_confidence("ExplanationDataset.importance", confidence, simultaneous)
        if not self._of_documents:
            sample = self.read(max_rows=SAMPLE_ROWS)
            return inferred_importance(lambda: self, sample, confidence, simultaneous)
        names = strongest_tokens(self, MOST_TOKENS)

        def narrow(batches: Iterable[Explanation]) -> Iterator[Explanation]:
            return (of_tokens(batch, names) for batch in batches)

        sample = Explanation.merge([*narrow(self._taken(self._spread(SAMPLE_ROWS)))])
        return inferred_importance(lambda: narrow(self), sample, confidence, simultaneous)

    def take(self, positions) -> Explanation:
        """Return some instances, in the order of the files.

        Parameters
        ----------
        positions : array of int
            Among the instances that were explained; those that were set aside do not count.

        Raises
        ------
        ValueError
            If there are none.
        IndexError
            For a position that there is not.
        """
        explanations = [*self._taken(positions)]
        return side_by_side(explanations) if self._of_documents else Explanation.merge(explanations)

    def _taken(self, positions: np.ndarray) -> Iterator[Explanation]:
        """Yield what each batch has of some instances."""
        positions = np.sort(np.asarray(positions, dtype=np.intp))
        first = 0
        for path, footer in self._parts():
            stop = first + footer.n_explained
            inside = positions[(positions >= first) & (positions < stop)]
            if len(inside):
                yield Part.read(path).explanation(inside - first)
            first = stop
        if not first:
            raise ValueError(f"ExplanationDataset: {str(self.path)!r} holds no explained rows yet.")
        wrong = positions[(positions < 0) | (positions >= first)]
        if len(wrong):
            raise IndexError(f"ExplanationDataset has {first} instances; got row {wrong[0]}.")

    def skipped(self) -> pd.DataFrame:
        """Return the rows that were set aside.

        Returns
        -------
        skipped : DataFrame
            Columns ``row`` (position in the source), ``key`` (as text) and ``error``.
        """
        parts, lines = set(_layout.parts(self.path)), []
        for number in self._numbers():
            if number in parts:
                lines += Footer.of(_layout.part(self.path, number)).failures
            else:
                lines += self._listed(number)["rows"]
        return pd.DataFrame(lines, columns=["row", "key", "error"])

    def check(self) -> list[str]:
        """Read all files and return what is wrong with them, a sentence each.

        Another call of `explain_batches`, with the arguments of the first, explains anew what was
        damaged or lost.

        Returns
        -------
        wrong : list of str
            Empty if every file is there and holds what was written.
        """
        wrong = []
        try:
            numbers = self._numbers()
        except OSError as error:
            wrong.append(str(error))
            numbers = self._found()
        parts = set(_layout.parts(self.path))
        for number in numbers:
            try:
                self._check_batch(number, number in parts)
            except OSError as error:
                wrong.append(str(error))
        return wrong

    @property
    def _of_documents(self) -> bool:
        return any(footer.feature_names is None for _, footer in self._parts())

    def _check_batch(self, number: int, has_part: bool) -> None:
        """Refuse a batch whose files are not as they were written."""
        if not has_part:
            self._listed(number)
            return
        path = _layout.part(self.path, number)
        footer = Part.read(path).footer
        self._check_run(path, footer.run, footer.batch, number)
        if footer.failures and self._listed(number)["rows"] != footer.failures:
            raise DamagedFileError(_layout.skipped(self.path, number))

    def _check_run(self, path: Path, run: str, batch: int, number: int) -> None:
        """Refuse a file of another run or batch."""
        if (run, batch) != (run_of(self.manifest), number):
            raise OSError(f"{str(path)!r} belongs to another run than {_layout.MANIFEST}.")

    def _listed(self, number: int) -> dict:
        path = _layout.skipped(self.path, number)
        listed = read_json(path)
        if listed is None:
            raise FileNotFoundError(f"{str(path)!r} is lost; explain_batches makes it anew.")
        self._check_run(path, listed["run"], listed["batch"], number)
        return listed

    def _found(self) -> list[int]:
        return sorted({*_layout.parts(self.path), *_layout.lists(self.path)})

    def _numbers(self) -> list[int]:
        """Return the numbers of the batches, or refuse to go on if some of them are lost."""
        numbers = self._found()
        n_batches = numbers[-1] + 1 if numbers else 0
        if self.finished:
            n_batches = -(-self.manifest["n_rows"] // self.manifest["settings"]["batch_rows"])
        lost = sorted(set(range(n_batches)) - set(numbers))
        if lost:
            raise FileNotFoundError(
                f"{str(_layout.part(self.path, lost[0]))!r} is lost, one of {len(lost)}:"
                f" explain_batches makes them anew when it is called as before."
            )
        return numbers

    def _parts(self) -> Iterator[tuple[Path, Footer]]:
        parts = set(_layout.parts(self.path))
        for number in self._numbers():
            if number in parts:
                path = _layout.part(self.path, number)
                footer = Footer.of(path)
                self._check_run(path, footer.run, footer.batch, number)
                yield path, footer

    def __repr__(self) -> str:
        state = "finished" if self.finished else "not finished"
        try:
            held = f"{len(self)} instances"
        except OSError:
            held = "damaged"
        return f"<ExplanationDataset {str(self.path)!r}: {held}, {state}>"
