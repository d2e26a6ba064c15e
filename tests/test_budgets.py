"""Every budget is respected, or refused in one sentence before the reward is called."""

import re
from pathlib import Path

import numpy as np
import pytest
import sklearn

from skshapley import ShapleyExplainer, shapley_values
from skshapley._run import _plan
from skshapley.samplers import SAMPLERS, Herding, MonteCarlo, SamplerTask, Sobol
from skshapley.solvers import SOLVERS
from skshapley.stopping import StandardError
from skshapley.testing import RandomGame, as_instances, explain_game

ROOT = Path(__file__).parents[1]
P = 6
HUGE = 10**18
SIZES = [1, 2, 3, HUGE, np.int8(3), np.int8(100), np.uint64(2**64 - 1)]
NO_SIZES = [
    0,
    -5,
    np.int64(-1),
    2.0,
    1e18,
    np.float32(70),
    np.inf,
    np.nan,
    "70",
    "all",
    None,
    True,
]
COMPONENTS = [{"sampler": name} for name in ("auto", *SAMPLERS)] + [
    {"solver": name} for name in SOLVERS
]


class SquareGame:
    """The square of the number of players, some of them worth more."""

    def __init__(self, n_players):
        self.weights = np.arange(n_players) % 3

    def __call__(self, coalitions):
        return (coalitions @ self.weights) ** 2.0


class Counted:
    """A game that counts its calls and evaluations."""

    def __init__(self, n_players):
        self.game = (
            RandomGame(n_players, seed=1) if n_players < 15 else SquareGame(n_players)
        )
        self.calls, self.n = 0, 0

    def __call__(self, coalitions):
        self.calls, self.n = self.calls + 1, self.n + len(coalitions)
        return self.game(coalitions)


def names(parts):
    return "-".join(map(str, parts.values()))


def one_sentence(error, *parts):
    text = str(error)
    assert "\n" not in text
    assert text.endswith(".")
    for part in parts:
        assert part in text, f"{part!r} is not in {text!r}"


@pytest.mark.thinned
@pytest.mark.parametrize("size", SIZES, ids=repr)
@pytest.mark.parametrize("component", [*COMPONENTS[:4], COMPONENTS[-1]], ids=names)
def test_any_number_type_is_accepted_or_refused(component, size):
    spends_or_refuses(component, size)


@pytest.mark.thinned
@pytest.mark.parametrize("size", [3, HUGE])
@pytest.mark.parametrize("component", COMPONENTS[4:-1], ids=names)
def test_any_budget_is_spent_or_refused(component, size):
    spends_or_refuses(component, size)


def spends_or_refuses(component, size):
    game = Counted(P)
    how = {"n_players": P, "max_evals": size, "random_state": 0, **component}
    if size < P:
        with pytest.raises(ValueError, match=r"max_evals|the budget") as caught:
            shapley_values(game, **how)
        one_sentence(caught.value, str(size))
        assert not game.calls
        return
    result = shapley_values(game, **how)
    assert np.isfinite(result.values).all()
    assert result.n_evaluations == game.n <= min(int(size), 2**P)


@pytest.mark.thinned
@pytest.mark.parametrize("size", NO_SIZES, ids=repr)
@pytest.mark.parametrize("component", COMPONENTS, ids=names)
def test_invalid_budgets_are_refused(component, size):
    game = Counted(P)
    with pytest.raises(ValueError, match="shapley_values takes max_evals as") as caught:
        shapley_values(game, n_players=P, max_evals=size, **component)
    one_sentence(caught.value, repr(size))
    assert not game.calls


@pytest.mark.parametrize("sampler", ["auto", *SAMPLERS])
def test_an_unlimited_budget_for_many_players(sampler):
    """Work that exceeds the memory, or takes years, is refused."""
    game = Counted(40)
    try:
        shapley_values(
            game, n_players=40, sampler=sampler, max_evals=HUGE, random_state=0
        )
    except ValueError as error:
        if sampler != "exact":
            one_sentence(
                error,
                "shapley_values",
                str(HUGE),
                "40 players" * ("holds" in str(error)),
            )
        assert not game.calls
    else:
        assert game.n < 10_000  # what methods on a chain cost


