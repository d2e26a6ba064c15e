"""Whether "auto" walks: by what the pilots show, not by counts alone."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

from skshapley import ShapleyExplainer
from skshapley._run import _rival
from skshapley._run._engine import run
from skshapley._run._plan import make_plan
from skshapley._run._rival import error_of_walks, walks_serve_better
from skshapley._run._size import Size

P, B = 12, 24


def rough(X):
    """Return a function that no smooth process predicts: signs of products of many columns."""
    X = np.asarray(X)
    return np.sign(X[:, :4].prod(axis=1)) + np.sign(X[:, 4:].prod(axis=1)) + X[:, 0]


def game_and_plan(function, times):
    X = np.random.default_rng(0).standard_normal((B + 2, P))
    explainer = ShapleyExplainer(function, sampler="antithetic").fit(X[:B])
    game = explainer.reward_.game(X[B:])
    plan = make_plan(
        sampler="auto",
        solver="auto",
        stopping=None,
        random_state=0,
        size=Size.of(game),
        owner="Test",
        max_rows=times * P * B,
        unbiased=True,
    )
    return game, plan


def test_the_error_of_walks_is_told():
    """Of 20 runs: within a factor of 1.6 of what walks of the whole budget leave, in the mean.

    A sum of 20 times 24 squares has a relative standard error of about .1.
    """
    game, plan = game_and_plan(rough, 16)
    told, values = [], []
    for seed in range(20):
        seeded = replace(plan, entropy=seed)
        told.append(error_of_walks(game, seeded))
        values.append(run(game, seeded).values)
    left = np.var(values, axis=0, ddof=1).sum()
    assert 1 / 1.6 < np.mean(told) / left < 1.6


def test_walks_need_a_lower_error_that_is_known():
    game, plan = game_and_plan(rough, 20)
    told = error_of_walks(game, plan)
    errors = np.zeros((P, 1))
    errors[0] = np.sqrt(told / _rival.BETTER)
    assert walks_serve_better(game, plan, 1.01 * errors)
    assert not walks_serve_better(game, plan, 0.99 * errors)
    errors[1] = np.nan
    assert not walks_serve_better(game, plan, errors)
    game, plan = game_and_plan(rough, 3)
    assert error_of_walks(game, plan) is None or plan.max_rows > 16 * P


def test_rows_are_those_of_the_game():
    game, _ = game_and_plan(rough, 20)
    few = _rival._FewRows(game, np.random.default_rng(1), 5)
    S = np.random.default_rng(2).random((2, 3, P)) < 0.5
    at = few._rows[None, None].repeat(2, axis=0).repeat(3, axis=1)
    rows = np.arange(2)
    assert_array_equal(few(S, rows), game(S, rows, at))
    one = np.full((2, 3, 1), 4)
    assert_array_equal(few(S, rows, one), game(S, rows, few._rows[one]))
    assert_array_equal(few.empty(rows), game.empty(rows)[:, few._rows])
    assert_allclose(few.v_empty(rows), few.empty(rows).mean(axis=1), rtol=1e-12)
    assert_array_equal(
        few.differing(rows, np.array([0, 3])), game.differing(rows, few._rows[[0, 3]])
    )


def test_errors_that_allow_for_what_was_not_seen_are_no_reason_to_walk():
    """Values of a rough game repeat, so that the process states more than its own error. Walks
    state less, and err by twice as much or more."""
    X = np.random.default_rng(0).standard_normal((B + 6, P))
    how = {"max_rows": 40 * P * B, "random_state": 1}
    exact = ShapleyExplainer(rough, sampler="exact").fit(X[:B]).explain(X[B:]).values
    found, squares, stated = {}, {}, {}
    for sampler in ("odd", "antithetic", "auto"):
        explainer = ShapleyExplainer(rough, sampler=sampler, **how)
        found[sampler] = explainer.fit(X[:B]).explain(X[B:])
        squares[sampler] = ((found[sampler].values - exact) ** 2).sum()
        stated[sampler] = (found[sampler].standard_errors ** 2).sum()
    assert _rival.BETTER * stated["odd"] > stated["antithetic"]
    assert squares["antithetic"] > 2 * squares["odd"]
    assert found["auto"].settings.sampler.startswith("Odd")


def test_where_neighbours_vote_walks_serve():
    """They have half of the squared error of the process there."""
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = KNeighborsClassifier().fit(X, y)
    explainer = ShapleyExplainer(model, output=1, max_rows=5000, random_state=0).fit(X[::2])
    assert explainer.explain(X[:1]).settings.sampler.startswith("Antithetic")


def test_a_fit_costs_two_instances_at_most():
    X = np.random.default_rng(0).standard_normal((B + 2, P))
    seen = []

    def counted(X):
        seen.append(len(X))
        return np.tanh(np.asarray(X) @ np.linspace(0.1, 1, P))

    max_rows = 20 * P * B
    ShapleyExplainer(counted, max_rows=max_rows, random_state=0).fit(X[:B])
    assert sum(seen) <= 2 * max_rows + 2 * B


def test_what_least_squares_solves_is_not_walked():
    X = np.random.default_rng(0).standard_normal((B + 2, P))
    explainer = ShapleyExplainer(lambda X: X[:, 0] * X[:, 1] + X[:, 2], max_rows=40 * P * B)
    found = explainer.fit(X[:B]).explain(X[B:])
    assert found.settings.sampler.startswith("Odd")
