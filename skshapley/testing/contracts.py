"""Contracts of samplers, solvers, rewards and games, as functions: they raise AssertionError.

The tables `SAMPLER_CHECKS`, `SOLVER_CHECKS`, `PAIR_CHECKS`, `REWARD_CHECKS` and `GAME_CHECKS` map
the name of each check to its function; `parametrize_contract` makes one test of each for pytest.
"""

from collections.abc import Container

from skshapley.rewards import Game, Reward
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.testing._game_contract import GAME_CHECKS, RTOL
from skshapley.testing._pair_contract import PAIR_CHECKS, check_refused
from skshapley.testing._parametrize import parametrize_contract
from skshapley.testing._reward_contract import REWARD_CHECKS
from skshapley.testing._sampler_contract import SAMPLER_CHECKS
from skshapley.testing._solver_contract import SOLVER_CHECKS
from skshapley.testing._statistics import check_consistent, check_standard_errors, check_unbiased

__all__ = [
    "GAME_CHECKS",
    "PAIR_CHECKS",
    "REWARD_CHECKS",
    "SAMPLER_CHECKS",
    "SOLVER_CHECKS",
    "check_consistent",
    "check_game",
    "check_pair",
    "check_refused",
    "check_reward",
    "check_sampler",
    "check_solver",
    "check_standard_errors",
    "check_unbiased",
    "parametrize_contract",
]


def check_sampler(sampler: Sampler, *, skip: Container[str] = ()) -> None:
    """Check a sampler alone: parameters, costs, designs, rows, prefix, symmetry.

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    skip : container of str, default=()
        Names of `SAMPLER_CHECKS` that do not apply.

    Raises
    ------
    AssertionError
        If it does not hold.

    Examples
    --------
    >>> from skshapley.samplers import MonteCarlo
    >>> from skshapley.testing import check_sampler
    >>> check_sampler(MonteCarlo())
    """
    for name, check in SAMPLER_CHECKS.items():
        if name not in skip:
            check(sampler)


def check_solver(solver: Solver, sampler: Sampler, *, skip: Container[str] = ()) -> None:
    """Check a solver on given designs: independence of rows, merging, relabelled players.

    Parameters
    ----------
    solver : Solver
        Not changed.
    sampler : Sampler
        Makes the designs; not changed.
    skip : container of str, default=()
        Names of `SOLVER_CHECKS` that do not apply.

    Raises
    ------
    AssertionError
        If it does not hold.

    Examples
    --------
    >>> from skshapley.samplers import Leverage
    >>> from skshapley.solvers import LeastSquares
    >>> from skshapley.testing import check_solver
    >>> check_solver(LeastSquares(), Leverage())
    """
    for name, check in SOLVER_CHECKS.items():
        if name not in skip:
            check(solver, sampler)


def check_pair(sampler: Sampler, solver: Solver, *, skip: Container[str] = ()) -> None:
    """Check a sampler and a solver together: axioms, budgets, reproducibility, exactness.

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    solver : Solver
        Not changed.
    skip : container of str, default=()
        Names of `PAIR_CHECKS` that do not apply: a regression need not give a null player exactly
        0, say, and a mean centred by position is not linear in the game.

    Raises
    ------
    AssertionError
        If it does not hold.

    Examples
    --------
    >>> from skshapley.samplers import Antithetic
    >>> from skshapley.solvers import PermutationMean
    >>> from skshapley.testing import check_pair
    >>> check_pair(Antithetic(), PermutationMean(), skip={"jobs", "linearity"})
    """
    for name, check in PAIR_CHECKS.items():
        if name not in skip:
            check(sampler, solver)


def check_reward(reward: Reward, *, skip: Container[str] = (), rtol: float = RTOL) -> None:
    """Check a reward: parameters, fit, groups, outputs, and the games that it makes.

    The reward is fitted to a small table of numbers, as an array and as a frame. For a reward of
    other tables, give its games to `check_game`.

    Parameters
    ----------
    reward : Reward
        Not changed.
    skip : container of str, default=()
        Names of `REWARD_CHECKS` that do not apply. Those of its games are those of `GAME_CHECKS`,
        with "game" before them.
    rtol : float, default=1e-9
        Rounding that is allowed, relative to the largest value.

    Raises
    ------
    AssertionError
        If it does not hold.

    Examples
    --------
    >>> from skshapley.rewards import BaselineReward
    >>> from skshapley.testing import check_reward
    >>> check_reward(BaselineReward())
    """
    for name, check in REWARD_CHECKS.items():
        if name not in skip:
            check(reward, rtol)


def check_game(game: Game, *, skip: Container[str] = (), rtol: float = RTOL) -> None:
    """Check a game: shapes, purity, pickling, take, background rows, ends, idle players.

    Parameters
    ----------
    game : Game
        Asked for about a hundred coalitions of three instances, a few times each.
    skip : container of str, default=()
        Names of `GAME_CHECKS` that do not apply.
    rtol : float, default=1e-9
        Rounding that is allowed, relative to the largest value: a model may round otherwise in
        another batch. Single precision needs about 1e-5.

    Raises
    ------
    AssertionError
        If it does not hold.

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from skshapley.testing import HybridGame, check_game
    >>> largest = partial(np.max, axis=1)
    >>> check_game(HybridGame(largest, np.eye(3), [[0.0, 1.0, 2.0], [3.0, 0.0, 0.0]]))
    """
    for name, check in GAME_CHECKS.items():
        if name not in skip:
            check(game, rtol)
