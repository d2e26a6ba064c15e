"""Samples of a source: stratified by prediction, reproducible, without weights."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import Ridge

from skshapley import Explanation, ShapleyExplainer, TreeExplainer
from skshapley.batches import ExplanationDataset, explain_batches

from .conftest import NAMES, contents

N, M = 5000, 200


@pytest.fixture(scope="module")
def rows():
    """Rows in the order of a column that matters, with rare large values."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(N, 5)), columns=NAMES)
    X["b"] = np.exp(X["b"])
    return X.sort_values("a", ignore_index=True)


@pytest.fixture(scope="module")
def linear(rows):
    model = Ridge().fit(rows, 3 * rows["a"] + rows["b"])
    return ShapleyExplainer(model, random_state=0).fit(rows[::500])


SOURCES = {
    "frame": lambda rows, folder: rows,
    "frames": lambda rows, folder: [rows[:10], rows[10:4000], rows[4000:]],
    "parquet": lambda rows, folder: rows.to_parquet(folder / "rows.parquet"),
    "csv": lambda rows, folder: rows.to_csv(folder / "rows.csv", index=False),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_sample_has_every_stratum_of_the_predictions(kind, rows, linear, tmp_path):
    """One of every 25 rows in the order of the predictions, for every container."""
    source = SOURCES[kind](rows, tmp_path)
    source = tmp_path / f"rows.{kind}" if source is None else source
    made = Explanation.merge(explain_batches(linear, source, n_sample=M, batch_rows=64))
    assert len(made) == M
    positions = made.index.to_numpy()
    assert (np.diff(positions) > 0).all()
    np.testing.assert_allclose(made.data, rows.iloc[positions], rtol=1e-12)
    ranks = (
        pd.Series(linear.estimator.predict(rows)).rank(method="first")[positions] - 1
    )
    assert (np.sort(ranks) // (N // M)).tolist() == [*range(M)]


def test_sample_means_estimate_the_means_of_all_rows(rows, linear):
    """Over 40 seeds, means are right within 5 of their errors (1 in 10^6).

    The mean prediction varies by less than half as much as in samples by chance.
    """
    whole = linear.explain(rows)
    means, predictions = [], []
    for seed in range(40):
        explainer = ShapleyExplainer(linear.estimator, random_state=seed).fit(
            rows[::500]
        )
        made = Explanation.merge(explain_batches(explainer, rows, n_sample=M))
        means.append(np.abs(made.values).mean(axis=0))
        predictions.append(made.predictions.mean())
    error = np.std(means, axis=0, ddof=1) / np.sqrt(len(means))
    gap = np.mean(means, axis=0) - np.abs(whole.values).mean(axis=0)
    assert (np.abs(gap) <= 5 * error + 1e-12).all()
    assert np.std(predictions) < 0.5 * np.std(whole.predictions) / np.sqrt(M)


def test_a_resumed_run_keeps_its_sample(rows, tmp_path):
    def explainer():
        model = ShapleyExplainer(lambda X: X["a"] * X["b"], max_rows=200)
        return model.fit(rows[::500])  # whose entropy is drawn

    dataset = explain_batches(explainer(), rows, tmp_path, n_sample=30, batch_rows=10)
    assert dataset.read().index.tolist() != [*range(30)]
    whole = contents(tmp_path)
    (tmp_path / "part-00000001.parquet").unlink()
    explain_batches(explainer(), rows, tmp_path, n_sample=30, batch_rows=10)
    assert contents(tmp_path) == whole
    with pytest.raises(FileExistsError, match=r"settings\.n_sample was 30 and is 40"):
        explain_batches(explainer(), rows, tmp_path, n_sample=40, batch_rows=10)
    assert len(ExplanationDataset(tmp_path).importance()) == 5


def test_keys_are_kept_and_small_tables_are_explained_whole(rows, linear):
    keyed = rows.assign(key=[f"row {i}" for i in range(N)])
    made = next(explain_batches(linear, keyed, keys="key", n_sample=20))
    found = rows.iloc[[int(key.split()[1]) for key in made.index]]
    np.testing.assert_array_equal(made.data, found)
    assert next(explain_batches(linear, rows[:7], n_sample=20)).index.tolist() == [
        *range(7)
    ]


def test_explainers_of_several_outputs_and_of_trees(rows):
    labels = np.digitize(rows["a"], [-1, 1])
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(rows, labels)
    for explainer in (ShapleyExplainer(forest), TreeExplainer(forest)):
        made = next(
            explain_batches(explainer.fit(rows[::500]), rows[::10], n_sample=50)
        )
        assert made.shape == (50, 5, 3)


def test_invalid_samples_are_refused(rows, linear):
    with pytest.raises(
        ValueError, match=r"n_sample=9 and an iterator, .* pass a table"
    ):
        list(explain_batches(linear, iter([rows]), n_sample=9))
    for wrong in (0, 2.5, True):
        with pytest.raises(ValueError, match="n_sample as None or a positive int; got"):
            explain_batches(linear, rows, n_sample=wrong)
