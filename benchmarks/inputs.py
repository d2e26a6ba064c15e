"""The thirty cases of `tests/strangers/cases.py`, beside shap's nearest explainer.

Each case is a fitted model, its background and one to three rows; both packages are fitted and
explain. CPU milliseconds of one thread, in one process and in turn, the least of three runs or
more. shap's nearest explainer is the one of its own choice: for trees, for linear models, or else
permutations, with its default budget and the whole background. Where it fails, what it raised
stands in its column: those are tables and models that a user of shap has to wrap.

Its explainers of trees and lines do not ask the model; ours does once, in `fit`, and compares what
was read with what it says. Sampled values have other errors than shap's, and ours learn in `fit`
what the rows share.

Run ``python -m benchmarks.inputs [case ...]``: it writes `benchmarks/results/inputs.md`.
"""

import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
import shap

from skshapley import ShapleyExplainer

ROOT = Path(__file__).parents[1]
CASES = run_path(str(ROOT / "tests" / "strangers" / "cases.py"))["CASES"]
RESULTS = ROOT / "benchmarks" / "results" / "inputs.md"
TREES = ("Forest", "XGB", "LGBM", "HistGradient", "IsolationForest")
LINEAR = ("LinearRegression", "LogisticRegression", "LinearSVC")
RUNS, MOST_RUNS, ENOUGH_S = 3, 30, 0.5


def timed(function):
    """Return the CPU milliseconds of a call, or the name of the error that ended it."""
    start = time.process_time_ns()
    try:
        function()
    except Exception as error:
        return type(error).__name__
    return (time.process_time_ns() - start) / 1e6


def by_shap(case):
    """Return the name of shap's explainer for a case, and what explains it."""
    model, options = case.model, case.options
    name, background, rows = type(model).__name__, case.background, case.rows
    if any(kind in name for kind in TREES):
        return "Tree", lambda: shap.TreeExplainer(model, background)(rows)
    if name in LINEAR:
        return "Linear", lambda: shap.LinearExplainer(model, background)(rows)
    method = options.get("response_method", "predict")
    for better in ("predict_proba", "decision_function", "score_samples"):
        if "response_method" not in options and hasattr(model, better):
            method = better
            break
    if isinstance(background, list | pd.Series):
        masker = shap.maskers.Text(r"\W+")
        explainer = shap.Explainer(lambda texts: getattr(model, method)(list(texts)), masker)
        return "Partition", lambda: explainer(list(rows), silent=True)

    def permutations():
        masker = shap.maskers.Independent(background, max_samples=len(background))
        return shap.PermutationExplainer(getattr(model, method), masker)(rows, silent=True)

    return "Permutation", permutations


def measured(make):
    """Return the line of a case."""
    case = make()
    name, theirs = by_shap(case)

    def ours():
        explainer = ShapleyExplainer(case.model, random_state=0, **case.options)
        return explainer.fit(case.background).explain(case.rows)

    np.random.seed(0)  # noqa: NPY002 - what shap draws from
    pairs, start = [], time.process_time()
    for run in range(MOST_RUNS):
        if run >= RUNS and time.process_time() - start > ENOUGH_S:
            break
        pairs.append((timed(ours), timed(theirs)))
    own, other = zip(*pairs, strict=True)
    failed = isinstance(other[0], str)
    settings = ours().settings
    how = settings.closed_form or ("sampled" if settings.why_sampled else "")
    told = f"{other[0]} | " if failed else f"{min(other):.2f} | {min(own) / min(other):.2f}"
    return f"| {make.__name__.replace('_', ' ')} | {how} | {min(own):.2f} | {name} | {told} |"


def main(names):
    """Print a line for each case; write the page if all were asked for."""
    warnings.simplefilter("ignore")
    lines = [
        "| case | read from | skshapley, ms | shap's | its ms, or error | ratio |",
        "| --- | --- | ---: | --- | ---: | ---: |",
    ]
    for make in CASES:
        if not names or make.__name__ in names:
            lines.append(measured(make))
            print(lines[-1], flush=True)
    if names:
        return
    title, text = __doc__.split("\n\n", 1)
    title, text = title.rstrip(".").replace("`", ""), text.split("\n\nRun ``")[0]
    packages = ", ".join(f"{name} {version(name)}" for name in ("shap", "scikit-learn", "numpy"))
    RESULTS.write_text(f"# {title}\n\n{text}\n\n{packages}.\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
