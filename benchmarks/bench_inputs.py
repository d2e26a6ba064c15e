"""CPU time of the thirty cases of `tests/test_thirty_cases.py`, beside shap's nearest explainer.

Each case is fitted and explained by both, in one process and with one thread: the better of two
runs. shap's nearest explainer is that of its own choice, for trees, linear models, text, or else
permutations, with its default budget and the whole background. Where it fails, what it raised
stands in its column.

    python benchmarks/bench_inputs.py [case ...]
"""

import sys
import time
import warnings
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import shap

from skshapley import ShapleyExplainer

CASES = run_path(str(Path(__file__).parents[1] / "tests" / "test_thirty_cases.py"))["CASES"]
TREES = ("Forest", "XGB", "LGBM", "HistGradient", "IsolationForest")


def seconds(function):
    """Return the CPU time of a call, in seconds, or the name of the error that ended it."""
    times = []
    while len(times) < 2 and sum(times) < 5:
        start = time.process_time()
        try:
            function()
        except Exception as error:
            return type(error).__name__
        times.append(time.process_time() - start)
    return min(times)


def by_shap(case):
    """Explain as shap does, with the explainer that it would choose and the same response."""
    model, options = case.model, case.options
    name, background, rows = type(model).__name__, case.background, case.rows
    if any(kind in name for kind in TREES):
        return shap.TreeExplainer(model, background)(rows)
    if name in ("LinearRegression", "LogisticRegression", "LinearSVC"):
        return shap.LinearExplainer(model, background)(rows)
    method = options.get("response_method", "predict")
    for better in ("predict_proba", "decision_function", "score_samples"):
        if "response_method" not in options and hasattr(model, better):
            method = better
            break
    if isinstance(background, list | pd.Series):
        masker = shap.maskers.Text(r"\W+")
        explainer = shap.Explainer(lambda texts: getattr(model, method)(list(texts)), masker)
        return explainer(list(rows), silent=True)
    masker = shap.maskers.Independent(background, max_samples=len(background))
    return shap.PermutationExplainer(getattr(model, method), masker)(rows, silent=True)


def main(names):
    """Print a line for each case."""
    warnings.simplefilter("ignore")
    print(f"{'case':<34}{'skshapley':>10}{'shap':>24}   seconds of CPU, or what was raised")
    for make in CASES:
        if names and make.__name__ not in names:
            continue
        case = make()
        explainer = ShapleyExplainer(case.model, random_state=0, **case.options)
        rows = case.rows

        def ours(explainer=explainer, case=case, rows=rows):
            return explainer.fit(case.background).explain(rows)

        np.random.seed(0)  # noqa: NPY002 - what shap draws from
        times = seconds(ours), seconds(lambda case=case: by_shap(case))
        own, theirs = (x if isinstance(x, str) else f"{x:.3f}" for x in times)
        print(f"{make.__name__:<34}{own:>10}{theirs:>24}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
