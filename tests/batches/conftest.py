"""A table with keys, a model that needs sampling, and explainers for every container."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from skshapley import ShapleyExplainer
from skshapley.batches._folder import write_json

NAMES = ["a", "b", "c", "d", "e"]


def model(X):
    """A step of sums and products, the same for a row whatever the rows beside it."""
    a, b, c, d, e = (
        np.asarray(column, dtype=float) for column in np.asarray(X, dtype=float).T
    )
    return np.where(a * b > c, d + 2 * e * a, b - c * d)


def fitted(background, **parameters):
    parameters = dict(sampler="antithetic", max_rows=109, random_state=7) | parameters
    return ShapleyExplainer(parameters.pop("model", model), **parameters).fit(
        background
    )


def contents(folder):
    """The bytes of every file but the lock."""
    return {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.name != "_lock"}


def rewritten(manifest, **changes):
    """Change a manifest as a run would write it, with the hash of its new content."""
    content = json.loads(manifest.read_text())
    del content["hash"]
    write_json(manifest, content | changes)


def picky(X):
    if np.isnan(np.asarray(X, dtype=float)).any():
        raise ValueError("no NaN, please.")
    return model(X)


def spoilt(table, rows):
    table = table.copy()
    table.loc[rows, "b"] = np.nan
    return table


@pytest.fixture(scope="session")
def table():
    """25 rows of five numbers, and a column of keys."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(25, 5)).round(2), columns=NAMES)
    return frame.assign(key=[f"row {i}" for i in range(25)])


@pytest.fixture(scope="session")
def background():
    return pd.DataFrame(np.random.default_rng(1).normal(size=(6, 5)), columns=NAMES)


@pytest.fixture
def explainer(background):
    return fitted(background)


@pytest.fixture(scope="session")
def whole(table, background):
    """The explanation of all rows in one call, as it was before there were batches."""
    return fitted(background).explain(table[NAMES])
