"""Base class of the estimators that sample: parameters, plan and run."""

from collections.abc import Callable
from functools import partial
from typing import Any

from scipy import sparse

from skshapley._estimators._background import Background
from skshapley._records._outcome import Outcome
from skshapley._run._budget import Size
from skshapley._run._engine import Interrupted, run
from skshapley._run._plan import Plan, make_plan
from skshapley._tools._constraints import Count, Fitting, Maybe
from skshapley._tools._progress import progress, span
from skshapley._tools._random import Stream, entropy_from, generator
from skshapley.exceptions import PartialExplanationError
from skshapley.rewards import Response, Reward

COUNTS = {
    "max_background": Maybe(Count()),
    "n_jobs": Maybe(Fitting(lambda n: Count(least=-(2**63)).allows(n) and n != 0, "an int but 0")),
    "verbose": Fitting(
        lambda n: isinstance(n, bool) or n == "auto" or Count(least=0).allows(n),
        '"auto", a bool or an int >= 0',
    ),
}

# How many times fewer model rows are suggested for work that takes long, and the least that are
LESS, LEAST_MAX_ROWS = 10, 300


def given_background(estimator: Any, X: Any, sample_weight: Any, reward: Reward) -> Background:
    """Return the background of an estimator, as it was given.

    With it comes the entropy, of which everything is drawn until the next ``fit``.

    Raises
    ------
    TypeError
        For a sparse matrix and a reward that takes none.
    """
    name = type(estimator).__name__
    if sparse.issparse(X) and "sparse" not in reward.takes:
        raise TypeError(
            f"{name} got a sparse matrix with reward={estimator.reward!r}, which takes dense tables"
            f' alone: choose reward="interventional" or "baseline", or pass X.toarray().'
        )
    estimator._entropy = entropy_from(estimator.random_state, name)
    return Background.of(estimator, X, sample_weight, estimator.groups)


def n_background(estimator: Any) -> int:
    """Return how many background rows an estimator will have kept in the end."""
    b, most = len(estimator.background_weights_), estimator.max_background
    return b if most is None else min(b, most)


def herded_background(estimator: Any, response: Response) -> Background:
    """Return the background of an estimator, of at most `max_background` rows."""
    background, n = estimator._background, n_background(estimator)
    if n == len(background.weights):
        return background
    predictions = response.over(background.rows, "background rows")
    return background.herded(n, predictions, generator(estimator._entropy, Stream.HERD))


def plan_of(
    estimator: Any,
    size: Size,
    max_rows: Any = None,
    process: bool = True,
    read: bool = False,
) -> Plan:
    """Return the plan of an estimator, all its parameters checked.

    Parameters
    ----------
    estimator : estimator
        With players, and the parameters of `make_plan`.
    size : Size
        Of its game.
    max_rows : int, "auto" or None
        In place of the estimator's own.
    process, read : bool
        As in `make_plan`.
    """
    return make_plan(
        sampler=estimator.sampler,
        solver=estimator.solver,
        max_rows=estimator.max_rows if max_rows is None else max_rows,
        stopping=estimator.stopping,
        random_state=estimator._entropy,
        size=size,
        owner=type(estimator).__name__,
        process=process,
        interactions=getattr(estimator, "interactions", False),
        index=getattr(estimator, "index", "shapley"),
        read=read,
    )


def run_plan(
    estimator: Any,
    game: Any,
    plan: Plan,
    record: Callable[[Outcome], Any],
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

    Raises
    ------
    PartialExplanationError
        If an error or an interruption comes after some instances were finished.
    """
    try:
        advice = partial(faster, estimator, plan)
        with progress(game.n_rows, estimator.verbose, advice=advice) as bar:
            return run(game, plan, n_jobs=estimator.n_jobs, progress=(bar,))
    except Interrupted as error:
        raise PartialExplanationError(
            f"Explaining stopped by {type(error.__cause__).__name__} after"
            f" {len(error.outcome.values)} of {game.n_rows} instances; the finished ones are in"
            f" this error's .explanation.",
            record(error.outcome),
        ) from error.__cause__


def faster(estimator: Any, plan: Plan, seconds: float) -> str:
    """Return the calls that would take less than so many seconds, in words."""
    told = []
    unread = getattr(estimator, "_unread", None)
    if unread is not None and unread.instead is not None:
        told.append(f"response_method={unread.instead!r} would be exact and take seconds")
    fewer = int(float(f"{plan.max_rows / LESS:.0e}"))
    if fewer >= LEAST_MAX_ROWS:
        share = fewer / plan.max_rows
        # a row that stops before its budget is spent saves less
        price = "" if plan.stopping is None else " or more"
        told.append(
            f"max_rows={fewer} would take {span(seconds * share)}{price}, with errors up to"
            f" {share**-0.5:.0f} times as large"
        )
    return "; ".join(told)
