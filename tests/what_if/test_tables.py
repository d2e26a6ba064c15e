"""Sums of tables in a page that computes, of libraries that only these tests install."""

import pytest

from skshapley import ShapleyExplainer

from .test_model import (
    FULL,
    MIXED,
    MODELS,
    POSITIVE,
    SCORE,
    THREE,
    TWO,
)
from .test_model import (
    test_the_page_agrees_with_python as check_page,
)

# interpret warns of missing values, which its own pictures do not have
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Missing values detected"),
]


def machine(kind, X, y, **options):
    glassbox = pytest.importorskip("interpret.glassbox")
    options = {"max_rounds": 50, "outer_bags": 2, "n_jobs": 1} | options
    return getattr(glassbox, f"ExplainableBoosting{kind}")(**options).fit(X, y)


def gam(kind, y):
    pygam = pytest.importorskip("pygam")
    terms = pygam.s(0, n_splines=6) + pygam.s(1, n_splines=6) + pygam.s(2, n_splines=6)
    return getattr(pygam, kind)(terms).fit(FULL.to_numpy(float), y)


PAGES = {
    "machine of two classes": lambda: (
        ShapleyExplainer(
            machine("Classifier", MIXED, TWO, interactions=3),
            response_method="log_odds",
        ),
        MIXED,
    ),
    "machine of three classes": lambda: (
        ShapleyExplainer(
            machine("Classifier", MIXED, THREE, interactions=0),
            response_method="decision_function",
        ),
        MIXED,
    ),
    "machine of numbers": lambda: (
        ShapleyExplainer(machine("Regressor", FULL, SCORE, interactions=3)),
        FULL,
    ),
    "gam": lambda: (ShapleyExplainer(gam("LinearGAM", SCORE)), FULL.to_numpy(float)),
    "logistic gam": lambda: (
        ShapleyExplainer(gam("LogisticGAM", POSITIVE)),
        FULL.to_numpy(float),
    ),
}


@pytest.mark.parametrize("name", PAGES)
def test_tables_agree_with_python(name, monkeypatch):
    monkeypatch.setitem(MODELS, name, PAGES[name])
    check_page(name)
