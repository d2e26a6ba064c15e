"""Herded rows are rows of the table that represent it."""

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.background import herd

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3000, 4)) * [1.0, 2.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 1.0]


def response(Z):
    return Z[:, 0] * Z[:, 1] + np.exp(Z[:, 3])


def test_herded_rows_are_distinct_rows_of_the_table():
    rows = herd(X, 50, random_state=0)
    where = [np.flatnonzero((row == X).all(axis=1))[0] for row in rows]
    assert len(set(where)) == 50
    np.testing.assert_array_equal(herd(X, 50, random_state=0), rows)
    np.testing.assert_array_equal(
        herd(X, 50, random_state=0)[:20], herd(X, 20, random_state=0)
    )


def test_herded_rows_represent_the_table_better_than_random_rows():
    """Attributions by pairs of exact games; four seeds, geometric mean of the squared errors."""
    instances = RNG.normal(size=(10, 4)) * [1.0, 2.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 1.0]
    games = {"sampler": "exact", "max_rows": 14 * 3000 + 1}
    truth = ShapleyExplainer(response, **games).fit(X).explain(instances).values

    def error(rows):
        found = (
            ShapleyExplainer(response, sampler="exact")
            .fit(rows)
            .explain(instances)
            .values
        )
        return np.log(((found - truth) ** 2).sum(axis=1)).mean()

    herded, drawn = [], []
    for seed in range(4):
        herded.append(error(herd(X, 60, predictions=response(X), random_state=seed)))
        rows = np.random.default_rng(seed).permutation(3000)[:60]
        drawn.append(error(X[rows]))
    assert np.mean(herded) < np.mean(drawn) + np.log(0.4)


def test_weights_are_respected():
    weights = np.where(X[:, 0] > 0, 1.0, 0.0)
    rows = herd(X, 80, sample_weight=weights, random_state=0)
    assert abs(rows[:, 0].mean() - X[X[:, 0] > 0, 0].mean()) < 0.1


def test_frames_keep_their_index_and_types():
    frame = pd.DataFrame(
        {"a": X[:100, 0], "b": pd.Categorical(["u", "v"] * 50)}, index=range(5, 105)
    )
    rows = herd(frame, 10, random_state=0)
    assert rows.index.isin(frame.index).all()
    assert rows["b"].dtype == frame["b"].dtype
    assert 3 <= (rows["b"] == "u").sum() <= 7


def test_max_background_keeps_herded_rows():
    explainer = ShapleyExplainer(response, max_background=30, random_state=0).fit(X)
    means = np.abs(explainer.background_.mean(axis=0) - X.mean(axis=0)) / X.std(axis=0)
    assert len(explainer.background_) == 30
    assert means.max() < 0.1


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({"n": 0}, "positive int, at most the 3000 rows of X; got 0"),
        ({"n": 3001}, "got 3001"),
        ({"n": 2.0}, "got 2.0"),
        (
            {"n": 2, "predictions": np.ones(5)},
            r"one row for each of the 3000 rows.* \(5,\)",
        ),
        ({"n": 2, "predictions": np.full(3000, np.nan)}, "finite numbers"),
        (
            {"n": 2, "sample_weight": np.ones(3)},
            "sample_weight for each background row",
        ),
    ],
)
def test_invalid_input_is_refused(how, text):
    with pytest.raises(ValueError, match=f"^herd .*{text}"):
        herd(X, **how)
