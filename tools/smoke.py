"""Checks of an installed skshapley with only its required dependencies.

``make dist`` runs this in an environment that holds the wheel alone, away from the
sources.
"""

import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

import skshapley


def adds_up(explanation):
    gap = (
        explanation.values.sum(axis=1)
        + explanation.base_values
        - explanation.predictions
    )
    assert np.abs(gap).max() < 1e-9 * np.abs(explanation.predictions).max()


def main():
    installed = Path(skshapley.__file__).parent
    assert installed.is_relative_to(sys.prefix), f"{installed} is not in {sys.prefix}"
    assert (installed / "py.typed").exists()
    assert version("skshapley") == skshapley.__version__
    for extra in ("matplotlib", "xgboost", "shap", "pyarrow"):
        assert find_spec(extra) is None, (
            f"{extra} is there, so that nothing shows we do without"
        )

    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = RandomForestRegressor(5, max_depth=4, random_state=0).fit(X, y)
    read = skshapley.ShapleyExplainer(forest).fit(X).explain(X[:3])
    assert read.settings.closed_form == "trees"
    adds_up(read)
    explainer = skshapley.ShapleyExplainer(
        lambda X: X["bmi"] * X["bp"] + X["s5"], random_state=0
    )
    sampled = explainer.fit(X).explain(X[:3])
    assert (sampled.standard_errors[:, X.columns.get_loc("bmi")] >= 0).all()
    adds_up(sampled)
    game = skshapley.shapley_values(lambda S: S.sum(axis=1) ** 2.0, n_players=4)
    np.testing.assert_allclose(game.values, 4.0)

    command = Path(sys.executable).with_name("skshapley")
    done = subprocess.run(
        [command, "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == skshapley.__version__


if __name__ == "__main__":
    main()
