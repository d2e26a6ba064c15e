"""Type checkers of users see the types of the package."""

import site
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

import skshapley

# `assert_type` refuses Any, too: a lost annotation shows here and nowhere else.
SCRIPT = """
from typing import assert_type

import numpy as np

from skshapley import (
    DataShapley,
    Explanation,
    GlobalImportance,
    ShapleyExplainer,
    shapley_values,
)
from skshapley.samplers import Antithetic
from skshapley.stopping import StandardError
from skshapley.trees import TreeExplainer


def total(X: np.ndarray) -> object:
    return X.sum(axis=1)


def explain(model: object, X: np.ndarray, y: np.ndarray) -> None:
    explainer = ShapleyExplainer(total, sampler=Antithetic(), stopping=StandardError(rtol=0.1))
    assert_type(explainer, ShapleyExplainer)
    assert_type(explainer.fit(X), ShapleyExplainer)
    explanation = explainer.fit(X).explain(X)
    assert_type(explanation, Explanation)
    assert_type(explanation[0], Explanation)
    assert_type(explanation.output("setosa"), Explanation)
    assert_type(explanation[:, "age"], Explanation)
    assert_type(explanation.loc["a"].mean(), Explanation)
    assert_type(abs(explanation), Explanation)
    assert_type(Explanation.load("a"), Explanation)
    assert_type(explanation.values, np.ndarray)
    assert_type(explanation.standard_errors, np.ndarray | None)
    assert_type(explanation.settings.sampler, str | None)
    assert_type(explainer.transform(X), np.ndarray)
    assert_type(shapley_values(total, n_players=2, max_evals=10).values, np.ndarray)
    assert_type(TreeExplainer(model).fit(X), TreeExplainer)
    assert_type(TreeExplainer(model).fit(X).explain(X), Explanation)
    assert_type(GlobalImportance(model).fit(X).explain(X, y).values, np.ndarray)
    assert_type(DataShapley(model).fit(X, y, X, y), DataShapley)
"""


@pytest.mark.slow
def test_type_checkers_see_the_types(tmp_path):
    pytest.importorskip("mypy")
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    checked = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "mypy",
                "--strict",
                "--cache-dir",
                tmp_path / "cache",
            ),
            *("--python-executable", environment(tmp_path / "venv"), "script.py"),
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def environment(home: Path) -> Path:
    """Return the Python of an environment with this package and its requirements.

    A type checker uses installed packages only if they declare types.
    """
    venv.create(home, symlinks=True)
    python = home / "bin" / "python"
    folder = sysconfig.get_path("purelib", "venv", {"base": str(home)})
    paths = [str(Path(skshapley.__file__).parents[1]), *site.getsitepackages()]
    (Path(folder) / "tested.pth").write_text("\n".join(paths), encoding="utf-8")
    return python
