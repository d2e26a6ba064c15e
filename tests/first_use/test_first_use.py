"""Models and tables of first-time users: typical calls, and correct numbers."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skshapley import Explanation, ShapleyExplainer
from skshapley.plots import BeeswarmDisplay, WaterfallDisplay

from .cases import CASES
from .models import MODELS, X
from .tables import TABLES

pytestmark = pytest.mark.slow


def all_a_user_does(model, table, folder):
    """Explain three rows, inspect them, and save them in each format."""
    made = ShapleyExplainer(model, random_state=0).fit(table).explain(table[:3])
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, rtol=1e-8, atol=1e-8)
    assert made.settings.method != "method unknown"
    one = made if made.values.ndim == 2 else made[:, :, 0]
    BeeswarmDisplay.from_explanation(one)
    WaterfallDisplay.from_explanation(one, row=0)
    plt.close("all")
    assert made._repr_html_()
    made.save(folder / "phi")
    there = Explanation.load(folder / "phi")
    np.testing.assert_array_equal(there.values, made.values)
    pd.testing.assert_frame_equal(there.data, made.data)
    k = 1 if made.output_names is None else len(made.output_names)
    assert len(pd.read_parquet(folder / "phi")) == k * len(made)
    made.report(folder / "report.html")


@pytest.mark.parametrize("name", MODELS)
def test_first_use_of_a_model(name, tmp_path):
    model, target = MODELS[name]
    all_a_user_does(model.fit(X, target), X, tmp_path)


@pytest.mark.parametrize("make", TABLES, ids=lambda make: make.__name__)
def test_first_use_of_a_table(make, tmp_path):
    all_a_user_does(*make(np.random.default_rng(0)), tmp_path)


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_explained_without_a_wrapper(make):
    case = make()
    explainer = ShapleyExplainer(case.model, random_state=0, **case.options)
    made = explainer.fit(case.background).explain(case.rows)
    said = np.asarray(case.said, dtype=np.float64)
    assert made.predictions.shape == said.shape
    # single precision: the trees of XGBoost are added up in float64 here, in float32
    # there
    np.testing.assert_allclose(made.predictions, said, rtol=2e-6, atol=2e-6)
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, rtol=1e-8, atol=1e-8)
    matter = made.values.reshape(len(said), len(made.feature_names), -1).any(
        axis=(0, 2)
    )
    assert matter.sum() > 1
    assert len(made.data) == len(said)
    assert made.to_frame() is not None
