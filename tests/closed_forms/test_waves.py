"""The logistic function of many steps, compared with a count of coalitions by sum and size."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import comb, expit
from sklearn.linear_model import LogisticRegression

from skshapley import ShapleyExplainer
from skshapley.closed_forms import Logistic
from skshapley.closed_forms._waves import (
    logistic_pairs,
    logistic_values,
    reach_of,
    waves,
)
from skshapley.indices import INDICES, beta


def counted(start, steps, unit, index):
    """Return exact values of a game with integer multiples of a unit as steps.

    The other players of each player are counted by size and sum: 2 ** p coalitions in p
    ** 2 sums.
    """
    p, low, width = len(steps), steps[steps < 0].sum(), np.abs(steps).sum() + 1
    sums = start + unit * (low + np.arange(width))
    share = index.size_law(p - 1) / comb(p - 1, np.arange(p))
    values = np.zeros(p)
    for player in range(p):
        count = np.zeros((p, width))
        count[0, -low] = 1.0
        for size, step in enumerate(np.delete(steps, player)):
            count[1 : size + 2] += np.roll(count[: size + 1], step, axis=1)
        gain = expit(sums + unit * steps[player]) - expit(sums)
        values[player] = share @ count @ gain
    return values


@pytest.mark.parametrize("index", [INDICES["shapley"], INDICES["banzhaf"], beta(4, 1)])
@pytest.mark.parametrize(
    ("p", "most", "unit"), [(9, 9, 0.3), (25, 4, 0.4), (60, 3, 0.2)]
)
def test_values_of_many_features(p, most, unit, index):
    rng = np.random.default_rng(p)
    steps = rng.integers(-most, most + 1, (3, p))
    steps[2] = np.abs(steps[2])
    steps[1, ::2] = 0  # games of different numbers of players that matter
    start = np.array([0.5, -1.0, -unit * steps[2].sum() / 2])
    found = logistic_values(start, unit * steps, index)
    for game in range(3):
        np.testing.assert_allclose(
            found[game],
            counted(start[game], steps[game], unit, index),
            rtol=0,
            atol=1e-12,
        )
    assert (found[steps == 0] == 0).all()


def test_each_game_has_its_values_among_games_of_other_sizes():
    """Blocks hold games of about as many players, in another order than the games."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(60, 40)) * (rng.random((60, 40)) < rng.random((60, 1)))
    steps[7], start = 0.0, rng.normal(size=60)
    found = logistic_values(start, steps)
    alone = [logistic_values(start[i : i + 1], steps[i : i + 1])[0] for i in range(60)]
    np.testing.assert_allclose(found, alone, rtol=0, atol=1e-12)
    gain = expit(start + steps.sum(axis=1)) - expit(start)
    np.testing.assert_allclose(found.sum(axis=1), gain, rtol=0, atol=1e-12)


def enumerated(start, steps):
    """Return the Shapley values of one game from all coalitions."""
    p = len(steps)
    present = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 > 0
    worth, size = expit(start + present @ steps), present.sum(axis=1)
    share = 1 / (p * comb(p - 1, np.arange(p)))
    values = [
        share[size[~present[:, i]]] @ (worth[present[:, i]] - worth[~present[:, i]])
        for i in range(p)
    ]
    return np.array(values)


@pytest.mark.parametrize(
    "large",
    [[1e8], [-3e5], [400.0, 1e7], [1e6, -2e6], [-1e9, 4e8, 700.0], [300.0, -290.0]],
    ids=str,
)
def test_values_of_large_steps(large):
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(2, 12))
    steps[1, : len(large)] = large
    start = np.array([0.3, -0.2])
    found = logistic_values(start, steps)
    for game in range(2):
        expected = enumerated(start[game], steps[game])
        np.testing.assert_allclose(found[game], expected, rtol=0, atol=1e-12)


def test_steps_too_large_for_the_series_are_refused():
    steps = np.random.default_rng(0).normal(size=(1, 12))
    steps[0, :2] = 1e7, -1e7
    with pytest.raises(
        ValueError, match=r'sums of up to 1e\+07.*response_method="log_odds"'
    ):
        logistic_values(np.zeros(1), steps)


def test_interactions_of_many_features():
    """The interaction of a pair is the change of one value if the other player is present."""
    rng = np.random.default_rng(0)
    start, steps = rng.normal(size=2), rng.normal(size=(2, 12)) / 2
    found = logistic_pairs(start, steps)
    for a, b in ((0, 1), (3, 11)):
        rest = np.delete(steps, b, axis=1)
        gained = (
            logistic_values(start + steps[:, b], rest)[:, a]
            - logistic_values(start, rest)[:, a]
        )
        np.testing.assert_allclose(found[:, a, b], gained, rtol=0, atol=1e-13)


@pytest.mark.parametrize("reach", [1, 8, 50, 700])
def test_the_series_converges_to_the_logistic_function(reach):
    frequencies, shares = waves(reach)
    t = np.linspace(-reach, reach, 401)
    made = 0.5 + np.sin(t[:, None] * frequencies) @ shares
    np.testing.assert_allclose(made, expit(t), rtol=0, atol=2e-13)
    assert reach_of(t[:1], np.array([[0.5, -0.5]])) >= reach


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_bits_do_not_depend_on_other_rows(kind):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 26)) < 0.8, rng.normal(size=(40, 26)), 0.0)
    X[35] *= 9  # needs more nodes and waves than the others
    model = LogisticRegression(C=100.0).fit(X, X[:, 0] + X[:, 1] > 0)
    explainer = ShapleyExplainer(model, groups={"pair": [3, 5]}).fit(kind(X[:12]))
    assert isinstance(explainer.exact_, Logistic)
    together = explainer.explain(kind(X[30:38]))
    for place, row in ((0, 30), (5, 35), (7, 37)):
        alone = explainer.explain(kind(X[[row]]))
        np.testing.assert_array_equal(alone.values[0], together.values[place])
    np.testing.assert_allclose(
        together.predictions, model.predict_proba(X[30:38])[:, 1], rtol=0, atol=1e-12
    )


def test_interactions_of_wide_tables_are_sampled():
    X = np.random.default_rng(0).normal(size=(60, 33))
    for d, read in ((32, True), (33, False)):
        model = LogisticRegression().fit(X[:, :d], X[:, 0] > 0)
        explainer = ShapleyExplainer(
            model, interactions=True, max_rows=4000, random_state=0
        )
        assert (explainer.fit(X[:2, :d]).exact_ is not None) == read


def test_a_wide_table_against_many_rows_is_sampled():

    X = np.random.default_rng(0).normal(size=(400, 25))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    explainer = ShapleyExplainer(model, sampler="auto", max_rows=2000, random_state=0)
    few, many = explainer.fit(X[:5]).exact_, explainer.fit(X).exact_
    assert isinstance(few, Logistic)
    assert many is None
    assert "would cost as much as" in explainer.explain(X[:1]).settings.why_sampled
