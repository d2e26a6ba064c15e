"""explain_batches: a table of any size, batch by batch, to memory or to disk."""

from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, overload
from warnings import warn

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor
from skshapley._tables import column_names, column_of, is_frame, n_rows, take_rows
from skshapley._tools import (
    Count,
    Maybe,
    OneOf,
    Stream,
    UnwrittenFileError,
    check_values,
    generator,
    progress,
    unaddressed,
)
from skshapley.batches._dataset import ExplanationDataset
from skshapley.batches._file_sources import framed, open_source
from skshapley.batches._folder import CHANGED, Attempt, BatchFile, Folder
from skshapley.batches._sources import (
    OWNER,
    Batch,
    Piece,
    Source,
    Wanted,
    batches,
    refuse_no_rows,
)
from skshapley.exceptions import BatchError, PartialExplanationError
from skshapley.explanation import Explanation

CONSTRAINTS = {
    "batch_rows": Maybe(Count()),
    "n_sample": Maybe(Count()),
    "on_error": OneOf(("raise", "skip")),
}
BATCH_ROWS = 4096
# The tokens of all documents are the columns of an Explanation: about 10,000
BATCH_DOCUMENTS = 256


@overload
def explain_batches(
    explainer: Attributor,
    source: Any,
    out: None = None,
    **options: Any,
) -> Iterator[Explanation]: ...


@overload
def explain_batches(
    explainer: Attributor,
    source: Any,
    out: str | PathLike[str],
    **options: Any,
) -> ExplanationDataset: ...


