"""Sampled values: a model evaluated on coalitions."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from skshapley._records._outcome import Outcome, Settings
from skshapley._run._engine import run
from skshapley._run._plan import Plan, Request, Size, is_auto, usual_sampler
from skshapley._tables import n_rows, take_rows
from skshapley._tools import Stream, duration, generator, progress
from skshapley._ways._base import PROBE_ROWS, Way
from skshapley._ways._read import checked_rows, fitted_cost, read_outputs
from skshapley.closed_forms._trees import Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.explanation import Explanation
from skshapley.rewards import Game, InterventionalReward, Reward
from skshapley.rewards._refit import JointGame
from skshapley.samplers import Odd, RankedOdd, Sampler
from skshapley.stopping import StoppingRule

# XGBoost's probabilities are in single precision. At .999999, the logit has an error of
# .03. Small probabilities of the second class are precise; those of the first class are
# 1 minus the second
LEAST_GAP = 1e-6
LEAST_OF_SECOND = 1e-10
LOGIT_ATOL = 0.05  # from the trees, on background rows
# Largest standard deviation of the log-odds of background rows. Beyond it, nearly all
# probabilities are 0 or 1, and contributions to them hardly depend on the log-odds.
MOST_SPREAD = 5.0
MOST_COST = 10_000  # largest cost of each of a hundred rows, in model rows
# Smallest budget, in model rows per row to explain. Reading the trees and making tables
# takes as long as 15,000 model rows against 100 background rows, and 50,000 against
# 10,000. With at most 2,000 model rows each, up to ten rows reach the same error sooner
# without the log-odds; a hundred rows need at most 1.5 times as long (five tables).
LEAST_ROWS = 2001


@dataclass(frozen=True, eq=False)
class Margins:
    """The exact Shapley values of the log-odds, a control variate of a probability.

    A probability of boosted trees is a curve of a sum of trees. The sum has exact
    Shapley values, and the curve does not. Contributions to both, along the same
    permutation, are correlated. The known mean of the first corrects the second.

    Lavenberg & Welch (1981), A perspective on the use of control variables to increase
    the efficiency of Monte Carlo simulations, Management Science 27.

    Attributes
    ----------
    form : Trees
        Of the log-odds of the explained class, fitted.
    second : bool
        Whether the explained class is the second of the two.
    """

    form: Trees
    second: bool

    @classmethod
    def of(cls, reward: Reward, plan: Plan) -> "Margins | None":
        """Return the margins of a fitted reward, or None if they are unknown or take long.

        Parameters
        ----------
        reward : Reward
        plan : Plan
        """
        helps = plan.takes_parts and plan.samples and plan.max_rows >= LEAST_ROWS
        # A derived reward may change the game, and a control variate of another game
        # would not help.
        plain = type(reward) is InterventionalReward and reward.link is None
        if not (helps and plain):
            return None
        masked = reward.masked_
        odds = copy(masked.response)
        if odds.method != "predict_proba" or odds.n_columns != 2 or odds.column is None:
            return None
        odds.method = "log_odds"
        # Background probabilities are known from fit, so this test costs no call of the
        # model.
        probabilities = odds.choose(masked.empty, 0)
        if (
            not _precise(probabilities, bool(odds.column)).all()
            or logit(probabilities).std() > MOST_SPREAD
        ):
            return None
        try:
            # The method was changed above: this reads the log-odds, not the
            # probability.
            form = read_outputs(odds)
            if (
                not isinstance(form, Trees)
                or fitted_cost(form, reward, MOST_COST) > MOST_COST
            ):
                return None
        except UnreadableModelError:
            return None
        rows = checked_rows(len(probabilities))
        log_odds = form.predict(take_rows(form.background_, rows))
        off = log_odds - logit(probabilities[rows])
        return cls(form, bool(odds.column)) if np.abs(off).max() < LOGIT_ATOL else None

    def __call__(
        self,
        X: Any,
        probabilities: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Return the Shapley values of the log-odds, ``(r, p)``; NaN for extreme probabilities.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, D)
            In the mixed columns.
        probabilities : ndarray of shape (r, 1)
            Of the explained class.
        """
        margins = np.full((n_rows(X), self.form.n_players_), np.nan)
        rows = np.flatnonzero(_precise(probabilities, self.second))
        margins[rows] = self.form.attributions(take_rows(X, rows))[:, :, 0]
        return margins


def _precise(probabilities, second) -> NDArray[np.bool_]:
    """Return True for probabilities ``(n, 1)`` with a precise logit, ``(n,)``."""
    least = LEAST_OF_SECOND if second else LEAST_GAP
    return ((probabilities > least) & (probabilities < 1 - LEAST_GAP))[:, 0]


# Long work suggests a tenth of the model rows, but at least 300.
LESS = 10
LEAST_MAX_ROWS = 300


