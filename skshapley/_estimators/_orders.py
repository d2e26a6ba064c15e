"""Shapley values and interactions of any cooperative game, without an estimator."""

from collections.abc import Callable
from typing import Any

import numpy as np

from skshapley._records._result import ShapleyResult
from skshapley._run._engine import run
from skshapley._run._plan import Request, Size
from skshapley._tools import Count, corrected, entropy_from
from skshapley.indices import Index
from skshapley.rewards import FunctionGame
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule


@corrected
def shapley_values(
    reward: Callable[[np.ndarray], Any],
    *,
    n_players: int | None = None,
    sampler: str | Sampler = "auto",
    solver: str | Solver = "auto",
    max_evals: int | str = "auto",
    stopping: StoppingRule | None = None,
    random_state=None,
    n_jobs: int | None = None,
    index: str | Index = "shapley",
    interactions: bool | str = False,
) -> ShapleyResult:
    """Shapley values of a cooperative game.

    Parameters
    ----------
    reward : callable
        From boolean coalitions ``(m, n_players)`` to their values, ``(m,)`` or
        ``(m, k)``.
    n_players : int, optional
        Default: the attribute ``n_players`` of the reward.
    sampler : str or Sampler, default="auto"
        The choice of coalitions: a name of `samplers.SAMPLERS` or an instance. "auto":
        all coalitions if the budget covers them, otherwise the Gaussian-process
        estimator ("odd", "gp"). Antithetic permutations below two evaluations per
        player (four for other indices), and above 500 players.
    solver : str or Solver, default="auto"
        The estimator of values from coalitions: a name of `solvers.SOLVERS` or an
        instance. "auto": the default of the sampler.
    max_evals : int or "auto", default="auto"
        Largest number of coalitions to evaluate, the empty and the full one included.
    stopping : StoppingRule or None, default=None
        Stop earlier, when the standard errors are small enough.
    random_state : None, int, Generator or RandomState, default=None
    n_jobs : int or None, default=None
        Workers for the evaluations, through joblib. The result is the same for any
        number.
    index : str or Index, default="shapley"
        The kind of values: "shapley", "banzhaf", or an index such as
        `skshapley.indices.beta(16, 1)`. Only Shapley values always add up;
        ``efficiency_gap`` is the difference.
    interactions : bool or str, default=False
        Estimate interactions of all pairs too, from the same evaluations. True: the
        Shapley interaction index; or a name of `skshapley.indices.PAIR_INDICES`.

    Returns
    -------
    result : ShapleyResult
        Fields ``values`` ``(p,)`` or ``(p, k)``, ``standard_errors`` (same shape, or
        None), ``base_value`` v(empty), ``full_value`` v(all), ``n_evaluations``,
        ``converged`` and ``interactions``.

    Raises
    ------
    ValueError
        For unknown names or a budget that is too small, before the reward is called.
    TypeError
        If the solver does not accept the designs of the sampler.
    ModelOutputError
        If the reward returns another shape, NaN or infinity.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games II.

    Examples
    --------
    A glove game: player 0 has a left glove, players 1 and 2 a right one each.

    >>> from skshapley import shapley_values
    >>> result = shapley_values(lambda S: S[:, 0] & (S[:, 1] | S[:, 2]), n_players=3)
    >>> result.values.round(4)
    array([0.6667, 0.1667, 0.1667])
    """
    if not callable(reward):
        raise TypeError(
            "shapley_values takes a callable from boolean coalitions (m, n_players) to "
            f"values; got {reward!r}."
        )
    if n_players is None:
        n_players = getattr(reward, "n_players", None)
    if n_players is None or not Count().allows(n_players):
        raise ValueError(
            f"shapley_values needs n_players as a positive int; got {n_players!r}."
            f" Pass n_players=, or a reward that has it as an attribute."
        )
    plan = Request.of(
        "shapley_values",
        sampler=sampler,
        solver=solver,
        max_evals=max_evals,
        stopping=stopping,
        interactions=interactions,
        index=index,
    ).plan(Size(int(n_players)))
    entropy = entropy_from(random_state, "shapley_values")
    game = FunctionGame(reward, int(n_players))
    outcome = run(game, plan, entropy, n_jobs=n_jobs)
    return ShapleyResult.from_outcome(
        outcome,
        game.one_output,
        None if plan.request.pairs is None else plan.request.pairs.name,
    )
