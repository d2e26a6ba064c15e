"""Sampled values: a model evaluated on coalitions."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from skshapley._records._outcome import Outcome, Settings
from skshapley._run._engine import Interrupted, run
from skshapley._run._plan import Plan
from skshapley._tools._progress import progress, span
from skshapley._tools._random import Stream, generator
from skshapley._ways._base import Way
from skshapley._ways._labels import Labels
from skshapley._ways._margins import LEAST_ROWS, Margins
from skshapley._ways._probes import probe_values, response_of
from skshapley.exceptions import PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.rewards import Game
from skshapley.stopping import StoppingRule

# Long work suggests a tenth of the model rows, but at least 300.
LESS, LEAST_MAX_ROWS = 10, 300


@dataclass(frozen=True, eq=False)
class Coalitions(Way):
    """Values estimated from coalitions.

    Attributes
    ----------
    labels : Labels
    reward : Reward
        Fitted, its background in balanced order.
    plan : Plan
    margins : Margins or None
        The log-odds of the response, as a control variate.
    """

    labels: Labels
    reward: Any
    plan: Plan
    margins: Margins | None = None

    @classmethod
    def prepared(
        cls,
        labels: Labels,
        reward: Any,
        plan: Plan,
        margins: Margins | None = None,
    ) -> Self:
        """Return this way after a preparation of the reward.

        Parameters
        ----------
        labels : Labels
        reward : Reward
            Fitted; it is changed.
        plan : Plan
        margins : Margins or None, default=None
            None: read from the model if they help.
        """
        helps = plan.takes_parts and plan.samples and plan.max_rows >= LEAST_ROWS
        if helps and margins is None:
            margins = Margins.of(reward)
        prepare(reward, plan)
        return cls(labels, reward, plan, margins)

    @property
    def entropy(self) -> int:  # type: ignore[override]
        """Source of all random numbers."""
        return self.plan.entropy

    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of checked rows."""
        game = self.reward.game(X)
        margins = None
        if self.margins is not None:
            full = game.full(np.arange(game.n_rows))
            margins = self.margins(game.instances.X, full)
        return recorded_run(
            game,
            self.plan,
            self.labels.settings,
            partial(self.labels.explanation, X=X, plan=self.plan),
            n_jobs=n_jobs,
            verbose=verbose,
            margins=margins,
        )

    def predictions(self, X: Any) -> np.ndarray:
        """Return the response of the model, ``(r, k)``."""
        return response_of(self, X)

    def background_errors(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return the errors due to the choice of the background; NaN where unknown."""
        if self.reward.link is None or self.plan.samples:
            return super().background_errors(X, n_jobs)
        game = self.reward.influences(X)
        values = run(game, self.plan, n_jobs=n_jobs).values
        return self.labels.shaped(game.errors(values))

    def stopped_by(self, rule: StoppingRule) -> Self:
        """Return this way with a stopping rule, if its sampler can stop."""
        sampler, solver = self.plan.usual
        if sampler.traits.one_shot or not solver.traits.standard_errors:
            return self
        return replace(self, plan=replace(self.plan, stopping=rule))

    def with_entropy(self, entropy: int) -> Self:
        """Return this way with other random numbers."""
        plan = self.plan.with_entropy(entropy)
        reward = copy(self.reward)
        return self.prepared(self.labels, reward, plan, self.margins)

    def state(self) -> dict[str, Any]:
        """Return the responses of the model to probes."""
        return {"responses": probe_values(self)}


def prepare(reward: Any, plan: Plan) -> None:
    """Split a fitted reward, and sort its background, as far as a plan needs it."""
    if plan.takes_parts:
        reward.split(generator(plan.entropy, Stream.SPLIT))
    if plan.samples:
        reward.sort_background(generator(plan.entropy, Stream.ORDER))


def recorded_run(
    game: Game,
    plan: Plan,
    settings: Settings,
    record: Callable[[Outcome], Any],
    *,
    verbose: Any,
    **options: Any,
) -> Any:
    """Execute a plan with progress, and return its public record.

    Parameters
    ----------
    game : Game
    plan : Plan
    settings : Settings
        For the hint at faster calls.
    record : callable
        Makes the record from the outcome, of the first rows only if the run breaks off.
    verbose : bool, int or "auto"
    **options
        Of `run`.

    Raises
    ------
    PartialExplanationError
        If an error or an interruption comes after some rows were finished.
    """
    advice = partial(faster, settings, plan)
    try:
        with progress(game.n_rows, verbose, advice=advice) as bar:
            outcome = run(game, plan, progress=bar, **options)
    except Interrupted as error:
        raise PartialExplanationError(
            f"Explaining stopped by {type(error.__cause__).__name__} after "
            f"{len(error.outcome.values)} of {game.n_rows} rows; the finished ones "
            "are in this error's .explanation.",
            record(error.outcome),
        ) from error.__cause__
    return record(outcome)


def faster(settings: Settings, plan: Plan, seconds: float) -> str:
    """Return a text with the calls that would be faster than the given seconds."""
    calls = []
    if settings.exact_response is not None:
        calls.append(
            f"response_method={settings.exact_response!r} would be exact and take "
            "seconds"
        )
    fewer_rows = int(float(f"{plan.max_rows / LESS:.0e}"))
    if fewer_rows >= LEAST_MAX_ROWS:
        share = fewer_rows / plan.max_rows
        # a row that stops early saves less
        price = "" if plan.stopping is None else " or more"
        calls.append(
            f"max_rows={fewer_rows} would take {span(seconds * share)}{price}, with "
            f"errors up to {share**-0.5:.0f} times as large"
        )
    return "; ".join(calls)
