"""Objects shared by all tasks of a run, such as the model: pickled once, read once per worker.

joblib pickles the arguments of each task anew and a worker reads them anew, except for large
arrays, which it writes to a file that all workers map. So the object travels as an array of bytes,
and a worker that meets the same parcel again has the object already.
"""

import pickle
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import numpy as np
from joblib import wrap_non_picklable_objects

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
