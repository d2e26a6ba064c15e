"""explain_batches: a table of any size, a batch at a time, to memory or to disk."""

from collections.abc import Hashable, Iterator
from concurrent.futures import BrokenExecutor
from copy import copy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, overload
from warnings import warn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor
from skshapley._tables._inputs import column_names, is_frame
from skshapley._tools._constraints import Number
from skshapley._tools._progress import progress
from skshapley._tools._texts import unaddressed
from skshapley.batches._dataset import ExplanationDataset
from skshapley.batches._document_source import (
    WantedDocuments,
    explains_documents,
    framed,
    wanted_documents,
)
from skshapley.batches._file_sources import open_source
from skshapley.batches._fingerprint import predictions
from skshapley.batches._folder import Attempt, Folder, Found
from skshapley.batches._sources import (
    OWNER,
    Batch,
    Source,
    Wanted,
    batches,
    refuse_no_rows,
)
from skshapley.batches._token_lines import side_by_side
from skshapley.exceptions import BatchError, PartialExplanationError
from skshapley.explanation import Explanation

ON_ERROR = ("raise", "skip")
BATCH_ROWS = 4096
BATCH_DOCUMENTS = 256  # the tokens of all are the columns of an Explanation: some 10,000


@overload
def explain_batches(
    explainer: Attributor,
    source: Any,
    out: None = None,
    *,
    batch_rows: int | None = None,
    columns: list | None = None,
    keys: Hashable | list = None,
    on_error: str = "raise",
    retry: bool = True,
    least_interaction: float = 0.0,
    verbose: int = 0,
) -> Iterator[Explanation]: ...


@overload
def explain_batches(
    explainer: Attributor,
    source: Any,
    out: str | PathLike[str],
    *,
    batch_rows: int | None = None,
    columns: list | None = None,
    keys: Hashable | list = None,
    on_error: str = "raise",
    retry: bool = True,
    least_interaction: float = 0.0,
    verbose: int = 0,
) -> ExplanationDataset: ...


