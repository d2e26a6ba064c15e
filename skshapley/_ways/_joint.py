"""Sampled values of rows that share the coalitions: one evaluation serves all rows."""

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np

from skshapley._records._outcome import Outcome, Settings
from skshapley._run._engine import run
from skshapley._run._plan import Plan, Request, Rule, Size, is_auto, usual_sampler
from skshapley._tables._inputs import take_rows
from skshapley._tools._progress import progress
from skshapley._ways._coalitions import Coalitions, faster
from skshapley._ways._labels import Labels
from skshapley._ways._probes import PROBE_ROWS, response_of
from skshapley.explanation import Explanation
from skshapley.rewards import Game
from skshapley.rewards._refit import JointGame
from skshapley.samplers import Odd, OddLeverage, RankedOdd, Sampler

# A joint evaluation, such as a fit, is costly. On 12 columns and a Gaussian process in
# context, 20 for each player leave .3 % of squared error.
AUTO_EVALS, LEAST_AUTO_EVALS = 20, 256


class Joint(Coalitions):
    """Values estimated from coalitions that all rows share."""

    @classmethod
    def planned(cls, labels: Labels, reward: Any, request: Request, size: Size) -> Self:
        """Return this way, with a budget of evaluations.

        Parameters
        ----------
        labels : Labels
        reward : Reward
            Fitted.
        request : Request
        size : Size
        """
        return cls(labels, reward, joint_request(request, size, reward).plan(size))

    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of checked rows."""
        settings = self.labels.settings
        outcome = joint_run(self.reward.game(X), self.plan, settings, n_jobs, verbose)
        return self.labels.explanation(outcome, X, self.plan)

    def with_entropy(self, entropy: int) -> Self:
        """Return this way with other coalitions."""
        return replace(self, plan=self.plan.with_entropy(entropy))

    def state(self) -> dict[str, Any]:
        """Return the target, and the responses to a few background rows."""
        background = self.labels.background
        rows = take_rows(background.rows, slice(0, PROBE_ROWS))
        target = np.empty(0) if background.target is None else background.target
        return {"responses": [response_of(self, rows)], "target": [target]}


def joint_request(request: Request, size: Size, reward: Any) -> Request:
    """Return a request with the sampler and the budget of joint evaluations for "auto"."""
    rule: Rule = learning_sampler if reward.memory is None else fixed_sampler
    if reward.players_.levels is not None:
        rule = request.rule  # permutations that keep groups together
    limit = request.limit
    if is_auto(limit):
        limit = size.rows(max(AUTO_EVALS * size.n_players, LEAST_AUTO_EVALS))
    return replace(request, limit=limit, rule=rule)


def learning_sampler(request: Request, size: Size, count: int) -> Sampler:
    """Return the usual sampler, with hyper-parameters of the game: fits are slow."""
    sampler = usual_sampler(request, size, count)
    return Odd() if isinstance(sampler, RankedOdd) else sampler


def fixed_sampler(request: Request, size: Size, count: int) -> Sampler:
    """Return a sampler that does not learn from values, so later rows use the same fits.

    Twelve columns, a Gaussian process in context, twenty rows: the pairs by leverage
    score have .020 of squared error at 120 fits, adaptive ones .009, and the kernel
    .046.
    """
    sampler = learning_sampler(request, size, count)
    learns = isinstance(sampler, Odd) and request.pairs is None
    return OddLeverage() if learns else sampler


def joint_run(
    game: Game, plan: Plan, settings: Settings, n_jobs: int | None, verbose: Any
) -> Outcome:
    """Execute a plan once for all rows of a game, with progress in evaluations."""
    total = min(plan.max_rows - 1, 2 ** min(plan.size.n_players, 62) - 2)
    advice = partial(faster, settings, plan)
    with progress(total, verbose, "fitting", advice, "models") as bar:
        outcome = run(JointGame(game), plan, n_jobs=n_jobs, evaluations=bar)
    r, k = game.n_rows, game.n_outputs
    by_row: dict[str, Any] = {
        name: _parted(getattr(outcome, name), r, k)
        for name in ("values", "standard_errors", "background_errors")
    }
    ends = {
        name: getattr(outcome, name).reshape(r, k) for name in ("v_empty", "v_full")
    }
    counts: dict[str, Any] = {
        name: np.repeat(getattr(outcome, name), r)
        for name in ("n_evaluations", "n_model_rows", "converged")
    }
    return replace(outcome, **by_row, **ends, **counts)


def _parted(array: np.ndarray, r: int, k: int) -> np.ndarray:
    """Return an array ``(1, e, r k)`` of joint rows as one of single rows, ``(r, e, k)``."""
    return np.moveaxis(array[0].reshape(-1, r, k), 1, 0)
