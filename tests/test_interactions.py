"""The record of interactions: layouts, frames, slicing with the explanation, exchange."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from skshapley import (
    Explanation,
    Interactions,
    ShapleyExplainer,
    TreeExplainer,
    shapley_values,
)
from skshapley.batches import explain_batches

R, P = 4, 5
UPPER = np.triu_indices(P, 1)


def bilinear(Z):
    """Two outputs, with one interaction each."""
    return np.column_stack(
        [Z[:, 0] * Z[:, 1] + Z[:, 2], 3 * Z[:, 3] * Z[:, 4] - Z[:, 0]]
    )


def explained(function=bilinear, rows=R, **kwargs):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        rng.normal(size=(rows, P)), index=list("uvwv")[:rows], columns=list("abcde")
    )
    background = pd.DataFrame(np.zeros((1, P)), columns=list("abcde"))
    how = {"interactions": True, "random_state": 0} | kwargs
    explainer = ShapleyExplainer(lambda Z: function(np.asarray(Z)), **how)
    return explainer.fit(background).explain(X), X.to_numpy()


def one_output(Z):
    return bilinear(Z)[:, 0]


def test_values_are_symmetric_and_zero_on_the_diagonal():
    explanation, X = explained()
    found = explanation.interactions
    assert found.values.shape == found.standard_errors.shape == (R, P, P, 2)
    expected = np.zeros((R, P, P, 2))
    expected[:, 0, 1, 0] = expected[:, 1, 0, 0] = X[:, 0] * X[:, 1]
    expected[:, 3, 4, 1] = expected[:, 4, 3, 1] = 3 * X[:, 3] * X[:, 4]
    np.testing.assert_allclose(found.values, expected, atol=1e-14)
    assert len(found) == R


@pytest.mark.parametrize("function", [bilinear, one_output])
def test_matrices_add_up_to_attributions_and_predictions(function):
    explanation, X = explained(function)
    found = explanation.interactions
    matrix = found.matrix()
    np.testing.assert_allclose(matrix.sum(axis=2), explanation.values, atol=1e-14)
    total = explanation.base_values + matrix.sum(axis=(1, 2))
    np.testing.assert_allclose(total, explanation.predictions, atol=1e-14)
    np.testing.assert_array_equal(found.matrix(2), matrix[2])
    first = matrix[..., 0] if function is bilinear else matrix
    np.testing.assert_allclose(first[:, 0, 1], X[:, 0] * X[:, 1] / 2, atol=1e-14)
    np.testing.assert_allclose(first[:, 2, 2], X[:, 2], atol=1e-14)
    np.testing.assert_allclose(first[:, 0, 0], 0, atol=1e-14)
    np.testing.assert_array_equal(
        np.diagonal(matrix, 0, 1, 2)[0].T, found.main_effects[0]
    )


def test_frame_has_a_line_for_each_pair():
    explanation, X = explained(one_output)
    frame = explanation.interactions.to_frame()
    assert frame.columns.tolist() == [
        "row",
        "feature",
        "other",
        "value",
        "standard_error",
    ]
    assert len(frame) == R * 10
    assert frame["row"].tolist()[:11] == ["u"] * 10 + ["v"]
    line = frame[(frame.feature == "a") & (frame.other == "b")]
    np.testing.assert_allclose(line["value"], X[:, 0] * X[:, 1], atol=1e-14)
    values = explanation.interactions.values
    np.testing.assert_array_equal(frame["value"], values[:, UPPER[0], UPPER[1]].ravel())


def test_frame_of_several_outputs():
    explanation, _ = explained()
    frame = explanation.interactions.to_frame()
    assert frame.columns[1] == "output"
    assert frame["output"].tolist()[:11] == [0] * 10 + [1]
    one = explanation.output(1).interactions.to_frame()
    pd.testing.assert_frame_equal(
        frame[frame.output == 1].drop(columns="output").reset_index(drop=True), one
    )


def test_strongest_pairs_are_sorted_by_absolute_value():
    explanation, X = explained()
    frame = explanation.interactions.strongest(1)
    assert frame["row"].tolist() == list("uuvvwwvv")
    assert frame["feature"].tolist() == ["a", "d"] * R
    np.testing.assert_allclose(frame["value"][::2], X[:, 0] * X[:, 1])


def test_strongest_pairs_need_no_errors():
    values = np.zeros((1, 3, 3))
    values[0, 0, 1] = values[0, 1, 0] = 4.0
    values[0, 1, 2] = values[0, 2, 1] = -6.0
    names = np.array(["x0", "x1", "x2"], dtype=object)
    rows = pd.RangeIndex(1)
    found = Interactions(
        values, None, np.zeros((1, 3)), np.zeros(1), names, "shapley", rows
    ).strongest(2)
    assert found["value"].tolist() == [-6.0, 4.0]
    assert found["standard_error"].isna().all()


def test_importance_is_the_mean_absolute_value_over_rows():
    explanation, X = explained()
    frame = explanation.interactions.importance()
    assert frame.index.names == ["output", "feature", "other"]
    size = np.abs(X[:, 0] * X[:, 1])
    line = frame.loc[(0, "a", "b")]
    assert line["importance"] == pytest.approx(size.mean())
    assert line["standard_error"] == pytest.approx(size.std(ddof=1) / 2)
    assert line["estimation_error"] == 0
    assert frame["importance"].is_monotonic_decreasing
    single = explanation.output(0).interactions.importance()
    assert single.index[0] == ("a", "b")


def test_slices_follow_the_explanation():
    explanation, _ = explained()
    for rows in (1, slice(1, 3), [3, 0], np.array([True, False, False, True])):
        part = explanation[rows]
        assert part.interactions.rows.equals(part.index)
        at = [rows] if isinstance(rows, int) else rows
        np.testing.assert_array_equal(
            part.interactions.values, explanation.interactions.values[at]
        )
        np.testing.assert_array_equal(part.interactions.attributions, part.values)
    with pytest.raises(ValueError, match=r"no output 7: choose one of \[0, 1\]"):
        explanation.interactions.output(7)


def test_merged_explanations_have_merged_interactions():
    explanation, _ = explained()
    merged = Explanation.merge([explanation[2:], explanation[:2]])
    order = [2, 3, 0, 1]
    np.testing.assert_array_equal(
        merged.interactions.values, explanation.interactions.values[order]
    )
    assert merged.interactions.rows.tolist() == explanation.index[order].tolist()
    plain, _ = explained(interactions=False)
    with pytest.raises(ValueError, match=r"merge needs the same index of interactions"):
        Explanation.merge([explanation, plain])
    other, _ = explained(interactions="banzhaf")
    with pytest.raises(ValueError, match=r"got shapley and banzhaf"):
        Explanation.merge([explanation, other])


def test_missing_errors_of_one_part_become_nan():
    with_errors, _ = explained(one_output)
    few, _ = explained(one_output)
    record = replace(few.interactions, standard_errors=None)
    both = Interactions.merge([with_errors.interactions, record])
    assert not both.standard_errors[:R].any()
    assert np.isnan(both.standard_errors[R:]).all()


def test_pickles_and_copies_are_read_only():
    explanation, _ = explained()
    for found in (
        pickle.loads(pickle.dumps(explanation)).interactions,
        copy.deepcopy(explanation.interactions),
        explanation.interactions,
    ):
        np.testing.assert_array_equal(found.values, explanation.interactions.values)
        with pytest.raises(ValueError, match="read-only"):
            found.values[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            found.standard_errors[0] = 1


def test_interactions_of_trees_agree_with_shap():
    """One reference, path by path, as shap computes without a background."""
    shap = pytest.importorskip("shap")
    xgboost = pytest.importorskip("xgboost")
    everything = np.array(
        [[i, j, k] for i in (0, 1) for j in (0, 1) for k in (0, 1)], dtype=float
    )
    X = np.repeat(everything, 50, axis=0)
    model = xgboost.XGBRegressor(n_estimators=5, max_depth=3, n_jobs=1)
    model.fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    theirs = shap.TreeExplainer(model).shap_interaction_values(everything[:4])
    # independent columns: what trees have seen and what columns hold agree
    found = TreeExplainer(model, interactions=True).fit(X).explain(everything[:4])
    np.testing.assert_allclose(found.interactions.matrix(), theirs, atol=1e-5)


def test_to_shapiq_keeps_the_numbers():
    shapiq = pytest.importorskip("shapiq")
    explanation, _ = explained(one_output)
    theirs = explanation.interactions.to_shapiq()
    assert theirs[0].index == "k-SII"
    total = sum(theirs[0].values)
    assert total == pytest.approx(explanation.predictions[0])
    pairs = np.stack([row.get_n_order_values(2) for row in theirs])
    players = np.stack([row.get_n_order_values(1) for row in theirs])
    values = explanation.interactions.values
    np.testing.assert_allclose(pairs, values, atol=1e-14)
    shares = players + pairs.sum(axis=2) / 2
    np.testing.assert_allclose(shares, explanation.values, atol=1e-14)
    base_values = [row.baseline_value for row in theirs]
    np.testing.assert_allclose(base_values, explanation.base_values)
    exact = shapiq.ExactComputer(
        lambda S: one_output(explanation.data.to_numpy()[:1] * S), P
    )
    np.testing.assert_allclose(
        pairs[0], exact("SII", 2).get_n_order_values(2), atol=1e-12
    )
    banzhaf, _ = explained(one_output, interactions="banzhaf")
    assert banzhaf.interactions.to_shapiq()[0].min_order == 2
    with pytest.raises(ValueError, match="one output; choose it by"):
        explained()[0].interactions.to_shapiq()
    pairs_alone = banzhaf.interactions.to_shapiq()[0]
    assert pairs_alone.index == "BII"
    np.testing.assert_allclose(
        pairs_alone.get_n_order_values(2), banzhaf.interactions.values[0], atol=1e-14
    )


@pytest.mark.parametrize(
    ("theirs", "ours", "players"),
    [
        ("SII", "shapley", "shapley"),
        ("k-SII", "shapley", "shapley"),
        ("STII", "shapley-taylor", "shapley"),
        ("FSII", "faithful-shapley", "shapley"),
        ("BII", "banzhaf", "banzhaf"),
        ("FBII", "faithful-banzhaf", "banzhaf"),
    ],
)
def test_every_index_agrees_with_shapiq(theirs, ours, players):
    """Of a game without any structure; ours by enumeration of the definition."""
    shapiq = pytest.importorskip("shapiq")
    p = 5
    values = np.random.default_rng(0).normal(size=2**p)
    game = lambda S: values[np.atleast_2d(S).astype(int) @ (1 << np.arange(p))]  # noqa: E731
    exact = shapiq.ExactComputer(game, p)
    pairs = exact(theirs, 2).get_n_order_values(2)
    expected = shapley_values(
        game, n_players=p, sampler="exact", interactions=ours, index=players
    ).interactions
    # their least squares with weights of a million is right to nine digits
    np.testing.assert_allclose(pairs, expected.values[0], atol=1e-8)


def test_a_game_gives_a_record_of_one_row():
    result = shapley_values(
        lambda S: np.column_stack([S[:, 0] & S[:, 1], S.any(axis=1)]) * 1.0,
        n_players=3,
        interactions=True,
    )
    found = result.interactions
    assert found.values.shape == (1, 3, 3, 2)
    assert found.values[0, 0, 1, 0] == pytest.approx(1)
    assert found.values[0, 0, 1, 1] < 0
    assert found.output_names.tolist() == [0, 1]
    assert result.values.shape == (3, 2)
    np.testing.assert_allclose(found.matrix(0).sum(axis=1), result.values, atol=1e-15)


def test_displays_of_selected_players_omit_interactions():
    explanation, _ = explained(one_output)
    assert len(explanation.plot.waterfall(row=0, max_features=2).frame()) == 3


def test_batches_in_memory_have_interactions():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 4))
    explainer = ShapleyExplainer(lambda Z: Z[:, 0] * Z[:, 1], interactions=True)
    explainer.fit(np.zeros((1, 4)))
    parts = list(explain_batches(explainer, X, batch_rows=4))
    whole = explainer.explain(X).interactions
    found = Explanation.merge(parts).interactions
    np.testing.assert_array_equal(found.values, whole.values)
    assert found.rows.tolist() == list(range(6))
