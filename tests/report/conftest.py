"""Explanations for reports, with names that would be markup without escaping."""

import shutil
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import pytest

from skshapley import Explanation, Interactions
from skshapley.explanation import Settings

SYSTEM = ("chromium", "chromium-headless-shell", "google-chrome")
EVIL = "</script><img src=x onerror=\"document.title='evil'\">"


def make_explanation(n_rows=40, n_features=6, *, outputs=None, pairs=False):
    """An explanation that adds up, of numbers, texts, dates, truths and missing values."""
    rng = np.random.default_rng(0)
    k = 1 if outputs is None else len(outputs)
    values = (
        rng.normal(size=(n_rows, n_features, k))
        * np.geomspace(1, 0.1, n_features)[:, None]
    )
    base = np.full((n_rows, k), 0.4)
    flat = [
        values,
        np.abs(rng.normal(size=values.shape)) * 0.1,
        base,
        base + values.sum(axis=1),
    ]
    if outputs is None:
        flat = [part[..., 0] for part in flat]
    data = pd.DataFrame(rng.normal(size=(n_rows, n_features)))
    data.columns = [f"x{i}" for i in range(n_features)]
    data.index = [f"row {i}" for i in range(n_rows)]
    explanation = Explanation(
        values=flat[0],
        standard_errors=flat[1],
        base_values=flat[2],
        predictions=flat[3],
        data=data,
        feature_names=data.columns.to_numpy(dtype=object),
        output_names=None if outputs is None else np.array(outputs, dtype=object),
        n_evaluations=np.full(n_rows, 32.0),
        n_model_rows=np.full(n_rows, 320),
        converged=np.ones(n_rows, dtype=bool),
        settings=Settings(
            model="Model(depth=3)", response_method="predict_proba", n_background=7
        ),
        background_errors=0.5 * flat[1],
    )
    if not pairs:
        return explanation
    numbers = rng.normal(
        size=(n_rows, n_features * (n_features - 1) // 2, *flat[0].shape[2:])
    )
    interactions = Interactions.of_pairs(
        flat[0],
        numbers,
        np.full(numbers.shape, np.nan),
        base_values=flat[2],
        feature_names=explanation.feature_names,
        index="shapley",
        rows=data.index,
        output_names=explanation.output_names,
    )
    return replace(explanation, interactions=interactions)


def report_text(explanation, **options):
    """The text of the report of an explanation."""
    with TemporaryDirectory() as folder:
        path = explanation.report(Path(folder, "report.html"), **options)
        return path.read_text(encoding="utf-8")


def make_awkward():
    """Two outputs; every name and text is an attempt to be markup; every kind of column."""
    explanation = make_explanation(outputs=[f"yes {EVIL}", f"no {EVIL}"], pairs=True)
    n = len(explanation)
    data = explanation.data.copy()
    data["x0"] = [f"{EVIL} {i % 3}" for i in range(n)]
    data["x1"] = pd.Timestamp("2024-02-28 12:00") + pd.to_timedelta(
        np.arange(n), unit="D"
    )
    data["x2"] = np.arange(n) % 2 == 0
    data["x3"] = np.arange(n) % 4
    data["x4"] = np.where(np.arange(n) % 5, data["x4"], np.nan)
    data.columns = [f"{name} {EVIL}" for name in data.columns]
    data.index = [f"row {i} {EVIL}" for i in range(n)]
    names = data.columns.to_numpy(dtype=object)
    pairs = replace(explanation.interactions, feature_names=names, rows=data.index)
    return replace(explanation, data=data, feature_names=names, interactions=pairs)


@pytest.fixture(scope="session")
def plain():
    return make_explanation()


@pytest.fixture(scope="session")
def awkward():
    return make_awkward()


@pytest.fixture(scope="session")
def evil():
    return EVIL


@pytest.fixture(scope="session")
def thousand():
    """A thousand rows of thirty features, with errors and interactions."""
    return make_explanation(1000, 30, pairs=True)


@pytest.fixture(scope="session")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as session:
        found = filter(None, map(shutil.which, SYSTEM))
        try:
            browser = session.chromium.launch()
        except playwright.Error:  # Playwright's own is not there
            path = next(found, None)
            if path is None:
                pytest.skip("no Chromium: playwright install chromium")
            browser = session.chromium.launch(
                executable_path=path, args=["--no-sandbox"]
            )
        yield browser
        browser.close()


@pytest.fixture
def opened(browser, tmp_path):
    """Open the report of an explanation; at the end nothing was asked for, nothing went wrong."""
    pages, wrong, asked = [], [], []

    def open_report(explanation, width=1200, context=None, **options):
        path = explanation.report(tmp_path / "report.html", **options)
        page = browser.new_page(
            viewport={"width": width, "height": 900}, **(context or {})
        )
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("request", lambda request: asked.append(request.url))
        page.set_default_timeout(10_000)
        page.goto(path.as_uri())
        pages.append(page)
        return page

    yield open_report
    for page in pages:
        page.close()
    assert not wrong
    assert {*asked} == {(tmp_path / "report.html").as_uri()}
