"""Seeds: one entropy per fit, and one random generator per row to explain."""

from collections.abc import Iterable
from enum import IntEnum
from numbers import Integral
from secrets import randbits
from typing import Any

import numpy as np
from sklearn.utils import check_random_state


class Stream(IntEnum):
    """Purposes of random numbers in a run; each purpose has a separate stream."""

    HERD = 1  # background rows to keep
    DESIGN = 2  # the design of pairs for players by rank
    PLAIN_ORDER = 3  # order of background rows without known quantities
    ORDER = 4  # balanced order of background rows
    REFERENCES = 5  # background rows for each row of a global explanation
    SINGLE_ROWS = 7  # background rows that measure the spread of single ones
    SPLIT = 8  # background rows to fit a part of the game
    SAMPLE = 11  # rows of a source of batches
    REFITS = 12  # half samples and seeds of refits


def entropy_from(random_state: Any, owner: str) -> int:
    """Turn `random_state` into the entropy of one run.

    Parameters
    ----------
    random_state : None, int, numpy.random.Generator or numpy.random.RandomState
        None draws fresh entropy from the operating system; an int is its own entropy,
        so that two runs agree; a generator is advanced, so that two runs with the same
        object differ.
    owner : str
        Name of the caller, for errors.

    Returns
    -------
    entropy : int
    """
    if random_state is None:
        return randbits(128)  # as many as numpy's own
    if isinstance(random_state, Integral) and int(random_state) >= 0:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if random_state is not np.random and not isinstance(
        random_state,
        np.random.RandomState,
    ):
        raise ValueError(
            f"{owner} takes random_state as None, a non-negative int, a numpy "
            f"Generator or RandomState; got {random_state!r}. Pass an int for "
            "reproducible results."
        )
    high, low = check_random_state(random_state).randint(2**31, size=2).tolist()
    return high << 31 | low


def row_generators(entropy: int, keys: Iterable[int]) -> list[np.random.Generator]:
    """Return one Generator per row; it depends on the key of the row alone.

    Parameters
    ----------
    entropy : int
    keys : iterable of int
        Key of the row to explain: a hash of its content, or its number.
    """
    return [
        np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(int(key),)))
        for key in keys
    ]


def generator(entropy: int, *key: int) -> np.random.Generator:
    """Return the random generator of one purpose, independent of the rows' generators."""
    return np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(0, *key)))


def random_state(rng: np.random.Generator) -> np.random.RandomState:
    """Return the random state of a scikit-learn estimator with a seed from a generator."""
    return np.random.RandomState(int(rng.integers(2**31)))


def uniform_permutations(rng: np.random.Generator, n: int, p: int) -> np.ndarray:
    """Return independent uniform permutations, ``(n, p)``."""
    return rng.permuted(np.broadcast_to(np.arange(p), (n, p)), axis=1)
