"""Every registered sampler, solver and pair keeps the public contracts.

A new entry of a registry is tested without a line here. The EXEMPT tables list
exceptions with their reasons, and every exemption is checked.
"""

from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skshapley import shapley_values
from skshapley.samplers import (
    SAMPLERS,
    Antithetic,
    Classical,
    Kernel,
    Leverage,
    MonteCarlo,
    Nested,
    Ordered,
    Orthogonal,
)
from skshapley.solvers import DEFAULT_SOLVERS, SOLVERS
from skshapley.testing import (
    AirportGame,
    DividendGame,
    RandomGame,
    check_consistent,
    check_standard_errors,
    check_unbiased,
)
from skshapley.testing.contracts import CONTRACTS

PAIR_CHECKS, _ = CONTRACTS["pair"]
SAMPLER_CHECKS, _ = CONTRACTS["sampler"]
SOLVER_CHECKS, _ = CONTRACTS["solver"]


def small_sets_first(p):
    """A law of sizes that is not Shapley's."""
    return np.arange(p, 0, -1) / (p * (p + 1) / 2)


@dataclass(frozen=True)
class FirstBeforeSecond:
    """A graph of one edge, whatever the number of players."""

    nodes: tuple = (0, 1)
    edges: tuple = ((0, 1),)

    def is_directed(self):
        return True


# Parameters that make another method; the registries' entries are taken as they come.
VARIANTS = {
    "monte-carlo, all": MonteCarlo(references="all"),
    "antithetic, all": Antithetic(references="all"),
    "antithetic, random": Antithetic(references="random"),
    "orthogonal, all": Orthogonal(references="all"),
    "kernel, again": Kernel(replacement=True),
    "leverage, again": Leverage(replacement=True),
    "classical, small sets": Classical(small_sets_first),
    "leverage, singles": Leverage(paired=False, replacement=True),
    "ordered": Ordered("antithetic", FirstBeforeSecond()),
    "nested, no groups": Nested(),
    "ordered, no order": Ordered("orthogonal"),
}
EVERY_SAMPLER = {name: sampler() for name, sampler in SAMPLERS.items()} | VARIANTS
EVERY_SOLVER = {name: solver() for name, solver in SOLVERS.items()}


def fits(sampler, solver):
    return issubclass(EVERY_SAMPLER[sampler].produces, EVERY_SOLVER[solver].accepts)


def default_solver(sampler):
    return DEFAULT_SOLVERS[EVERY_SAMPLER[sampler].produces]


def own_pair(sampler):
    return sampler, default_solver(sampler)


# Variants change what is drawn, not what solvers make of it: they meet their own solver
# only.
PAIRS = [
    (sampler, solver)
    for sampler, solver in product(EVERY_SAMPLER, EVERY_SOLVER)
    if fits(sampler, solver)
    and (sampler in SAMPLERS or solver == default_solver(sampler))
]

GRAPH = "made for games on its graph, here a chain"
OTHER_SUM = "adds up to something else"
SHARED = "what the sum of all players lacks is shared out by their variances"
CHOSEN = "what is drawn depends on the values seen"
UNLUCKY = (
    "coalitions drawn again and again: no budget is sure to tell all players apart"
)
WEIGHED = "contributions count by how unlikely they were"
ON_AVERAGE = "exact on average only"
BOUNDARY = "enumerates the smallest sizes first: the least budgets do not tell all players apart"
WALK = "its path ends a mini-batch with every design"
FITTED = "hyper-parameters are fitted to the values of all outputs"
CENTRED = "from four units on, how much the positions explain is fitted to the values"
SATURATED = "the least budgets cannot tell an additive game from any other"