def explain_batches(  # type: ignore[misc]
    explainer,
    source,
    out=None,
    *,
    batch_rows=None,
    columns=None,
    keys=None,
    on_error="raise",
    n_sample=None,
    verbose="auto",
) -> ExplanationDataset | Iterator[Explanation]:
    """Explain the rows of a table of any size, or documents, batch by batch.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer or TreeExplainer
    source : frame, array, sparse matrix, iterable of these, path, or pyarrow dataset
        The rows. A path is a Parquet file, a folder of them, a CSV file, or a .npz file
        of `scipy.sparse.save_npz`. Parquet and CSV tables are converted to the
        container of the background, and to its categories and nullable dtypes. CSV
        files are read as `pandas.read_csv` reads them: texts such as NA are missing
        values. For an explainer of documents also a list, Series
        or array of str, or an iterable of str or of these. From a table, the column
        with the name of ``fit`` is taken, or the only column.
    out : str or path, default=None
        A folder for the results, one Parquet file per batch. A killed run continues if
        it is called again with the same arguments, and gives the same bits. None:
        nothing is written.
    batch_rows : int, default=None
        Rows per batch. Memory holds one batch, and a killed run loses at most one.
        None: 4096; for documents 256.
    columns : list, default=None
        The explainer's columns. None: the columns of the background by name; without
        names, all except the keys.
    keys : name or list of names, default=None
        Columns that identify rows; they become the index of the explanations. None: the
        index of a DataFrame, unless it only counts the rows; otherwise the position in
        the source.
    on_error : {"raise", "skip"}, default="raise"
        "raise": a batch that cannot be explained ends the run, and finished batches are
        kept. "skip": it is halved until the bad rows are found; they are set aside with
        their keys and errors (`ExplanationDataset.skipped`, or a warning without
        `out`), and a later run into `out` tries them again. Dead workers and lack of
        memory do not depend on the rows: they end the run in either case.
    n_sample : int, default=None
        Number of rows of a sample to explain, spread evenly over the predictions of all
        rows. Every row has the same probability, so importances and pictures need no
        weights. The source is read twice, and the model predicts all rows once. Without
        keys, the index is the position in the source. None: all rows.
    verbose : bool, int or "auto", default="auto"
        "auto" shows progress, and a hint at faster ways, if the work takes longer than
        10 s. False is silent.

    Returns
    -------
    explanations : ExplanationDataset, or iterator of Explanation
        With `out`: the finished folder, which can be iterated. Without: an iterator
        that explains one batch at a time. Batches of documents have the columns of
        their own tokens.

    Raises
    ------
    BatchError
        If a batch cannot be explained, with the positions and the keys of its rows.
    ValueError, TypeError
        For wrong arguments or columns, or an empty source.
    FileExistsError
        If `out` contains a run with other settings, data, model or versions (the
        differences are listed), or foreign files.
    BlockingIOError
        If another process is writing to `out`.
    OSError
        If the manifest in `out` is damaged, or the folder cannot be written to or
        locked, as on a full disk. Finished batches are kept, and damaged parts are
        replaced.

    Notes
    -----
    An explanation depends only on the fitted explainer and the row, not on the size of
    batches. Models may differ in the last bits if their predictions depend on the other
    rows of a call (BLAS). Grown trees choose one of two methods by the number of rows of
    the run, or of a batch if it is unknown; both agree to rounding. A resumed run draws
    from the entropy in its manifest, even if the explainer was fitted again.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.batches import explain_batches
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(np.zeros((1, 2)))
    >>> for explanation in explain_batches(explainer, np.eye(2), batch_rows=1):
    ...     print(explanation.values)
    [[1. 0.]]
    [[0. 2.]]
    """
    if not isinstance(explainer, Attributor):
        raise TypeError(
            f"{OWNER} takes a fitted ShapleyExplainer or TreeExplainer; got"
            f" {type(explainer).__name__}.",
        )
    check_is_fitted(explainer, "players_")
    check_values(
        OWNER,
        {"batch_rows": batch_rows, "n_sample": n_sample, "on_error": on_error},
        CONSTRAINTS,
    )
    if batch_rows is None:
        batch_rows = BATCH_DOCUMENTS if explainer._way.container else BATCH_ROWS
    source, request = opened(explainer, source, columns, keys)

    def parts(entropy: int) -> tuple[int | None, Iterator[Batch]]:
        rows = (
            source
            if n_sample is None
            else sampled(explainer, source, request, n_sample, entropy)
        )
        return rows.n_rows, batches(rows, request, int(batch_rows))

    if out is None:
        total, pieces = parts(explainer._way.entropy)
        run = Attempts(explainer, None, on_error, total, int(batch_rows))
        return _stream(run, total, pieces, verbose)
    folder = Folder(Path(out))
    with folder.held():
        settings = {
            "batch_rows": int(batch_rows),
            "columns": request.columns,
            "keys": request.keys,
            "n_sample": None if n_sample is None else int(n_sample),
        }
        entropy = folder.begin(explainer, source, settings)
        total, pieces = parts(entropy)
        run = Attempts(explainer, entropy, on_error, total, int(batch_rows))
        n_skipped = _write(run, folder, total, pieces, verbose)
    if n_skipped:
        warn(
            f"{OWNER} set {n_skipped} rows aside, each with its error; see .skipped() "
            f"of the ExplanationDataset in {str(out)!r}.",
            stacklevel=2,
        )
    return ExplanationDataset(folder.path)


def opened(
    explainer: Any,
    source: Any,
    columns: list | None = None,
    keys: Any = None,
) -> tuple[Source, Wanted]:
    """Return a source and the columns needed from it; check them as far as possible."""
    keys = (
        []
        if keys is None
        else list(keys)
        if isinstance(keys, (list, tuple))
        else [keys]
    )
    if len(set(keys)) < len(keys):
        raise ValueError(f"{OWNER} takes keys that differ; got {keys}.")
    columns = None if columns is None else list(columns)
    background = explainer.background_
    container = explainer._way.container
    if container is not None:
        text_column = column_of(container)
        request = Wanted(columns, keys, None, documents=True, text_column=text_column)
        source = framed(source, text_column)
    else:
        names = getattr(explainer, "feature_names_in_", None)
        names = column_names(background) if is_frame(background) else names
        if columns is None and names is not None:
            columns = list(names)
        request = Wanted(columns, keys, background)
    source = open_source(source)
    source.check(request)
    return source, request


