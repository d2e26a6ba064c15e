"""Interactions of pairs from permutations: unbiased by any index, with honest errors."""

import numpy as np
import pytest

from skshapley import ShapleyExplainer, shapley_values
from skshapley.indices import PAIR_INDICES
from skshapley.testing import RandomGame

P = 6
GAME = RandomGame(P, seed=4)
UPPER = np.triu_indices(P, 1)


@pytest.mark.parametrize(
    "index",
    [
        "shapley",
        *(
            pytest.param(index, marks=pytest.mark.slow)
            for index in PAIR_INDICES
            if index != "shapley"
        ),
    ],
)
def test_unbiased_with_honest_errors(index):
    """Against all coalitions: 15 pairs and 6 values, 60 runs of five permutations.

    Means are within 5 standard errors: false alarm below 6e-5 a test. Of 900
    intervals, .90 hold; runs are independent, and pairs of a run are not.
    """
    exact = shapley_values(GAME, interactions=index, sampler="exact")
    how = dict(interactions=index, sampler="extended", max_evals=2 + 5 * 20)
    runs = [shapley_values(GAME, random_state=seed, **how) for seed in range(60)]
    values = np.array([run.values for run in runs]) - exact.values
    pairs = np.array([run.interactions.values[0] for run in runs])
    pairs = (pairs - exact.interactions.values[0])[:, *UPPER]
    errors = np.array([run.interactions.standard_errors[0] for run in runs])
    for off in (values, pairs):
        assert (
            np.abs(off.mean(axis=0)) < 5 * off.std(axis=0, ddof=1) / np.sqrt(60)
        ).all()
    assert (np.abs(pairs) <= 1.96 * errors[:, *UPPER]).mean() > 0.90


def test_main_effects_are_exact():
    """Shapley-Taylor (Sundararajan et al. 2020): v(i) - v(empty) on the diagonal."""
    result = shapley_values(
        GAME, interactions="shapley-taylor", sampler="extended", random_state=0
    )
    matrix = result.interactions.matrix(0)
    singles = GAME(np.eye(P, dtype=bool)) - result.base_value
    np.testing.assert_allclose(np.diag(matrix), singles, atol=1e-12)
    np.testing.assert_array_equal(matrix, matrix.T)
    gain = result.full_value - result.base_value
    np.testing.assert_allclose(matrix.sum(), gain, atol=1e-12)


SETS = [(0,), (0, 1), (1, 2, 3), (0, 4), (2, 5, 6, 7), (8,)]
WORTH = [2.0, 1.0, -3.0, 1.5, 2.0, 1.0]


def products(coalitions):
    members = [coalitions[:, players].all(axis=1) for players in SETS]
    return np.stack(members, axis=1) @ WORTH


@pytest.mark.parametrize("p", [14, 20])
def test_products_of_many_players(p):
    """Known indices: a product of t players gives each of its pairs 2/(t (t - 1)).

    Without a budget, "auto" uses extended permutations above 12 players. Of 6 runs, at
    least .9 of the pairs that interact hold, and the others are exactly 0.
    """
    truth = np.zeros((p, p))
    for players, worth in zip(SETS, WORTH, strict=True):
        size = len(players)
        for i in players:
            for j in set(players) - {i}:
                truth[i, j] += 2 * worth / (size * (size - 1))
    inside, off, errors = truth != 0, [], []
    for seed in range(6):
        result = shapley_values(
            products, n_players=p, interactions="shapley-taylor", random_state=seed
        )
        off.append(result.interactions.values[0] - truth)
        errors.append(result.interactions.standard_errors[0])
    assert (np.abs(off) <= 1.96 * np.array(errors) + 1e-12)[:, inside].mean() > 0.9
    np.testing.assert_allclose(np.array(off)[:, ~inside], 0, atol=1e-12)


def test_explainers_choose_extended_permutations():
    """From 13 players on; against several background rows, each coalition has all of them."""
    rng = np.random.default_rng(0)
    X, background = rng.normal(size=(2, 13)), rng.normal(size=(5, 13))
    explainer = ShapleyExplainer(
        lambda Z: Z[:, 0] * Z[:, 1] + Z[:, 2], interactions="shapley-taylor"
    )
    explanation = explainer.fit(background).explain(X)
    assert explanation.settings.sampler == "Extended()"
    x, y = X[:, 0], X[:, 1]
    a, b = background[:, 0], background[:, 1]
    expected = [((x[i] - a) * (y[i] - b)).mean() for i in range(2)]
    np.testing.assert_allclose(explanation.interactions.values[:, 0, 1], expected)
