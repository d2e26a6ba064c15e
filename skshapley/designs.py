"""Designs: coalitions chosen by a sampler, evaluated by the engine and used by a solver.

A design has frozen arrays, and requests evaluations of its coalitions. Its leading axis
is the rows to explain, ``r``; coalitions are ``(r, m, p)`` bool for ``p`` players. A
design may contain the empty and the full coalition: their values are known and cost
nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray


def _of_rows(plan: np.ndarray, r: int) -> np.ndarray:
    """Return a plan for each of r rows, ``(r, ...)``; one plan may serve all of them."""
    return np.broadcast_to(
        plan,
        (r, *plan.shape[1:]),
    )


@dataclass(frozen=True, eq=False)
class Design:
    """Base of all designs.

    Attributes
    ----------
    coalitions : ndarray of shape (r, m, p), bool
        The present players. ``r`` may be 1 if one plan serves all rows.
    coalition_references : ndarray of shape (r, m, q), int, or None
        The background rows of each coalition; None for all of them, weighted.
    exact : bool
        Whether it determines the exact Shapley values of every game.
    """

    coalitions: NDArray[np.bool_]
    coalition_references: NDArray[np.intp] | None = field(default=None, kw_only=True)
    exact: bool = field(default=False, kw_only=True)

    def requested(self, r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the evaluations for r rows, one request after the other.

        Parameters
        ----------
        r : int
            Number of rows, for a plan that serves all of them.

        Returns
        -------
        coalitions : ndarray of shape (u, p), bool
        instances : ndarray of shape (u,), int
            Positions 0..r-1, in order.
        references : ndarray of shape (u, q), int, or None
        """
        # Flat positions take a fifth of the time of a mask with two axes.
        inner = np.flatnonzero(_of_rows(self._inner, r))
        _, m, p = self.coalitions.shape
        return (
            _of_rows(self.coalitions, r).reshape(-1, p).take(inner, axis=0),
            inner // m,
            None
            if self.coalition_references is None
            else _of_rows(self.coalition_references, r)
            .reshape(r * m, -1)
            .take(inner, axis=0),
        )

    def assemble(
        self,
        values: np.ndarray,
        empty: Callable[[np.ndarray, np.ndarray], np.ndarray],
        v_empty: np.ndarray,
        v_full: np.ndarray,
    ) -> np.ndarray:
        """Return the values of all coalitions, including the known ones.

        Parameters
        ----------
        values : ndarray of shape (u, k)
            Values of the requests, in order.
        empty : callable
            ``empty(instances, references)``: v(empty) of rows ``(n,)`` against
            references ``(n, q)``, ``(n, q, k)``.
        v_empty, v_full : ndarray of shape (r, k)

        Returns
        -------
        values : ndarray of shape (r, m, k)
        """
        r = len(v_full)
        sizes = _of_rows(self._sizes, r)
        # Ends are known and were never requested, so the evaluated values replace those
        # of all other coalitions.
        everything = np.where(
            sizes[..., None] > 0,
            v_full[:, None],
            v_empty[:, None],
        )
        everything[_of_rows(self._inner, r)] = values
        if self.coalition_references is not None:
            # the empty coalition, against its own background rows
            instance, place = np.nonzero(sizes == 0)
            references = _of_rows(self.coalition_references, r)[instance, place]
            everything[instance, place] = empty(instance, references).mean(axis=1)
        return everything

    @cached_property
    def _sizes(self) -> NDArray[np.int16]:
        """The number of players of each coalition, ``(r, m)``."""
        # A tenth of the time of a sum of flags, for coalitions in any order in memory
        return np.einsum(
            "rmp->rm",
            self.coalitions.view(np.uint8),
            dtype=np.int16,
        )

    @cached_property
    def _inner(self) -> NDArray[np.bool_]:
        """False for the empty and the full coalition, ``(r, m)``."""
        return (self._sizes > 0) & (self._sizes < self.coalitions.shape[2])


