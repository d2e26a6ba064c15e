"""The page computes the numbers of the explainer, for rows and for moves."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    VotingRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    SplineTransformer,
    StandardScaler,
)

from skshapley import ShapleyExplainer, TreeExplainer

from .page_script import answers, model_part

N = 150
RNG = np.random.default_rng(0)
NUMBERS = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "pay": np.where(RNG.random(N) < 0.2, np.nan, RNG.lognormal(size=N)),
        "size": RNG.normal(size=N).astype(np.float32),
        "zero": np.where(RNG.random(N) < 0.5, 0.0, RNG.normal(size=N)),
    }
)
FULL = NUMBERS.fillna(1.0)
MIXED = NUMBERS.assign(
    city=pd.Series(RNG.choice(["Rome", "Oslo", None], N), dtype=object),
    level=pd.Categorical(RNG.choice(["low", "mid", "high"], N)),
    member=RNG.random(N) < 0.5,
)
SCORE = FULL["age"] / 40 + FULL["size"] * FULL["zero"] + (MIXED["city"] == "Rome")
TWO = np.where(SCORE.median() < SCORE, "yes", "no")
THREE = np.digitize(SCORE, np.quantile(SCORE, [0.3, 0.7]))
NATIVE = MIXED.drop(columns="member").assign(
    city=MIXED["city"].astype("category"), level=MIXED["level"]
)


def raw_columns(*steps):
    """Return steps that transform each raw column alone."""
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["city", "level", "member"]),
        (make_pipeline(SimpleImputer(add_indicator=True), *steps), [*NUMBERS]),
    )


def xgboost_of(rows, y, **options):
    from xgboost import XGBClassifier

    options = {"n_estimators": 10, "max_depth": 4, "n_jobs": 1} | options
    return XGBClassifier(**options).fit(rows, y)


def catboost_of(rows, y):
    from catboost import CatBoostClassifier

    options = {"iterations": 10, "depth": 4, "verbose": False, "thread_count": 1}
    return CatBoostClassifier(**options, allow_writing_files=False).fit(rows, y)


def log_odds(model, rows, **options):
    return ShapleyExplainer(model, response_method="log_odds", **options), rows


CODES = THREE.astype(int)
POSITIVE = (TWO == "yes").astype(int)
MODELS = {
    "xgboost": lambda: log_odds(xgboost_of(NUMBERS, POSITIVE), NUMBERS),
    "xgboost classes": lambda: log_odds(xgboost_of(NUMBERS, CODES), NUMBERS),
    "xgboost array": lambda: log_odds(
        xgboost_of(NUMBERS.to_numpy(), POSITIVE), NUMBERS.to_numpy()
    ),
    "xgboost categories": lambda: log_odds(
        xgboost_of(NATIVE, POSITIVE, enable_categorical=True), NATIVE
    ),
    "xgboost margin": lambda: (TreeExplainer(xgboost_of(NUMBERS, CODES)), NUMBERS),
    "lightgbm": lambda: log_odds(
        lightgbm.LGBMClassifier(
            n_estimators=10, verbose=-1, min_child_samples=5, n_jobs=1
        ).fit(NATIVE, TWO),
        NATIVE,
    ),
    "lightgbm zero as missing": lambda: log_odds(
        lightgbm.LGBMClassifier(
            n_estimators=10, verbose=-1, zero_as_missing=True, n_jobs=1
        ).fit(NUMBERS, TWO),
        NUMBERS,
    ),
    "catboost": lambda: log_odds(catboost_of(NUMBERS, TWO), NUMBERS),
    "histogram boosting": lambda: log_odds(
        HistGradientBoostingClassifier(
            max_iter=10, categorical_features="from_dtype"
        ).fit(NATIVE, TWO),
        NATIVE,
    ),
    "gradient boosting classes": lambda: (
        ShapleyExplainer(
            GradientBoostingClassifier(n_estimators=5).fit(FULL, THREE),
            response_method="decision_function",
        ),
        FULL,
    ),
    "forest": lambda: (
        ShapleyExplainer(
            RandomForestClassifier(20, max_depth=5, random_state=0).fit(FULL, THREE)
        ),
        FULL,
    ),
    "first class": lambda: (
        ShapleyExplainer(
            RandomForestClassifier(5, max_depth=4, random_state=0).fit(FULL, TWO),
            output="no",
        ),
        FULL,
    ),
    "extra trees in a pipeline": lambda: (
        ShapleyExplainer(
            make_pipeline(
                make_column_transformer(
                    (OrdinalEncoder(), ["level", "member"]),
                    remainder=SimpleImputer(),
                ),
                ExtraTreesRegressor(10, max_depth=5, random_state=0),
            ).fit(MIXED.drop(columns="city"), SCORE)
        ),
        MIXED.drop(columns="city"),
    ),
    "isolation forest": lambda: (
        TreeExplainer(
            IsolationForest(n_estimators=5, max_samples=32, random_state=0).fit(FULL)
        ),
        FULL,
    ),
    "linear": lambda: (ShapleyExplainer(LinearRegression().fit(FULL, SCORE)), FULL),
    "linear in raw columns": lambda: (
        ShapleyExplainer(
            make_pipeline(raw_columns(StandardScaler()), Ridge()).fit(MIXED, SCORE)
        ),
        MIXED,
    ),
    "logistic": lambda: (
        ShapleyExplainer(
            make_pipeline(raw_columns(StandardScaler()), LogisticRegression(C=100)).fit(
                MIXED, TWO
            )
        ),
        MIXED,
    ),
    "logistic classes in log-odds": lambda: (
        ShapleyExplainer(
            make_pipeline(
                raw_columns(
                    KBinsDiscretizer(3, encode="onehot-dense", strategy="uniform")
                ),
                LogisticRegression(),
            ).fit(MIXED, THREE),
            response_method="decision_function",
        ),
        MIXED,
    ),
    "splines": lambda: (
        ShapleyExplainer(
            make_pipeline(SplineTransformer(), Ridge()).fit(FULL.to_numpy(), SCORE)
        ),
        FULL.to_numpy(),
    ),
    "vote": lambda: (
        ShapleyExplainer(
            VotingRegressor(
                [
                    ("trees", ExtraTreesRegressor(5, max_depth=4, random_state=0)),
                    ("line", Ridge()),
                ]
            ).fit(FULL, SCORE)
        ),
        FULL,
    ),
}


def as_frame(rows):
    return (
        rows
        if isinstance(rows, pd.DataFrame)
        else pd.DataFrame(rows, columns=[f"x{i}" for i in range(rows.shape[1])])
    )


def random_moves(data, frame, rng, n):
    """Return cells and the same rows as a frame: one to three columns are moved."""
    cells = [[column[row] for column in data["rows"]] for row in range(n)]
    moved = frame.iloc[:n].astype(object)
    for row in range(n):
        for place in rng.choice(len(cells[row]), rng.integers(1, 4), replace=False):
            cell, value = random_value(
                data["columns"][place], frame.iloc[:, place], rng
            )
            cells[row][place] = cell
            moved.iloc[row, place] = value
    for place, kind in enumerate(frame.dtypes):
        moved[moved.columns[place]] = moved.iloc[:, place].astype(kind)
    return cells, moved


def random_value(column, values, rng):
    """Return a cell of the page and its value in Python, missing in a fifth of all draws."""
    number = column["kind"] == "number"
    if column["missing"] and rng.random() < 0.2:
        lost = values[values.isna()]
        return (None if number else -1), (lost.iloc[0] if len(lost) else np.nan)
    if number:
        low, high = column["range"]
        value = rng.uniform(low - 1, high + 1)
        value = int(value) if column["whole"] else value
        value = float(np.float32(value)) if column["single"] else value
        return value, value
    code = int(rng.integers(len(column["values"])))
    if column["kind"] == "steps":
        return code, column["values"][code]
    known = {str(value): value for value in values.dropna().unique()}
    return code, known[column["values"][code]]


@pytest.mark.parametrize("name", MODELS)
def test_the_page_agrees_with_python(name):
    """Values, base values, predictions and errors, on random moves from random rows."""
    explainer, rows = MODELS[name]()
    explainer.set_params(**({} if "Tree" in str(explainer) else {"verbose": False}))
    background = rows[:25]
    explainer.fit(background)
    frame = as_frame(rows)
    data = model_part(explainer, frame)
    rng = np.random.default_rng(1)
    cells, moved = random_moves(data, frame, rng, 6)
    k = data["n_outputs"]
    moves = [(row, output) for row in cells for output in range(k)]
    page = answers(data, moves)
    table = moved if isinstance(rows, pd.DataFrame) else moved.to_numpy(rows.dtype)
    known = explainer.explain(table)
    shape = (len(cells), k)
    size = np.abs(known.values).max()
    values = np.reshape([answer["values"] for answer in page], (*shape, -1))
    known_values = known.values.reshape(len(cells), -1, k).swapaxes(1, 2)
    np.testing.assert_allclose(values, known_values, rtol=1e-9, atol=1e-9 * size)
    base = np.reshape([answer["base"] for answer in page], shape)
    np.testing.assert_allclose(base, known.base_values.reshape(shape), rtol=1e-9)
    predictions = [page[row * k]["predictions"] for row in range(len(cells))]
    np.testing.assert_allclose(
        predictions, known.predictions.reshape(shape), rtol=1e-9, atol=1e-9
    )
    if name == "isolation forest" or isinstance(explainer, TreeExplainer):
        return  # without a reward, no background errors
    errors = np.reshape([answer["errors"] for answer in page], (*shape, -1))
    known_errors = explainer.background_errors(table).reshape(len(cells), -1, k)
    np.testing.assert_allclose(
        errors, known_errors.swapaxes(1, 2), rtol=1e-7, atol=1e-9 * size
    )


@pytest.mark.parametrize("p", [9, 60])
def test_probabilities_of_separable_classes_agree_with_python(p):
    """Large scores, where products of many columns change fast along the nodes."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(300, p))).add_prefix("x")
    score = rows @ rng.normal(size=p)
    model = LogisticRegression(C=100, max_iter=1000).fit(rows, score > 0)
    explainer = ShapleyExplainer(model, max_rows=10**7).fit(rows[:2])
    data = model_part(explainer, rows[2:3])
    (page,) = answers(data, [([column[0] for column in data["rows"]], 0)])
    known = explainer.explain(rows[2:3]).values[0]
    np.testing.assert_allclose(page["values"], known, rtol=1e-9, atol=1e-11)
