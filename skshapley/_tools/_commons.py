"""What the instances of one run have in common."""

from typing import Any, TypeVar

import numpy as np

from skshapley._tools._random import generator

T = TypeVar("T")


class Commons:
    """The run's entropy, and what earlier instances leave for later ones.

    Parameters
    ----------
    entropy : int
    """

    def __init__(self, entropy: int):
        self.entropy = entropy
        self._kept: dict[type, Any] = {}

    def generator(self, *key: int) -> np.random.Generator:
        """Return the Generator of a purpose that all instances share, anew at each call."""
        return generator(self.entropy, *key)

    def of(self, kind: type[T]) -> T:
        """Return the run's only object of a class, made when it is first asked for."""
        return self._kept.setdefault(kind, kind())
