"""The quadratic part of a response has known Shapley values; the remainder is sampled."""

from dataclasses import replace

import numpy as np
import pytest

from skshapley import ShapleyExplainer
from skshapley.rewards import ConditionalReward
from skshapley.rewards._gaussian import row_products
from skshapley.samplers import Ordered

D = 4
RNG = np.random.default_rng(0)
MIX = RNG.normal(size=(D, D))
SIGMA = MIX @ MIX.T + np.eye(D)
ROWS = RNG.multivariate_normal(np.arange(D), SIGMA, size=80)
WEIGHTS = RNG.dirichlet(np.full(80, 5.0))
X = RNG.multivariate_normal(np.arange(D), SIGMA, size=5)
GROUPS = {"pair": ["x0", "x2"]}


def quadratic(Z):
    a, b, c, d = np.asarray(Z).T
    return 3 * a * b - c**2 + a * d + 2 * c + d


def rough(Z):
    return (
        quadratic(Z) + 3 * np.abs(np.asarray(Z)[:, 1]) + np.sin(2 * np.asarray(Z)[:, 3])
    )


def explainer(function=quadratic, weights=None, **options):
    options = {
        "reward": "conditional",
        "sampler": "antithetic",
        "random_state": 0,
    } | options
    return ShapleyExplainer(function, **options).fit(ROWS, sample_weight=weights)


@pytest.mark.parametrize("reward", ["conditional", ConditionalReward(SIGMA)])
@pytest.mark.parametrize("groups", [None, GROUPS])
def test_quadratic_functions_are_solved_exactly(reward, groups):
    """32,768 orders leave sampling errors; 5 of them are exceeded once in about 10^6 values."""
    options = {"weights": WEIGHTS, "reward": reward, "groups": groups}
    made = explainer(**options)
    game = made.reward_.game(X)
    rows = np.arange(len(X))
    known = game.remainder().known(rows)
    exact = explainer(sampler="exact", **options).explain(X).values
    # the ridge leaves a part of it; what it takes is taken with its own sum
    part = made.reward_.masked_.part
    pool = part.function(game._pool.given)[:, 0]
    gain = pool - part.mean[0]
    np.testing.assert_allclose(known.values[:, :, 0].sum(axis=1), gain, rtol=1e-9)
    assert (np.abs(gain - exact.sum(axis=1)) < 0.2 * np.abs(exact).max()).all()
    taken = explainer(function=lambda Z: part.function(standard(made, Z))[:, 0],
                      sampler="exact", **options).explain(X).values  # fmt: skip
    apart = np.abs(known.values[:, :, 0] - taken)
    assert (apart < 5 * known.standard_errors[:, :, 0] + 1e-9).all()
    # of walks, the errors hold what is known of the part
    walks = made.explain(X)
    assert (walks.standard_errors >= known.standard_errors[:, :, 0]).all()
    assert known.standard_errors.max() < 0.02 * np.abs(exact).max()


def standard(made, Z):
    return made.reward_.masked_.margins.standard(np.asarray(Z, dtype=float))


def test_values_per_background_row_agree_with_enumeration():
    made = explainer(max_rows=2001)
    part = made.reward_.masked_.part
    known = made.reward_.game(X).remainder().known(np.arange(len(X)))

    def taken(Z):
        return part.function(standard(made, Z))[:, 0]

    correlation, margins = made.reward_.correlation_, made.reward_.masked_.margins
    spread = margins.spread
    covariance = correlation * np.outer(spread, spread)
    single = []
    for row in ROWS:  # of weight 1, among others of weight 0
        reward = ConditionalReward(covariance)
        one = ShapleyExplainer(taken, reward=reward, sampler="exact")
        single.append(
            one.fit(np.stack([row, ROWS[0]]), sample_weight=[1, 0]).explain(X).values
        )
    np.testing.assert_allclose(
        known.variances[:, :, 0], np.var(single, axis=0), rtol=0.05
    )


