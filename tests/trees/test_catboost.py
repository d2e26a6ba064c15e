"""CatBoost's trees from its export agree with its predictions, and are explained exactly."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.exceptions import NotFittedError

from skshapley import ShapleyExplainer, TreeExplainer
from skshapley.exceptions import UnreadableModelError
from skshapley.trees import read_trees

from .conftest import tree_values

catboost = pytest.importorskip("catboost")

N, B, R = 300, 10, 3
RNG = np.random.default_rng(0)
NUMBERS = np.round(RNG.normal(size=(N, 4)), 2)
Y = NUMBERS[:, 0] * NUMBERS[:, 1] + NUMBERS[:, 2] + 0.1 * RNG.normal(size=N)
MISSING = np.where(RNG.random((N, 4)) < 0.2, np.nan, NUMBERS)
WORDS = [
    "a",
    "Rome",
    "Oslo",
    "two words",
    "ünï",
    "a longer one, of 25 letters",
    "é" * 40,
    "x" * 70,
]
MIXED = pd.DataFrame(
    {
        "word": RNG.choice(WORDS, N),
        "age": MISSING[:, 0],
        "kind": pd.Categorical(RNG.choice(list("uvw"), N)),
        "floor": RNG.integers(0, 4, N),
        "pay": NUMBERS[:, 1],
    }
)
YM = (
    NUMBERS[:, 1]
    + MIXED["word"].map(WORDS.index) * (MIXED["kind"] == "u")
    + MIXED["floor"] % 2
)
CATEGORIES = {"cat_features": ["word", "kind", "floor"], "one_hot_max_size": 50}


def made(kind=catboost.CatBoostRegressor, **parameters):
    how = {"iterations": 12, "depth": 4, "allow_writing_files": False, "verbose": 0}
    return kind(**{**how, "thread_count": 1, "random_seed": 0, **parameters})


def classes(y, k):
    return np.digitize(y, np.quantile(y, np.linspace(0, 1, k + 1)[1:-1]))


CLASSIFIER = catboost.CatBoostClassifier
# name: (model, table, target, response, how it is said)
RECIPES = {
    "numbers": (made(), NUMBERS, Y, "predict"),
    "missing": (made(), MISSING, Y, "predict"),
    "missing, largest": (made(nan_mode="Max"), MISSING, Y, "predict"),
    "frame": (made(), pd.DataFrame(NUMBERS, columns=list("abcd")), Y, "predict"),
    "categories": (made(**CATEGORIES), MIXED, YM, "predict"),
    "leaf-wise": (made(grow_policy="Lossguide"), MISSING, Y, "predict"),
    "depth-wise, categories": (
        made(grow_policy="Depthwise", **CATEGORIES), MIXED, YM, "predict",
    ),
    "quantile": (made(loss_function="Quantile:alpha=0.8"), NUMBERS, Y, "predict"),
    "two classes": (made(CLASSIFIER), NUMBERS, classes(Y, 2), "log_odds"),
    "one against all": (
        made(CLASSIFIER, loss_function="MultiClassOneVsAll"), NUMBERS, classes(Y, 3), "log_odds",
    ),
    "two targets": (
        made(loss_function="MultiRMSE"), NUMBERS, np.column_stack([Y, NUMBERS[:, 3]]), "predict",
    ),
}  # fmt: skip


def fitted(name):
    model, X, y, method = RECIPES[name]
    return model.fit(X, y), X, method


def rows(X, start, stop):
    return X.iloc[start:stop] if isinstance(X, pd.DataFrame) else X[start:stop]


@pytest.mark.parametrize("name", RECIPES)
def test_trees_predict_like_catboost(name):
    model, X, _ = fitted(name)
    trees = read_trees(model)
    ours = tree_values(trees).predict(trees.to_matrix(X))
    np.testing.assert_allclose(ours, trees.raw_response(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["numbers", "missing, largest"])
def test_rows_at_thresholds_and_missing_values(name):
    model, X, _ = fitted(name)
    trees = read_trees(model)
    rng, Z = np.random.default_rng(1), X[RNG.integers(0, N, 2000)].copy()
    for column in range(X.shape[1]):
        at = rng.choice(trees.threshold[trees.feature == column], len(Z)).astype(
            np.float32
        )
        with np.errstate(
            over="ignore"
        ):  # the border before missing values is the largest number
            near = [np.nextafter(at, np.float32(end)) for end in (-np.inf, np.inf)]
        Z[:, column] = np.stack([at, *near])[
            rng.integers(0, 3, len(Z)), np.arange(len(Z))
        ]
    Z[rng.random(Z.shape) < 0.1] = np.nan if name != "numbers" else 0.0
    ours = tree_values(trees).predict(trees.to_matrix(Z))
    np.testing.assert_allclose(ours, trees.raw_response(Z), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", RECIPES)
def test_values_agree_with_enumeration(name):
    model, X, method = fitted(name)
    how = {"response_method": method}
    exact = ShapleyExplainer(model, **how).fit(rows(X, 0, B)).explain(rows(X, B, B + R))
    plain = ShapleyExplainer(model, sampler="exact", **how).fit(rows(X, 0, B))
    truth = plain.explain(rows(X, B, B + R))
    assert exact.settings.closed_form == "trees"
    np.testing.assert_allclose(exact.values, truth.values, rtol=0, atol=1e-10)
    np.testing.assert_allclose(exact.predictions, truth.predictions, rtol=0, atol=1e-10)


def test_tree_explainer_explains_the_raw_value():
    model, X, _ = fitted("two classes")
    made = TreeExplainer(model).fit(X[:B]).explain(X[:R])
    np.testing.assert_allclose(
        made.predictions, logit(model.predict_proba(X[:R])[:, 1]), atol=1e-9
    )


def test_target_statistics_of_categories_are_refused():
    model = made(iterations=40, cat_features=["word"], one_hot_max_size=2).fit(
        MIXED[["word"]], YM
    )
    with pytest.raises(UnreadableModelError, match="statistics of categories"):
        read_trees(model)


def test_sums_of_models_are_read():
    """They have no attributes of a fit."""
    models = [made(random_seed=seed).fit(NUMBERS, Y) for seed in range(2)]
    total = catboost.sum_models(models, weights=[0.3, 0.7])
    explained = ShapleyExplainer(total).fit(NUMBERS[:B]).explain(NUMBERS[-R:])
    single = [ShapleyExplainer(m).fit(NUMBERS[:B]).values(NUMBERS[-R:]) for m in models]
    assert explained.settings.closed_form == "trees"
    expected = 0.3 * single[0] + 0.7 * single[1]
    np.testing.assert_allclose(explained.values, expected, atol=1e-12)
    with pytest.raises(NotFittedError):
        read_trees(made())


def test_texts_are_sampled():
    """CatBoost exports no model of texts as JSON."""
    table = MIXED[["word", "age"]]
    model = made(text_features=["word"]).fit(table, YM)
    made_by = ShapleyExplainer(model, max_rows=100).fit(table[:B]).explain(table[-R:])
    assert "texts or embeddings" in made_by.settings.why_sampled


@pytest.mark.parametrize(
    ("model", "y", "method"),
    [
        (made(loss_function="Poisson"), np.abs(Y), "predict"),
        (made(CLASSIFIER), classes(Y, 2), "predict_proba"),
        (made(CLASSIFIER), classes(Y, 3), "log_odds"),
    ],
)
def test_transformed_sums_are_refused(model, y, method):
    with pytest.raises(UnreadableModelError, match="not the sum of its trees"):
        read_trees(model.fit(NUMBERS, y), method)


@pytest.mark.parametrize(
    "container", [np.asarray, lambda X: pd.DataFrame(X, columns=list("abcd"))]
)
def test_path_dependent_values_of_frames_and_arrays(container):
    X = container(NUMBERS)
    explainer = TreeExplainer(
        made().fit(X, Y), feature_perturbation="path_dependent"
    ).fit()
    found = explainer.explain(X[:R])
    assert found.feature_names.tolist() == (
        list("abcd") if isinstance(X, pd.DataFrame) else ["x0", "x1", "x2", "x3"]
    )
    np.testing.assert_allclose(
        found.base_values + found.values.sum(axis=1), found.predictions
    )


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
@pytest.mark.parametrize("sampler", ["auto", "antithetic"])
def test_nullable_columns_equal_columns_with_nan(backend, sampler):
    """CatBoost takes them; its models know their columns' names, but not as scikit-learn's do."""
    model = made(cat_features=["word"]).fit(MIXED[["word", "age", "floor"]], YM)
    explained = [
        ShapleyExplainer(model, sampler=sampler, max_rows=200, random_state=0)
        .fit(table[:B])
        .explain(table[-R:])
        for table in (
            MIXED[["word", "age", "floor"]],
            MIXED[["word", "age", "floor"]].convert_dtypes(dtype_backend=backend),
        )
    ]
    np.testing.assert_array_equal(explained[1].values, explained[0].values)


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
@pytest.mark.parametrize("depth", [1, 5, 7])
def test_tables_of_oblivious_trees_equal_pairs_of_rows(depth, index):
    """With repeated columns, two columns of one player, classes and weights."""
    y = np.stack([Y, NUMBERS[:, 3]], axis=1)
    model = made(loss_function="MultiRMSE", depth=depth).fit(MISSING, y)
    trees = read_trees(model)
    values = tree_values(trees, np.array([2, 0, 0, 1]), index=index, n_players=4)
    weights = RNG.random(100)
    values.fit(MISSING[:100], weights)
    chunks = [chunk for block in values._blocks for chunk in block.chunks]
    assert all(chunk.is_oblivious for chunk in chunks)
    single = values.values_by_reference(MISSING[-R:], MISSING[:100])
    expected = np.tensordot(weights / weights.sum(), single, (0, 1))
    np.testing.assert_allclose(values.values(MISSING[-R:]), expected, atol=1e-12)
    mean = weights @ values.predict(MISSING[:100]) / weights.sum()
    np.testing.assert_allclose(values.base_values, mean, atol=1e-12)


def test_equal_tests_of_a_level_share_a_bit():
    trees = read_trees(fitted("numbers")[0])
    values = tree_values(trees).fit(NUMBERS[:B])
    values._divide()
    chunks = [chunk for block in values._blocks for chunk in block.chunks]
    # a tree of depth 4 has 15 nodes, but four comparisons
    assert sum(chunk.players.shape[1] for chunk in chunks) == trees.n_trees
    assert max(chunk.n_bits for chunk in chunks) == 4
    pairs = values._descended("values", values.codes(NUMBERS[:R]), values.index)
    np.testing.assert_allclose(
        values.values(NUMBERS[:R]), pairs.transpose(2, 1, 0), atol=1e-12
    )
