"""What a few instances, the pilots, teach about all others."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skshapley._odd._hyper import Hyper
from skshapley._odd._pairs import Pairs
from skshapley._odd._posterior import Process

MOST_KEPT = 16  # factorised processes, for each design and each set of players that matter


@dataclass(frozen=True, eq=False)
class Lesson:
    """The pilots' hyper-parameters.

    Attributes
    ----------
    taught : tuple of (ndarray of shape (n_players,), int; ndarray)
        For each pilot, the players that matter to it and its fitted vector.
    """

    taught: tuple[tuple[np.ndarray, np.ndarray], ...]
    # made once and used again, never a part of what is known: a sampler's designs, by what they
    # were asked for, and factorised processes
    designs: dict[Any, Any] = field(default_factory=dict, repr=False)
    _processes: OrderedDict[bytes, Process] = field(default_factory=OrderedDict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what is known: the rest is large, and soon made again."""
        return {"taught": self.taught, "designs": {}, "_processes": OrderedDict()}

    def knows(self, players: np.ndarray) -> bool:
        """Return whether just these players matter to one of the pilots."""
        return any(np.array_equal(players, at) for at, _ in self.taught)

    def mean(self, players: np.ndarray, blocked: bool) -> np.ndarray | None:
        """Return the mean of the pilots' vectors for these players.

        A player takes part by the pilots to whom it matters, relative to their other players; one
        that matters to none is as the average. None where no pilot was fitted alike, with blocks of
        background rows or without.
        """
        scalars = len(Hyper.scalars(blocked))
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

    def process(self, points: Pairs, theta: np.ndarray) -> Process:
        """Return the process at these points, factorised only once for points that come again."""
        key = np.packbits(points.signs > 0, axis=1).tobytes() + theta.tobytes()
        if points.block is not None and points.blocks is not None:
            key += points.block.tobytes() + points.blocks.share.tobytes()
        if key not in self._processes:
            process = Process(points, Hyper.from_vector(theta, points.n_players))
            process.prepare()
            self._processes[key] = process
            if len(self._processes) > MOST_KEPT:
                self._processes.popitem(last=False)
        self._processes.move_to_end(key)
        return self._processes[key]