def sampled(
    explainer: Any,
    source: Source,
    wanted: Wanted,
    n: int,
    entropy: int,
) -> Source:
    """Return a source of `n` of the rows, or of all rows if there are fewer.

    This is systematic sampling (Cochran 1977, Sampling techniques, chapter 8). The rows
    are sorted by their prediction, and every (N / n)-th is taken from a random start.
    Every row has the same probability, so means over the sample estimate means over all
    rows without weights. Every stratum of n' N / n consecutive predictions has n' rows
    in the sample.

    Parameters
    ----------
    explainer : Attributor
    source : Source
        It is read twice.
    wanted : Wanted
    n : int
    entropy : int
    """
    if source.once:
        raise ValueError(
            f"{OWNER} got n_sample={n} and an iterator, which can be read only once: "
            "pass a table, a list of tables, or a path."
        )
    predictions = [
        _predictions(explainer, batch) for batch in batches(source, wanted, BATCH_ROWS)
    ]
    predicted = np.concatenate(predictions) if predictions else np.empty((0, 1))
    total = len(predicted)
    n = min(n, total)
    # Rows are spread over the output that varies most.
    column = int(np.argmax(np.nan_to_num(predicted.var(axis=0)))) if total else 0
    order = np.argsort(predicted[:, column], kind="stable")
    start = generator(entropy, Stream.SAMPLE).random()
    # One random start for all strata: each row has the same probability n / N.
    positions = np.sort(
        order[((start + np.arange(n)) * (total / max(n, 1))).astype(np.intp)]
    )

    def read(wanted: Wanted) -> Iterator[Piece]:
        first = 0
        for X, index in source.read(wanted):
            stop = first + n_rows(X)
            in_batch = positions[slice(*np.searchsorted(positions, (first, stop)))]
            if len(in_batch):
                labels = (
                    pd.Index(in_batch) if index is None else index[in_batch - first]
                )
                yield take_rows(X, in_batch - first), labels
            first = stop

    return replace(source, read=read, n_rows=n)


def _predictions(explainer: Any, batch: Batch) -> np.ndarray:
    """Return the predictions of a batch, ``(r, k)``."""
    return np.asarray(
        explainer._way.predictions(explainer._table(batch.X)),
        dtype=float,
    ).reshape(len(batch), -1)


class Attempts:
    """Explain batches, with random numbers by the content of rows.

    Parameters
    ----------
    explainer : Attributor
    entropy : int or None
        Entropy instead of the explainer's own.
    on_error : str
    n_rows : int or None
        Number of all rows, if it is known.
    batch_rows : int
    """

    def __init__(
        self,
        explainer: Any,
        entropy: int | None,
        on_error: str,
        n_rows: int | None,
        batch_rows: int,
    ) -> None:
        self.on_error = on_error
        self.explainer = (
            copy(explainer) if entropy is None else explainer._redrawn(entropy)
        )
        self.explainer._way = self.explainer._way.for_run(n_rows, batch_rows)
        if hasattr(explainer, "verbose"):
            # Batches have their own progress; a bar for each of them would hide it.
            self.explainer.verbose = 0

    def attempt(self, batch: Batch) -> Attempt:
        """Explain a batch, or the good rows of it.

        Raises
        ------
        BatchError
            If there are bad rows and they are not to be skipped, or if workers die.
        """
        finished, failures = self._halved(batch)
        return Attempt(
            self.explainer._way.merge([explanation for _, explanation in finished])
            if finished
            else None,
            [[part.first_row, part.first_row + len(part)] for part, _ in finished],
            failures,
        )

    def _halved(
        self,
        batch: Batch,
    ) -> tuple[list[tuple[Batch, Explanation]], list[dict]]:
        """Return pairs of good pieces and their explanations, and the failures."""
        try:
            explanation = self.explainer.explain(batch.X)
            data = explanation.data.set_axis(batch.index, axis=0)
            return [(batch, replace(explanation, data=data))], []
        except MemoryError:
            raise  # independent of the rows
        except Exception as error:
            cause = (
                error.__cause__ if isinstance(error, PartialExplanationError) else error
            )
            if not isinstance(cause, Exception):
                raise  # an interruption
            if self.on_error == "raise" or isinstance(cause, BrokenExecutor):
                raise self._failed(batch, cause) from error
            if len(batch) == 1:
                return [], [
                    {
                        "row": batch.first_row,
                        "key": str(batch.index[0]) if batch.keyed else None,
                        "error": unaddressed(f"{type(cause).__name__}: {cause}"),
                    },
                ]
        # Halving finds a single bad row of n by about 2 log2(n) attempts.
        middle = len(batch) // 2
        first, second = (
            self._halved(batch.take(*ends))
            for ends in ((0, middle), (middle, len(batch)))
        )
        return first[0] + second[0], first[1] + second[1]

    def _failed(self, batch: Batch, cause: Exception) -> BatchError:
        how = f'with on_error="raise" (choose "skip" to set bad rows aside) cannot explain {batch}'
        # Dead workers are no property of a row.
        if isinstance(cause, BrokenExecutor):
            how = f"lost the workers that were to explain {batch}"
        return BatchError(
            f"{OWNER} {how}: {type(cause).__name__}: {cause}",
            batch.rows,
            batch.index if batch.keyed else None,
        )

    def keeps(self, batch: Batch, found: BatchFile) -> bool:
        """Return True if the model's predictions for the rows are unchanged since the run.

        If the model fails now, a run that skips bad rows trusts the earlier
        predictions.
        """
        # closed forms do not call the model
        if found.part is None or self.explainer.exact_ is not None:
            return True
        parts = (
            (a - batch.first_row, b - batch.first_row) for a, b in found.record.pieces
        )
        try:
            predicted = [
                _predictions(self.explainer, batch.take(*part)) for part in parts
            ]
        except MemoryError:
            raise
        except Exception as error:
            if self.on_error == "raise":
                raise self._failed(batch, error) from error
            return True
        # Compared to the last bit: a retrained model may differ by little.
        return np.array_equal(
            np.concatenate(predicted).ravel(),
            found.part.parts()["predictions"].ravel(),
            equal_nan=True,
        )

    def recovers(self, batch: Batch, failures: list[dict]) -> bool:
        """Return True if a row that was set aside can be explained now."""
        # Tried one by one, since another bad row would hide a good one.
        places = (failure["row"] - batch.first_row for failure in failures)
        return any(not self.attempt(batch.take(i, i + 1)).failures for i in places)


