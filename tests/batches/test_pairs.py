"""Interactions in folders of results: written, read back, resumed, damaged."""

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches

NAMES = list("abcd")


def bilinear(X):
    X = np.asarray(X)
    return np.column_stack(
        [X[:, 0] * X[:, 1] + X[:, 2], 3 * X[:, 3] * X[:, 0] - X[:, 1]]
    )


def one_output(X):
    return bilinear(X)[:, 0] + np.tanh(np.asarray(X).sum(axis=1))


@pytest.fixture(scope="module")
def rows():
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(7, 4)), columns=NAMES)
    return X.assign(key=[f"k{i}" for i in range(7)])


def fitted(model, **kwargs):
    background = pd.DataFrame(np.zeros((1, 4)), columns=NAMES)
    return ShapleyExplainer(model, interactions=True, random_state=0, **kwargs).fit(
        background
    )


@pytest.mark.parametrize("model", [one_output, bilinear])
def test_interactions_survive_a_round_trip(model, rows, tmp_path):
    explainer = fitted(model)
    whole = explainer.explain(rows[NAMES]).interactions
    dataset = explain_batches(
        explainer, rows, tmp_path / "phi", batch_rows=3, keys="key"
    )
    found = dataset.read().interactions
    for name in (
        "values",
        "standard_errors",
        "attributions",
        "base_values",
        "feature_names",
    ):
        np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
    assert found.index == "shapley"
    assert found.rows.tolist() == rows["key"].tolist()
    some = dataset.take([5, 1]).interactions
    np.testing.assert_array_equal(some.values, whole.values[[1, 5]])
    assert [len(part.interactions) for part in dataset] == [3, 3, 1]
    assert dataset.check() == []


@pytest.mark.parametrize("model", [one_output, bilinear])
def test_pandas_reads_a_list_of_pairs_for_each_line(model, rows, tmp_path):
    explainer = fitted(model)
    explain_batches(explainer, rows, tmp_path, batch_rows=3, keys="key")
    frame = pd.read_parquet(tmp_path)
    expected = explainer.explain(rows[NAMES]).interactions.to_frame()
    for name, numbers in (
        ("interaction", "value"),
        ("interaction_error", "standard_error"),
    ):
        found = np.concatenate(frame[name].tolist())
        np.testing.assert_array_equal(found, expected[numbers])


def test_folders_of_explainers_without_interactions_have_none(rows, tmp_path):
    explainer = fitted(one_output).set_params(interactions=False)
    explainer.fit(explainer.background_)
    dataset = explain_batches(explainer, rows[NAMES], tmp_path)
    assert dataset.read().interactions is None
    assert not [
        name for name in pd.read_parquet(tmp_path) if name.startswith("interaction")
    ]