@pytest.mark.thinned
@pytest.mark.parametrize("p", [2, 3, 5, 30, 200])
@pytest.mark.parametrize("b", [1, 7])
def test_too_small_budgets_for_the_default_name_the_smallest_one(p, b):
    X, background = np.ones((1, p)), np.random.default_rng(0).normal(size=(b, p))
    explainer, least = ShapleyExplainer(lambda X: X.sum(axis=1), random_state=0), p
    with pytest.raises(
        ValueError, match=f"max_rows=1, .* needs at least {least} "
    ) as caught:
        explainer.set_params(max_rows=1).fit(background)
    one_sentence(caught.value, "ShapleyExplainer", f"with {p} players")
    assert not any(
        sampler.__name__ in str(caught.value) for sampler in SAMPLERS.values()
    )
    explainer.set_params(max_rows=least).fit(background).explain(X)


def test_errors_name_a_size_that_fits_into_the_working_memory(monkeypatch):
    monkeypatch.setattr(_plan, "SMALL_BYTES", 0)
    how = {"n_players": 30, "sampler": "kernel", "random_state": 0}
    with sklearn.config_context(working_memory=0.1):
        with pytest.raises(ValueError, match="holds one of 453 evaluations") as caught:
            shapley_values(Counted(30), max_evals=10_000, **how)
        one_sentence(caught.value, "shapley_values got max_evals=10000", "Kernel")
        assert shapley_values(Counted(30), max_evals=453, **how).n_evaluations == 452
        with pytest.raises(ValueError, match="holds one of 453"):
            shapley_values(Counted(30), max_evals=454, **how)


def test_stopping_rules_may_have_unlimited_budgets():
    how = {
        "n_players": 40,
        "sampler": "antithetic",
        "max_evals": HUGE,
        "random_state": 0,
    }
    rule = StandardError(atol=0.5)
    assert shapley_values(lambda S: S[:, 0] * S[:, 1], stopping=rule, **how).converged


@pytest.mark.parametrize("p", [3, 10, 12])
@pytest.mark.parametrize("stopping", [None, StandardError(rtol=0.1)])
def test_exact_sampler_ignores_the_default_budget(p, stopping):
    game = RandomGame(p, seed=p)
    result = shapley_values(game, sampler="exact", stopping=stopping)
    assert result.n_evaluations == 2**p
    assert result.converged
    with pytest.raises(ValueError, match="at most 20 players; got 21"):
        shapley_values(lambda S: S.sum(axis=1), n_players=21, sampler="exact")


@pytest.mark.parametrize(
    ("sampler", "most"),
    [(Herding(), 2**10), (Sobol(), 2**14), (MonteCarlo(weights="bayesian"), 2**11)],
)
def test_permutation_sets_have_a_largest_size_and_are_repeated(sampler, most):
    rngs = [np.random.default_rng(0)]
    assert sampler.start(SamplerTask(3, rngs, 3 * most))._unit(3 * most, 1) == most
    # several sets have standard errors, which one has not
    outcome = explain_game(
        as_instances(RandomGame(3), 1), sampler=sampler, max_evals=HUGE
    )
    assert np.isfinite(outcome.standard_errors).all()


def test_masks_keep_their_columns():
    background = np.arange(6.0).reshape(3, 2)
    explainer = ShapleyExplainer(lambda X: X.sum(axis=1))
    masked = np.ma.masked_array(background, mask=background == 1)
    for use in (explainer.fit, explainer.fit(background).explain):
        with pytest.raises(ValueError, match="1 of 6 values masked") as caught:
            use(masked)
        one_sentence(caught.value, "ShapleyExplainer", "filled")
        use(np.ma.masked_array(background))


