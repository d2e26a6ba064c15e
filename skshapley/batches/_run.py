"""explain_batches: a table of any size, a batch at a time, to memory or to disk."""

from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path
from warnings import warn

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor
from skshapley._tables._inputs import column_names, is_frame
from skshapley._tools._progress import progress
from skshapley._tools._random import RowStream
from skshapley.batches._folder import Folder
from skshapley.batches._sources import OWNER, Batch, Wanted, batches, open_source
from skshapley.exceptions import BatchError, PartialExplanationError
from skshapley.explanation import Explanation

ON_ERROR = ("raise", "skip")


def explain_batches(
    explainer,
    source,
    out=None,
    *,
    batch_rows=4096,
    columns=None,
    keys=None,
    on_error="raise",
    verbose=0,
):
    """Explain the rows of a table of any size, a batch at a time.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer or TreeExplainer
    source : frame, array, iterable of frames or arrays, path, or pyarrow dataset
        The rows. A path is a Parquet file, a folder of them, or a CSV file. Parquet and CSV reach
        the explainer in the container that it was fitted on.
    out : str or path, default=None
        A folder that takes the results, one Parquet file per batch. A run that was killed goes on
        where it stopped when it is called again with the same arguments, and ends with the same
        bits. None: nothing is written.
    batch_rows : int, default=4096
        Rows of a batch, however the source cuts them: what memory holds, and what is lost at most
        when a run dies.
    columns : list, default=None
        The explainer's columns. None: those it was fitted on, by name; where it knows no names, all
        but the keys.
    keys : name or list of names, default=None
        Columns that tell rows apart; they become the index of the explanations. None: a DataFrame's
        own index, unless it merely counts the rows; else the position in the source.
    on_error : {"raise", "skip"}, default="raise"
        "raise": a batch that cannot be explained ends the run, and what was finished is kept.
        "skip": it is halved until the bad rows are found; they are set aside with their keys and
        errors, in files ``_skipped-*.json`` or, without `out`, in a warning.
    verbose : int, default=0
        Shows progress, rows per second and the time left where positive.

    Returns
    -------
    explanations : ExplanationDataset, or iterator of Explanation
        With `out`, when all is done, what is on disk, which can be iterated as well. Without, an
        iterator that explains a batch when it is asked for the next.

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

    Notes
    -----
    Row i of the source draws its random numbers from child i of the run's entropy, whatever the
    batch: the size of batches matters no more than to the last bits of models whose prediction of a
    row depends on the rows beside it (BLAS), and to solvers that learn from the first rows of a
    call. ``random_state=None`` draws the entropy once, and a run that goes on uses what its
    manifest says.

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
    _check(explainer, batch_rows, on_error)
    source, wanted = open_source(source), _wanted(explainer, columns, keys)
    state = getattr(explainer, "random_state", None)
    if out is None:
        run = _Run(explainer, RowStream.of(state, "explain_batches").entropy, on_error)
        return _stream(run, source, wanted, int(batch_rows), verbose)
    folder = Folder(Path(out))
    with folder.held():
        settings = {"batch_rows": int(batch_rows), "columns": wanted.columns, "keys": wanted.keys}
        entropy = folder.begin(explainer, source, settings, state)
        run = _Run(explainer, entropy, on_error)
        n_skipped = _write(run, folder, source, batches(source, wanted, int(batch_rows)), verbose)
    if n_skipped:
        warn(
            f"{OWNER} set {n_skipped} rows aside, each with its error; see .skipped() of the"
            f" ExplanationDataset in {str(out)!r}.",
            stacklevel=2,
        )
    return folder.dataset()


def _check(explainer, batch_rows, on_error):
    if not isinstance(explainer, Attributor):
        raise TypeError(
            f"{OWNER} takes a fitted ShapleyExplainer or TreeExplainer; got"
            f" {type(explainer).__name__}."
        )
    check_is_fitted(explainer, "players_")
    whole = isinstance(batch_rows, (int, np.integer)) and not isinstance(batch_rows, bool)
    if not whole or batch_rows < 1:
        raise ValueError(f"{OWNER} takes batch_rows as a positive int; got {batch_rows!r}.")
    if on_error not in ON_ERROR:
        raise ValueError(f"{OWNER} takes on_error as one of {ON_ERROR}; got {on_error!r}.")


def _wanted(explainer, columns, keys):
    background = explainer.background_
    keys = [] if keys is None else list(keys) if isinstance(keys, (list, tuple)) else [keys]
    if len(set(keys)) < len(keys):
        raise ValueError(f"{OWNER} takes keys that differ; got {keys}.")
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
    entropy : int
    on_error : str
    """

    def __init__(self, explainer, entropy, on_error):
        self.explainer, self.entropy, self.on_error = copy(explainer), entropy, on_error
        self._draws = hasattr(explainer, "random_state")
        if hasattr(explainer, "verbose"):
            self.explainer.verbose = 0

    def explain(self, batch: Batch) -> Explanation:
        """Return the explanation of a batch, with the keys as its index."""
        if self._draws:
            self.explainer.random_state = RowStream(self.entropy, batch.first_row)
        made = self.explainer.explain(batch.X)
        return replace(made, data=made.data.set_axis(batch.index, axis=0))

    def attempt(self, batch: Batch):
        """Return the explanation of the good rows or None, their positions, and the failures.

        Raises
        ------
        BatchError
            If there are failures and they are not to be skipped.
        """
        parts, failures = self._halved(batch)
        if not parts:
            return None, np.empty(0, dtype=np.int64), failures
        explanation = parts[0][1] if len(parts) == 1 else Explanation.merge([e for _, e in parts])
        return explanation, np.concatenate([rows for rows, _ in parts]), failures

    def _halved(self, batch):
        try:
            return [(batch.rows, self.explain(batch))], []
        except MemoryError:
            raise  # says nothing of the rows
        except Exception as error:
            cause = error.__cause__ if isinstance(error, PartialExplanationError) else error
            if not isinstance(cause, Exception):
                raise  # an interruption
            if self.on_error == "raise":
                raise BatchError(
                    f'{OWNER} with on_error="raise" (choose "skip" to set bad rows aside) cannot'
                    f" explain {batch}: {type(cause).__name__}: {cause}",
                    batch.rows,
                    batch.index if batch.keyed else None,
                ) from error
            if len(batch) == 1:
                return [], [_failure(batch, cause)]
        middle = len(batch) // 2
        first, second = (
            self._halved(batch.take(*ends)) for ends in ((0, middle), (middle, len(batch)))
        )
        return first[0] + second[0], first[1] + second[1]


