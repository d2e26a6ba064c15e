"""Records of single games: of any function, and of the loss of a model (SAGE)."""

from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pandas as pd

from skshapley._inference._means import Means, adjusted, p_values
from skshapley._records._explanation import Explanation
from skshapley._records._importance import check_confidence, inferences, units
from skshapley._records._interactions import Interactions
from skshapley._records._outcome import Outcome
from skshapley._tools import Hinting


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
        cls,
        outcome: Outcome,
        one_output: bool,
        pairs: str | None = None,
    ) -> Self:
        """Return the result of an outcome with one row; `pairs` is the index of pairs or None."""
        row = (0, ..., 0) if one_output else 0
        p = outcome.n_players
        values = outcome.values[:, :p][row]
        errors = outcome.standard_errors[:, :p][row]
        base_value = outcome.v_empty[row]
        full_value = outcome.v_full[row]
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
            base_value=float(base_value) if one_output else base_value,
            full_value=float(full_value) if one_output else full_value,
            n_evaluations=round(outcome.n_evaluations[0]),
            converged=bool(outcome.converged[0]),
            solver=outcome.solver,
            interactions=interactions,
        )


@dataclass(frozen=True, eq=False, repr=False)
class GlobalExplanation(Hinting):
    """SAGE values: the mean loss of a model saved by each player, with standard errors.

    They are weighted means of the attributions of the losses of single rows, and add up
    to ``base_loss - full_loss``.

    Parameters
    ----------
    rows : Explanation
        Explanation of minus the loss of each of the r rows: positive attributions
        reduce the loss.
    weights : ndarray of shape (r,)
        Weights of the rows, with sum 1.
    shared_coalitions : bool, default=False
        Whether all rows share the coalitions, so that their estimation errors agree.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skshapley import GlobalImportance
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> X = X[["bmi", "bp", "s5"]]
    >>> explanation = GlobalImportance(Ridge().fit(X, y)).fit(X[::9]).explain(X, y)
    >>> explanation.to_frame()[["importance", "standard_error"]].round(0)
             importance  standard_error
    feature
    bmi          1053.0           111.0
    s5            948.0            90.0
    bp            468.0            66.0
    >>> round(explanation.base_loss), round(explanation.full_loss)
    (5930, 3461)
    """

    rows: Explanation
    weights: np.ndarray
    shared_coalitions: bool = False

    _instead = {
        "plot": "skshapley.plots.ImportanceDisplay.from_importance(explanation)"
    }

    @property
    def feature_names(self) -> np.ndarray:
        """Names of the players, ``(p,)``."""
        return self.rows.feature_names

    @property
    def values(self) -> np.ndarray:
        """SAGE values ``(p,)``, in the units of the loss."""
        return self.weights @ self.rows.values

    @property
    def standard_errors(self) -> np.ndarray:
        """Standard errors ``(p,)``, with the rows as a sample of a population.

        They come from the spread of the rows, so they include the choice of rows and
        the estimation noise of each row. If rows share the coalitions, their common
        noise is added. NaN for a single row.
        """
        unit = units(self.rows.values, len(self.feature_names))
        spread = Means.of(self.rows.values / unit, self.weights).errors * unit
        if not self.shared_coalitions:
            return spread
        return np.hypot(spread, self.estimation_errors)

    @property
    def estimation_errors(self) -> np.ndarray:
        """The part of the standard errors ``(p,)`` that a larger budget would remove.

        These are the standard errors for exactly these rows and the background rows of
        each. They are an upper bound if rows have few units, because their errors are
        widened (`PermutationMean`), or if they share the coalitions. NaN if rows have
        no errors, as with a single pair of permutations each.
        """
        errors = self.rows.standard_errors
        if errors is None:
            return np.full(len(self.feature_names), np.nan)
        if self.shared_coalitions:
            return self.weights @ errors
        return np.sqrt(self.weights**2 @ errors**2)

    @property
    def base_loss(self) -> float:
        """Mean loss of the mean response over the background, without any feature."""
        return -float(self.weights @ self.rows.base_values)

    @property
    def full_loss(self) -> float:
        """Mean loss of the model."""
        return -float(self.weights @ self.rows.predictions)

    def to_frame(self) -> pd.DataFrame:
        """Return the importance of each player and its errors, largest first.

        Returns
        -------
        importance : DataFrame
            Index: feature. Columns, as of `Explanation.importance`: ``importance``, the
            SAGE values; ``standard_error`` by both causes; ``rows_error``, the part due
            to the choice of rows; ``estimation_error``, the part that more
            evaluations would remove.
        """
        total, estimation = self.standard_errors, self.estimation_errors
        frame = pd.DataFrame(
            {
                "importance": self.values,
                "standard_error": total,
                "rows_error": np.sqrt(np.maximum(total**2 - estimation**2, 0.0)),
                "estimation_error": estimation,
            },
            index=pd.Index(self.feature_names, name="feature"),
        )
        return frame.sort_values("importance", ascending=False, kind="stable")

    def importance(
        self,
        confidence: float = 0.95,
        simultaneous: bool = True,
    ) -> pd.DataFrame:
        """Return the importance of each player with intervals, ranks and tests, largest first.

        Parameters
        ----------
        confidence : float, default=0.95
            Confidence of intervals and ranks.
        simultaneous : bool, default=True
            Whether they hold for all players simultaneously, or for each separately.

        Returns
        -------
        importance : DataFrame
            Index: feature. Columns ``importance``, the SAGE values; ``standard_error``
            by both causes; ``low`` and ``high``; ``rank``, ``best_rank`` and
            ``worst_rank``, the ranks that the data allow; ``p_value`` of the hypothesis
            that the player saves no loss; ``p_adjusted``: if players up to q are
            selected, a share of at most q is false on average (Benjamini & Yekutieli
            2001).

        Raises
        ------
        ValueError
            For an invalid confidence.
        """
        check_confidence("GlobalExplanation.importance", confidence, simultaneous)
        unit = units(self.rows.values, len(self.feature_names))
        means = Means.of(self.rows.values / unit, self.weights)
        table = inferences(means, confidence, simultaneous, self.rows, unit)
        table["p_value"] = p_values(means)
        table["p_adjusted"] = adjusted(table["p_value"].to_numpy())
        return table.sort_values("importance", ascending=False, kind="stable")

    def __repr__(self) -> str:
        return (
            f"<GlobalExplanation: {len(self.feature_names)} features, "
            f"{len(self.weights)} rows; loss {self.base_loss:.4g} without features, "
            f"{self.full_loss:.4g} with all>"
        )
