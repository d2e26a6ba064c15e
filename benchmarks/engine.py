"""Model time dominates: what an explanation costs beside the predictions that it needs.

A model of 30 features, a background of 100 rows, 1000 evaluations for each of 20 instances. Costs
are CPU seconds of this process on one thread, the lesser of two runs; "ratio" is to the CPU
seconds of predicting as many rows in blocks of 10 000, measured in turn with it. The error is the
mean over instances of |phi - truth|^2 / |truth|^2; the truth is shap's interventional TreeExplainer
for trees, and LightSHAP with 25 times the evaluations for the MLP. Every method is given the model
as a function, so that trees are not read from their tables (which is what skshapley does by
default).

Run ``OMP_NUM_THREADS=1 python -m benchmarks.engine``; it writes
``benchmarks/results/engine.md``.
"""

import logging
import tracemalloc
import warnings
from pathlib import Path
from time import process_time

import lightshap
import numpy as np
import pandas as pd
import shap
import sklearn
from sklearn.datasets import make_friedman1
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer
from skshapley.samplers import Antithetic

P, B, R, EVALS, REPEATS = 30, 100, 20, 1000, 2
RESULTS = Path(__file__).parent / "results" / "engine.md"


class Counted:
    """A model's predict that counts the rows it is asked for."""

    def __init__(self, predict):
        self._predict, self.rows = predict, 0

    def __call__(self, X):
        self.rows += len(X)
        return np.asarray(self._predict(X), dtype=np.float64)


def models():
    """Yield (name, fitted model, table)."""
    X, y = make_friedman1(2000, P, random_state=0)
    frame = pd.DataFrame(X, columns=[f"feature {i}" for i in range(P)])
    mixed = frame.assign(kind=pd.cut(frame["feature 29"], 5, labels=list("abcde")))
    mixed = mixed.drop(columns="feature 29").assign(**{"feature 28": (9 * X[:, 28]).astype(int)})
    trees = XGBRegressor(n_estimators=100, n_jobs=1, enable_categorical=True)
    net = make_pipeline(
        StandardScaler(), MLPRegressor(hidden_layer_sizes=(100, 100), random_state=0)
    )
    yield "XGBoost, array", trees.__class__(n_estimators=100, n_jobs=1).fit(X, y), X
    yield "XGBoost, frame", trees.__class__(n_estimators=100, n_jobs=1).fit(frame, y), frame
    yield "XGBoost, mixed frame", trees.fit(mixed, y), mixed
    with warnings.catch_warnings(action="ignore"):
        yield "MLP, array", net.fit(X, y), X


def rows_of(table, index):
    return table.iloc[index] if isinstance(table, pd.DataFrame) else table[index]


def ours(sampler):
    def explain(predict, chosen, background):
        n_rows = (EVALS - 2) * len(background) + 1
        explainer = ShapleyExplainer(predict, sampler=sampler, max_rows=n_rows, random_state=0)
        return explainer.fit(background).explain(chosen).values

    return explain


def kernel_of_shap(predict, chosen, background):
    explainer = shap.KernelExplainer(predict, background)
    return np.array(explainer.shap_values(chosen, nsamples=EVALS, l1_reg=0, silent=True))


def permutation_of_shap(predict, chosen, background):
    masker = shap.maskers.Independent(background, max_samples=B)
    explainer = shap.PermutationExplainer(predict, masker, seed=0)
    return explainer(chosen, max_evals=EVALS, silent=True).values


def lightshap_by(method, iterations):
    def explain(predict, chosen, background):
        made = lightshap.explain_any(
            predict,
            chosen,
            background,
            method=method,
            max_iter=iterations,
            tol=1e-12,
            random_state=0,
            verbose=False,
        )
        return np.asarray(made.shap_values).reshape(len(chosen), -1)

    return explain


