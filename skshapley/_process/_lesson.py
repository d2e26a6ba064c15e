"""Hyper-parameters fitted to a few background rows, the pilots, for all rows to explain."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skshapley._process._even import EvenKernel
from skshapley._process._functionals import Functional
from skshapley._process._kernel import Kernel
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import Pairs
from skshapley._process._process import Process

# Factorised processes, one per design, functional and set of players that matter: two functionals
# for each of the eight designs. A matrix of 1500 pairs takes 18 MB.
MOST_KEPT = 16


@dataclass(frozen=True, eq=False)
class Lesson:
    """The pilots' hyper-parameters.

    Attributes
    ----------
    taught : tuple of (ndarray of shape (n_players,), int; ndarray)
        For each pilot, the players that matter to it and its fitted vector of the odd part.
    even : tuple of ndarray
        The fitted vectors of the pilots' even parts, without reaches.
    """

    taught: tuple[tuple[np.ndarray, np.ndarray], ...]
    even: tuple[np.ndarray, ...] = ()
    # caches, not part of the state: a sampler's designs by their request, and factorised processes
    designs: dict[Any, Any] = field(default_factory=dict, repr=False)
    _processes: dict[Any, Process] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, without the large caches, which are quickly rebuilt."""
        return {**self.__dict__, "designs": {}, "_processes": {}}

    def known(self, players: np.ndarray) -> np.ndarray | None:
        """Return the mean vector if exactly these players matter to a pilot; otherwise None."""
        known = any(np.array_equal(players, at) for at, _ in self.taught)
        return self.mean(players, blocked=False) if known else None

    def mean(self, players: np.ndarray, blocked: bool) -> np.ndarray | None:
        """Return the mean of the pilots' vectors for these players.

        A player's reach is relative to the other players, averaged over its pilots. A player that
        matters to no pilot has the average reach. None if no pilot was fitted in the same way, with
        or without blocks of background rows.
        """
        scalars = OddKernel.priors(blocked).shape[1]
        taught = [(at, v) for at, v in self.taught if len(v) == len(at) + scalars]
        if not taught:
            return None
        width = 1 + max(players.max(), *(at.max() for at, _ in taught))
        total, count = np.zeros(width), np.zeros(width)
        for at, vector in taught:
            total[at] += vector[: len(at)]
            count[at] += 1
        level = total.sum() / count.sum()
        reach = np.where(count > 0, total / np.maximum(count, 1), level)
        rest = np.mean([vector[len(at) :] for at, vector in taught], axis=0)
        return np.concatenate([reach[players], rest])

    def even_mean(self, blocked: bool) -> np.ndarray | None:
        """Return the mean of the pilots' vectors of the even part; None if no pilot matches."""
        length = EvenKernel.priors(blocked).shape[1]
        taught = [theta for theta in self.even if len(theta) == length]
        return np.mean(taught, axis=0) if taught else None

    def process(self, points: Pairs, kernel: Kernel, functional: Functional) -> Process:
        """Return the process at these points, factorised once for repeated points."""
        key = type(functional), functional, kernel.key, points.key
        if key not in self._processes:
            self._processes[key] = Process(points, kernel, functional)
            if len(self._processes) > MOST_KEPT:
                self._processes.pop(next(iter(self._processes)))
        return self._processes[key]