EXEMPT_SAMPLERS = {
    "antithetic, random": {
        "references": "the background rows drawn have a mean of their own"
    },
    "classical": {"linearity": SHARED},
    "classical, small sets": dict.fromkeys(["additive", "references"], WEIGHED)
    | {"linearity": SHARED},
    "owen": {"linearity": SHARED},
    "owen-halved": {"linearity": SHARED},
    "stratified": dict.fromkeys(["linearity", "outputs"], CHOSEN),
    "local": {"symmetry": GRAPH, "efficiency": OTHER_SUM},
    "local-permutations": {"symmetry": GRAPH, "efficiency": OTHER_SUM},
    "connected": {"symmetry": GRAPH, "efficiency": OTHER_SUM},
    "connected-regression": {"symmetry": GRAPH, "null player": GRAPH},
    "myerson": {"symmetry": GRAPH, "null player": GRAPH},
    "ordered": {"symmetry": "one player comes before another"},
}
EXEMPT_SOLVERS = {
    "permutation-mean": {"linearity": CENTRED},
    "least-squares": {"null player": ON_AVERAGE},
    "sample-reuse": dict.fromkeys(
        ["additive", "null player", "references"], ON_AVERAGE
    ),
    "regression-adjustment": {
        "additive": SATURATED,
        "references": SATURATED,
        "null player": ON_AVERAGE,
        **dict.fromkeys(["linearity", "outputs"], FITTED),
    },
    "sgd": dict.fromkeys(
        ["additive", "null player", "references"], "exact in the limit only"
    )
    | {"merging": WALK},
    **dict.fromkeys(
        ["gp", "gp-leave-one-out"],
        dict.fromkeys(["linearity", "outputs"], FITTED)
        | dict.fromkeys(["additive", "references"], SATURATED)
        | {"null player": ON_AVERAGE},
    ),
}
EXEMPT_PAIRS = {
    ("odd-ranked", "gp"): {"symmetry": "the design ranks the players by their names"},
    ("kernel, again", "least-squares"): dict.fromkeys(
        ["additive", "references"], UNLUCKY
    ),
    ("leverage, again", "least-squares"): {"additive": UNLUCKY},
    ("outer-sizes", "least-squares"): dict.fromkeys(
        ["additive", "references"], BOUNDARY
    ),
}


def exemption(sampler, solver, check):
    tables = (
        EXEMPT_SAMPLERS.get(sampler, {}),
        EXEMPT_SOLVERS.get(solver, {}),
        EXEMPT_PAIRS.get((sampler, solver), {}),
    )
    return next((table[check] for table in tables if check in table), None)


def run(check, sampler, solver=None):
    if solver is None:
        check(EVERY_SAMPLER[sampler])
    else:
        check(EVERY_SAMPLER[sampler], EVERY_SOLVER[solver])


# Evaluation is one place for all: workers are tried with one sampler of each kind of
# design.
KINDS = {EVERY_SAMPLER[name].produces: name for name in reversed(SAMPLERS)}
ONE, *OTHERS = KINDS.values()


def cases():
    """All checks, with names and arguments."""
    for name, sampler in product(SAMPLER_CHECKS, EVERY_SAMPLER):
        yield name, SAMPLER_CHECKS[name], sampler, None
    for name, check in SOLVER_CHECKS.items():
        yield from ((name, check, sampler, solver) for sampler, solver in PAIRS)
    for name, (sampler, solver) in product(PAIR_CHECKS, PAIRS):
        if name != "jobs":
            yield name, PAIR_CHECKS[name], sampler, solver


CASES = [case for case in cases() if exemption(case[2], case[3], case[0]) is None]
# Pairs that show each solver once, and each kind of design with its own solver
FIRST = {
    (sampler, solver) for solver, sampler in {t: s for s, t in reversed(PAIRS)}.items()
}
FIRST |= {own_pair(sampler) for sampler in KINDS.values()}


def usual(sampler, solver):
    """Whether these are a sampler of the registry by itself, or one of the first pairs."""
    return sampler in SAMPLERS if solver is None else (sampler, solver) in FIRST


def contracts(wanted):
    """Parametrize a test by checks of the default components, or of the others."""
    chosen = [case for case in CASES if usual(*case[2:]) == wanted]
    ids = ["-".join(filter(None, (name, *who))) for name, _, *who in chosen]
    return pytest.mark.parametrize(
        ("check", "sampler", "solver"), [case[1:] for case in chosen], ids=ids
    )


@contracts(True)
def test_contract(check, sampler, solver):
    run(check, sampler, solver)


@pytest.mark.thinned
@contracts(False)
def test_contract_of_variants_and_other_pairs(check, sampler, solver):
    run(check, sampler, solver)


@pytest.mark.parametrize(
    "sampler", [ONE, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
)
def test_workers_change_nothing(sampler):
    run(PAIR_CHECKS["jobs"], *own_pair(sampler))


EXEMPTIONS = [
    (name, owner)
    for table in (EXEMPT_SAMPLERS, EXEMPT_SOLVERS, EXEMPT_PAIRS)
    for owner, checks in table.items()
    for name in checks
]


@pytest.mark.parametrize(("check", "owner"), EXEMPTIONS)
def test_exemptions_are_needed(check, owner):
    """At least one of the exempted cases fails."""
    for name, function, sampler, solver in cases():
        if name == check and owner in (sampler, solver, (sampler, solver)):
            try:
                run(function, sampler, solver)
            except AssertionError:
                return
    pytest.fail(f"{owner} passes {check!r} everywhere: take its exemption out")


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("sampler", "solver"),
    [pair for pair in product(SAMPLERS, SOLVERS) if not fits(*pair)],
)
def test_incompatible_pairs_are_refused(sampler, solver):
    """The error is a TypeError that names both, before the reward is called."""
    components = EVERY_SAMPLER[sampler], EVERY_SOLVER[solver]

    def reward(coalitions) -> np.ndarray:
        raise AssertionError("the reward was called before the error")

    with pytest.raises(TypeError) as refused:
        shapley_values(
            reward,
            n_players=5,
            sampler=components[0],
            solver=components[1],
        )
    message = str(refused.value)
    assert all(type(component).__name__ in message for component in components)