# LightSHAP is told iterations: of 2 (p - 1) evaluations each for walks. Its kernel method spends
# 2 p on the smallest and largest coalitions, then 2 p an iteration.
METHODS = {
    "skshapley, antithetic, a row a pair (default)": ours("antithetic"),
    "skshapley, antithetic, whole background": ours(Antithetic(references="all")),
    "skshapley, orthogonal": ours("orthogonal"),
    "skshapley, kernel": ours("kernel"),
    "skshapley, leverage": ours("leverage"),
    "shap KernelExplainer(l1_reg=0)": kernel_of_shap,
    "shap PermutationExplainer": permutation_of_shap,
    "LightSHAP, permutation": lightshap_by("permutation", EVALS // (2 * P - 2)),
    "LightSHAP, kernel": lightshap_by("kernel", EVALS // (2 * P) - 1),
}


def predicting(predict, table, n_rows):
    """Return the CPU seconds of predicting `n_rows` rows in blocks of 10 000."""
    index = np.random.default_rng(0).integers(len(table), size=10_000)
    block = rows_of(table, index)
    if isinstance(block, pd.DataFrame):
        block = block.reset_index(drop=True)
    start = process_time()
    for _ in range(n_rows // 10_000):
        predict(block)
    rest = n_rows % 10_000
    if rest:
        predict(rows_of(block, slice(0, rest)))
    return process_time() - start


def truth(name, model, chosen, background):
    if name.startswith("MLP"):
        return lightshap_by("permutation", 25 * EVALS // (2 * P - 2))(
            model.predict, chosen, background
        )
    if "mixed" in name:
        return None
    explainer = shap.TreeExplainer(
        model, shap.maskers.Independent(background, max_samples=B), model_output="raw"
    )
    return explainer.shap_values(chosen, check_additivity=False)


def table_of(name, model, table):
    """Return the lines of one model's table."""
    order = np.random.default_rng(0).permutation(len(table))
    chosen, background = rows_of(table, order[:R]), rows_of(table, order[R : R + B])
    exact = truth(name, model, chosen, background)
    lines = []
    for label, method in METHODS.items():
        if isinstance(table, pd.DataFrame) and not label.startswith("skshapley"):
            continue
        spent, reference = [], []
        for _ in range(REPEATS):
            counted = Counted(model.predict)
            start = process_time()
            values = method(counted, chosen, background)
            spent.append(process_time() - start)
            reference.append(predicting(model.predict, table, counted.rows))
        error = "" if exact is None else f"{_error(values, exact):.2e}"
        lines.append(
            f"| {name} | {label} | {counted.rows / R:,.0f} | {min(spent):.2f} |"
            f" {min(reference):.2f} | {min(spent) / min(reference):.2f} | {error} |"
        )
        print(lines[-1], flush=True)
    return lines


def _error(values, exact):
    return np.mean(((values - exact) ** 2).sum(axis=1) / (exact**2).sum(axis=1))


def memory_lines():
    """Peak memory of arrays while explaining, by budget and working memory."""
    X, _ = make_friedman1(200, P, random_state=0)
    lines = []
    for sampler in ("antithetic", "leverage"):
        for working_memory in (64, 256, 1024):
            cells = []
            for evals in (1000, 10_000, 50_000):
                explainer = ShapleyExplainer(
                    lambda X: X @ np.arange(P),
                    sampler=sampler,
                    max_rows=(evals - 2) * 10 + 1,
                    random_state=0,
                )
                explainer.fit(X[:10])
                with sklearn.config_context(working_memory=working_memory):
                    tracemalloc.start()
                    explainer.explain(X[100:108])
                    cells.append(f"{tracemalloc.get_traced_memory()[1] / 2**20:.0f}")
                    tracemalloc.stop()
            lines.append(f"| {sampler} | {working_memory} | {' | '.join(cells)} |")
            print(lines[-1], flush=True)
    return lines


def main():
    logging.getLogger("shap").setLevel(logging.ERROR)
    np.seterr(all="ignore")
    write([line for task in models() for line in table_of(*task)], memory_lines())


def write(tables, memory):
    """Write the lines of both tables into the results."""
    head = (
        "| model | method | rows / instance | CPU s | predicting alone, CPU s | ratio |"
        " squared error |\n|---|---|---:|---:|---:|---:|---:|"
    )
    memory_head = (
        "| sampler | working memory, MiB | 1 000 evaluations | 10 000 | 50 000 |\n"
        "|---|---:|---:|---:|---:|"
    )
    doc = __doc__.split("\n\n")[1]
    text = "\n".join(
        [
            "# Model time dominates",
            "",
            doc,
            "",
            head,
            *tables,
            "",
            "Peak memory of arrays in MiB, 8 instances at once, background of 10 rows:",
            "",
            memory_head,
            *memory,
        ]
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(text + "\n")


if __name__ == "__main__":
    main()
