"""Plans of what to evaluate: made by samplers, evaluated by the engine, read by solvers.

A design holds frozen arrays and no behaviour beyond the coalitions that it stands for. Its leading axis
is the instances, ``r``; coalitions are ``(r, m, p)`` bool over ``p`` players. The empty and the full
coalition may appear in a design: their values are known and cost nothing.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Design:
    """Base of all designs.

    Attributes
    ----------
    coalitions : ndarray of shape (r, m, p), bool
        Which players are present. ``r`` may be 1 where one plan serves every instance.
    coalition_references : ndarray of shape (r, m, q), int, or None
        The background rows against which each coalition is evaluated; None for all of them, weighted.
    distinct : bool
        True where no instance holds the same coalition twice, so that nobody need look.
    exact : bool
        Whether the attributions made of it are the Shapley values themselves, for any game.
    """

    coalitions: NDArray[np.bool_]
    coalition_references: NDArray[np.intp] | None = field(default=None, kw_only=True)
    distinct: bool = field(default=False, kw_only=True)
    exact: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, eq=False)
class PermutationDesign:
    """Walks from the empty to the full coalition, one player at a time.

    Attributes
    ----------
    permutations : ndarray of shape (r, n, p), int
        ``permutations[:, :, k]`` is the player that enters at step k.
    unit : int
        Number of consecutive permutations that form one independent replicate; divides n.
    references : ndarray of shape (r, n), int, or None
        The background row of each walk; None for the whole background.
    stratum_weights : ndarray of shape (b,) or None
        If given, every unit keeps to one reference, all references are used, and the estimate is the
        mean over references, with these weights, of the means within a reference.
    weights : ndarray of shape (r, n) or None
        Weights of the permutations within their unit (Bayesian quadrature); None for equal ones.
    """

    permutations: NDArray[np.intp]
    unit: int = 1
    references: NDArray[np.intp] | None = None
    stratum_weights: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    distinct = False
    exact = False

    @cached_property
    def coalitions(self) -> NDArray[np.bool_]:
        """The coalitions of all walks, ends included, ``(r, n (p + 1), p)``."""
        r, n, p = self.permutations.shape
        step = np.empty((r, n, p), dtype=np.int32)
        np.put_along_axis(step, self.permutations, np.arange(p, dtype=np.int32), axis=2)
        sizes = np.arange(p + 1, dtype=np.int32)
        return (step[:, :, None, :] < sizes[:, None]).reshape(r, n * (p + 1), p)

    @property
    def coalition_references(self) -> NDArray[np.intp] | None:
        """The reference of each coalition, ``(r, n (p + 1), 1)``, or None."""
        if self.references is None:
            return None
        return np.repeat(self.references, self.permutations.shape[2] + 1, axis=1)[:, :, None]


@dataclass(frozen=True, eq=False)
class CoalitionDesign(Design):
    """Coalitions drawn at random, uniform given their size.

    Attributes
    ----------
    expected_draws : ndarray of shape (r, m)
        Expected number of coalitions *of that size* in this design, so that a coalition of size s is
        itself expected ``expected_draws / C(p, s)`` times. Keeping binomials out of it serves any p.
    unit : int
        Number of consecutive coalitions that form one independent replicate (2 for a coalition and
        its complement).
    replacement : bool
        Whether one coalition may come twice. Without replacement, a size with
        ``expected_draws == C(p, s)`` is enumerated and carries no sampling error.
    """

    expected_draws: NDArray[np.float64]
    unit: int = 1
    replacement: bool = True


@dataclass(frozen=True, eq=False)
class LinearDesign(Design):
    """Coalitions whose values give the attributions by fixed weights.

    Attributes
    ----------
    weights : ndarray or scipy.sparse array of shape (p, m)
        ``attributions = weights @ values``, for every instance.
    """

    weights: NDArray[np.float64]
