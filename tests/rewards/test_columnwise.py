"""The source column of each transformed column, compared with trials on shuffled tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import (
    ColumnTransformer,
    make_column_selector,
    make_column_transformer,
)
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from skshapley import ShapleyExplainer
from skshapley._tables._columnwise import MixedColumnsError, sources
from skshapley.rewards import InterventionalReward

N = 120
RNG = np.random.default_rng(0)
NUMBERS = RNG.lognormal(size=(N, 3))
GAPS = np.where(RNG.random((N, 3)) < [0.2, 0.0, 0.3], np.nan, NUMBERS)
EMPTY = np.column_stack([GAPS, np.full(N, np.nan), NUMBERS[:, 0]])
LETTERS = np.column_stack(
    [RNG.choice(list(letters), N) for letters in ("abc", "de", "fghiii")]
)
TWO = RNG.integers(2, size=N)
THREE = RNG.integers(3, size=N)
FRAME = pd.DataFrame(
    {
        "city": LETTERS[:, 0],
        "age": GAPS[:, 0],
        "pay": NUMBERS[:, 1],
        "note": [" ".join(words) for words in LETTERS],
        "left": NUMBERS[:, 2],
    }
)


def bins(encode):
    return KBinsDiscretizer(4, encode=encode, strategy="uniform")


TRANSFORMERS = {
    "standard": (StandardScaler(), NUMBERS),
    "min-max": (MinMaxScaler(), NUMBERS),
    "max-abs": (MaxAbsScaler(), NUMBERS),
    "robust": (RobustScaler(), NUMBERS),
    "quantile": (QuantileTransformer(n_quantiles=20), NUMBERS),
    "power": (PowerTransformer(), NUMBERS),
    "binary": (Binarizer(threshold=1.0), NUMBERS),
    "bins": (bins("ordinal"), NUMBERS),
    "bins, sparse": (bins("onehot"), NUMBERS),
    "bins, dense": (bins("onehot-dense"), NUMBERS),
    "splines": (SplineTransformer(n_knots=3), NUMBERS),
    "splines without bias": (SplineTransformer(4, include_bias=False), NUMBERS),
    "imputed": (SimpleImputer(), GAPS),
    "imputed and flagged": (SimpleImputer(add_indicator=True), GAPS),
    "an empty column": (SimpleImputer(strategy="median", add_indicator=True), EMPTY),
    "an empty column kept": (SimpleImputer(keep_empty_features=True), EMPTY),
    "flags": (MissingIndicator(), GAPS),
    "all flags": (MissingIndicator(features="all"), GAPS),
    "ordinal": (OrdinalEncoder(), LETTERS),
    "one-hot": (OneHotEncoder(), LETTERS),
    "one-hot, first dropped": (OneHotEncoder(drop="first"), LETTERS),
    "one-hot, of two dropped": (
        OneHotEncoder(drop="if_binary", sparse_output=False),
        LETTERS,
    ),
    "one-hot, rare": (OneHotEncoder(min_frequency=25), LETTERS),
    "one-hot, three": (OneHotEncoder(max_categories=3, drop="first"), LETTERS),
    "target": (TargetEncoder(), LETTERS),
    "targets": (TargetEncoder(), LETTERS),
    "selected": (SelectKBest(k=2), NUMBERS),
    "varying": (VarianceThreshold(), np.column_stack([np.ones(N), NUMBERS])),
    "identity": (FunctionTransformer(), NUMBERS),
    "log": (FunctionTransformer(np.log1p), NUMBERS),
    "pipeline": (
        make_pipeline(SimpleImputer(add_indicator=True), None, StandardScaler()),
        EMPTY,
    ),
    "frozen": (FrozenEstimator(StandardScaler().fit(NUMBERS)), NUMBERS),
    "union": (
        make_union(StandardScaler(), bins("onehot-dense"), "passthrough"),
        NUMBERS,
    ),
    "part of a union": (
        FeatureUnion([("s", StandardScaler()), ("d", "drop")]),
        NUMBERS,
    ),
    "columns": (
        make_column_transformer(
            (make_pipeline(SimpleImputer(), StandardScaler()), ["pay", "age"]),
            (OneHotEncoder(), ["city"]),
            ("drop", ["left"]),
            (CountVectorizer(token_pattern=r"\w"), "note"),
            (bins("onehot"), ["pay"]),
        ),
        FRAME,
    ),
    "other columns": (
        ColumnTransformer(
            [
                ("nothing", StandardScaler(), []),
                (
                    "numbers",
                    SimpleImputer(),
                    make_column_selector(dtype_include="number"),
                ),
                ("text", TfidfVectorizer(token_pattern=r"\w"), "note"),
                (
                    "hashed",
                    HashingVectorizer(n_features=8, token_pattern=r"\w"),
                    "note",
                ),
            ],
            remainder=OneHotEncoder(),
        ),
        FRAME,
    ),
    "slices": (
        make_column_transformer(
            (SimpleImputer(), slice("age", "pay")), remainder="drop", sparse_threshold=0
        ),
        FRAME,
    ),
    "positions": (
        make_column_transformer(
            (StandardScaler(), [2, 0]),
            ("passthrough", [False, True, True]),
            (MinMaxScaler(), slice(-1, None)),
        ),
        NUMBERS,
    ),
    "columns of columns": (
        make_pipeline(
            make_column_transformer((StandardScaler(), [2]), remainder="passthrough"),
            make_column_transformer((MinMaxScaler(), [2, 0]), (StandardScaler(), [0])),
        ),
        NUMBERS,
    ),
}


def dense(table):
    return np.asarray(
        table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64
    )


def shuffled(table, column):
    """The table with one column turned upside down."""
    changed = table.copy()
    if isinstance(table, pd.DataFrame):
        changed.iloc[:, column] = table.iloc[::-1, column].to_numpy()
    else:
        changed[:, column] = table[::-1, column]
    return changed


@pytest.mark.parametrize("name", TRANSFORMERS)
@pytest.mark.filterwarnings("ignore:Skipping features without any observed values")
def test_a_raw_column_changes_only_its_derived_columns(name):
    transformer, table = TRANSFORMERS[name]
    transformer.fit(table, THREE if name == "targets" else TWO)
    before = dense(transformer.transform(table))
    source = sources(transformer, table.shape[1])
    assert len(source) == before.shape[1]
    varying = (np.nan_to_num(before) != np.nan_to_num(before[:1])).any(axis=0)
    for column in range(table.shape[1]):
        after = dense(transformer.transform(shuffled(table, column)))
        changed = (np.nan_to_num(before) != np.nan_to_num(after)).any(axis=0)
        np.testing.assert_array_equal(changed, (source == column) & varying)


class Mine(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X - X.mean(axis=1, keepdims=True)


class MyScaler(StandardScaler):
    """May do anything."""


def total(X):
    return X.sum(axis=1, keepdims=True)


@pytest.mark.parametrize(
    ("transformer", "who"),
    [
        (PCA(), "PCA"),
        (PolynomialFeatures(), "PolynomialFeatures"),
        (Normalizer(), "Normalizer"),
        (KNNImputer(), "KNNImputer"),
        (Mine(), "Mine"),
        (MyScaler(), "MyScaler"),
        (FunctionTransformer(total), "FunctionTransformer of total"),
        (
            FunctionTransformer(np.log, kw_args={"where": [True]}),
            "FunctionTransformer of log",
        ),
        (make_pipeline(StandardScaler(), PCA()), "PCA"),
        (make_union(StandardScaler(), PCA()), "PCA"),
        (make_column_transformer((StandardScaler(), [0]), (PCA(), [1, 2])), "PCA"),
    ],
)
def test_other_transformers_are_refused(transformer, who):
    if not isinstance(transformer, FunctionTransformer):
        transformer.fit(NUMBERS)
    with pytest.raises(
        MixedColumnsError, match=f"^{who} is not known to work column by column$"
    ):
        sources(transformer, 3)


class OneHot(TransformerMixin, BaseEstimator):
    """A transformer that the package does not know: the number, and a column for each city."""

    def fit(self, X, y=None):
        self.cities_ = np.unique(X["city"])
        return self

    def transform(self, X):
        cities = X["city"].to_numpy()[:, None] == self.cities_
        return np.column_stack([X["age"], cities])


def test_new_categories_belong_to_their_column():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.normal(size=80), "city": rng.choice(["u", "v"], 80)})
    rare = pd.DataFrame({"age": [0.5, 1.0], "city": ["rare", "u"]})
    y = np.r_[X["age"] + (X["city"] == "u"), 5.0, 1.0]
    model = make_pipeline(OneHot(), LinearRegression()).fit(pd.concat([X, rare]), y)
    found = ShapleyExplainer(model).fit(X).explain(rare)
    plain = ShapleyExplainer(model, reward=InterventionalReward(transformed=False))
    exact = plain.set_params(sampler="exact").fit(X).explain(rare)
    np.testing.assert_allclose(found.values, exact.values, atol=1e-9)
