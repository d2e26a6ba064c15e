"""ExplanationDataset: the explanations in a folder of a run."""

from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

import numpy as np
import pandas as pd

from skshapley._records._importance import check_confidence, inferred_importance
from skshapley._tools import Count, Maybe, check_values, needed
from skshapley.batches._folder import (
    MANIFEST,
    PART,
    BatchFile,
    batch_paths,
    read_json,
    run_of,
)
from skshapley.explanation import Explanation
from skshapley.rewards._tokens import of_tokens, side_by_side

SAMPLE_ROWS = 10_000  # rows to estimate the sizes of all attributions
MAX_ROWS = {"max_rows": Maybe(Count())}
MOST_TOKENS = 1000  # players with compared means and a covariance of each pair


class ExplanationDataset:
    """Explanations in a folder of Parquet files, as `explain_batches` writes them.

    Iteration yields the Explanation of each batch, so the folder may be larger than
    memory. `pandas.read_parquet` reads the same folder as one wide table.

    Parameters
    ----------
    path : str or path
        The folder.

    Attributes
    ----------
    path : Path
    manifest : dict
        Settings, data, model and versions of the run, and ``n_rows`` once it has
        finished.

    Raises
    ------
    FileNotFoundError
        If the folder was not written by `explain_batches`.
    OSError
        If the manifest is damaged. Damaged or missing parts raise it when they are
        read.

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
        needed("pyarrow", "ExplanationDataset", "parquet")
        self.path = Path(path)
        try:
            self.manifest = read_json(self.path / MANIFEST)
        except (FileNotFoundError, NotADirectoryError) as error:
            raise FileNotFoundError(
                f"ExplanationDataset got {str(path)!r}, which holds no {MANIFEST}; "
                "pass a folder that explain_batches has written."
            ) from error

    @property
    def finished(self) -> bool:
        """Whether the run is complete: every row was explained or set aside."""
        return self.manifest["n_rows"] is not None

    def __len__(self) -> int:
        """Return the number of explained rows."""
        return sum(batch.n_explained for batch in self._batches())

    def __iter__(self) -> Iterator[Explanation]:
        """Yield the Explanation of each batch."""
        for batch in self._batches():
            if batch.part is not None:
                yield batch.explanation()

    def read(self, max_rows: int | None = None) -> Explanation:
        """Return the rows as one Explanation.

        Parameters
        ----------
        max_rows : int or None, default=None
            Largest number of rows to read, evenly spread over all of them.

        Raises
        ------
        ValueError
            If there are no rows, or for an invalid max_rows.
        """
        check_values("ExplanationDataset.read", {"max_rows": max_rows}, MAX_ROWS)
        return self.take(self._spread(max_rows))

    def _spread(self, max_rows: int | None) -> np.ndarray:
        """Return the positions of a limited number of rows, evenly spread."""
        total = len(self)
        n = total if max_rows is None else min(max_rows, total)
        # Integer arithmetic gives distinct positions, also for billions of rows.
        return np.arange(n) * total // max(n, 1)

    def importance(
        self,
        confidence: float = 0.95,
        simultaneous: bool = True,
    ) -> pd.DataFrame:
        """Return `Explanation.importance` with a confidence, one batch in memory at a time.

        The bias correction estimates the sizes of attributions and errors from up to
        10,000 evenly spread rows. The players of documents are tokens, with value 0 in
        documents without them. The table has up to 1,000 tokens with the largest sums
        of sizes. Its intervals and ranks ignore the others.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence of intervals and ranks.
        simultaneous : bool, default=True
            Whether they hold for all players simultaneously, or for each separately.

        Raises
        ------
        ValueError
            If there are no rows, or for an invalid confidence.
        """
        check_confidence("ExplanationDataset.importance", confidence, simultaneous)
        if not self._of_documents:
            sample = self.read(max_rows=SAMPLE_ROWS)
            return inferred_importance(lambda: self, sample, confidence, simultaneous)
        # Covariances of all pairs of tokens would need memory for the square of their
        # number.
        sizes = [
            pd.Series(
                np.abs(batch.values).sum(axis=(0, 2)[: batch.values.ndim - 1]),
                batch.feature_names,
            )
            for batch in self
        ]
        totals = pd.concat(sizes).groupby(level=0, sort=False).sum()
        strongest = totals.rank(method="first", ascending=False) <= MOST_TOKENS
        names = totals.index[strongest].tolist()

        def narrow(batches: Iterable[Explanation]) -> Iterator[Explanation]:
            return (of_tokens(batch, names) for batch in batches)

        sample = Explanation.merge([*narrow(self._taken(self._spread(SAMPLE_ROWS)))])
        return inferred_importance(
            lambda: narrow(self),
            sample,
            confidence,
            simultaneous,
        )

    def take(self, positions) -> Explanation:
        """Return some rows, in the order of the files.

        Parameters
        ----------
        positions : array of int
            Positions among the explained rows; rows that were set aside do not count.

        Raises
        ------
        ValueError
            If there are none.
        IndexError
            For an invalid position.
        """
        merge = side_by_side if self._of_documents else Explanation.merge
        return merge([*self._taken(positions)])

    def _taken(self, positions: np.ndarray) -> Iterator[Explanation]:
        """Yield the explanations of some rows, batch by batch."""
        # Files are read in order, each once.
        positions = np.sort(np.asarray(positions, dtype=np.intp))
        first = 0
        for batch in self._batches():
            stop = first + batch.n_explained
            inside = positions[(positions >= first) & (positions < stop)]
            if len(inside):
                yield batch.explanation(inside - first)
            first = stop
        if not first:
            raise ValueError(
                f"ExplanationDataset: {str(self.path)!r} holds no explained rows yet."
            )
        wrong = positions[(positions < 0) | (positions >= first)]
        if len(wrong):
            raise IndexError(
                f"ExplanationDataset has {first} rows; got row {wrong[0]}."
            )

    def skipped(self) -> pd.DataFrame:
        """Return the rows that were set aside.

        Returns
        -------
        skipped : DataFrame
            Columns ``row`` (position in the source), ``key`` (as text) and ``error``.
        """
        return pd.DataFrame(
            [failure for batch in self._batches() for failure in batch.record.failures],
            columns=["row", "key", "error"],
        )

    def check(self) -> list[str]:
        """Read all files and return the errors found, one sentence each.

        Another call of `explain_batches` with the same arguments replaces damaged or
        missing files.

        Returns
        -------
        wrong : list of str
            Empty if every file exists and is intact.
        """
        wrong = []
        paths = batch_paths(self.path)
        try:
            self._refuse_lost(list(paths))
        except OSError as error:
            wrong.append(str(error))
        for number, path in paths.items():
            try:
                batch = self._batch(number, path)
                if batch.part is not None:
                    batch.part.parts()
            except OSError as error:
                wrong.append(str(error))
        return wrong

    @property
    def _of_documents(self) -> bool:
        return any(
            batch.part is not None and batch.part.header.of_tokens
            for batch in self._batches()
        )

    def _batches(self) -> Iterator[BatchFile]:
        """Yield the file of each batch; raise an error if a file is missing."""
        paths = batch_paths(self.path)
        self._refuse_lost(list(paths))
        for number, path in paths.items():
            yield self._batch(number, path)

    def _batch(self, number: int, path: Path) -> BatchFile:
        """Return the file of a batch, if it belongs to this run."""
        batch = BatchFile.read(path)
        if (batch.record.run, batch.record.batch) != (run_of(self.manifest), number):
            raise OSError(
                f"{str(path)!r} belongs to another run than {MANIFEST}: remove it."
            )
        return batch

    def _refuse_lost(self, numbers: list[int]) -> None:
        n_batches = numbers[-1] + 1 if numbers else 0
        if self.finished:
            # Only a finished run knows its number of batches; before, gaps are found up
            # to the last file.
            n_batches = -(
                -self.manifest["n_rows"] // self.manifest["settings"]["batch_rows"]
            )
        lost = sorted(set(range(n_batches)) - set(numbers))
        if lost:
            raise FileNotFoundError(
                f"{str(self.path / PART.format(lost[0]))!r} is missing ({len(lost)} in "
                "all): repeat the call of explain_batches to write them."
            )

    def __repr__(self) -> str:
        try:
            content = f"{len(self)} rows"
        except OSError:
            content = "damaged"
        state = "" if self.finished else "not "
        return f"<ExplanationDataset {str(self.path)!r}: {content}, {state}finished>"