@dataclass(frozen=True, eq=False)
class StepwiseDesign:
    """Base class of designs of permutations: from the empty to the full coalition, step by step.

    Attributes
    ----------
    permutations : ndarray of shape (r, n, p), int
        ``permutations[:, :, k]`` is the player that enters at step k.
    unit : int
        Number of consecutive permutations that form one independent replicate; divides
        n.
    references : ndarray of shape (r, n), int, or None
        The background row of each permutation; None for the whole background.
    stratum_weights : ndarray of shape (b,) or None
        If given, every unit uses a single reference, and all references are used. The
        estimate is the mean over references, with these weights, of the means within a
        reference.
    weights : ndarray of shape (r, n) or None
        Weights of the permutations within their unit (Bayesian quadrature); None for
        equal ones.
    sampled : bool
        Whether the references are a sample of the background. Every unit then uses a
        single reference, and few references are used twice.
    differing : ndarray of shape (r, n, p), bool, or None
        The players that differ from the reference of each permutation; None for all.
        The other players have no effect, so their steps are not evaluated.
    """

    permutations: NDArray[np.intp]
    unit: int = 1
    references: NDArray[np.intp] | None = None
    stratum_weights: NDArray[np.float64] | None = None
    weights: NDArray[np.float64] | None = None
    sampled: bool = False
    differing: NDArray[np.bool_] | None = None
    exact = False
    # whether all players are equally likely at each position
    symmetric = True

    @property
    def coalitions(self) -> NDArray[np.bool_]:
        """The coalitions of all permutations, including the ends, ``(r, n (p + 1), p)``."""
        r, _, p = self.permutations.shape
        return (
            self.places[:, :, None, :] < np.arange(p + 1, dtype=np.int16)[:, None]
        ).reshape(r, -1, p)

    @property
    def coalition_references(self) -> NDArray[np.intp] | None:
        """The reference of each coalition, ``(r, n (p + 1), 1)``, or None."""
        if self.references is None:
            return None
        return self.references.repeat(self.permutations.shape[2] + 1, 1)[..., None]

    @cached_property
    def places(self) -> NDArray[np.int16]:
        """The step at which each player enters each permutation, ``(r, n, p)``."""
        # int16 holds any practical number of players in a quarter of the memory of
        # int64.
        return self.by_player(
            np.broadcast_to(
                np.arange(self.permutations.shape[2], dtype=np.int16),
                self.permutations.shape,
            )
        )

    def by_player(self, by_step: np.ndarray) -> np.ndarray:
        """Return quantities of steps in the order of the players.

        Parameters
        ----------
        by_step : ndarray of shape (r, n, p, ...)

        Returns
        -------
        by_player : ndarray of the same shape
        """
        r, n, p = self.permutations.shape
        # Flat positions make one assignment of all permutations, without an index array
        # per axis.
        at = self.permutations + p * np.arange(r * n).reshape(r, n, 1)
        flat = np.empty(
            (r * n * p, *by_step.shape[3:]),
            dtype=by_step.dtype,
        )
        flat[at.ravel()] = by_step.reshape(flat.shape)
        return flat.reshape(by_step.shape)

    @cached_property
    def _passed(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of differing players after each step, and the requested steps.

        Both ``(r, n, p)``. A step is not requested if the mixed row does not change, or
        equals the row to explain.
        """
        enters = (
            np.ones(self.permutations.shape, dtype=bool)
            if self.differing is None
            else np.take_along_axis(self.differing, self.permutations, axis=2)
        )
        passed = np.cumsum(enters, axis=2, dtype=np.int32)
        # The last differing player completes the row to explain, whose value is known.
        return passed, enters & (passed < passed[:, :, -1:])

    def requested(self, r: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the evaluations: all permutations without their ends (see `Design.requested`).

        Players that do not differ from the reference are left out of coalitions.

        Parameters
        ----------
        r : int
            Number of rows.
        """
        _, n, p = self.permutations.shape
        # players that do not differ never enter
        place = (
            self.places
            if self.differing is None
            else np.where(self.differing, self.places, np.int16(p))
        )
        # the last step is the full coalition, which is never requested
        steps = np.arange(p - 1, dtype=np.int16)
        requested = np.flatnonzero(self._passed[1][:, :, :-1])
        coalitions = (place[:, :, None] <= steps[:, None]).reshape(
            -1,
            p,
        )
        if len(requested) < len(coalitions):
            coalitions = coalitions.take(requested, axis=0)
        walk = requested // len(steps)
        return (
            coalitions,
            walk // n,
            None if self.references is None else self.references.ravel()[walk][:, None],
        )

    def steps(self, values: np.ndarray) -> np.ndarray:
        """Return the marginal contributions at each step of each permutation, ``(r, n, p, k)``.

        Parameters
        ----------
        values : ndarray of shape (r, n (p + 1), k)
            Values of all coalitions, including the ends (`assemble`).
        """
        r, n, p = self.permutations.shape
        return np.diff(
            values.reshape(r, n, p + 1, -1),
            axis=2,
        )

    def contributions(self, values: np.ndarray) -> np.ndarray:
        """Return the marginal contributions in each permutation, ``(r, n, p, k)``.

        Parameters
        ----------
        values : ndarray of shape (r, n (p + 1), k)
            As for `steps`.
        """
        return self.by_player(self.steps(values))

    def assemble(
        self,
        values: np.ndarray,
        empty: Callable[[np.ndarray, np.ndarray], np.ndarray],
        v_empty: np.ndarray,
        v_full: np.ndarray,
    ) -> np.ndarray:
        """Return the values along all permutations, including the ends, ``(r, n (p + 1), k)``.

        Parameters
        ----------
        values : ndarray of shape (u, k)
        empty : callable
        v_empty, v_full : ndarray of shape (r, k)
            As in `Design.assemble`.
        """
        r, n, k = *self.permutations.shape[:2], v_full.shape[1]
        start = (
            np.broadcast_to(v_empty[:, None], (r, n, k))
            if self.references is None
            else empty(np.arange(r), self.references)
        )
        # each step has the value of the last requested step
        passed, requested = self._passed
        at = np.where(
            passed == 0,
            len(values) + np.arange(r * n).reshape(r, n, 1),
            np.cumsum(requested).reshape(requested.shape) - 1,
        )
        # After the last differing player, the mixed row is the row to explain.
        at = np.where(
            passed == passed[:, :, -1:],
            len(values) + r * n + np.arange(r)[:, None, None],
            at,
        )
        later = np.concatenate([values, start.reshape(-1, k), v_full]).take(
            at,
            axis=0,
        )
        return np.concatenate([start[:, :, None], later], axis=2).reshape(
            r,
            -1,
            k,
        )


@dataclass(frozen=True, eq=False)
class PermutationDesign(StepwiseDesign):
    """Permutations of the players, each uniformly distributed."""


@dataclass(frozen=True, eq=False)
class OrderedDesign(StepwiseDesign):
    """Permutations that respect a partial order of the players."""

    symmetric = False


@dataclass(frozen=True, eq=False)
class CoalitionDesign(Design):
    """Coalitions drawn at random, uniform given their size.

    Attributes
    ----------
    expected_draws : ndarray of shape (r, m)
        Expected number of coalitions *of that size* in this design. A single coalition
        of size s is expected ``expected_draws / C(p, s)`` times. Without binomials, the
        number is finite for any p.
    unit : int
        Number of consecutive coalitions that form one independent replicate (2 for a
        coalition and its complement).
    replacement : bool
        Whether a coalition may occur twice. Without replacement, a size with
        ``expected_draws == C(p, s)`` is enumerated and has no sampling error.
    whole : ndarray of shape (p + 1,), bool, or None
        The sizes that are enumerated despite replacement.
    """

    expected_draws: NDArray[np.float64]
    unit: int = 1
    replacement: bool = True
    whole: NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class LinearDesign(Design):
    """Coalitions with fixed weights; attributions are weighted sums of their values.

    Attributes
    ----------
    weights : ndarray or scipy.sparse array of shape (p, m)
        ``attributions = weights @ values``, for every row.
    """

    weights: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FullDesign(LinearDesign):
    """All coalitions, numbered by their players as bits; they determine every index."""


@dataclass(frozen=True, eq=False)
class MarginalDesign(Design):
    """Marginal contributions of every player in turn, each to a separate coalition.

    Attributes
    ----------
    coalitions : ndarray of shape (r, 2 n p, p), bool
        In each of n rounds, for each player: a coalition without it, and the same with
        it.
    unit : int
        Number of consecutive rounds that form one independent replicate; divides n.
    weights : ndarray of shape (r, n, p) or None
        Weight of each contribution, if the distribution of coalitions differs from the
        index; None for 1.
    adds_up : bool
        Whether the estimated values add up to v(all) - v(empty), as Shapley's do.
    """

    unit: int = 1
    weights: NDArray[np.float64] | None = None
    adds_up: bool = True

    def contributions(self, values: np.ndarray) -> np.ndarray:
        """Return the weighted marginal contributions of each round, ``(r, n, p, k)``.

        Parameters
        ----------
        values : ndarray of shape (r, 2 n p, k)
        """
        r, _, k = values.shape
        gains = values[:, 1::2] - values[:, ::2]
        gains = gains.reshape(
            r,
            -1,
            self.coalitions.shape[2],
            k,
        )
        return gains if self.weights is None else gains * self.weights[..., None]


@dataclass(frozen=True, eq=False)
class PairDesign(Design):
    """Marginal contributions of single players, in strata.

    The attribution of a player is the weighted sum over strata of its mean contribution
    in each.

    Attributes
    ----------
    coalitions : ndarray of shape (r, 2 n, p), bool
        For each of n draws: a coalition without its player, and the same with it.
    players, strata : ndarray of shape (r, n), int
        The player and the stratum of each draw; the same for the draws of a unit.
    stratum_weights : ndarray of shape (h,)
        Weights of the strata, the same for all players.
    certain : ndarray of shape (h,), bool
        Strata with a single contribution, which has no sampling error.
    unit : int
        Number of consecutive draws that form one independent replicate; divides n.
    joint : bool
        Whether p consecutive units are those of all players with the same coalitions.
    """

    players: NDArray[np.intp]
    strata: NDArray[np.intp]
    stratum_weights: NDArray[np.float64]
    certain: NDArray[np.bool_]
    unit: int = 1
    joint: bool = False

    @classmethod
    def joining(
        cls,
        sets: np.ndarray,
        players: np.ndarray,
        *args: Any,
    ) -> Self:
        """Return the design in which `players` ``(r, n)`` join the coalitions ``(r, n, p)``.

        Parameters
        ----------
        sets : ndarray of shape (r, n, p), bool
            Each with or without its player.
        players : ndarray of shape (r, n), int
        *args
            The other attributes, in order.
        """
        is_player = players[:, :, None] == np.arange(sets.shape[2])
        pairs = np.stack(
            [sets & ~is_player, sets | is_player],
            axis=2,
        )
        return cls(
            pairs.reshape(len(sets), -1, sets.shape[2]),
            players,
            *args,
        )

    def contributions(self, values: np.ndarray) -> np.ndarray:
        """Return the marginal contribution of each draw, ``(r, n, k)``.

        Parameters
        ----------
        values : ndarray of shape (r, 2 n, k)
        """
        return values[:, 1::2] - values[:, ::2]


@dataclass(frozen=True, eq=False)
class ExtendedDesign(Design):
    """Permutations with each of their prefixes joined by each player.

    Attributes
    ----------
    coalitions : ndarray of shape (r, n p^2, p), bool
        For each of n permutations: the first s players and the one at place t, for each
        s and t = 0..p - 1. With t < s, it is a prefix.
    permutations : ndarray of shape (r, n, p), int
        ``permutations[:, :, k]`` is the player that enters at step k.
    """

    permutations: NDArray[np.intp]