@pytest.mark.parametrize("sampler", ["exact", "kernel", "leverage"])
def test_all_coalitions_give_the_exact_values(sampler):
    """Without replacement, a budget of 2^p covers all coalitions, and the result is exact."""
    for p in (2, 3, 7):
        game = RandomGame(p, seed=p)
        result = shapley_values(game, sampler=sampler, max_evals=2**p, random_state=0)
        np.testing.assert_allclose(
            result.values, game.shapley_values, rtol=0, atol=1e-10
        )
        assert result.converged
        assert not result.standard_errors.any()


@pytest.mark.parametrize("sampler", ["antithetic", "orthogonal"])
def test_reverses_solve_pairwise_games(sampler):
    """Each permutation and its reverse are exact for pairwise interactions."""
    rng = np.random.default_rng(0)
    sets = [*combinations(range(9), 1), *combinations(range(9), 2)]
    game = DividendGame(9, {members: rng.normal() for members in sets})
    result = shapley_values(game, sampler=sampler, max_evals=18, random_state=0)
    np.testing.assert_allclose(result.values, game.shapley_values, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sampler", ["kernel", "leverage"])
@pytest.mark.parametrize("p", [16, 40])
def test_pairs_of_complements_solve_additive_games_of_many_players(sampler, p):
    """The least budget, p - 1 pairs, tells all players apart, though it is drawn at random."""
    weights = np.random.default_rng(p).normal(size=p)
    result = shapley_values(
        lambda coalitions: coalitions @ weights,
        n_players=p,
        sampler=sampler,
        max_evals=4 * p,
        random_state=0,
    )
    np.testing.assert_allclose(result.values, weights, rtol=0, atol=1e-9)


# --- axioms, for games that hypothesis thinks of --------------------------------------

SIZES = st.integers(2, 6)
NUMBERS = st.floats(-1e3, 1e3, allow_nan=False, allow_subnormal=False)


@st.composite
def games(draw):
    """A game of a few dividends, in which the last player is a dummy: it only brings its own."""
    p = draw(SIZES)
    sets = st.frozensets(st.integers(0, p - 2), max_size=p - 1).map(
        lambda s: tuple(sorted(s))
    )
    dividends = draw(st.dictionaries(sets, NUMBERS, max_size=6))
    return DividendGame(p, dividends | {(p - 1,): draw(NUMBERS)})


AXIOMS = [pair for pair in PAIRS if pair == own_pair(pair[0])]


@pytest.mark.parametrize(
    ("sampler", "solver"),
    [
        pytest.param(
            *pair, marks=[pytest.mark.slow] * (not usual(*pair)), id="-".join(pair)
        )
        for pair in AXIOMS
    ],
)
@settings(derandomize=True, max_examples=10, database=None)
@given(game=games(), times=st.integers(1, 6), seed=st.integers(0, 2**31))
def test_axioms_are_satisfied_for_any_game(sampler, solver, game, times, seed):
    p, budget = (
        game.n_players,
        times * EVERY_SAMPLER[sampler].price(game.n_players, 1).least_evals + 2,
    )
    result = shapley_values(
        game,
        sampler=EVERY_SAMPLER[sampler],
        solver=EVERY_SOLVER[solver],
        max_evals=budget,
        random_state=seed,
    )
    tolerance = 1e-9 * max(1.0, np.abs(list(game.dividends.values())).sum())
    if exemption(sampler, solver, "efficiency") is None:
        gain = result.full_value - result.base_value
        assert abs(result.values.sum() - gain) <= tolerance
    # a dummy gets its own where additive games are solved and null players get nothing,
    # but for the gap of a single round, which nobody's spread can claim
    shared = solver == "marginal-mean" and result.standard_errors is None
    solved = all(
        exemption(sampler, solver, name) is None for name in ("additive", "null player")
    )
    if solved and not shared:
        assert abs(result.values[p - 1] - game.dividends[p - 1,]) <= tolerance
    if result.converged:
        np.testing.assert_allclose(
            result.values, game.shapley_values, rtol=0, atol=tolerance
        )
    if result.standard_errors is not None:
        assert not (result.standard_errors < 0).any()


# --- what holds on average: fixed seeds; false alarm rates are in the checks' docstring

NOT_SHAPLEY = {
    "local",
    "local-permutations",
    "connected",
    "connected-regression",
    "myerson",
}


@pytest.mark.thinned
@pytest.mark.parametrize(
    ("sampler", "solver"),
    [pair for pair in PAIRS if pair[0] not in NOT_SHAPLEY and pair[0] in SAMPLERS],
)
def test_error_falls_with_the_budget(sampler, solver):
    n_runs = 5 if solver.startswith("gp") else 40
    check_consistent(EVERY_SAMPLER[sampler], EVERY_SOLVER[solver], n_runs=n_runs)


# Solvers whose estimate is a mean of independent unbiased ones. Least squares, the path
# of sgd and the fitted process are biased at small budgets.
UNBIASED = {
    "permutation-mean",
    "stratified-mean",
    "marginal-mean",
    "sample-reuse",
    "linear",
    "interaction-mean",
}
# Where contributions are weighed, few rounds have means and spreads that go together,
# so that the gap goes to the wrong players on average. Regression adjustment claims it
# too, at a hundred times the cost: its default pair is enough.
UNBIASED_PAIRS = [
    pair
    for pair in PAIRS
    if pair[1] in UNBIASED
    and pair == own_pair(pair[0])
    and pair[0] not in NOT_SHAPLEY | {"classical, small sets", "ordered"}
] + [
    ("leverage", "sample-reuse"),
    # the same is in tests/solvers/test_regression_adjustment.py
    pytest.param("leverage", "regression-adjustment", marks=pytest.mark.slow),
    pytest.param("antithetic", "regression-adjustment", marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("sampler", "solver"), UNBIASED_PAIRS)
def test_estimates_are_unbiased(sampler, solver):
    # of 150 runs: 16 means with Student's t of 149 degrees, beyond 5 with probability
    # 3e-5
    n_runs = 150 if solver in {"regression-adjustment", "stratified-mean"} else 400
    check_unbiased(EVERY_SAMPLER[sampler], EVERY_SOLVER[solver], n_runs=n_runs)


# Budgets, by the number of players, that have enough units: see benchmarks/coverage.py.
QUICK = {
    ("monte-carlo", "permutation-mean"): lambda p: 30 * (p - 1) + 2,
    ("leverage", "least-squares"): lambda p: 10 * p,
    ("owen", "stratified-mean"): lambda p: 40 * (p + 1) + 2,
    ("classical", "marginal-mean"): lambda p: 40 * p + 2,
    ("leverage", "sample-reuse"): lambda p: 10 * p,
}
LONG = {
    ("antithetic", "permutation-mean"): lambda p: 60 * (p - 1) + 2,
    ("orthogonal", "permutation-mean"): lambda p: 12 * (p - 1) ** 2 + 2,
    ("kernel", "least-squares"): lambda p: 10 * p,
    ("kernel, again", "least-squares"): lambda p: 12 * p,
    ("leverage, again", "least-squares"): lambda p: 12 * p,
    ("leverage, singles", "least-squares"): lambda p: 12 * p,
    ("stratified", "stratified-mean"): lambda p: 16 * p * (p - 1) + 2,
    ("classical, small sets", "marginal-mean"): lambda p: 80 * p + 2,
    ("leverage", "regression-adjustment"): lambda p: 10 * p,
}


COVERED = QUICK | LONG


@pytest.mark.parametrize(
    ("sampler", "solver"),
    [*QUICK, *(pytest.param(*pair, marks=pytest.mark.slow) for pair in LONG)],
)
def test_intervals_cover_the_true_values(sampler, solver):
    check_standard_errors(
        EVERY_SAMPLER[sampler],
        EVERY_SOLVER[solver],
        COVERED[sampler, solver],
        n_runs=300,
    )


def test_standard_errors_of_every_solver_are_tested():
    # exact; processes, in tests/solvers/test_gp.py and test_gp_left_out.py; and pairs,
    # in tests/solvers/test_interaction_mean.py
    elsewhere = {"linear", "gp", "gp-leave-one-out", "interaction-mean"}
    claiming = {
        name for name, solver in EVERY_SOLVER.items() if solver.traits.standard_errors
    }
    assert claiming - elsewhere == {solver for _, solver in COVERED}


def test_intervals_of_few_units_cover():
    """Six pairs of permutations: Student's t allows for the unknown variance."""
    check_standard_errors(
        Antithetic(), EVERY_SOLVER["permutation-mean"], lambda p: 12 * (p - 1) + 2
    )


def test_intervals_of_skewed_games_cover():
    """The largest cost in a coalition: contributions are 0, with few large exceptions."""
    check_standard_errors(
        Antithetic(),
        EVERY_SOLVER["permutation-mean"],
        lambda p: 200 * (p - 1) + 2,
        games=[AirportGame(np.arange(1.0, 9.0))],
    )
