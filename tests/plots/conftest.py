"""Explanations to draw."""

import numpy as np
import pandas as pd
import pytest

from skshapley import Explanation
from skshapley.explanation import Settings


def make_explanation(n_rows=12, n_features=5, *, outputs=None, errors=True, seed=0):
    """An explanation that adds up, with numbers, categories and missing values."""
    rng = np.random.default_rng(seed)
    k = 1 if outputs is None else len(outputs)
    values = (
        rng.normal(size=(n_rows, n_features, k))
        * np.geomspace(1, 0.1, n_features)[:, None]
    )
    base = np.full((n_rows, k), 0.4)
    names = np.array([f"x{i}" for i in range(n_features)], dtype=object)
    data = pd.DataFrame(
        rng.normal(size=(n_rows, n_features)),
        columns=names,
        index=[f"row {i}" for i in range(n_rows)],
    )
    data.iloc[0, 1:2] = np.nan
    data["x0"] = np.where(rng.random(n_rows) < 0.5, "low", "high")
    flat = [
        values,
        np.abs(rng.normal(size=values.shape)) * 0.1,
        base,
        base + values.sum(axis=1),
    ]
    if outputs is None:
        flat = [part[..., 0] for part in flat]
    return Explanation(
        values=flat[0],
        standard_errors=flat[1] if errors else None,
        base_values=flat[2],
        predictions=flat[3],
        data=data,
        feature_names=names,
        output_names=None if outputs is None else np.array(outputs, dtype=object),
        n_evaluations=np.full(n_rows, 32.0),
        n_model_rows=np.full(n_rows, 320),
        converged=np.ones(n_rows, dtype=bool),
        settings=Settings(response_method="predict_proba"),
    )


@pytest.fixture
def explanation():
    return make_explanation()


@pytest.fixture
def wide_explanation():
    return make_explanation(n_features=500)


@pytest.fixture
def explanation_maker():
    return make_explanation
