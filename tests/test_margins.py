"""Probabilities of boosted trees: the known log-odds correct sampled values without bias."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier

from skshapley import ShapleyExplainer

RNG = np.random.default_rng(0)
P = 6
X = RNG.normal(size=(900, P)) @ np.linalg.cholesky(0.5 * np.eye(P) + 0.5)
Y = X[:, 0] * X[:, 1] + X[:, 2] + np.abs(X[:, 3]) + RNG.normal(size=900) > 0.8
TABLE, ROWS = X[:600], X[880:]
MODEL = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(X, Y)
WEIGHTS = RNG.integers(1, 5, size=600)


def positive(rows):
    """The same probability, as a function without a closed form."""
    return MODEL.predict_proba(rows)[:, 1]


def explained(model, rows=ROWS, weights=None, max_rows=2001, seed=0, **how):
    explainer = ShapleyExplainer(model, max_rows=max_rows, random_state=seed, **how)
    return explainer.fit(TABLE, sample_weight=weights).explain(rows)


@pytest.fixture(scope="module", params=[None, WEIGHTS], ids=["equal", "weighted"])
def case(request):
    """Weights of the background, and the values from all coalitions against all its rows."""
    how = {"sampler": "exact", "max_rows": 62 * 600 + 1}
    return request.param, explained(positive, weights=request.param, **how).values


def test_the_error_is_halved(case):
    """Squared errors over 20 rows and four seeds; the ratio is about .2."""
    weights, truth = case
    ours, plain = (
        [
            ((explained(m, weights=weights, seed=s).values - truth) ** 2).mean()
            for s in range(4)
        ]
        for m in (MODEL, positive)
    )
    assert np.mean(ours) < np.mean(plain) / 2


def test_intervals_hold_the_values(case):
    """480 attributions, next to independent: below .92 once in a hundred honest runs."""
    weights, truth = case
    found = [explained(MODEL, weights=weights, seed=s) for s in range(4)]
    z = np.stack([np.abs(e.values - truth) / e.standard_errors for e in found])
    assert 0.92 <= (z <= 1.96).mean() <= 0.995


@pytest.mark.slow
def test_the_mean_over_seeds_has_no_bias(case):
    """60 runs: each of 120 means lies within 4.5 errors; an honest one fails in 1 of 1,000"""
    weights, truth = case
    runs = np.stack(
        [explained(MODEL, weights=weights, seed=s).values for s in range(60)]
    )
    z = (runs.mean(axis=0) - truth) / (runs.std(axis=0, ddof=1) / np.sqrt(60))
    assert np.abs(z).max() < 4.5


def known(explainer):
    """The values of the log-odds of the rows."""
    game = explainer.reward_.game(ROWS)
    return explainer._way.margins(ROWS, game.full(np.arange(len(ROWS))))


def test_known_values_are_those_of_the_log_odds():
    explainer = ShapleyExplainer(MODEL, max_rows=2001, random_state=0).fit(TABLE)
    margins = known(explainer)
    odds = ShapleyExplainer(MODEL, response_method="log_odds").fit(TABLE)
    np.testing.assert_allclose(margins, odds.explain(ROWS).values, atol=1e-12)
    other = ShapleyExplainer(MODEL, max_rows=2001, output=False, random_state=0).fit(
        TABLE
    )
    np.testing.assert_allclose(known(other), -margins, atol=1e-12)
    np.testing.assert_allclose(
        other.explain(ROWS).values, -explainer.explain(ROWS).values
    )


def test_rows_with_a_probability_next_to_one_do_without():
    """Where single precision ends, the log-odds differ from the sum of the trees."""
    margins = ShapleyExplainer(MODEL, max_rows=2001).fit(TABLE)._way.margins
    known = margins(ROWS[:2], np.array([[0.5], [1 - 1e-8]]))
    assert np.isfinite(known[0]).all()
    assert np.isnan(known[1]).all()
    assert steep(60).predict_proba(TABLE).max() > 1 - 1e-6
    assert ShapleyExplainer(steep(60), max_rows=2001).fit(TABLE)._way.margins is None


def steep(n_estimators):
    """A classifier of one sign, with probabilities near 0 and 1."""
    model = GradientBoostingClassifier(
        n_estimators=n_estimators, learning_rate=0.5, random_state=0
    )
    return model.fit(X, X[:, 0] > 0)


def test_a_classifier_that_is_nearly_certain_of_most_rows_does_without():
    """Log-odds with a large spread say little about the probability; tables would cost time."""
    spreads = [
        np.log(1 / steep(n).predict_proba(TABLE)[:, 1] - 1).std() for n in (4, 10)
    ]
    assert spreads[0] < 4
    assert spreads[1] > 5
    assert ShapleyExplainer(steep(4), max_rows=2001).fit(TABLE)._way.margins is not None
    assert ShapleyExplainer(steep(10), max_rows=2001).fit(TABLE)._way.margins is None


def test_a_small_budget_does_without():
    """Tables would take longer than the model rows of many rows to explain."""
    found = [
        ShapleyExplainer(MODEL, max_rows=n).fit(TABLE)._way.margins
        for n in (2000, 2001)
    ]
    assert [margins is None for margins in found] == [True, False]


def test_a_row_without_margins_does_not_change_others():
    """Rows are estimated together, whether or not they have a control variate."""
    explainer = ShapleyExplainer(MODEL, max_rows=2001, random_state=0).fit(TABLE)
    plain, margins = explainer.explain(ROWS), explainer._way.margins

    def first_unknown(rows, probabilities):
        known = margins(rows, probabilities)
        known[0] = np.nan
        return known

    explainer._way = replace(explainer._way, margins=first_unknown)
    mixed = explainer.explain(ROWS)
    np.testing.assert_array_equal(mixed.values[1:], plain.values[1:])
    explainer._way = replace(explainer._way, margins=None)
    np.testing.assert_array_equal(
        mixed.values[0], explainer.explain(ROWS[:1]).values[0]
    )


@pytest.mark.parametrize(
    ("model", "how"),
    [
        (MODEL, {"sampler": "leverage"}),
        (MODEL, {"index": "banzhaf", "sampler": "antithetic"}),
        (MODEL, {"output": "predicted"}),
        (CalibratedClassifierCV(MODEL, cv=2).fit(X, Y), {}),
    ],
    ids=["leverage", "banzhaf", "predicted", "calibrated"],
)
def test_other_ways_have_no_margins(model, how):
    explainer = ShapleyExplainer(model, max_rows=2001, random_state=0, **how).fit(TABLE)
    assert explainer._way.margins is None


def test_a_row_has_the_same_values_alone_and_after_pickling():
    explainer = ShapleyExplainer(MODEL, random_state=0).fit(TABLE)
    together = explainer.explain(ROWS[:5])
    alone = pickle.loads(pickle.dumps(explainer)).explain(ROWS[3:4])
    np.testing.assert_array_equal(alone.values[0], together.values[3])
    np.testing.assert_array_equal(alone.standard_errors[0], together.standard_errors[3])