def _failure(batch, error):
    key = str(batch.index[0]) if batch.keyed else None
    return {"row": batch.first_row, "key": key, "error": f"{type(error).__name__}: {error}"}


def _stream(run, source, wanted, batch_rows, verbose) -> Iterator[Explanation]:
    done = 0
    with progress(source.n_rows, verbose) as report:
        for batch in batches(source, wanted, batch_rows):
            explanation, _, failures = run.attempt(batch)
            if failures:
                told = "; ".join(
                    f"row {f['row']}{'' if f['key'] is None else ' (' + f['key'] + ')'}:"
                    f" {f['error']}"
                    for f in failures
                )
                warn(f"{OWNER} skipped {len(failures)} of {batch}: {told}", stacklevel=2)
            done += len(batch)
            if report is not None:
                report(done)
            if explanation is not None:
                yield explanation
    if not done:
        raise ValueError(f"{OWNER} got a source without rows.")


def _write(run, folder, source, parts, verbose):
    """Write what is not on disk yet; return how many rows were set aside."""
    n_skipped = done = before = 0
    with progress(source.n_rows, verbose) as report:
        for batch in parts:
            skipped = folder.finished(batch)
            if skipped is None:
                explanation, rows, failures = run.attempt(batch)
                folder.write(batch, explanation, rows, failures, source.typed)
                skipped = len(failures)
            else:
                before += len(batch)
            n_skipped, done = n_skipped + skipped, done + len(batch)
            if report is not None:
                report(done, before)
    if not done:
        raise ValueError(f"{OWNER} got a source without rows.")
    folder.end(done, batch)
    return n_skipped