@dataclass(frozen=True, eq=False, kw_only=True)
class Coalitions(Way):
    """Values estimated from coalitions; the background of the reward is in balanced order.

    Attributes
    ----------
    plan : Plan
    margins : Margins or None
        The log-odds of the response, as a control variate.
    """

    plan: Plan
    margins: Margins | None = None

    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of checked rows."""
        game = self.reward.game(X)
        return recorded_run(
            game,
            self.plan,
            self.labels.settings,
            partial(
                self.labels.explanation,
                X=X,
                plan=self.plan,
                entropy=self.entropy,
            ),
            entropy=self.entropy,
            n_jobs=n_jobs,
            verbose=verbose,
            joint=self.reward.joint,
            **self._options(game, n_jobs),
        )

    def _options(self, game: Any, n_jobs: int | None) -> dict[str, Any]:
        """Return further options of `run`."""
        if self.margins is None:
            return {}
        full = game.full(np.arange(game.n_rows))
        return {"margins": self.margins(game.instances.X, full)}

    def background_errors(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return the errors due to the choice of the background; NaN where unknown."""
        if self.reward.link is None or self.plan.samples:
            return super().background_errors(X, n_jobs)
        game = self.reward.influences(X)
        return self.labels.shaped(
            game.errors(run(game, self.plan, self.entropy, n_jobs=n_jobs).values)
        )

    def stopped_by(self, rule: StoppingRule) -> Self:
        """Return this way with a stopping rule, if its sampler can stop."""
        errors = self.plan.solver.traits.standard_errors
        if self.plan.sampler.traits.one_shot or not errors:
            return self
        return replace(self, plan=replace(self.plan, stopping=rule))

    def with_entropy(self, entropy: int) -> Self:
        """Return this way with other random numbers."""
        reward = copy(self.reward)
        prepare_reward(reward, self.plan, entropy)
        return replace(self, reward=reward, entropy=entropy)


def prepare_reward(reward: Any, plan: Plan, entropy: int) -> None:
    """Split a fitted reward, and sort its background, as far as a plan needs it."""
    if plan.takes_parts:
        reward.split(entropy)
    if plan.samples:
        reward.sort_background(generator(entropy, Stream.ORDER))


def recorded_run(
    game: Game,
    plan: Plan,
    settings: Settings,
    record: Callable[[Outcome], Any],
    *,
    verbose: Any,
    joint: bool,
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
    joint : bool
        Whether all rows share their coalitions; progress is then in evaluations.
    **options
        Of `run`.

    Raises
    ------
    PartialExplanationError
        If an error or an interruption comes after some rows were finished.
    """
    advice = partial(faster, settings, plan)
    if joint:
        total = min(plan.max_rows - 1, 2 ** min(plan.size.n_players, 62) - 2)
        with progress(total, verbose, "fitting", advice, "models") as bar:
            outcome = run(JointGame(game), plan, evaluations=bar, **options)
        return record(by_row(outcome, game.n_rows))
    with progress(game.n_rows, verbose, advice=advice) as bar:
        outcome = run(game, plan, progress=bar, record=record, **options)
    return record(outcome)


def by_row(outcome: Outcome, r: int) -> Outcome:
    """Return the outcome of r rows, which were the outputs of a `JointGame`."""
    arrays: dict[str, Any] = {
        # Joint rows are (1, e, r k), and single ones (r, e, k).
        name: np.moveaxis(array[0].reshape(len(array[0]), r, -1), 1, 0)
        for name, array in vars(outcome).items()
        if name in ("values", "standard_errors", "background_errors")
    }
    arrays |= {
        "v_empty": outcome.v_empty.reshape(r, -1),
        "v_full": outcome.v_full.reshape(r, -1),
    }
    counts: dict[str, Any] = {
        name: np.repeat(getattr(outcome, name), r)
        for name in ("n_evaluations", "n_model_rows", "converged")
    }
    return replace(outcome, **arrays, **counts)


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
            f"max_rows={fewer_rows} would take {duration(seconds * share)}{price}, with "
            f"errors up to {share**-0.5:.0f} times as large"
        )
    return "; ".join(calls)


# A joint evaluation, such as a fit, is costly. On 12 columns and a Gaussian process in
# context, 20 for each player leave .3 % of squared error.
AUTO_EVALS = 20
LEAST_AUTO_EVALS = 256


class Joint(Coalitions):
    """Values estimated from coalitions that all rows share."""

    def state(self) -> dict[str, Any]:
        """Return the data of fits, and the responses to a few background rows."""
        background = self.labels.background
        rows = take_rows(background.rows, slice(0, PROBE_ROWS))
        fit_data: list = [np.empty(0)]
        if background.target is not None:
            fit_data = [background.target, background.fit_weights]
        return {"responses": [self.predictions(rows)], "target": fit_data}


def joint_request(request: Request, size: Size, reward: Any) -> Request:
    """Return a request with the sampler and the budget of joint evaluations for "auto"."""
    # permutations keep nested groups together
    limit = request.limit
    if is_auto(limit):
        limit = size.rows(max(AUTO_EVALS * size.n_players, LEAST_AUTO_EVALS))
    return replace(
        request,
        limit=limit,
        rule=learning_sampler if reward.players_.levels is None else request.rule,
    )


def learning_sampler(request: Request, size: Size, count: int) -> Sampler:
    """Return the usual sampler, with hyper-parameters of the game: fits are slow.

    No design depends on values, so later rows use the same fits.
    """
    sampler = usual_sampler(request, size, count)
    return Odd() if isinstance(sampler, RankedOdd) else sampler
