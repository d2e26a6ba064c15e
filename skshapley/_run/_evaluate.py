"""Evaluation of requests in batches: the only place that calls the reward.

A batch is one call of the reward (for a model, one predict of about 8192 rows). A task
is a run of batches for one worker. The sizes of both depend on fixed numbers and the
working memory, never on n_jobs. Results are gathered in order, so they do not depend on
the workers.
"""

from collections.abc import Callable
from copy import copy
from itertools import repeat
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import effective_n_jobs, parallel_config
from joblib.parallel import LokyBackend, MultiprocessingBackend, get_active_backend
from sklearn.utils.parallel import Parallel, delayed

from skshapley._run._workers import Cluster, Parcel
from skshapley._tools._resources import working_bytes
from skshapley.exceptions import ModelOutputError
from skshapley.rewards import Game

# Model rows per call, at most. With 512, models on frames take twice as long; 131,072
# save 3 %.
BATCH_ROWS = 8192
BATCH_SHARE = 1 / 8  # share of the working memory for a batch
TASK_BATCHES = 4


class Requests(NamedTuple):
    """Coalitions of rows to explain, one after the other, over all players of the game.

    Attributes
    ----------
    rows : ndarray of shape (u,), int
    coalitions : ndarray of shape (u, p), bool
    references : ndarray of shape (u, q), int, or None
    """

    rows: np.ndarray
    coalitions: np.ndarray
    references: np.ndarray | None

    @property
    def width(self) -> int:
        """The number of background rows of a request; 0 for the whole background."""
        return 0 if self.references is None else self.references.shape[1]

    def take(self, index: slice | np.ndarray) -> "Requests":
        """Return some of the requests, by a slice or by positions."""
        references = None if self.references is None else self.references[index]
        return Requests(self.rows[index], self.coalitions[index], references)


class Evaluator:
    """Evaluate a game's coalitions in batches, on `n_jobs` workers.

    As a context manager, it keeps the workers between calls.

    Parameters
    ----------
    game : Game
    n_jobs : int or None
    report : callable or None
        Called with the number of values so far.
    """

    def __init__(
        self,
        game: Game,
        n_jobs: int | None = None,
        report: Callable[[int], object] | None = None,
    ) -> None:
        self.game, self.report, self.n_values = game, report, 0
        backend, _ = get_active_backend()
        # A generator hands over results in order as they arrive, so few of them wait in
        # memory.
        return_as = "generator" if backend.supports_return_generator else "list"
        parallel = effective_n_jobs(n_jobs) > 1
        self._parallel = (
            Parallel(n_jobs=n_jobs, return_as=return_as) if parallel else None
        )
        client = getattr(backend, "client", None)  # joblib's dask backend
        self._cluster = (
            Cluster(client, game.shared) if self._parallel and client else None
        )
        # joblib's own processes need a parcel, because they would read the object with
        # every task.
        joblib_backend = isinstance(backend, LokyBackend | MultiprocessingBackend)
        self._shared = game.shared
        if parallel and joblib_backend and game.shared is not None:
            self._shared = Parcel(game.shared)

    def __enter__(self) -> Self:
        if self._parallel is not None:
            self._parallel.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        if self._parallel is not None:
            self._parallel.__exit__(*exc)

    def __call__(self, requests: Requests) -> np.ndarray:
        """Return the values of the requests, ``(u, k)``."""
        values = np.empty((len(requests.rows), self.game.n_outputs))
        ends = self._ends(requests.rows, self.batch_width(requests))
        if self._parallel is None:
            tasks = _slices(ends)
            results: Any = map(_batch, repeat(self.game), map(requests.take, tasks))
        else:
            groups = [
                ends[i : i + TASK_BATCHES] for i in range(0, len(ends), TASK_BATCHES)
            ]
            tasks = _slices([group[-1] for group in groups])
            jobs = (
                (
                    *self._shipped(requests.take(task)),
                    [end - task.start for end in group],
                )
                for task, group in zip(tasks, groups, strict=True)
            )
            if self._cluster is None:
                results = self._parallel(
                    delayed(_task)(self._shared, *job) for job in jobs
                )
            else:
                results = self._cluster(_task, jobs)
        for task, result in zip(tasks, results, strict=True):
            values[task] = result
            self.n_values += task.stop - task.start
            if self.report is not None:
                self.report(self.n_values)
        # The first output stands for all: a game without a value has none of its
        # outputs.
        missing = np.flatnonzero(np.isnan(values[:, 0]))
        if len(missing):
            unvalued = self.game.unvalued
            if unvalued is None:
                raise ModelOutputError(
                    f"{type(self.game).__name__} returned NaN for {len(missing)} "
                    "coalitions; every coalition needs a finite value."
                )
            unvalued.coalitions.extend(requests.coalitions[missing])
            values[missing] = unvalued.worth
        return values

    def _ends(self, rows: np.ndarray, width: int) -> list[int]:
        """Return the ends of the batches of requests, given the rows to explain."""
        n = len(rows)
        if not n:
            return []
        # Batches of many rows are fuller, which is quicker wherever a row's values do
        # not depend on them.
        if not self.game.parted_by_instance:
            return [*range(width, n, width), n]
        row_ends = np.flatnonzero(np.diff(rows, append=rows[-1] + 1)) + 1
        ends, start = [0], 0
        for end in row_ends.tolist():
            # the division of a row's requests does not depend on other rows
            for piece in (*range(start + width, end, width), end):
                # Whole small rows share a batch; a row that would not fit begins the
                # next one.
                if piece - ends[-1] > width and start > ends[-1]:
                    ends.append(start)
                start = piece
        return [*ends[1:], n]

    def batch_width(self, requests: Requests) -> int:
        """Return the number of requests per call of the reward."""
        model_rows = requests.width or self.game.rows_per_value
        rows = min(
            BATCH_ROWS, working_bytes(BATCH_SHARE) // max(self.game.bytes_per_row, 1)
        )
        return max(1, min(int(rows // model_rows), self.game.most_values))

    def _shipped(self, requests: Requests) -> tuple[Game, Requests]:
        """Return a worker's input besides the shared object: the game and its requests."""
        # Workers get only the rows of their task, since each task is pickled.
        rows, local = np.unique(requests.rows, return_inverse=True)
        game = copy(self.game.take(rows))
        game.unvalued = None  # is kept in this process
        if self._shared is not None:
            game.shared = None
        return game, requests._replace(rows=local)


def _slices(ends: list[int]) -> list[slice]:
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _batch(game: Game, requests: Requests) -> np.ndarray:
    references = None if requests.references is None else requests.references[:, None]
    return game(requests.coalitions[:, None], requests.rows, references)[:, 0]


def _task(shared: Any, game: Game, requests: Requests, ends: list[int]) -> np.ndarray:
    if shared is not None:
        game.shared = shared
    # as every response does; one call of dask for all of them is faster
    with parallel_config("sequential"):
        parts = [_batch(game, requests.take(batch)) for batch in _slices(ends)]
    return np.concatenate(parts)
