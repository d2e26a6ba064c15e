"""The only place that touches seeds: one entropy per run, one Generator per instance."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_random_state


class RowStream(NamedTuple):
    """The random state of some rows of a larger table: row i draws as row first_row + i of it."""

    entropy: int
    first_row: int = 0

    @classmethod
    def of(cls, random_state, owner: str) -> "RowStream":
        """Return a stream as it is, anything else as the stream of a whole table."""
        if isinstance(random_state, cls):
            return random_state
        return cls(entropy_from(random_state, owner))


def entropy_from(random_state: Any, owner: str) -> int:
    """Turn `random_state` into the entropy of one run.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        None draws fresh entropy from the operating system; an int is its own entropy, so that two
        runs agree; a generator is advanced, so that two runs with the same object differ.
    owner : str
        Who asks, for errors.

    Returns
    -------
    entropy : int
    """
    if random_state is None:
        return fresh_entropy()
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if random_state is not np.random and not isinstance(random_state, np.random.RandomState):
        raise ValueError(
            f"{owner} takes random_state as None, a non-negative int, a numpy Generator or"
            f" RandomState; got {random_state!r}. Pass an int for reproducible results."
        )
    high, low = check_random_state(random_state).randint(2**31, size=2).tolist()
    return high << 31 | low


def fresh_entropy() -> int:
    """Return entropy of the operating system."""
    return int(np.random.SeedSequence().entropy)  # type: ignore[arg-type]


def row_generators(entropy: int, rows: Iterable[int]) -> list[np.random.Generator]:
    """Return one Generator per row index: the same for a row whoever else is explained.

    Child ``i`` equals ``numpy.random.SeedSequence(entropy).spawn(i + 1)[i]``, without spawning the
    children before it.
    """
    return [
        np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(int(i),))) for i in rows
    ]


def generator(entropy: int, *key: int) -> np.random.Generator:
    """Return the Generator of one purpose, apart from those of the rows (keys of two or more)."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(0, *key)))
