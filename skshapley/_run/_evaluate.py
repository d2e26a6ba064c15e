"""Evaluation of requests in batches: the only place that calls the reward.

A batch is one call of the reward (for a model, one predict of about 8192 rows), and one
task of a worker. Its size depends on fixed numbers and the working memory, never on
n_jobs. Results are gathered in order, so they do not depend on the workers.

Workers get the model once for each process. joblib pickles the arguments of each task,
and each task reads them. Large arrays are an exception: joblib writes them to a file
that all workers map. The object is therefore sent as an array of bytes, and a worker
opens the same parcel only once.

joblib's dask backend reports the errors of a task, but not the errors of the scheduler.
If a model kills every worker, it waits forever. Tasks are therefore sent to dask's
client directly.
"""

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from copy import copy
from itertools import pairwise, repeat
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import pandas as pd
from joblib import effective_n_jobs, parallel_config, wrap_non_picklable_objects
from joblib.parallel import LokyBackend, MultiprocessingBackend, get_active_backend
from sklearn import config_context, get_config
from sklearn.utils.parallel import Parallel, delayed

from skshapley._tables import hashed
from skshapley._tools import working_bytes
from skshapley.exceptions import ModelOutputError
from skshapley.rewards import Game

# Model rows per call, at most. With 512, models on frames take twice as long; 131,072
# save 3 %.
BATCH_ROWS = 8192
BATCH_SHARE = 1 / 8  # share of the working memory for a batch


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


def workers(n_jobs: int | None) -> Parallel:
    """Return joblib's workers, which have the configuration of scikit-learn."""
    backend, _ = get_active_backend()
    # A generator hands over results in order as they arrive, so few of them wait in
    # memory.
    return_as = "generator" if backend.supports_return_generator else "list"
    return Parallel(n_jobs=n_jobs, return_as=return_as)


class Evaluator(ExitStack):
    """Evaluate a game's coalitions in batches, on `n_jobs` workers.

    It keeps the workers between calls, until the context ends.

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
        super().__init__()
        self.game = game
        self.report = report
        self.n_values = 0
        backend, _ = get_active_backend()
        self._parallel = workers(n_jobs) if effective_n_jobs(n_jobs) > 1 else None
        # joblib's own processes need a parcel, because they would read the object with
        # every task.
        joblib_backend = isinstance(backend, LokyBackend | MultiprocessingBackend)
        self._shared = (
            Parcel(game.shared)
            if self._parallel and joblib_backend and game.shared is not None
            else game.shared
        )
        if self._parallel is not None:
            self.enter_context(self._parallel)
        client = getattr(backend, "client", None)  # joblib's dask backend
        self._cluster = (
            Cluster(client, game.shared) if self._parallel and client else None
        )

    def __call__(self, requests: Requests) -> np.ndarray:
        """Return the values of the requests, ``(u, k)``."""
        values = np.empty((len(requests.rows), self.game.n_outputs))
        tasks = self._batches(requests.rows, self.batch_width(requests))
        if self._parallel is None:
            results: Any = map(_batch, repeat(self.game), map(requests.take, tasks))
        else:
            jobs = map(self._shipped, map(requests.take, tasks))
            if self._cluster is None:
                results = self._parallel(
                    delayed(_task)(self._shared, *job) for job in jobs
                )
            else:
                results = self._cluster(_task, jobs)
        for task, result in zip(tasks, results, strict=True):
            values[task] = result
            self.n_values += len(result)
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

    def _batches(self, rows: np.ndarray, width: int) -> list[slice]:
        """Return the batches of requests, given the rows to explain."""
        n = len(rows)
        # Batches of many rows are fuller, which is quicker wherever a row's values do
        # not depend on them.
        if not n or not self.game.parted_by_instance:
            return [slice(start, start + width) for start in range(0, n, width)]
        row_ends = np.flatnonzero(np.diff(rows, append=-1)) + 1
        ends = [0]
        start = 0
        for end in row_ends.tolist():
            # the division of a row's requests does not depend on other rows
            for piece in (*range(start + width, end, width), end):
                # Whole small rows share a batch; a row that would not fit begins the
                # next one.
                if piece - ends[-1] > width and start > ends[-1]:
                    ends.append(start)
                start = piece
        return [slice(*pair) for pair in pairwise([*ends, n])]

    def batch_width(self, requests: Requests) -> int:
        """Return the number of requests per call of the reward."""
        model_rows = requests.width or self.game.rows_per_value
        rows = min(
            BATCH_ROWS,
            working_bytes(BATCH_SHARE) // max(self.game.bytes_per_row, 1),
        )
        return max(1, min(int(rows // model_rows), self.game.most_values))

    def _shipped(self, requests: Requests) -> tuple[Game, Requests]:
        """Return a worker's input besides the shared object: the game and its requests."""
        # Workers get only the rows of their task, since each task is pickled.
        rows, local = np.unique(requests.rows, return_inverse=True)
        game = copy(self.game.take(rows))
        game.unvalued = None  # is kept in this process
        game.shared = None  # is sent once
        return game, requests._replace(rows=local)


