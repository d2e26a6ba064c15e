"""A report with a panel that computes: its size, safety and refused models."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor

from skshapley import ShapleyExplainer

from .page_script import answers, model_part
from .test_model import FULL, MIXED, POSITIVE, SCORE, THREE, xgboost_of

EVIL = "</script><img src=x onerror=\"document.title='evil'\">"


def model_of(page):
    (text,) = re.findall(r'id="content">(.*?)</script>', page)
    return json.loads(text).get("what_if")


@pytest.fixture(scope="module")
def boosted():
    """100 trees of depth 6, of 14 columns, and their explainer."""
    rng = np.random.default_rng(0)
    names = [f"column_{i}" for i in range(14)]
    X = pd.DataFrame(rng.normal(size=(2000, 14)), columns=names)
    score = X["column_0"] * X["column_1"] + X["column_2"] + rng.normal(size=2000)
    model = xgboost_of(X, (score > 0).astype(int), n_estimators=100, max_depth=6)
    return ShapleyExplainer(model, response_method="log_odds").fit(X), X


def test_a_page_is_small_and_has_the_model_only_on_request(boosted, tmp_path):
    explainer, X = boosted
    explanation = explainer.explain(X[:50])
    page = explanation.report(tmp_path / "page.html", what_if=explainer).read_text()
    assert len(page) < 300_000
    model = model_of(page)
    assert len(model["weights"]) == 100
    assert model["n_background"] == 2000
    plain = explanation.report(tmp_path / "plain.html").read_text()
    assert model_of(plain) is None
    for word in ("PageModel", "what-if", "what_if"):
        assert word in page
        assert word not in plain


def test_large_models_have_fewer_background_rows(boosted):
    _, X = boosted
    y = (X["column_0"] > X["column_1"] * X["column_2"]).astype(int)
    forest = RandomForestClassifier(150, max_depth=9, random_state=0, n_jobs=1).fit(
        X, y
    )
    explainer = ShapleyExplainer(forest, max_rows=10**8).fit(X[:500])
    model = model_part(explainer, X[:2])
    assert 10 <= len(model["weights"]) < 100
    assert model["n_background"] == 500


def test_names_and_values_are_never_markup(tmp_path):
    rows = MIXED.assign(city=[f"{EVIL} {i % 3}" for i in range(len(MIXED))])
    rows = rows[["age", "city"]].rename(columns=lambda name: f"{name} {EVIL}")
    rows.index = [f"row {i} {EVIL}" for i in range(len(rows))]
    coded = rows.astype({rows.columns[1]: "category"})
    model = LGBMClassifier(n_estimators=3, verbose=-1, n_jobs=1)
    names = [f"x{i}" for i in range(2)]
    model.fit(coded.set_axis(names, axis=1), POSITIVE)
    explainer = ShapleyExplainer(model, response_method="log_odds")
    explainer.fit(coded.set_axis(names, axis=1))
    explanation = explainer.explain(coded[:5].set_axis(names, axis=1))
    page = explanation.report(tmp_path / "page.html", what_if=explainer).read_text()
    assert "<img" not in page
    assert page.count("<script") == 2
    assert f"{EVIL} 1" in model_of(page)["columns"][1]["values"]
    assert "unsafe" not in page
    assert "://" not in page


REFUSED = {
    "sampled": (
        lambda: ShapleyExplainer(KNeighborsRegressor().fit(FULL, SCORE)),
        "explainer.widget",
    ),
    "probabilities of boosted trees": (
        lambda: ShapleyExplainer(xgboost_of(FULL, POSITIVE)),
        "choose response_method='log_odds', or use explainer.widget",
    ),
    "log-odds of three classes": (
        lambda: ShapleyExplainer(
            LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1).fit(FULL, THREE),
            response_method="log_odds",
        ),
        "LGBMClassifier.log_odds is not .*='decision_function', or use",
    ),
    "groups": (
        lambda: ShapleyExplainer(
            Ridge().fit(FULL, SCORE), groups={"both": ["age", "pay"]}
        ),
        "groups of columns",
    ),
    "another index": (
        lambda: ShapleyExplainer(
            xgboost_of(FULL, POSITIVE), index="banzhaf", response_method="log_odds"
        ),
        'index "banzhaf"',
    ),
    "the predicted class": (
        lambda: ShapleyExplainer(
            RandomForestClassifier(3, max_depth=3, random_state=0).fit(FULL, POSITIVE),
            output="predicted",
        ),
        "another class in each row",
    ),
}


@pytest.mark.parametrize(("make", "message"), REFUSED.values(), ids=REFUSED)
def test_other_models_are_refused_before_a_file_is_written(make, message, tmp_path):
    explainer = make().set_params(verbose=False).fit(FULL[:20])
    explanation = explainer.explain(FULL[:1])
    with pytest.raises(ValueError, match=message):
        explanation.report(tmp_path / "page.html", what_if=explainer)
    assert not list(tmp_path.iterdir())


def test_an_explainer_of_other_rows_is_refused(tmp_path):
    explainer = ShapleyExplainer(Ridge().fit(FULL, SCORE)).fit(FULL)
    other = ShapleyExplainer(Ridge().fit(FULL[["age"]], SCORE)).fit(FULL[["age"]])
    explanation = other.explain(FULL[["age"]][:3])
    with pytest.raises(ValueError, match="of other features than"):
        explanation.report(tmp_path / "page.html", what_if=explainer)
    with pytest.raises(ValueError, match="what_if='model'"):
        explanation.report(tmp_path / "page.html", what_if="model")


def test_class_probabilities():
    """Of every curve, for the classes in the order of the outputs."""
    model = LogisticRegression().fit(FULL, np.where(POSITIVE, "yes", "no"))
    for method, output, kind in (
        ("log_odds", None, "two"),
        ("log_odds", "no", "two"),
        ("predict_proba", "no", "complement"),
    ):
        explainer = ShapleyExplainer(model, response_method=method, output=output)
        data = model_part(explainer.fit(FULL[:20]), FULL[:3])
        assert data["probabilities"]["kind"] == kind
        cells = [[column[0] for column in data["rows"]]]
        (page,) = answers(
            data,
            [(cells[0], 0)],
            f'moves.map(([cells]) => PROBABILITIES["{kind}"](model.predict(cells)))',
        )
        known = dict(zip(model.classes_, model.predict_proba(FULL[:1])[0], strict=True))
        named = dict(zip(data["probabilities"]["names"], page, strict=True))
        assert named == pytest.approx(known)
