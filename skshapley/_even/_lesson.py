"""What the pilots teach of the even part, beside what they teach of the odd one."""

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skshapley._even._hyper import EvenHyper, scalars
from skshapley._even._posterior import EvenProcess
from skshapley._odd import Lesson, Pairs
from skshapley._odd._lesson import MOST_KEPT
from skshapley.indices import Index


@dataclass(frozen=True, eq=False)
class EvenLesson(Lesson):
    """The pilots' hyper-parameters, those of the even part too.

    Attributes
    ----------
    even : tuple of ndarray
        For each pilot that has one, the fitted vector of all but the reaches.
    """

    even: tuple[np.ndarray, ...] = ()
    _even_processes: OrderedDict[bytes, EvenProcess] = field(
        default_factory=OrderedDict, repr=False
    )

    def __getstate__(self) -> dict[str, Any]:
        """Return what is known, of the even part too."""
        return {**super().__getstate__(), "even": self.even, "_even_processes": OrderedDict()}

    def even_mean(self, blocked: bool) -> np.ndarray | None:
        """Return the mean of the pilots' vectors, with blocks or without; None where none fits."""
        length = scalars(blocked).shape[1]
        taught = [theta for theta in self.even if len(theta) == length]
        return np.mean(taught, axis=0) if taught else None

    def even_process(
        self,
        points: Pairs,
        reach: np.ndarray,
        theta: np.ndarray,
        index: Index,
        kind: type[EvenProcess] = EvenProcess,
    ) -> EvenProcess:
        """Return the process at these points, factorised only once for points that come again."""
        key = (
            f"{kind.__name__} {index}".encode()
            + points.signs.tobytes()
            + reach.tobytes()
            + theta.tobytes()
        )
        if points.block is not None and points.blocks is not None:
            key += points.block.tobytes() + points.blocks.share.tobytes()
        if key not in self._even_processes:
            hyper = EvenHyper.from_vector(reach, theta)
            self._even_processes[key] = kind(points, hyper, index)
            if len(self._even_processes) > MOST_KEPT:
                self._even_processes.popitem(last=False)
        self._even_processes.move_to_end(key)
        return self._even_processes[key]