def _batch(game: Game, requests: Requests) -> np.ndarray:
    references = None if requests.references is None else requests.references[:, None]
    return game(requests.coalitions[:, None], requests.rows, references)[:, 0]


def _task(shared: Any, game: Game, requests: Requests) -> np.ndarray:
    game.shared = shared
    with parallel_config("sequential"):  # as every response does
        return _batch(game, requests)


# the last parcel that this process received, by its token
_received: dict[str, Any] = {}


class Parcel:
    """Wrapper of an object for other processes; it unpickles to the object.

    Parameters
    ----------
    content : object

    Raises
    ------
    PicklingError
        If it cannot be pickled.
    """

    def __init__(self, content: Any) -> None:
        self._token = uuid4().hex
        # also classes and functions of a session, as joblib's process backends do
        content = wrap_non_picklable_objects(content, keep_wrapper=False)
        try:
            self._bytes = np.frombuffer(pickle.dumps(content), dtype=np.uint8)
        except (pickle.PicklingError, TypeError, AttributeError) as error:
            raise pickle.PicklingError(
                "Workers in other processes need a copy of the model, and it cannot be "
                f"pickled: {error}. Choose n_jobs=1, or threads: "
                'with joblib.parallel_config("threading").'
            ) from error

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return _opened, (self._token, self._bytes)


def _opened(token: str, data: Any) -> Any:
    """Return the content of a parcel."""
    if token not in _received:
        # Only the last parcel is kept: earlier models would fill the memory of
        # long-lived workers.
        _received.clear()
        _received[token] = pickle.loads(data)
    return _received[token]


TASKS_PER_SLOT = 3  # tasks sent in advance
PATIENCE_SECONDS = 60  # wait for a result before checking for remaining workers


class Cluster:
    """The workers of a dask client, and the object that all tasks share.

    The shared object is the result of a task rather than scattered data. If all workers
    with the object die, dask computes it again.

    Parameters
    ----------
    client : distributed.Client
    shared : object
    """

    def __init__(self, client: Any, shared: Any) -> None:
        self._client = client
        self._ahead = TASKS_PER_SLOT * sum(client.ncores().values())
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore",
                "Sending large graph",
            )  # a model may be large
            self._shared = client.submit(_arrived, Parcel(shared), pure=False)

    def __call__(
        self,
        task: Callable[..., Any],
        jobs: Iterable[tuple],
    ) -> Iterator[Any]:
        """Yield ``task(shared, *job)`` of each job, in their order.

        Raises
        ------
        RuntimeError
            If no worker is left; the check takes up to a minute.
        distributed.KilledWorker
            If one task killed several workers.
        """
        waiting: deque = deque()
        try:
            for job in jobs:
                waiting.append(
                    self._client.submit(
                        _configured,
                        get_config(),
                        task,
                        self._shared,
                        *job,
                        pure=False,
                    )
                )
                # A bounded number in advance keeps workers busy without holding all
                # tasks in memory.
                if len(waiting) >= self._ahead:
                    yield self._result(waiting[0])
                    waiting.popleft()
            while waiting:
                yield self._result(waiting[0])
                waiting.popleft()
        finally:
            self._client.cancel(list(waiting))

    def _result(self, future: Any) -> Any:
        while True:
            try:
                return future.result(timeout=PATIENCE_SECONDS)
            except TimeoutError:
                # The model itself may raise a TimeoutError, which is not the end of our
                # own waiting.
                if future.status != "pending":
                    raise  # the model's own error
                if not self._client.scheduler_info()["workers"]:
                    raise RuntimeError(
                        f"The dask cluster {self._client.scheduler.address} has no "
                        "worker left: find the reason in the logs of the workers, such "
                        "as a lack of memory, and start new ones."
                    ) from None


