"""Contracts of samplers and solvers, as functions for any test suite: they raise AssertionError.

The tables `SAMPLER_CHECKS`, `SOLVER_CHECKS` and `PAIR_CHECKS` map the name of each check to its
function, for test runners that want them one by one.
"""

from collections.abc import Container

from skshapley.testing._pair_contract import PAIR_CHECKS, check_refused
from skshapley.testing._sampler_contract import SAMPLER_CHECKS
from skshapley.testing._solver_contract import SOLVER_CHECKS
from skshapley.testing._statistics import check_consistent, check_standard_errors, check_unbiased

__all__ = [
    "PAIR_CHECKS",
    "SAMPLER_CHECKS",
    "SOLVER_CHECKS",
    "check_consistent",
    "check_pair",
    "check_refused",
    "check_sampler",
    "check_solver",
    "check_standard_errors",
    "check_unbiased",
]


def check_sampler(sampler, *, skip: Container[str] = ()) -> None:
    """Check what every sampler holds by itself: parameters, costs, designs, rows, prefix, symmetry.

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


def check_solver(solver, sampler, *, skip: Container[str] = ()) -> None:
    """Check what every solver holds given designs: rows on their own, merging, relabelled players.

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


def check_pair(sampler, solver, *, skip: Container[str] = ()) -> None:
    """Check what sampler and solver hold together: axioms, budgets, reproducibility, exactness.

    Parameters
    ----------
    sampler : Sampler
        Not changed.
    solver : Solver
        Not changed.
    skip : container of str, default=()
        Names of `PAIR_CHECKS` that do not apply: a regression need not give a null player exactly
        0, say.

    Raises
    ------
    AssertionError
        If it does not hold.

    Examples
    --------
    >>> from skshapley.samplers import Antithetic
    >>> from skshapley.solvers import PermutationMean
    >>> from skshapley.testing import check_pair
    >>> check_pair(Antithetic(), PermutationMean(), skip={"jobs"})
    """
    for name, check in PAIR_CHECKS.items():
        if name not in skip:
            check(sampler, solver)
