"""Errors against the whole table for parts of the background, true and stated.

XGBoost models with exact values against all rows as the truth; a perceptron with walks
on all rows for many times the budget. Squared errors are relative, |phi -
truth|^2/|truth|^2, in geometric means over instances; coverage is that of the truth by
nominal 95 % intervals. Budgets are in 100 d model rows. Run ``make bench-background``;
with SKSHAPLEY_DATA, on its tables too. It writes doc/results/background.csv and
prints a markdown table.

    python -m benchmarks background --hundred

compares the sampler "odd" with shap's PermutationExplainer at equal budgets, both
against 100 drawn rows, with exact values against these rows as the truth. It writes
doc/results/hundred.csv.
"""

import os
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import shap
from sklearn.datasets import make_friedman1
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer
from skshapley.background import herd
from skshapley.trees import TreeExplainer

DATA = os.environ.get("SKSHAPLEY_DATA")
OUT = Path(__file__).parents[1] / "doc" / "results" / "background.csv"
HUNDRED, EVALS = OUT.with_name("hundred.csv"), (4, 10, 20)
MOST_ROWS, N_INSTANCES, DRAWN = 12_000, 10, 100
TIMES = (2, 4, 10, 20)
FILES = {  # target, first or last column
    "adult": "adult.csv.gz",
    "bank": "bank.csv.gz",
    "cal_housing": "cal_housing.csv.gz",
    "msd_year": "msd_year_4680.csv.gz",
}


def tables():
    """Yield (name, X, y)."""
    yield "friedman1", *make_friedman1(8000, 12, noise=1.0, random_state=0)
    rng = np.random.default_rng(0)
    near = 0.6 ** np.abs(np.subtract.outer(range(30), range(30)))
    X = rng.normal(size=(8000, 30)) @ np.linalg.cholesky(near).T
    y = np.sin(2 * X[:, 0]) * X[:, 1] + X[:, 2:6].sum(axis=1) + X[:, 6] * (X[:, 7] > 0)
    yield "correlated", X, y + 0.3 * rng.normal(size=8000)
    for name, file in FILES.items() if DATA else ():
        frame = pd.read_csv(Path(DATA) / file)
        target = frame.columns[0] if name == "msd_year" else frame.columns[-1]
        y, X = frame.pop(target), frame
        coded = X.apply(
            lambda c: c if c.dtype.kind in "ifb" else c.astype("category").cat.codes
        )
        y = y if y.dtype.kind in "if" else (y == y.unique()[0])
        yield name, coded.to_numpy(float), y.to_numpy(float)


def tasks():
    """Yield (name, function, background, instances, true values against given rows)."""
    for name, X, y in tables():
        order = np.random.default_rng(1).permutation(len(X))[: MOST_ROWS + N_INSTANCES]
        X, y = X[order], y[order]
        background, instances = X[N_INSTANCES:], X[:N_INSTANCES]
        model = XGBRegressor(n_jobs=1).fit(background, y[N_INSTANCES:])
        exact = TreeExplainer(model)
        yield (
            f"{name}, XGBoost",
            # The method itself would be explained by the trees of its model, exactly.
            lambda rows, model=model: model.predict(rows),
            background,
            instances,
            values_of(exact, instances),
        )
        if name in ("friedman1", "cal_housing"):
            network = make_pipeline(
                StandardScaler(), MLPRegressor(hidden_layer_sizes=(64,), random_state=0)
            )
            network.fit(background, y[N_INSTANCES:])
            # of 100 rows, this budget covers all coalitions
            max_rows = 8 * len(background) * 2 * X.shape[1]
            long = ShapleyExplainer(network.predict, max_rows=max_rows, random_state=1)
            truth = values_of(long, instances)
            yield f"{name}, perceptron", network.predict, background, instances, truth


def values_of(explainer, instances):
    return lambda rows: explainer.fit(rows).explain(instances).values


