"""True labels and a second explanation in a report."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

from skshapley import ShapleyExplainer

from .conftest import report_text
from .test_report import content_of

X, Y = load_iris(return_X_y=True, as_frame=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]


def explained(model, y, **options):
    return ShapleyExplainer(model.fit(X, y), **options).fit(X[::10]).explain(X)


def test_labels_of_classes_have_the_probability_of_the_true_class():
    forest = RandomForestClassifier(5, max_depth=2, random_state=0)
    page = content_of(report_text(explained(forest, NAMES), y=NAMES))
    shares = forest.predict_proba(X)[np.arange(150), Y]
    np.testing.assert_allclose(page["truth"]["errors"], 1 - shares, atol=1e-6)
    assert page["truth"]["texts"] == NAMES.tolist()
    facts = dict(page["outputs"][0]["facts"])
    wrong = f"{np.mean(shares < 0.5):.1%} of rows"
    assert facts["Error of the model"].endswith(wrong)


@pytest.mark.parametrize("method", ["predict_proba", "log_odds"])
@pytest.mark.parametrize("output", [None, "no"])
def test_labels_of_two_classes(method, output):
    two = np.where(Y > 0, "yes", "no")
    model = LogisticRegression(C=0.01)
    explanation = explained(model, two, response_method=method, output=output)
    page = content_of(report_text(explanation, y=pd.Series(two), max_rows=10))
    shares = model.predict_proba(X)[np.arange(150), (Y > 0).astype(int)]
    np.testing.assert_allclose(page["truth"]["errors"], 1 - shares[::15], atol=1e-6)


def test_labels_that_are_numbers_have_differences():
    y = X.iloc[:, 0] ** 2
    explanation = explained(LinearRegression(), y)
    page = content_of(report_text(explanation, y=y))
    errors = np.abs(explanation.predictions - y)
    np.testing.assert_allclose(page["truth"]["errors"], errors, rtol=1e-5)
    fact = dict(page["outputs"][0]["facts"])["Error of the model"]
    assert f"{np.sqrt(np.mean(errors**2)):.3f}"[:4] in fact


def test_other_labels_are_refused():
    explanation = explained(LinearRegression(), Y)
    with pytest.raises(ValueError, match="one label for each of the 150 rows"):
        report_text(explanation, y=Y[:3])
    with pytest.raises(ValueError, match="pass labels of the explained response"):
        report_text(explanation, y=NAMES)


def test_two_explanations_side_by_side():
    """Differences of each feature, and of each shown row."""
    mine = explained(LinearRegression(), Y)
    other = explained(LinearRegression(fit_intercept=False), Y)
    page = content_of(report_text(mine, beside=other, max_rows=10))
    (differences,) = page["beside"]
    by_column = np.abs(other.to_frame() - mine.to_frame())
    known = by_column.mean()[page["features"]]
    np.testing.assert_allclose(differences["differences"], known, rtol=1e-5)
    np.testing.assert_allclose(
        differences["rows"], by_column.sum(axis=1).iloc[::15], rtol=1e-5
    )
    np.testing.assert_allclose(
        differences["predictions"], other.predictions[::15], rtol=1e-5
    )
    for wrong in (mine[:3], replace(mine, feature_names=np.array(list("abcd"))), "x"):
        with pytest.raises(ValueError, match="got beside with other"):
            report_text(mine, beside=wrong)
