"""The methods selected by "auto", and the cost of fit."""

import numpy as np
import pytest

from skshapley import ShapleyExplainer, shapley_values
from skshapley.stopping import StandardError


def linear(p, b):
    """Return a linear function of p columns, background, rows to explain and attributions."""
    rng = np.random.default_rng(1000 * p + b)
    X = rng.normal(size=(b + 2, p)) * rng.uniform(0.5, 5, p) + rng.uniform(-2, 2, p)
    slopes = rng.uniform(1, 2, p) * rng.choice([-1, 1], p)
    slopes[[1, 3]] = 0
    return (
        (lambda Z: np.asarray(Z) @ slopes),
        X[:b],
        X[b:],
        (X[b:] - X[:b].mean(axis=0)) * slopes,
    )


@pytest.mark.parametrize("b", [100, 300, 1000])
@pytest.mark.parametrize("p", [5, 6, 8, 12])
def test_linear_functions_are_solved_with_small_errors(p, b):
    function, background, rows, truth = linear(p, b)
    made = ShapleyExplainer(function, random_state=0).fit(background).explain(rows)
    assert ((made.values - truth) ** 2).sum() <= 1e-6 * (truth**2).sum()
    errors = made.standard_errors
    assert (errors**2).sum() <= 0.03**2 * (truth**2).sum()
    np.testing.assert_allclose(made.values[:, [1, 3]], 0, rtol=0, atol=1e-14)
    if made.settings.sampler != "Exact()":
        assert not made.values[:, [1, 3]].any()
        assert all(len(np.unique(row)) > p // 2 for row in errors)


def curved(Z):
    Z = np.asarray(Z)
    return np.tanh(Z.sum(axis=1)) + Z[:, 0] * Z[:, 1]


@pytest.mark.parametrize(
    ("p", "b", "parameters", "sampler"),
    [
        (6, 100, {}, "Exact()"),
        (6, 2000, {}, "Antithetic()"),
        (16, 100, {}, "Antithetic()"),
        (16, 100, {"interactions": True}, "Odd()"),
        (16, 100, {"reward": "baseline"}, "RankedOdd()"),
        (16, 1, {}, "RankedOdd()"),
        (16, 1, {"max_rows": 40}, "RankedOdd()"),
        (16, 1, {"max_rows": 5000}, "Odd()"),
        (16, 1, {"stopping": StandardError(rtol=0.1)}, "Odd()"),
    ],
)
def test_auto_is_a_rule(p, b, parameters, sampler):
    X = np.random.default_rng(0).normal(size=(b + 1, p))
    explainer = ShapleyExplainer(curved, random_state=0, **parameters).fit(X[:b])
    assert explainer.explain(X[b:]).settings.sampler == sampler


def test_auto_uses_the_gaussian_process_for_plain_games():
    """The squared error is below a tenth of that of permutations, at 64 evaluations per player."""
    weights = np.linspace(0.1, 0.4, 12)

    def solved(sampler):
        return shapley_values(
            lambda S: np.tanh(S @ weights),
            n_players=12,
            sampler=sampler,
            max_evals=2**12 if sampler == "exact" else 768,
            random_state=0,
        ).values

    truth = solved("exact")
    missed = {
        name: ((solved(name) - truth) ** 2).sum() for name in ("auto", "antithetic")
    }
    assert missed["auto"] < 0.1 * missed["antithetic"]


@pytest.mark.parametrize("b", [1, 50, 400])
def test_fit_predicts_only_the_background(b):
    asked = []

    def counted(Z):
        asked.append(len(Z))
        return curved(Z)

    X = np.random.default_rng(0).normal(size=(b, 14))
    ShapleyExplainer(counted, random_state=0).fit(X)
    assert sum(asked) == b
