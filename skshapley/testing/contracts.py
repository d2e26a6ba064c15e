"""The contracts as a table of named checks, and one pytest test of each check."""

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from skshapley._tools import resolve
from skshapley.rewards import REWARDS, Game, Reward
from skshapley.samplers import SAMPLERS, Sampler
from skshapley.solvers import SOLVERS, Solver
from skshapley.testing._checks import Checks
from skshapley.testing._game_contract import GAME_CHECKS
from skshapley.testing._pair_contract import PAIR_CHECKS
from skshapley.testing._reward_contract import REWARD_CHECKS
from skshapley.testing._role_contracts import SAMPLER_CHECKS, SOLVER_CHECKS

if TYPE_CHECKING:
    import pytest

OWNER = "parametrize_contract"
# For each kind of contract, the checks by name, and the arguments of each check
CONTRACTS: dict[str, tuple[Checks, tuple[str, ...]]] = {
    "sampler": (SAMPLER_CHECKS, ("sampler",)),
    "solver": (SOLVER_CHECKS, ("sampler", "solver")),
    "pair": (PAIR_CHECKS, ("sampler", "solver")),
    "reward": (REWARD_CHECKS, ("reward",)),
    "game": (GAME_CHECKS, ("game",)),
}
COMPONENTS: dict[str, dict[str, Any]] = {
    "sampler": {"registry": SAMPLERS, "base": Sampler},
    "solver": {"registry": SOLVERS, "base": Solver},
    "reward": {"registry": REWARDS, "base": Reward},
}


def parametrize_contract(
    sampler: str | Sampler | None = None,
    solver: str | Solver | None = None,
    *,
    reward: str | Reward | None = None,
    game: Game | Callable[[], Game] | None = None,
    skip: Mapping[str, str] | None = None,
    exempt: Mapping[str, str] | None = None,
) -> "pytest.MarkDecorator":
    """Make one pytest test for each check of the given components.

    The test takes `check`, a function without arguments, and calls it. A sampler runs
    the checks of samplers. A solver needs a sampler for its designs; it runs the checks
    of solvers and of the pair. A reward runs the checks of rewards, and a game the
    checks of games.

    Parameters
    ----------
    sampler : str or Sampler, optional
    solver : str or Solver, optional
        Needs a sampler.
    reward : str or Reward, optional
    game : Game, or callable that returns one, optional
        A callable is called once, by the first test.
    skip : dict of str to str, optional
        Reasons for skipping checks, by the id of the test. The id is the kind of the
        contract and the name of the check, such as ``"pair-jobs"``.
    exempt : dict of str to str, optional
        Reasons for checks that cannot pass. These tests are expected to fail. A test
        that passes is reported, because its exemption is no longer needed.

    Returns
    -------
    decorator : MarkDecorator
        A ``pytest.mark.parametrize``.

    Raises
    ------
    TypeError
        If there is nothing to check, or a solver without a sampler.
    ValueError
        If `skip` or `exempt` names an unknown check.

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
    >>> {"pair-efficiency", "solver-symmetry"} <= {
    ...     case.id for case in parameters.args[1]
    ... }
    True
    """
    import pytest

    components = {"sampler": sampler, "solver": solver, "reward": reward}
    parts: dict[str, Any] = {
        name: resolve(part, **COMPONENTS[name], owner=OWNER, parameter=name)
        for name, part in components.items()
        if part is not None
    }
    if game is not None:
        parts["game"] = game
    if not parts:
        raise TypeError(
            f"{OWNER} needs a sampler, a solver, a reward or a game; got none of them."
        )
    if "solver" in parts and "sampler" not in parts:
        raise TypeError(
            f"{OWNER} got solver={parts['solver']!r} without a sampler for its "
            "designs: pass sampler=."
        )

    # A callable is called by the first test, so that collecting tests fits no model.
    @cache
    def made(name: str) -> Any:
        part = parts[name]
        return part() if name == "game" and not isinstance(part, Game) else part

    def run(check: Callable[..., None], roles: tuple[str, ...]) -> None:
        check(*map(made, roles))

    cases = {
        f"{kind}-{name}".replace(" ", "-"): partial(run, check, roles)
        for kind, (checks, roles) in CONTRACTS.items()
        if parts.keys() >= set(roles)
        for name, check in checks.items()
    }
    marks: dict[str, pytest.MarkDecorator] = {}
    # Only a failed check counts as expected. Any other error is reported, as is a check
    # that passes.
    expected = partial(pytest.mark.xfail, strict=True, raises=AssertionError)
    for parameter, why, mark in (
        ("skip", skip, pytest.mark.skip),
        ("exempt", exempt, expected),
    ):
        if why is not None and not isinstance(why, Mapping):
            raise ValueError(
                f"{OWNER} takes {parameter} as a dict {{id: reason}}; got {why!r}."
            )
        unknown = sorted(set(why or ()) - set(cases))
        if unknown:
            raise ValueError(
                f"{OWNER} got {parameter} for {unknown}, which it does not check here: "
                f"choose among {list(cases)}."
            )
        marks |= {name: mark(reason=reason) for name, reason in (why or {}).items()}
    parameters = [
        pytest.param(check, id=name, marks=marks.get(name, ()))
        for name, check in cases.items()
    ]
    return pytest.mark.parametrize("check", parameters)