@pytest.mark.parametrize(
    "rows", [[[1.0, 2.0], [3.0]], [[1.0, 2.0], 3.0], ([1, 2], [3, 4, "a"])]
)
def test_rows_of_different_lengths(rows):
    background = np.arange(6.0).reshape(3, 2)
    explainer = ShapleyExplainer(lambda X: X.sum(axis=1))
    for use in (explainer.fit, explainer.fit(background).explain):
        with pytest.raises(ValueError, match="inhomogeneous shape"):
            use(rows)


@pytest.mark.thinned
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("size", [1e300, 1e-300])
def test_responses_of_any_scale_raise_no_warning(sampler, size):
    """Warnings are errors here; the table of importances takes squares."""
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    explainer = ShapleyExplainer(
        lambda X: size * (X[:, 0] * X[:, 1] + X.sum(axis=1)),
        sampler=sampler,
        random_state=0,
    )
    made = explainer.fit(background).explain(X)
    assert "inf" not in made._repr_html_()
    table = made.importance()
    np.testing.assert_allclose(
        table["importance"].max(), np.abs(made.values).mean(axis=0).max()
    )


def test_small_budgets_use_some_of_the_background_rows():
    """60 columns, 5 rows: a permutation costs 59 model rows, and one for each of the rows 295."""
    rng = np.random.default_rng(0)
    X, slopes = rng.normal(size=(6, 60)), rng.normal(size=60)
    for max_rows, least in ((61, 60), (250, 237)):
        explainer = ShapleyExplainer(
            lambda Z: Z @ slopes, max_rows=max_rows, random_state=0
        )
        explanation = explainer.fit(X[:5]).explain(X[5:])
        assert explanation.n_model_rows[0] == least
        gap = (
            explanation.values.sum() + explanation.base_values - explanation.predictions
        )
        np.testing.assert_allclose(gap, 0, atol=1e-9)
    with pytest.raises(ValueError, match="needs at least 60 model rows"):
        ShapleyExplainer(lambda Z: Z @ slopes, max_rows=58).fit(X[:5])


def default_model_rows():
    """Return the model rows of the default budget without a stopping rule."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(101, 20))
    explainer = ShapleyExplainer(
        lambda Z: np.tanh(Z).prod(axis=1), stopping=None, random_state=0
    )
    return int(explainer.fit(X[:100]).explain(X[100:]).n_model_rows[0])


def test_pages_state_the_default_budget():
    """The guide takes the number from the code; README and docstring repeat it."""
    spent = default_model_rows()
    assert 32_000 < spent < 33_500  # a permutation of 20 columns has 19 model rows
    stated = re.findall(
        r"(\d\d,000) (?:model rows|for 100 background rows)",
        (ROOT / "README.md").read_text(encoding="utf-8")
        + " ".join(ShapleyExplainer.__doc__.split()),
    )
    assert set(stated) == {f"{round(spent, -3):,}"}
    for page in (ROOT / "doc" / "guide").glob("*.rst"):
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"33,000 (model )?rows", text), page.name


@pytest.mark.parametrize("sampler", ["sobol", "herding", "sbq"])
def test_sets_for_each_background_row_are_refused_with_a_remedy(sampler):
    """The default budget buys no set of permutations for each of 3,000 rows."""
    rng = np.random.default_rng(0)
    background = rng.normal(size=(3000, 10))
    model = lambda X: X.sum(axis=1) ** 2  # noqa: E731
    explainer = ShapleyExplainer(model, sampler=sampler)
    with pytest.raises(ValueError, match=r"54001 model rows .* max_background=100\."):
        explainer.fit(background)
    explainer.set_params(max_background=100).fit(background)
    # fewer rows do not help where 100 are too many
    explainer.set_params(max_background=None, max_rows=500)
    with pytest.raises(ValueError, match=r"54001 model rows per row\.$"):
        explainer.fit(background)