@pytest.mark.parametrize("reward", ["conditional", "copula"])
def test_remainders_are_sampled_with_honest_errors(reward):
    """200 rows, 20 explained: at least 68 of 80 intervals of 95 % cover (false alarms: 1e-4)."""
    rng = np.random.default_rng(1)
    rows, x = (rng.multivariate_normal(np.arange(D), SIGMA, size=n) for n in (300, 20))
    options = {"reward": reward, "random_state": 0}
    exact = ShapleyExplainer(rough, sampler="exact", **options).fit(rows).explain(x)
    walks = ShapleyExplainer(rough, sampler="antithetic", max_rows=601, **options).fit(
        rows
    )
    found = walks.explain(x)
    assert walks.reward_.masked_.part is not None
    held = np.abs(found.values - exact.values) <= 1.96 * found.standard_errors
    assert held.sum() >= 68
    for name in ("base_values", "predictions"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(exact, name), rtol=1e-12
        )
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, found.predictions, rtol=1e-9)
    # without the part the squared error is 3.9 to 18 times as large, over twelve seeds
    walks.reward_.split = lambda entropy: None
    walks.reward_.masked_ = replace(walks.reward_.masked_, part=None)
    plain = walks.explain(x)
    assert ((plain.values - exact.values) ** 2).sum() > 3 * (
        (found.values - exact.values) ** 2
    ).sum()
    # where what sampling adds says more than all of the spread, nothing is left to the
    # background
    with np.errstate(divide="ignore"):
        ratio = found.background_errors / plain.background_errors
    assert 0.7 < np.median(ratio) < 1.4


def test_each_class_has_its_own_quadratic_part():
    def three(Z):
        scores = np.column_stack(
            [np.asarray(Z)[:, 0], quadratic(Z) / 9, np.zeros(len(Z))]
        )
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        return shares / shares.sum(axis=1, keepdims=True)

    every = explainer(three, max_rows=1201).explain(X)
    total = every.values.sum(axis=1) + every.base_values
    np.testing.assert_allclose(total, every.predictions, rtol=0, atol=1e-9)
    own = explainer(three, max_rows=1201, output="predicted").explain(X)
    winner = every.predictions.argmax(axis=1)
    chosen = every.values[np.arange(len(X)), :, winner]
    np.testing.assert_allclose(own.values, chosen, rtol=0, atol=1e-9)
    one = explainer(three, max_rows=1201, output=1).explain(X)
    np.testing.assert_allclose(one.values, every.values[:, :, 1], rtol=0, atol=0.05)


@pytest.mark.parametrize(
    "options",
    [
        {"sampler": "exact"},
        {"sampler": Ordered("antithetic", [(0, 1)])},
        {"sampler": "leverage"},
        {"sampler": "auto", "solver": "gp"},
    ],
)
def test_other_samplers_have_no_quadratic_part(options):
    assert explainer(**options).reward_.masked_.part is None


def test_weak_quadratic_parts_are_dropped():
    rows = np.random.default_rng(2).normal(size=(80, 8))
    bits = np.random.default_rng(3).normal(size=len(rows))
    noise = {row.tobytes(): bit for row, bit in zip(rows, bits, strict=True)}
    made = ShapleyExplainer(
        lambda Z: np.array([noise.get(row.tobytes(), 0.0) for row in Z]),
        reward="conditional",
        sampler="antithetic",
    ).fit(rows)
    assert made.reward_.masked_.part is None
    flat = np.column_stack([ROWS, np.ones(len(ROWS))])
    with_constant = ShapleyExplainer(
        lambda Z: quadratic(Z[:, :D]), reward="conditional", sampler="antithetic"
    )
    assert with_constant.fit(flat).reward_.masked_.part is None


def test_products_of_rows_do_not_depend_on_other_rows():
    rng = np.random.default_rng(3)
    rows, matrix = rng.normal(size=(100, 30)), rng.normal(size=(30, 30))
    whole = row_products(rows, matrix)
    np.testing.assert_allclose(whole, rows @ matrix, rtol=0, atol=1e-12)
    for some in (slice(0, 1), slice(7, 8), slice(3, 60), rng.permutation(100)):
        np.testing.assert_array_equal(row_products(rows[some], matrix), whole[some])
