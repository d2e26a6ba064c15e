"""What the pilots teach of the even part, beside what they teach of the odd one."""

from dataclasses import dataclass, field

import numpy as np

from skshapley._even._hyper import EvenHyper
from skshapley._even._posterior import EvenProcess
from skshapley._odd import Lesson, Pairs
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
    _even_processes: dict[bytes, EvenProcess] = field(default_factory=dict, repr=False)

    def even_mean(self, blocked: bool) -> np.ndarray | None:
        """Return the mean of the pilots' vectors, with blocks or without; None where none fits."""
        taught = [theta for theta in self.even if len(theta) == (5 if blocked else 3)]
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
        key = kind.__name__.encode() + points.signs.tobytes() + reach.tobytes() + theta.tobytes()
        if points.block is not None and points.blocks is not None:
            key += points.block.tobytes() + points.blocks.share.tobytes()
        if key not in self._even_processes:
            self._even_processes.clear()
            hyper = EvenHyper.from_vector(reach, theta)
            self._even_processes[key] = kind(points, hyper, index)
        return self._even_processes[key]