def _arrived(shared: Any) -> Any:
    """Return the content of a parcel."""
    return shared


def _configured(
    config: dict[str, Any],
    task: Callable[..., Any],
    *arguments: Any,
) -> Any:
    """Run a task under the scikit-learn settings of the caller."""
    with config_context(**config):
        return task(*arguments)


# 2^64 over the golden ratio, as in splitmix64. Keys are 64 bits: among the 2^18 values
# kept for a row, two are equal by chance with probability 2^36/2^65, one in half a
# billion rows.
SEED = 0x9E3779B97F4A7C15


class Ledger:
    """Cache of the evaluations for each row of a block, which avoids repeats.

    The key of a request is a hash of 64 bits. Up to `capacity` values of a row are
    kept.

    Parameters
    ----------
    rows : ndarray of int
        The rows to explain of the block, contiguous.
    """

    capacity = 2**18

    def __init__(self, rows: np.ndarray) -> None:
        self._first_row = rows[0]
        self._keys = np.empty(0, dtype=np.uint64)
        self._values: np.ndarray | None = None
        self._n_values = np.zeros(len(rows), dtype=np.int64)

    def evaluate(
        self,
        evaluator: Evaluator,
        requests: Requests,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return values ``(u, k)``, and flags of the evaluated requests, ``(u,)`` bool."""
        place = requests.rows - self._first_row
        n = len(self._keys)
        # Row and background rows enter the hash too: equal coalitions of two rows are
        # different requests.
        keys = hashed(
            [packed(requests.coalitions), place[:, None], requests.references],
            SEED,
        )
        # the kept keys differ, so that the code of each is its position
        codes = pd.factorize(np.concatenate([self._keys, keys]))[0][n:]
        # `factorize` numbers keys by first appearance, so a code above all earlier ones
        # marks a new request.
        latest = np.maximum.accumulate(np.maximum(codes, n - 1))
        new = np.flatnonzero(np.diff(latest, prepend=n - 1))
        new_values = evaluator(
            requests if len(new) == len(keys) else requests.take(new)
        )
        cached = new_values[:0] if self._values is None else self._values
        self._n_values += np.bincount(place[new], minlength=len(self._n_values))
        # Beyond the capacity, values are not kept and repeats are paid: memory stays
        # bounded.
        room = (self._n_values <= self.capacity)[place[new]]
        self._keys = np.concatenate([self._keys, keys[new][room]])
        self._values = np.concatenate([cached, new_values[room]])
        sent = np.zeros(len(keys), dtype=bool)
        sent[new] = True
        return np.concatenate([cached, new_values])[codes], sent


def packed(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(u, p)`` as 64-bit words, ``(u, w)``."""
    # player j is bit j % 64 of word j // 64, on machines of either byte order
    bits = np.packbits(coalitions, axis=1, bitorder="little")
    words = np.zeros((len(bits), -(-bits.shape[1] // 8)), dtype="<u8")
    words.view(np.uint8)[:, : bits.shape[1]] = bits
    return words
