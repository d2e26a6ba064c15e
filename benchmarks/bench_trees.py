"""Exact values of tree ensembles: CPU time and agreement beside shap's C++, woodelf and sampling.

All in one process, one thread, CPU time. shap's cost is proportional to instances x background, so
where a whole run would take more than about two seconds it is timed on fewer instances and scaled
(marked ~); its background is always the full one. `fit` is reading the model plus fitting;
`explain` is explaining alone. Ratios are shap's time over ours; below 1 shap wins.
Tables that ours made are used for all instances of the same background.

woodelf-explainer is timed with its fit (it has no other way).
The data lie on a float32 grid: shap compares some thresholds in another precision than the
library, and differs from the library's own predictions on other rows.

    python benchmarks/bench_trees.py [--quick] [--only NAME] [--woodelf] [--sampling]
"""

import argparse
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from io import StringIO

import numpy as np
import shap
import xgboost
from lightgbm import LGBMRegressor
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)

from skshapley import ShapleyExplainer
from skshapley.trees import TreeExplainer

SECONDS = 2.0
N_ROWS = 10_000
XGB = partial(xgboost.XGBRegressor, max_depth=6, n_jobs=1)
MODELS = {
    "xgboost 100 x depth 6, d=10": (XGB(n_estimators=100), 10),
    "xgboost 100 x depth 6, d=30": (XGB(n_estimators=100), 30),
    "xgboost 100 x depth 6, d=100": (XGB(n_estimators=100), 100),
    "xgboost 1000 x depth 6, d=30": (XGB(n_estimators=1000, learning_rate=0.05), 30),
    "lightgbm 100 x 31 leaves, d=30": (LGBMRegressor(verbose=-1, n_jobs=1), 30),
    "hist boosting 100, d=30": (HistGradientBoostingRegressor(), 30),
    "gradient boosting 100 x depth 3, d=30": (GradientBoostingRegressor(), 30),
    "random forest 100 grown, d=10": (RandomForestRegressor(100, random_state=0), 10),
    "random forest 100 grown, d=30": (RandomForestRegressor(100, random_state=0), 30),
}
INSTANCES, BACKGROUNDS = (10, 1_000, 10_000), (1, 100, 1_000, 10_000)


def cpu(function):
    """Result and CPU seconds of a call."""
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def best(function, seconds=0.3, most=20):
    """The fastest of as many calls as fit into some time, at least one."""
    result, shortest = cpu(function)
    spent, calls = shortest, 1
    while spent < seconds and calls < most:
        _, took = cpu(function)
        spent, calls, shortest = spent + took, calls + 1, min(shortest, took)
    return result, shortest


def scaled(function, rows):
    """Time of `function(rows)` whose cost is proportional to rows; on fewer rows where long."""
    n = min(len(rows), 2)
    while True:
        result, took = cpu(lambda n=n: function(rows[:n]))
        if n == len(rows):
            return result, best(lambda: function(rows))[1] if took < 0.1 else took, ""
        grown = min(len(rows), max(2 * n, int(n * 0.5 * SECONDS / max(took, 1e-4))))
        if took * grown / n > SECONDS or took > SECONDS / 4:
            return result, took * len(rows) / n, "~"
        n = grown


def shap_explainer(model, background):
    masker = shap.maskers.Independent(background, max_samples=len(background))
    return shap.TreeExplainer(model, masker, feature_perturbation="interventional")


