"""Workers: send the model once to each process, and stop dask when workers die.

joblib pickles the arguments of each task, and each task reads them. Large arrays are an
exception: joblib writes them to a file that all workers map. The object is therefore
sent as an array of bytes, and a worker opens the same parcel only once.

joblib's dask backend reports the errors of a task, but not the errors of the scheduler.
If a model kills every worker, it waits forever. Tasks are therefore sent to dask's
client directly.
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

# the last parcel that this process received, by its token
_received: dict[str, Any] = {}


class Parcel:
    """Wrapper of an object for other processes; it unpickles to the object.

    The object is pickled with the first task. An object that cannot be pickled is
    therefore reported like any other argument of a task.

    Parameters
    ----------
    content : object
        It must not change afterwards.
    """

    def __init__(self, content: Any) -> None:
        self._content, self._token = content, uuid4().hex
        self._bytes: np.ndarray | None = None

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        if self._bytes is None:
            # also classes and functions of a session, as joblib's process backends do
            wrapped = wrap_non_picklable_objects(self._content, keep_wrapper=False)
            self._bytes = np.frombuffer(pickle.dumps(wrapped), dtype=np.uint8)
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
        self._client, self._ahead = (
            client,
            TASKS_PER_SLOT * sum(client.ncores().values()),
        )
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Sending large graph"
            )  # a model may be large
            self._shared = client.submit(_arrived, Parcel(shared), pure=False)

    def __call__(
        self, task: Callable[..., Any], jobs: Iterable[tuple]
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
                arguments = get_config(), task, self._shared, *job
                future = self._client.submit(_configured, *arguments, pure=False)
                waiting.append(future)
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
    config: dict[str, Any], task: Callable[..., Any], *arguments: Any
) -> Any:
    """Run a task under the scikit-learn settings of the caller."""
    with config_context(**config):
        return task(*arguments)