def explain_batches(
    explainer,
    source,
    out=None,
    *,
    batch_rows=None,
    columns=None,
    keys=None,
    on_error="raise",
    retry=True,
    least_interaction=0.0,
    verbose=0,
) -> ExplanationDataset | Iterator[Explanation]:
    """Explain the rows of a table of any size, or documents, a batch at a time.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer or TreeExplainer
    source : frame, array, sparse matrix, iterable of those, path, or pyarrow dataset
        The rows. A path is a Parquet file, a folder of them, a CSV file, or a .npz file of
        `scipy.sparse.save_npz`. Parquet and CSV reach the explainer in the container that it was
        fitted on. For an explainer of documents also a list, Series or array of str, or an iterable
        of str or of those; of a table, the column that is named as in ``fit``, or the only one.
    out : str or path, default=None
        A folder that takes the results, one Parquet file per batch. A run that was killed goes on
        where it stopped when it is called again with the same arguments, and ends with the same
        bits. None: nothing is written.
    batch_rows : int, default=None
        Rows of a batch, however the source cuts them: what memory holds, and what is lost at most
        when a run dies. None: 4096; of documents 256.
    columns : list, default=None
        The explainer's columns. None: those it was fitted on, by name; where it knows no names, all
        but the keys.
    keys : name or list of names, default=None
        Columns that tell rows apart; they become the index of the explanations. None: a DataFrame's
        own index, unless it merely counts the rows; else the position in the source.
    on_error : {"raise", "skip"}, default="raise"
        "raise": a batch that cannot be explained ends the run, and what was finished is kept.
        "skip": it is halved until the bad rows are found; they are set aside with their keys and
        errors, in files ``_skipped-*.json`` or, without `out`, in a warning. Workers that die, and
        want of memory, say nothing of the rows and end the run in either case.
    retry : bool, default=True
        Whether rows that an earlier run into `out` set aside are tried again: where one can be
        explained now, its batch is explained anew.
    least_interaction : float, default=0.0
        Of an explainer with interactions: those that are smaller in size are not written to `out`,
        and are 0, of unknown error, where they are read back. 0: all are written.
    verbose : int, default=0
        Shows progress, rows per second and the time left where positive.

    Returns
    -------
    explanations : ExplanationDataset, or iterator of Explanation
        With `out`, when all is done, what is on disk, which can be iterated as well. Without, an
        iterator that explains a batch when it is asked for the next. Batches of documents have the
        columns of their own tokens.

    Raises
    ------
    BatchError
        If a batch cannot be explained, with the place and the keys of its rows.
    ValueError, TypeError
        For wrong arguments or columns, or an empty source.
    FileExistsError
        If `out` holds a run with other settings, data, model or versions (the differences are
        listed), or files that are none of ours.
    BlockingIOError
        If another process is writing to `out`.
    OSError
        If the manifest in `out` is damaged, or the folder cannot be written to or locked. Parts
        that are damaged are made anew.

    Notes
    -----
    An explanation depends on the fitted explainer and on the row alone: the size of batches matters
    no more than to the last bits of models whose prediction of a row depends on the rows beside it
    (BLAS). A run that goes on draws from the entropy that its manifest says, be the explainer
    fitted anew.

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
    _check(explainer, batch_rows, on_error, retry, least_interaction)
    if batch_rows is None:
        batch_rows = BATCH_DOCUMENTS if explains_documents(explainer) else BATCH_ROWS
    source, wanted = opened(explainer, source, columns, keys)
    if out is None:
        run = _Run(explainer, None, on_error)
        return _stream(run, source, wanted, int(batch_rows), verbose)
    folder = Folder(Path(out))
    with folder.held():
        settings: dict[str, Any] = {"batch_rows": int(batch_rows), "columns": wanted.columns}
        settings["keys"] = wanted.keys
        if getattr(explainer, "interactions", False) is not False:
            settings["least_interaction"] = float(least_interaction)
        entropy = folder.begin(explainer, source, settings)
        run = _Run(explainer, entropy, on_error)
        parts = batches(source, wanted, int(batch_rows))
        n_skipped = _write(run, folder, source.n_rows, parts, source.typed, retry, verbose)
    if n_skipped:
        warn(
            f"{OWNER} set {n_skipped} rows aside, each with its error; see .skipped() of the"
            f" ExplanationDataset in {str(out)!r}.",
            stacklevel=2,
        )
    return folder.dataset()


def opened(
    explainer: Any, source: Any, columns: list | None = None, keys: Any = None
) -> tuple[Source, Wanted]:
    """Return a source and what is wanted of it, if it has that, as far as can be seen by now."""
    wanted = _wanted(explainer, columns, keys)
    if isinstance(wanted, WantedDocuments):
        source = framed(source, wanted.usual)
    source = open_source(source)
    source.check(wanted)
    return source, wanted


def _check(explainer: Any, batch_rows: Any, on_error: Any, retry: Any, least: Any) -> None:
    if not isinstance(explainer, Attributor):
        raise TypeError(
            f"{OWNER} takes a fitted ShapleyExplainer or TreeExplainer; got"
            f" {type(explainer).__name__}."
        )
    check_is_fitted(explainer, "players_")
    whole = isinstance(batch_rows, (int, np.integer)) and not isinstance(batch_rows, bool)
    if batch_rows is not None and (not whole or batch_rows < 1):
        raise ValueError(f"{OWNER} takes batch_rows as None or a positive int; got {batch_rows!r}.")
    if on_error not in ON_ERROR:
        raise ValueError(f"{OWNER} takes on_error as one of {ON_ERROR}; got {on_error!r}.")
    if not isinstance(retry, (bool, np.bool_)):
        raise ValueError(f"{OWNER} takes retry as True or False; got {retry!r}.")
    positive = Number(least=0)
    if not positive.allows(least):
        raise ValueError(f"{OWNER} takes least_interaction as {positive.choices}; got {least!r}.")


def _wanted(explainer: Any, columns: list | None, keys: Any) -> Wanted:
    background = explainer.background_
    keys = [] if keys is None else list(keys) if isinstance(keys, (list, tuple)) else [keys]
    if len(set(keys)) < len(keys):
        raise ValueError(f"{OWNER} takes keys that differ; got {keys}.")
    if explains_documents(explainer):
        return wanted_documents(explainer, columns, keys)
    if columns is not None:
        columns = list(columns)
    elif background is not None and is_frame(background):
        columns = column_names(background)
    elif hasattr(explainer, "feature_names_in_"):
        columns = list(explainer.feature_names_in_)
    return Wanted(columns, keys, background)


class _Run:
    """Explains batches, each row by its place in the source.

    Parameters
    ----------
    explainer : Attributor
    entropy : int or None
        What to draw from in place of the explainer's own.
    on_error : str
    """

    def __init__(self, explainer: Any, entropy: int | None, on_error: str) -> None:
        self.explainer, self.on_error = copy(explainer), on_error
        if entropy is not None and hasattr(explainer, "_redrawn"):
            self.explainer = explainer._redrawn(entropy)
        if hasattr(explainer, "verbose"):
            self.explainer.verbose = 0

    def explain(self, batch: Batch) -> Explanation:
        """Return the explanation of a batch, with the keys as its index."""
        made = self.explainer.explain(batch.X)
        return replace(made, data=made.data.set_axis(batch.index, axis=0))

    def attempt(self, batch: Batch) -> Attempt:
        """Explain a batch, or the good rows of it.

        Raises
        ------
        BatchError
            If there are bad rows and they are not to be skipped, or if workers die.
        """
        made, failures = self._halved(batch)
        rows = [part.rows for part, _ in made]
        pieces = [[part.first_row, part.first_row + len(part)] for part, _ in made]
        explanations = [explanation for _, explanation in made]
        if not made:
            return Attempt(None, np.empty(0, dtype=np.int64), [], failures)
        merge = side_by_side if explains_documents(self.explainer) else Explanation.merge
        whole = explanations[0] if len(made) == 1 else merge(explanations)
        return Attempt(whole, np.concatenate(rows), pieces, failures)

    def _halved(self, batch: Batch) -> tuple[list[tuple[Batch, Explanation]], list[dict]]:
        """Return pairs of the pieces that could be explained and their explanations; failures."""
        try:
            return [(batch, self.explain(batch))], []
        except MemoryError:
            raise  # says nothing of the rows
        except Exception as error:
            cause = error.__cause__ if isinstance(error, PartialExplanationError) else error
            if not isinstance(cause, Exception):
                raise  # an interruption
            if self.on_error == "raise" or isinstance(cause, BrokenExecutor):
                raise self._failed(batch, cause) from error
            if len(batch) == 1:
                return [], [_failure(batch, cause)]
        middle = len(batch) // 2
        first, second = (
            self._halved(batch.take(*ends)) for ends in ((0, middle), (middle, len(batch)))
        )
        return first[0] + second[0], first[1] + second[1]

    def _failed(self, batch: Batch, cause: Exception) -> BatchError:
        how = f'with on_error="raise" (choose "skip" to set bad rows aside) cannot explain {batch}'
        if isinstance(cause, BrokenExecutor):
            how = f"lost the workers that were to explain {batch}"
        index = batch.index if batch.keyed else None
        return BatchError(f"{OWNER} {how}: {type(cause).__name__}: {cause}", batch.rows, index)

    def keeps(self, batch: Batch, found: Found) -> bool:
        """Return whether the model says of the rows what it said when they were explained.

        Where it fails to say anything, a run that skips bad rows takes its word of old.
        """
        if found.part is None:
            return True
        pieces = found.part.footer.pieces
        try:
            said: list[Any] = [  # all None, or none
                self._said(batch.take(a - batch.first_row, b - batch.first_row)) for a, b in pieces
            ]
        except MemoryError:
            raise
        except Exception as error:
            if self.on_error == "raise":
                raise self._failed(batch, error) from error
            return True
        if said[0] is None:
            return True
        return np.array_equal(np.concatenate(said), found.part.predictions(), equal_nan=True)

    def _said(self, piece: Batch) -> np.ndarray | None:
        return predictions(self.explainer, piece.X)

    def recovers(self, batch: Batch, failures: list[dict]) -> bool:
        """Return whether one of the rows that were set aside can be explained now."""
        places = (failure["row"] - batch.first_row for failure in failures)
        return any(not self.attempt(batch.take(i, i + 1)).failures for i in places)


def _failure(batch: Batch, error: Exception) -> dict[str, Any]:
    key = str(batch.index[0]) if batch.keyed else None
    text = unaddressed(f"{type(error).__name__}: {error}")
    return {"row": batch.first_row, "key": key, "error": text}


def _stream(
    run: _Run, source: Source, wanted: Wanted, batch_rows: int, verbose: int
) -> Iterator[Explanation]:
    done = 0
    with progress(source.n_rows, verbose) as report:
        for batch in batches(source, wanted, batch_rows):
            made = run.attempt(batch)
            if made.failures:
                told = "; ".join(
                    f"row {f['row']}{'' if f['key'] is None else ' (' + f['key'] + ')'}:"
                    f" {f['error']}"
                    for f in made.failures
                )
                warn(f"{OWNER} skipped {len(made.failures)} of {batch}: {told}", stacklevel=2)
            done += len(batch)
            if report is not None:
                report(done)
            if made.explanation is not None:
                yield made.explanation
    refuse_no_rows(done)


def _write(
    run: _Run,
    folder: Folder,
    n_rows: int | None,
    parts: Iterator[Batch],
    typed: bool,
    retry: bool,
    verbose: int,
) -> int:
    """Write what is not on disk yet; return how many rows were set aside."""
    n_skipped = done = before = 0
    with progress(n_rows, verbose) as report:
        for batch in parts:
            found = folder.found(batch)
            skipped, is_new = _settled(run, folder, batch, found, typed, retry)
            before += 0 if is_new else len(batch)
            n_skipped, done = n_skipped + skipped, done + len(batch)
            if report is not None:
                report(done, before)
    refuse_no_rows(done)
    folder.end(done, batch)
    return n_skipped


def _settled(
    run: _Run, folder: Folder, batch: Batch, found: Found | None, typed: bool, retry: bool
) -> tuple[int, bool]:
    """Explain a batch if need be; return how many rows were set aside, and whether there was need.

    What is on disk stays there unless more rows can be explained now.
    """
    if found is not None:
        if not run.keeps(batch, found):
            folder.refuse(f"the model's answers at {batch}")
        if not (retry and found.failures and run.recovers(batch, found.failures)):
            return len(found.failures), False
    made = run.attempt(batch)
    if found is not None and len(made.failures) >= len(found.failures):
        return len(found.failures), True
    folder.write(batch, made, typed)
    return len(made.failures), True
