"""What a run of batches leaves on disk, read back."""

from pathlib import Path

import numpy as np
import pandas as pd

from skshapley.batches._files import need_pyarrow, read_json
from skshapley.batches._parts import Footer, read_part
from skshapley.explanation import Explanation

MANIFEST = "_manifest.json"


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

    def __init__(self, path):
        need_pyarrow()
        self.path = Path(path)
        self.manifest = read_json(self.path / MANIFEST)
        if self.manifest is None:
            raise FileNotFoundError(
                f"ExplanationDataset got {str(path)!r}, which holds no {MANIFEST}; pass a folder"
                f" that explain_batches has written."
            )

    @property
    def finished(self) -> bool:
        """Whether the run came to its end, and every row was explained or set aside."""
        return self.manifest["n_rows"] is not None

    def __len__(self):
        """Return the number of instances that were explained."""
        return sum(footer.n_explained for _, footer in self._parts())

    def __iter__(self):
        """Yield the Explanation of each batch."""
        for path, _ in self._parts():
            yield read_part(path)[0]

    def read(self, max_rows=None) -> Explanation:
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
        total = len(self)
        n = total if max_rows is None else min(max_rows, total)
        return self.take(np.arange(n) * total // max(n, 1))

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
        positions = np.sort(np.asarray(positions, dtype=np.intp))
        explanations, first = [], 0
        for path, footer in self._parts():
            stop = first + footer.n_explained
            inside = positions[(positions >= first) & (positions < stop)]
            if len(inside):
                explanations.append(read_part(path, inside - first)[0])
            first = stop
        if not first:
            raise ValueError(f"ExplanationDataset: {str(self.path)!r} holds no explained rows yet.")
        wrong = positions[(positions < 0) | (positions >= first)]
        if len(wrong):
            raise IndexError(f"ExplanationDataset has {first} instances; got row {wrong[0]}.")
        return Explanation.merge(explanations)

    def skipped(self) -> pd.DataFrame:
        """Return the rows that were set aside.

        Returns
        -------
        skipped : DataFrame
            Columns ``row`` (position in the source), ``key`` (as text) and ``error``.
        """
        lines = [
            line
            for path in sorted(self.path.glob("_skipped-*.json"))
            for line in read_json(path)["rows"]
        ]
        return pd.DataFrame(lines, columns=["row", "key", "error"])

    def _parts(self):
        for path in sorted(self.path.glob("part-*.parquet")):
            footer = Footer.of(path)
            if footer is not None:
                yield path, footer

    def __repr__(self):
        state = "finished" if self.finished else "not finished"
        return f"<ExplanationDataset {str(self.path)!r}: {len(self)} instances, {state}>"
