"""The endpoints that the guide shows, run with the servers themselves."""

import re
from pathlib import Path
from textwrap import dedent

import joblib
import numpy as np
import pytest
from sklearn.linear_model import Ridge

from skshapley import ShapleyExplainer

GUIDE = Path(__file__).parents[2] / "doc" / "guide"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # the servers' own
]


def snippet(package):
    """Return the code block of the guide that imports a package."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(GUIDE.glob("*.rst"))]
    blocks = re.findall(r"code-block:: python\n\n((?:    .*\n|\n)+)", "\n".join(texts))
    (found,) = (
        dedent(block)
        for block in blocks
        if re.search(f"(import|from) {package}", block)
    )
    return found


@pytest.fixture
def saved(frame, tmp_path, monkeypatch):
    """An explainer in the working folder, as the snippets expect it."""
    monkeypatch.chdir(tmp_path)
    X = frame.drop(columns="key")
    explainer = ShapleyExplainer(Ridge().fit(X, frame["key"])).fit(X[:20])
    joblib.dump(explainer, "explainer.joblib")
    return explainer


def test_fastapi(saved, rows):
    pytest.importorskip("fastapi")
    from fastapi.testclient import TestClient

    scope = {"__name__": "__main__"}
    exec(compile(snippet("fastapi"), "guide", "exec"), scope)
    row = rows.drop(columns="key").iloc[0]
    answer = TestClient(scope["app"]).post("/explain", json=row.to_dict())
    assert answer.status_code == 200
    wanted = saved.explain(row.to_frame().T)
    assert list(answer.json()) == list(rows.drop(columns="key"))
    np.testing.assert_array_equal(list(answer.json().values()), wanted.values[0])


def test_mlflow(saved, rows):
    pytest.importorskip("mlflow")
    X = rows.drop(columns="key")
    scope = {"__name__": "__main__", "explainer": saved, "X": X}
    exec(compile(snippet("mlflow"), "guide", "exec"), scope)
    np.testing.assert_array_equal(scope["attributions"], saved.explain(X).values)
    assert list(scope["attributions"]) == list(X)