def compare(name, model, background, rows, woodelf):
    """One line: ours, shap's, woodelf's."""
    make = partial(TreeExplainer, model)
    ours, fit = best(lambda: make().fit(background), 0.1, 3)
    explanation, explain = best(lambda: ours.explain(rows), 0.2)
    theirs, shap_fit = cpu(lambda: shap_explainer(model, background))
    values, shap_explain, mark = scaled(
        lambda part: theirs.shap_values(part, check_additivity=False), rows
    )
    values = np.reshape(values, (len(values), -1))
    off = np.abs(values - explanation.values[: len(values)]).max() / np.abs(values).max()
    other = time_woodelf(model, background, rows, explanation.values) if woodelf else ""
    print(
        f"{name:<38}{len(rows):>7}{len(background):>7}{fit:>8.3f}{explain:>9.4f}"
        f"{shap_explain:>10.3f}{mark:<1}{shap_explain / explain:>10.1f}"
        f"{(shap_fit + shap_explain) / (fit + explain):>10.1f}{off:>9.0e}{other}",
        flush=True,
    )


def time_woodelf(model, background, rows, values):
    """woodelf-explainer's time with fit, and its share of rows that differ from ours."""
    import pandas as pd
    from woodelf import WoodelfExplainer

    columns = [f"x{i}" for i in range(rows.shape[1])]
    frames = [pd.DataFrame(part, columns=columns) for part in (background, rows)]
    with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
        theirs, took = cpu(lambda: WoodelfExplainer(model, frames[0]).shap_values(frames[1]))
    wrong = np.abs(np.asarray(theirs) - values).max(axis=1) > 1e-4 * np.abs(values).max()
    return f"   woodelf {took:.2f} s, {wrong.mean():.1%} of rows off"


def path_dependent(name, model, rows):
    """Ours beside XGBoost's own pred_contribs."""
    ours, fit = best(lambda: TreeExplainer(model, feature_perturbation="path_dependent").fit())
    explanation, explain = best(lambda: ours.explain(rows))
    matrix, booster = xgboost.DMatrix(rows), model.get_booster()
    theirs, took = cpu(lambda: booster.predict(matrix, pred_contribs=True))
    off = np.abs(theirs[:, :-1] - explanation.values).max() / np.abs(theirs).max()
    print(
        f"{name:<38}{len(rows):>7}{'path':>7}{fit:>8.3f}{explain:>9.4f}{took:>10.3f} "
        f"{took / explain:>10.1f}{took / (fit + explain):>10.1f}{off:>9.0e}",
        flush=True,
    )


def sampling(name, model, background, rows):
    """The model-agnostic path at its default budget: time for a row, and its error."""
    exact = TreeExplainer(model).fit(background).explain(rows)
    explainer = ShapleyExplainer(model, sampler="antithetic", random_state=0).fit(background)
    estimate, took = cpu(lambda: explainer.explain(rows))
    error = np.square(estimate.values - exact.values).sum() / np.square(exact.values).sum()
    print(
        f"{name:<38}{len(rows):>7}{len(background):>7}   sampling: {took / len(rows):.3f} s a row, "
        f"relative squared error {error:.1e}",
        flush=True,
    )


def cases(name, quick):
    for r in INSTANCES:
        for b in BACKGROUNDS:
            heavy = "forest" in name and (r > 1_000 or b > 1_000)
            if not heavy and not (quick and (r > 1_000 or b > 1_000)):
                yield r, b


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--woodelf", action="store_true")
    parser.add_argument("--sampling", action="store_true")
    options = parser.parse_args()
    print(
        f"{'model':<38}{'rows':>7}{'backgr':>7}{'fit s':>8}{'explain':>9}{'shap s':>10} "
        f"{'ratio':>10}{'with fit':>10}{'off':>9}"
    )
    for name, (model, d) in MODELS.items():
        if options.only not in name:
            continue
        X, y = make_friedman1(N_ROWS, d, noise=1.0, random_state=0)
        X = X.astype(np.float32).astype(np.float64)
        model.fit(X[:2000], y[:2000])
        if options.sampling:
            sampling(name, model, X[:100], X[-5:])
            continue
        for r, b in cases(name, options.quick):
            compare(name, model, X[:b], X[-r:], options.woodelf)
        if name.startswith("xgboost"):
            path_dependent(name, model, X[-1_000:])


if __name__ == "__main__":
    main()
