"""Graph samplers through ShapleyExplainer: players stay in place, and groups can be nodes."""

import joblib
import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression

from skshapley import ShapleyExplainer, shapley_values
from skshapley.samplers import (
    ConnectedRegression,
    ConnectedShapley,
    LocalPermutations,
    LocalShapley,
    Myerson,
)

RNG = np.random.default_rng(0)
P = 8
SAMPLERS = {
    "local": LocalShapley("chain", 1),
    "connected": ConnectedShapley("ring", 2),
    "regression": ConnectedRegression(("grid", (2, 4)), 2),
    "myerson": Myerson("chain"),
    "permutations": LocalPermutations("ring", 2),
}
on_every_sampler = pytest.mark.parametrize("sampler", SAMPLERS.values(), ids=SAMPLERS)


def bumps(X):
    """Neighbours interact; each row on its own, so that batches do not matter."""
    return (
        np.sin(X).sum(axis=1)
        + (X[:, 1:] * X[:, :-1]).sum(axis=1)
        + 0.3 * X[:, 0] * X[:, -1]
    )


@pytest.fixture
def tables():
    background = RNG.integers(-3, 4, size=(5, P)).astype(float)
    X = RNG.integers(-3, 4, size=(6, P)).astype(float)
    background[:, 2] = background[0, 2]
    X[:4, 2] = background[
        0, 2
    ]  # cannot matter there, and still lies between its neighbours
    return background, X


def explain(sampler, background, X, **kwargs):
    n_rows = 398 * len(background) + 1
    options = dict(sampler=sampler, max_rows=n_rows, random_state=0) | kwargs
    return ShapleyExplainer(bumps, **options).fit(background).explain(X)


@on_every_sampler
def test_players_without_effect_stay_in_the_graph(sampler, tables):
    background, X = tables
    explanation = explain(sampler, background, X)
    for x, values in zip(X, explanation.values, strict=True):

        def game(coalitions, x=x):
            hybrid = np.where(coalitions[:, None], x, background)
            return (
                bumps(hybrid.reshape(-1, P)).reshape(len(coalitions), -1).mean(axis=1)
            )

        if isinstance(sampler, LocalPermutations):
            exact = shapley_values(game, n_players=P, sampler=LocalShapley("ring", 2))
            errors = explanation.standard_errors[(x == X).all(axis=1)][0]
            assert (np.abs(values - exact.values) < 6 * errors + 1e-9).all()
        else:
            alone = shapley_values(game, n_players=P, sampler=sampler, max_evals=400)
            np.testing.assert_allclose(values, alone.values, rtol=0, atol=1e-12)


@on_every_sampler
def test_rows_do_not_depend_on_other_rows(sampler, tables):
    background, X = tables
    together = explain(sampler, background, X)
    with sklearn.config_context(working_memory=0.05):
        apart = explain(sampler, background, X)
    np.testing.assert_array_equal(together.values, apart.values)
    with joblib.parallel_config("threading"):
        parallel = explain(sampler, background, X, n_jobs=2)
    np.testing.assert_array_equal(together.values, parallel.values)
    np.testing.assert_array_equal(
        together.values[:3], explain(sampler, background, X[:3]).values
    )


def test_the_cost_is_known_and_equal_for_every_row(tables):
    background, X = tables
    for sampler in SAMPLERS.values():
        if not isinstance(sampler, LocalPermutations):
            cost = sampler.n_evaluations(P)
            np.testing.assert_array_equal(
                explain(sampler, background, X).n_evaluations, cost
            )


def test_groups_can_be_nodes():
    X = RNG.normal(size=(300, 12))
    y = (X[:, :4].sum(axis=1) > 0).astype(int) + (X[:, 8:].sum(axis=1) > 1)
    model = LogisticRegression().fit(X, y)
    groups = {f"tile {i}": [3 * i, 3 * i + 1, 3 * i + 2] for i in range(4)}
    explanation = (
        ShapleyExplainer(
            model,
            reward="baseline",
            response_method="predict_log_proba",
            output="predicted",
            groups=groups,
            sampler=LocalShapley(("grid", (2, 2)), 2),
        )
        .fit(X)
        .explain(X[:5])
    )
    assert explanation.values.shape == (5, 4)
    expected = model.predict_log_proba(X[:5]).max(axis=1)
    np.testing.assert_allclose(explanation.predictions, expected)
    total = explanation.base_values + explanation.values.sum(axis=1)
    np.testing.assert_allclose(
        total, expected
    )  # the order is the diameter: Shapley values
    np.testing.assert_array_equal(explanation.standard_errors, 0)
