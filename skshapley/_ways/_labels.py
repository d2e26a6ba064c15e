"""Names and settings that all explanations of a fitted explainer share."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from skshapley._records._interactions import Interactions
from skshapley._records._outcome import Outcome, Settings
from skshapley._run._plan import Plan
from skshapley._ways._background import Background
from skshapley.explanation import Explanation
from skshapley.indices import Index


@dataclass(frozen=True, eq=False)
class Labels:
    """Names and settings of explanations.

    Attributes
    ----------
    settings : Settings
        Without the methods of a run.
    background : Background
    output_names : list or None
        Names of the outputs; None for a single one.
    pairs : Index or None
        Index of the interactions.
    random_state : object
        The passed parameter.
    """

    settings: Settings
    background: Background
    output_names: list | None = None
    pairs: Index | None = None
    random_state: Any = None

    def shaped(self, array: np.ndarray) -> np.ndarray:
        """Return an array ``(..., k)`` in the shape of the model's output."""
        return array[..., 0] if self.output_names is None else array

    def explanation(
        self, outcome: Outcome, X: Any, plan: Plan | None = None
    ) -> Explanation:
        """Return the public record of an outcome.

        Parameters
        ----------
        outcome : Outcome
            Of the first rows of X, or of all.
        X : array, sparse matrix or frame of shape (r, d)
        plan : Plan or None, default=None
            None if nothing was sampled.
        """
        values = self.shaped(outcome.values)
        errors = self.shaped(outcome.standard_errors)
        background_errors, settings = None, self.settings
        if plan is not None:  # background errors of exact values are never known
            background_errors = self.shaped(outcome.background_errors)
            settings = settings.sampled(outcome, plan, self.random_state)
        outputs, interactions = None, None
        if self.output_names is not None:
            outputs = np.array(self.output_names, dtype=object)
        players = self.background.players
        data = players.table(X)
        if len(values) < len(data):
            data = data[: len(values)]
        if self.pairs is not None and outcome.entries.shape[1] > 1:
            p = outcome.n_players
            interactions = Interactions.of_outcome(
                outcome,
                outputs is None,
                feature_names=players.names,
                index=self.pairs.name,
                rows=data.index,
                output_names=outputs,
            )
            values, errors = values[:, :p], errors[:, :p]
            if background_errors is not None:
                background_errors = background_errors[:, :p]
        return Explanation(
            values=values,
            standard_errors=_known(errors),
            base_values=self.shaped(outcome.v_empty),
            predictions=self.shaped(outcome.v_full),
            data=data,
            feature_names=players.names,
            output_names=outputs,
            n_evaluations=outcome.n_evaluations,
            n_model_rows=outcome.n_model_rows,
            converged=outcome.converged,
            settings=settings,
            background_errors=_known(background_errors),
            interactions=interactions,
        )


def _known(errors: np.ndarray | None) -> np.ndarray | None:
    """Return errors, or None if all are unknown."""
    return None if errors is None or np.isnan(errors).all() else errors
