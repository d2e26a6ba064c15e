"""Masking curves: known changes of additive games, and the log-odds of a real model."""

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.diagnostics import masking_curve

RNG = np.random.default_rng(0)


def additive(worth):
    return lambda coalitions: coalitions @ np.asarray(worth) + 0.5


def test_curves_of_additive_games_are_partial_sums():
    worth = [1.0, -2.0, 4.0, 3.0]
    curve = masking_curve(additive(worth), worth, fractions=(0, 0.25, 0.5, 0.75, 1))
    np.testing.assert_allclose(curve.deletion, [[0, -4, -7, -8, -6]], atol=1e-14)
    np.testing.assert_allclose(curve.insertion, [[-6, -2, 1, 2, 0]], atol=1e-14)


def test_values_give_the_best_ranking_of_an_additive_game():
    games = [RNG.normal(size=p) for p in (5, 9, 30)]
    best = masking_curve([additive(w) for w in games], games)
    other = masking_curve(
        [additive(w) for w in games], [RNG.normal(size=len(w)) for w in games]
    )
    assert (best.deletion <= other.deletion + 1e-12).all()
    assert (best.insertion >= other.insertion - 1e-12).all()
    assert best.area()["deletion"] < other.area()["deletion"]


def test_the_number_of_masked_players_is_rounded_and_ties_keep_their_order():
    seen = []

    def game(coalitions):
        seen.append(coalitions)
        return coalitions.sum(axis=1)

    masking_curve(game, [1.0, 1.0, 2.0], fractions=(0.3, 0.7))
    np.testing.assert_array_equal(seen[1], [[1, 1, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]])


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    how = {"reward": "baseline", "sampler": "antithetic", "random_state": 0}
    return X, model, ShapleyExplainer(model, **how).fit(X)


def test_classifiers_are_measured_in_log_odds(cancer):
    X, model, explainer = cancer
    rows = X.iloc[[0, 1, 100, 200, 300]]
    explanation = explainer.explain(rows)
    curve = masking_curve(explainer, explanation, rows, fractions=(0, 0.1, 1))
    winner = model.predict_proba(rows).argmax(axis=1)
    typical = X.mean()
    for i, row in enumerate(rows.index):
        masked, kept = rows.loc[row].copy(), typical.copy()
        first = explanation.feature_names[np.argsort(-explanation.values[i])[:3]]
        masked[first], kept[first] = typical[first], rows.loc[row][first]
        tables = pd.DataFrame([rows.loc[row], masked, kept, typical])
        odds = logit(model.predict_proba(tables)[:, winner[i]])
        np.testing.assert_allclose(
            curve.deletion[i], odds[[0, 1, 3]] - odds[0], atol=1e-8
        )
        np.testing.assert_allclose(
            curve.insertion[i], odds[[3, 2, 0]] - odds[0], atol=1e-8
        )


def test_workers_change_nothing_and_the_explainer_is_not_modified(cancer):
    X, _, explainer = cancer
    values = RNG.normal(size=(40, X.shape[1]))
    before = explainer.get_params(deep=False)
    one = masking_curve(explainer, values, X[:40])
    with joblib.parallel_config("threading"):
        two = masking_curve(explainer, values, X[:40], n_jobs=2)
    np.testing.assert_array_equal(one.deletion, two.deletion)
    np.testing.assert_array_equal(one.insertion, two.insertion)
    assert explainer.get_params(deep=False) == before


def test_regressors_are_measured_in_their_response():
    X = RNG.normal(size=(6, 3))
    explainer = ShapleyExplainer(lambda X: X @ [1.0, 2.0, 3.0]).fit(np.zeros((1, 3)))
    explanation = explainer.explain(X)
    curve = masking_curve(explainer, explanation, X, fractions=(0, 1))
    np.testing.assert_allclose(
        curve.deletion[:, 1], -explanation.predictions, atol=1e-14
    )
    np.testing.assert_allclose(curve.insertion[:, 1], 0, atol=1e-14)


def test_rows_are_read_as_explain_reads_them():
    """A frame with columns in another order has the same curve."""
    table = pd.DataFrame(
        np.random.default_rng(0).normal(size=(30, 3)), columns=[*"abc"]
    )
    explainer = ShapleyExplainer(lambda X: X.to_numpy() @ [4.0, 2.0, 1.0])
    explanation = explainer.fit(table[:20]).explain(table[20:])
    expected = masking_curve(explainer, explanation, table[20:])
    curve = masking_curve(explainer, explanation, table.loc[20:, ["c", "a", "b"]])
    np.testing.assert_array_equal(curve.deletion, expected.deletion)
    np.testing.assert_array_equal(curve.insertion, expected.insertion)


def test_the_band_is_the_interval_of_the_mean():
    # 2000 games of one player worth N(1, 4): the band's half-width is 1.96 *
    # 2/sqrt(2000)
    worth = RNG.normal(1, 2, size=(2000, 1))
    curve = masking_curve([additive(w) for w in worth], worth, fractions=(0, 1))
    frame = curve.frame()
    last = frame[(frame["kind"] == "deletion") & (frame["fraction"] == 1)].iloc[0]
    assert last["mean"] == pytest.approx(-worth.mean())
    assert last["high"] - last["mean"] == pytest.approx(
        1.96 * 2 / np.sqrt(2000), rel=0.1
    )
    assert masking_curve(additive([1.0]), [1.0]).frame()["low"].isna().all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (additive([1.0, 2.0]), [[1.0, 2.0], [2.0, 1.0]]),
            "values of 2 rows and no X",
        ),
        (
            (additive([1.0, 2.0]), [1.0, 2.0], np.zeros((1, 2))),
            "1 rows and X: pass one game",
        ),
        (
            (lambda S: np.stack([S[:, 0], S[:, 1]], axis=1), [1.0, 2.0]),
            "2 outputs: choose one",
        ),
        (
            (additive([1.0, 2.0]), np.zeros((1, 2, 3))),
            "rows of shape .* several outputs",
        ),
    ],
)
def test_mismatched_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        masking_curve(*arguments)


def test_an_explainer_needs_rows_to_explain(cancer):
    X, _, explainer = cancer
    values = np.zeros((2, X.shape[1]))
    with pytest.raises(ValueError, match="X=None with an explainer: pass"):
        masking_curve(explainer, values)
    with pytest.raises(ValueError, match=r"values of shape \(3, 30\)"):
        masking_curve(explainer, values, X[:3])
    with pytest.raises(ValueError, match=r"got fractions=\[0.0, 1.5\]: choose numbers"):
        masking_curve(explainer, values, X[:2], fractions=(0, 1.5))