def _stream(
    run: Attempts,
    n_rows: int | None,
    parts: Iterator[Batch],
    verbose: bool | int | str,
) -> Iterator[Explanation]:
    done = 0
    with progress(n_rows, verbose) as report:
        for batch in parts:
            attempt = run.attempt(batch)
            if attempt.failures:
                why = "; ".join(
                    f"row {f['row']}: {f['error']}" for f in attempt.failures
                )
                warn(
                    f"{OWNER} skipped {len(attempt.failures)} of {batch}: {why}",
                    stacklevel=2,
                )
            done += len(batch)
            report(done)
            if attempt.explanation is not None:
                yield attempt.explanation
    refuse_no_rows(done)


def _write(
    run: Attempts,
    folder: Folder,
    n_rows: int | None,
    parts: Iterator[Batch],
    verbose: bool | int | str,
) -> int:
    """Write the missing batches; return the number of rows set aside."""
    n_skipped = done = before = 0
    with progress(n_rows, verbose) as report:
        for batch in parts:
            try:
                skipped, is_new = _settled(run, folder, batch, folder.found(batch))
            except UnwrittenFileError as error:
                raise OSError(
                    f"{OWNER} cannot write {batch} into out={str(folder.path)!r}: "
                    f"{error.strerror}. The {done} rows before are finished. Free space "
                    "or restore the folder, and repeat the call to continue."
                ) from error
            before += 0 if is_new else len(batch)
            n_skipped = n_skipped + skipped
            done = done + len(batch)
            report(done, before)
    refuse_no_rows(done)
    folder.end(done, batch)
    return n_skipped


def _settled(
    run: Attempts,
    folder: Folder,
    batch: Batch,
    found: BatchFile | None,
) -> tuple[int, bool]:
    """Explain a batch if necessary; return the number of rows set aside, and whether it was done.

    Files on disk stay unless more rows can be explained now.
    """
    if found is not None:
        if not run.keeps(batch, found):
            folder.refuse(f"the model's answers at {batch} {CHANGED}")
        if not run.recovers(batch, found.record.failures):
            return len(found.record.failures), False
    attempt = run.attempt(batch)
    if found is not None and len(attempt.failures) >= len(found.record.failures):
        return len(found.record.failures), True
    folder.write(batch, attempt)
    return len(attempt.failures), True
