"""ShapleyResult: the record that `shapley_values` returns."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd

from skshapley._records._interactions import Interactions
from skshapley._records._outcome import Outcome


@dataclass(frozen=True, eq=False)
class ShapleyResult:
    """Shapley values of one cooperative game.

    Attributes
    ----------
    values : ndarray of shape (p,) or (p, k)
        In the units of the reward; 2-D if the reward has several outputs.
    standard_errors : ndarray of the same shape, or None
        None if the method has none, or the budget is too small.
    base_value, full_value : float or ndarray of shape (k,)
        v(empty) and v(all).
    n_evaluations : int
        Coalitions evaluated, both ends included.
    converged : bool
        Exact, or accurate enough for the stopping rule.
    solver : Solver or None
        The solver after its run, with its records, e.g. ``ProjectedSGD.trace_``; None
        for a single player.
    interactions : Interactions or None
        Interactions of all pairs, if requested, as a record with one row.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> result = shapley_values(lambda S: S.sum(axis=1) ** 2, n_players=2)
    >>> result.values, result.n_evaluations, result.converged
    (array([2., 2.]), 4, True)
    """

    values: np.ndarray
    standard_errors: np.ndarray | None
    base_value: float | np.ndarray
    full_value: float | np.ndarray
    n_evaluations: int
    converged: bool
    solver: object = field(default=None, repr=False)
    interactions: Interactions | None = None

    @property
    def efficiency_gap(self) -> float | np.ndarray:
        """v(all) - v(empty) minus the sum of values: 0, up to rounding, for Shapley values."""
        return (self.full_value - self.base_value) - self.values.sum(axis=0)

    @classmethod
    def from_outcome(
        cls, outcome: Outcome, one_output: bool, pairs: str | None = None
    ) -> Self:
        """Return the result of an outcome with one row; `pairs` is the index of pairs or None."""

        def shaped(array: np.ndarray) -> np.ndarray:
            return array[0, ..., 0] if one_output else array[0]

        p = outcome.n_players
        values = shaped(outcome.values[:, :p])
        errors = shaped(outcome.standard_errors[:, :p])
        ends = shaped(outcome.v_empty), shaped(outcome.v_full)
        interactions = None
        if pairs is not None:
            interactions = Interactions.of_outcome(
                outcome,
                one_output,
                feature_names=np.arange(p),
                index=pairs,
                rows=pd.RangeIndex(1),
                output_names=None if one_output else np.arange(values.shape[1]),
            )
        return cls(
            values,
            None if np.isnan(errors).all() else errors,
            base_value=float(ends[0]) if one_output else ends[0],
            full_value=float(ends[1]) if one_output else ends[1],
            n_evaluations=round(outcome.n_evaluations[0]),
            converged=bool(outcome.converged[0]),
            solver=outcome.solver,
            interactions=interactions,
        )
