"""What the estimators that sample share: their counts, their plan, and the run of it."""

from collections.abc import Callable
from typing import Any

from skshapley._estimators._background import Background
from skshapley._records._outcome import Outcome
from skshapley._run._engine import Interrupted, Plan, run
from skshapley._run._plan import make_plan
from skshapley._tools._constraints import Count, Fitting, Maybe
from skshapley._tools._progress import progress
from skshapley._tools._random import entropy_from, fresh_entropy
from skshapley.exceptions import PartialExplanationError

COUNTS = {
    "max_background": Maybe(Count()),
    "n_jobs": Maybe(Fitting(lambda n: Count(least=-(2**63)).allows(n) and n != 0, "an int but 0")),
    "verbose": Fitting(lambda n: isinstance(n, bool) or Count(least=0).allows(n), "an int >= 0"),
}


def random_state_of(estimator: Any) -> Any:
    """Return its random state, or, if that is None, the entropy that it drew in ``fit``."""
    return estimator.random_state if estimator.random_state is not None else estimator._entropy


def drawn_background(estimator: Any, X: Any, sample_weight: Any) -> Background:
    """Return the background of an estimator, of at most `max_background` rows.

    An estimator without a random state gets entropy of its own, for all that is drawn later, too.
    """
    estimator._entropy = fresh_entropy() if estimator.random_state is None else None
    limit, owner = estimator.max_background, type(estimator).__name__
    entropy = None if limit is None else entropy_from(random_state_of(estimator), owner)
    return Background.of(estimator, X, sample_weight, estimator.groups, limit, entropy)


def plan_of(
    estimator: Any,
    n_references: int,
    max_evals: Any = None,
    unbiased: bool = False,
    pairs: bool = True,
) -> Plan:
    """Return the plan of an estimator, all its parameters checked.

    Parameters
    ----------
    estimator : estimator
        With players, and the parameters of `make_plan`.
    n_references : int
    max_evals : int, "auto" or None
        In place of the estimator's own.
    unbiased : bool, default=False
        As in `make_plan`.
    pairs : bool, default=True
        Whether what the estimator is asked for by `index` and `interactions` comes from this plan.
    """
    return make_plan(
        sampler=estimator.sampler,
        solver=estimator.solver,
        max_evals=estimator.max_evals if max_evals is None else max_evals,
        stopping=estimator.stopping,
        random_state=random_state_of(estimator),
        n_players=estimator.players_.n_players,
        n_references=n_references,
        owner=type(estimator).__name__,
        unbiased=unbiased,
        interactions=pairs and getattr(estimator, "interactions", False),
        index=getattr(estimator, "index", "shapley") if pairs else "shapley",
    )


def run_plan(
    estimator: Any,
    game: Any,
    plan: Plan,
    record: Callable[[Outcome], Any],
    tasks: Callable[[int], object] | None = None,
) -> Outcome:
    """Spend a plan on the game's instances, with progress.

    Parameters
    ----------
    estimator : estimator
        With `n_jobs` and `verbose`.
    game : Game
    plan : Plan
    record : callable
        Makes what the user gets of the outcome of the first instances, if the run breaks off.
    tasks : callable or None
        Told the number of finished instances.

    Raises
    ------
    PartialExplanationError
        If an error or an interruption comes after some instances were finished.
    """
    try:
        with progress(game.n_rows, estimator.verbose) as bar:
            return run(game, plan, n_jobs=estimator.n_jobs, progress=(bar, tasks))
    except Interrupted as error:
        raise PartialExplanationError(
            f"Explaining stopped by {type(error.__cause__).__name__} after"
            f" {len(error.outcome.values)} of {game.n_rows} instances; the finished ones are in"
            f" this error's .explanation.",
            record(error.outcome),
        ) from error.__cause__
