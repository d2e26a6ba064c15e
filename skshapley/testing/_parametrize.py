"""The contracts for pytest: one test of each check."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from skshapley._tools._params import resolve
from skshapley.rewards import REWARDS, Game, Reward
from skshapley.samplers import SAMPLERS, Sampler
from skshapley.solvers import SOLVERS, Solver
from skshapley.testing._game_contract import GAME_CHECKS
from skshapley.testing._pair_contract import PAIR_CHECKS
from skshapley.testing._reward_contract import REWARD_CHECKS
from skshapley.testing._sampler_contract import SAMPLER_CHECKS
from skshapley.testing._solver_contract import SOLVER_CHECKS

if TYPE_CHECKING:
    import pytest

OWNER = "parametrize_contract"


def parametrize_contract(
    sampler: str | Sampler | None = None,
    solver: str | Solver | None = None,
    *,
    reward: str | Reward | None = None,
    game: Game | Callable[[], Game] | None = None,
    skip: Mapping[str, str] | None = None,
    exempt: Mapping[str, str] | None = None,
) -> "pytest.MarkDecorator":
    """Make one pytest test of each check that the given components have to pass.

    The test takes `check`, a function without arguments, and calls it. A sampler meets the checks
    of samplers; a solver, for which a sampler has to make designs, those of solvers and of the
    pair; a reward those of rewards; a game those of games.

    Parameters
    ----------
    sampler : str or Sampler, optional
    solver : str or Solver, optional
        Needs a sampler.
    reward : str or Reward, optional
    game : Game, or callable that returns one, optional
        A callable is called once, by the first test.
    skip : dict of str to str, optional
        Reasons for which checks are not run, by the id of the test: a word for the kind of
        contract, and the check's name, such as ``"pair-jobs"``.
    exempt : dict of str to str, optional
        Reasons for which checks cannot pass. The tests are expected to fail: one that passes is
        reported, so that an exemption goes when it is no longer needed.

    Returns
    -------
    decorator : MarkDecorator
        A ``pytest.mark.parametrize``.

    Raises
    ------
    TypeError
        If there is nothing to check, or a solver comes without a sampler.
    ValueError
        If `skip` or `exempt` names a check that is not there.

    Examples
    --------
    >>> from skshapley.samplers import Antithetic
    >>> from skshapley.solvers import PermutationMean
    >>> from skshapley.testing import parametrize_contract
    >>> skip = {"pair-jobs": "starts workers"}
    >>> @parametrize_contract(Antithetic(), PermutationMean(), skip=skip)
    ... def test_mine(check):
    ...     check()

    pytest then runs ``test_mine[pair-efficiency]``, and so on:

    >>> [parameters] = test_mine.pytestmark
    >>> {"pair-efficiency", "solver-symmetry"} <= {case.id for case in parameters.args[1]}
    True
    """
    import pytest

    cases = dict(_cases(sampler, solver, reward, game))
    marks = {
        name: pytest.mark.skip(reason=reason)
        for name, reason in _reasons(skip, "skip", cases).items()
    } | {
        name: pytest.mark.xfail(reason=reason, strict=True, raises=AssertionError)
        for name, reason in _reasons(exempt, "exempt", cases).items()
    }
    parameters = [
        pytest.param(check, id=name, marks=marks.get(name, ())) for name, check in cases.items()
    ]
    return pytest.mark.parametrize("check", parameters)


def _cases(
    sampler: Any, solver: Any, reward: Any, game: Any
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield pairs of a test id and a check bound to its subject."""
    if all(part is None for part in (sampler, solver, reward, game)):
        raise TypeError(f"{OWNER} needs a sampler, a solver, a reward or a game; got none of them.")
    if sampler is not None:
        sampler = resolve(
            sampler, registry=SAMPLERS, base=Sampler, owner=OWNER, parameter="sampler"
        )
        yield from _bound("sampler", SAMPLER_CHECKS, sampler)
    if solver is not None:
        solver = resolve(solver, registry=SOLVERS, base=Solver, owner=OWNER, parameter="solver")
        if sampler is None:
            raise TypeError(
                f"{OWNER} needs a sampler for {solver!r}, to make the designs that it reads; pass"
                f" sampler=."
            )
        yield from _bound("solver", SOLVER_CHECKS, solver, sampler)
        yield from _bound("pair", PAIR_CHECKS, sampler, solver)
    if reward is not None:
        reward = resolve(reward, registry=REWARDS, base=Reward, owner=OWNER, parameter="reward")
        yield from _bound("reward", REWARD_CHECKS, reward)
    if game is not None:
        made = cache(lambda: game if isinstance(game, Game) else game())
        for name, check in GAME_CHECKS.items():
            yield _id("game", name), partial(_made_and_checked, check, made)


def _bound(
    kind: str, checks: Mapping, *components: Any
) -> Iterator[tuple[str, Callable[[], None]]]:
    for name, check in checks.items():
        yield _id(kind, name), partial(check, *components)


def _made_and_checked(check: Callable[[Game], None], made: Callable[[], Game]) -> None:
    check(made())


def _id(kind: str, name: str) -> str:
    return f"{kind}-{name}".replace(" ", "-")


def _reasons(given: Mapping[str, str] | None, parameter: str, cases: dict) -> Mapping[str, str]:
    """Return reasons by the ids of tests, or refuse those that are of none."""
    reasons = {} if given is None else given
    if not isinstance(reasons, Mapping):
        raise ValueError(f"{OWNER} takes {parameter} as a dict {{id: reason}}; got {given!r}.")
    unknown = sorted(set(reasons) - set(cases))
    if unknown:
        raise ValueError(
            f"{OWNER} got {parameter} for {unknown}, which it does not check here: choose among"
            f" {list(cases)}."
        )
    return reasons