def relative(values, truth):
    """Return the relative squared error, in the geometric mean over instances."""
    squared = ((values - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1)
    return np.exp(np.log(squared).mean())


def methods(predict, background, instances, times):
    """Yield (name, values, standard errors or None)."""
    d = instances.shape[1]
    max_rows = times * DRAWN * d
    rows = np.random.default_rng(2).permutation(len(background))[:DRAWN]
    choices = {
        "the table": background,
        "100 drawn": background[rows],
        "100 herded": herd(
            background, DRAWN, predictions=predict(background), random_state=0
        ),
    }
    for name, chosen in choices.items():
        explainer = ShapleyExplainer(predict, max_rows=max_rows, random_state=0).fit(
            chosen
        )
        explanation = explainer.explain(instances)
        yield f"skshapley, {name}", explanation.values, explanation.standard_errors
    evals = max_rows // DRAWN
    for name, chosen in {
        "100 drawn": background[rows],
        "k-means": shap.kmeans(background, DRAWN).data,
    }.items():
        masker = shap.maskers.Independent(chosen, max_samples=DRAWN)
        walks = shap.PermutationExplainer(predict, masker, seed=0)
        if evals >= 2 * d + 1:
            found = walks(instances, max_evals=evals, silent=True)
            yield f"shap permutation, {name}", found.values, None
    kernel = shap.KernelExplainer(predict, background[rows])
    yield (
        "shap kernel, 100 drawn",
        kernel.shap_values(instances, nsamples=evals, silent=True),
        None,
    )
    try:
        from lightshap import explain_any
    except ImportError:
        return
    bg = pd.DataFrame(background[rows])
    found = explain_any(predict, pd.DataFrame(instances), bg_X=bg, verbose=False)
    yield "LightSHAP, 100 drawn (its default budget)", found.shap_values, None


def measured():
    """Yield a record of each method, task and budget."""
    for task, predict, background, instances, true_values in tasks():
        truth = true_values(background)
        for times in TIMES:
            for method, values, errors in methods(
                predict, background, instances, times
            ):
                held = (
                    None
                    if errors is None
                    else (np.abs(values - truth) <= 1.96 * errors).mean()
                )
                yield {
                    "task": task,
                    "rows": len(background),
                    "columns": instances.shape[1],
                    "times": times,
                    "method": method,
                    "error": relative(values, truth),
                    "coverage": held,
                }
            print(task, times, file=sys.stderr, flush=True)


def against_hundred(times=EVALS):
    """Yield a record of each task and budget, with the errors of "odd" and of shap."""
    for task, predict, background, instances, true_values in tasks():
        rows = background[np.random.default_rng(2).permutation(len(background))[:DRAWN]]
        truth, d = true_values(rows), rows.shape[1]
        masker = shap.maskers.Independent(rows, max_samples=DRAWN)
        for evals in times:
            how = {"sampler": "odd", "max_rows": evals * d * DRAWN, "random_state": 0}
            odd = ShapleyExplainer(predict, **how).fit(rows).explain(instances)
            walks = shap.PermutationExplainer(predict, masker, seed=0)
            found = walks(instances, max_evals=evals * d, silent=True)
            yield {
                "task": task,
                "columns": d,
                "times": evals,
                "odd": relative(odd.values, truth),
                "shap": relative(found.values, truth),
                # whole pairs of permutations only
                "rows of shap": evals * d // (2 * d + 1) * (2 * d + 1) * DRAWN,
            }
            print(task, evals, file=sys.stderr, flush=True)


def write_hundred():
    """Measure, write and print the comparison against 100 rows."""
    table = pd.DataFrame(against_hundred())
    table.to_csv(HUNDRED, index=False, float_format="%.4g")
    table["odd / shap"] = table["odd"] / table["shap"]
    table["per row"] = table["odd / shap"] * table["columns"] * table["times"] * DRAWN
    table["per row"] /= table["rows of shap"]
    print(table.to_markdown(index=False, floatfmt=".3g"))
    ratios = np.log(table.set_index("times")[["odd / shap", "per row"]])
    print(np.exp(ratios.groupby("times").mean()).to_markdown(floatfmt=".4f"))


def main():
    """Measure, write and print."""
    warnings.simplefilter("ignore")
    if "--hundred" in sys.argv:
        write_hundred()
        return
    table = pd.DataFrame(measured())
    OUT.parent.mkdir(exist_ok=True)
    table.to_csv(OUT, index=False, float_format="%.4g")
    base = "shap permutation, 100 drawn"
    wide = table.pivot_table(index=["task", "times"], columns="method", values="error")
    print(wide.map("{:.1e}".format).to_markdown())
    ratio = np.exp(np.log(wide.div(wide[base], axis=0)).groupby("times").mean())
    print("\nGeometric means of errors, relative to", base)
    print(ratio.map("{:.3f}".format).to_markdown())
    print("\nCoverage")
    print(
        table.pivot_table(index="times", columns="method", values="coverage")
        .round(3)
        .to_markdown()
    )


if __name__ == "__main__":
    main()
