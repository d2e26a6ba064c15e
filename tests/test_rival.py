"""Whether "auto" walks: by what the pilots show, not by counts alone."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.neighbors import KNeighborsClassifier

from skshapley import ShapleyExplainer
from skshapley._run import _rival
from skshapley._run._engine import run
from skshapley._run._plan import make_plan
from skshapley._run._rival import squares_of_walks, upper_limit, walks_serve_better
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
        told.append(squares_of_walks(game, seeded).sum())
        values.append(run(game, seeded).values)
    left = np.var(values, axis=0, ddof=1).sum()
    assert 1 / 1.6 < np.mean(told) / left < 1.6


def test_walks_need_a_lower_error_that_is_known():
    game, plan = game_and_plan(rough, 20)
    told = upper_limit(squares_of_walks(game, plan))
    errors = np.zeros((P, 1))
    errors[0] = np.sqrt(told / _rival.BETTER)
    assert walks_serve_better(game, plan, 1.01 * errors)
    assert not walks_serve_better(game, plan, 0.99 * errors)
    errors[1] = np.nan
    assert not walks_serve_better(game, plan, errors)
    game, plan = game_and_plan(rough, 3)
    assert squares_of_walks(game, plan) is None or plan.max_rows > 16 * P


def test_where_a_process_gains_by_no_more_pairs_walks_need_not_be_sure(monkeypatch):
    game, plan = game_and_plan(rough, 20)
    squares = squares_of_walks(game, plan)
    between = (squares.sum() + upper_limit(squares)) / 2
    errors = np.zeros((P, 1))
    errors[0] = np.sqrt(between / _rival.BETTER)
    assert not walks_serve_better(game, plan, errors)
    monkeypatch.setattr(_rival, "MOST_BLOCK_PAIRS", 20 * P // 2 - 2)
    assert walks_serve_better(game, plan, errors)
    monkeypatch.setattr(_rival, "MOST_BLOCK_PAIRS", 20 * P // 2)
    assert not walks_serve_better(game, plan, errors)


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


@pytest.mark.parametrize(("times", "tried"), [(110, True), (120, False)])
def test_no_walks_are_tried_where_a_third_of_all_coalitions_is_seen(times, tried, monkeypatch):
    """Of 4,094 that is 1,365, or 114 a player."""
    monkeypatch.setattr(_rival, "squares_of_walks", lambda game, plan: np.full((P, 1), 1e-9))
    assert walks_serve_better(*game_and_plan(rough, times), np.ones((P, 1))) == tried


@pytest.mark.parametrize("n", [1, 3, 12, 100])
def test_the_upper_limit_is_one(n):
    """The sum of n equal variances is below it nine times in ten, of 2,000 draws."""
    squares = np.random.default_rng(n).chisquare(1, size=(2000, n))
    below = np.mean([upper_limit(one) > n for one in squares])
    assert 0.86 < below < 0.92


def test_a_pilot_is_not_tried_against_itself():
    X = np.random.default_rng(0).standard_normal((B, P))
    game = ShapleyExplainer(rough, sampler="antithetic").fit(X).reward_.game(X[[7]])
    drawn = [_rival._FewRows(game, np.random.default_rng(seed), 3)._rows for seed in range(100)]
    assert set(np.ravel(drawn)) == set(range(B)) - {7}


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
    """They have half of the squared error of the process there. One pilot shows it: `fit` takes its
    budget, and a quarter of one for the trial of walks."""
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model, seen = KNeighborsClassifier().fit(X, y), []

    def counted(X):
        seen.append(len(X))
        return model.predict_proba(X)[:, 1]

    explainer = ShapleyExplainer(counted, max_rows=5000, random_state=0).fit(X[::2])
    assert sum(seen) <= (1 + _rival.SHARE) * 5000 + 2 * len(X[::2])
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
