"""Make the pictures of README.md and of the pages on reports and groups.

Usage: python doc/images/make_images.py. The screenshots need Chromium.
"""

import shutil
import subprocess
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestRegressor

from skshapley import Explanation, ShapleyExplainer
from skshapley.plots import BeeswarmDisplay

HERE = Path(__file__).parent
BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")
# Width, first and last line of the picture, in pixels
PARTS = {
    "report": (1000, 0, 1150),
    "what_if": (1000, 570, 1570),
    "groups": (1000, 590, 908),
}


def screenshot(page: Path, name: str) -> None:
    """Save a picture of a part of a page."""
    browser = next(path for path in map(shutil.which, BROWSERS) if path)
    width, first, last = PARTS[name]
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--window-size={width},{last}",
        f"--screenshot={HERE / name}.png",
    ]
    subprocess.run([browser, *options, page.as_uri()], check=True)
    picture = plt.imread(HERE / f"{name}.png")
    plt.imsave(HERE / f"{name}.png", picture[first:last])


def main() -> None:
    """Draw the beeswarm, the report, and the report with a what-if panel."""
    demo = run_path(str(HERE.parents[1] / "examples" / "demo.py"))
    tables = demo["tumours"]()
    explanation = demo["explain_trees"](*tables)
    figure = BeeswarmDisplay.from_explanation(explanation).figure_
    figure.savefig(HERE / "readme_beeswarm.png", dpi=130)
    with TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        explanation.report(page, title="Tumours")
        screenshot(page, "report")
        X_train, X_test, *_ = tables
        explainer = ShapleyExplainer(
            demo["boosted_trees"](*tables), response_method="log_odds"
        ).fit(X_train)
        rows = explainer.explain(X_test)
        rows.report(page, title="Tumours", what_if=explainer)
        screenshot(page, "what_if")
        patients, groups = nested_patients()
        patients.report(page, title="Diabetes", groups=groups)
        screenshot(page, "groups")


def nested_patients() -> tuple[Explanation, dict]:
    """Return an explanation of nested groups of columns, and the groups."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X = X[["age", "bmi", "bp", "s5", "s6"]]
    X.columns = ["age", "body mass index", "blood pressure", "triglycerides", "sugar"]
    forest = RandomForestRegressor(50, max_depth=5, random_state=0).fit(X, y)
    groups = {
        "body": {name: [name] for name in X.columns[1:3]},
        "blood": {name: [name] for name in X.columns[3:]},
    }
    explainer = ShapleyExplainer(forest, groups=groups).fit(X)
    return explainer.explain(X[:200]), groups


if __name__ == "__main__":
    main()
