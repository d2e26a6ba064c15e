"""Workers: the model is sent once to each process, and dask stops when workers die.

joblib pickles the arguments of each task anew and a worker reads them anew, except for large
arrays, which it writes to a file that all workers map. So the object travels as an array of bytes,
and a worker that meets the same parcel again has the object already.

joblib's own dask backend hands on the errors of a task, but not those of the scheduler: if a model
kills every worker, it waits for ever. So tasks go to its client from here.
"""

import pickle
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from uuid import uuid4

import numpy as np
from joblib import wrap_non_picklable_objects
from sklearn import config_context, get_config

# the parcel that this process received last, by its token: one at most
_received: dict[str, Any] = {}


class Parcel:
    """An object on its way to other processes, where it arrives in place of the parcel.

    Here it stays as it is until it is first pickled, so that an object that cannot be pickled is
    reported as any other argument of a task would be.

    Parameters
    ----------
    content : object
        Not to be changed any more.
    """

    def __init__(self, content: Any) -> None:
        self._content, self._token = content, uuid4().hex
        self._bytes: np.ndarray | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._bytes is None:
            # classes and functions of a session, too, as joblib's own process backends do
            wrapped = wrap_non_picklable_objects(self._content, keep_wrapper=False)
            self._bytes = np.frombuffer(pickle.dumps(wrapped), dtype=np.uint8)
        return _opened, (self._token, self._bytes)


def _opened(token: str, data: Any) -> Any:
    """Return the content of a parcel."""
    if token not in _received:
        _received.clear()
        _received[token] = pickle.loads(data)
    return _received[token]


TASKS_PER_SLOT = 3  # that are sent ahead
PATIENCE_SECONDS = 60  # for a result, before it is asked whether any worker is left


class Cluster:
    """The workers of a dask client, and the object that all tasks share.

    The shared object is the result of a task, and no scattered data: if all workers that have it
    die, dask makes it again.

    Parameters
    ----------
    client : distributed.Client
    shared : object
    """

    def __init__(self, client: Any, shared: Any) -> None:
        self._client, self._ahead = client, TASKS_PER_SLOT * sum(client.ncores().values())
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph")  # a model may be large
            self._shared = client.submit(_arrived, Parcel(shared), pure=False)

    def __call__(self, task: Callable[..., Any], jobs: Iterable[tuple]) -> Iterator[Any]:
        """Yield ``task(shared, *job)`` of each job, in their order.

        Raises
        ------
        RuntimeError
            If no worker is left, which is seen within a minute.
        distributed.KilledWorker
            If several workers died of one task.
        """
        waiting: deque = deque()
        try:
            for job in jobs:
                given = get_config(), task, self._shared, *job
                waiting.append(self._client.submit(_configured, *given, pure=False))
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
                if future.status != "pending":
                    raise  # the model's own
                if not self._client.scheduler_info()["workers"]:
                    raise RuntimeError(
                        f"The dask cluster {self._client.scheduler.address} has no worker left:"
                        f" see their logs for what ended them, such as the model or a lack of"
                        f" memory, and start others."
                    ) from None


def _arrived(shared: Any) -> Any:
    """Return the content of a parcel."""
    return shared


def _configured(config: dict[str, Any], task: Callable[..., Any], *arguments: Any) -> Any:
    """Run a task under the scikit-learn settings of the caller."""
    with config_context(**config):
        return task(*arguments)
