"""Learned attributions beside sampled ones: model rows for the same error, coverage, CPU time.

Perceptrons with two layers of 64 units explain 100 rows against 100 background rows, on
one thread. The learner is trained on 500 rows, sampled with 5,000 model rows each.
Errors are squared, relative to the squares of the truth: their geometric mean over
rows. The truth is sampled at twenty times the background rows for each player. "model
rows of sampling" are those of the default explainer with the same error. Tables are of
scikit-learn and, where SKSHAPLEY_DATA is set, of that folder.

Run ``python -m benchmarks amortized``; it writes doc/results/amortized.md.
"""

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_digits, make_classification, make_friedman1
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from skshapley import AmortizedExplainer, ShapleyExplainer

DATA = os.environ.get("SKSHAPLEY_DATA")
RESULTS = Path(__file__).parents[1] / "doc" / "results" / "amortized.md"
MOST_ROWS, BACKGROUND, EXPLAINED = 12_000, 100, 100
TEACHER_ROWS = 5000
BUDGETS = (0.4, 0.7, 1, 1.5, 2.5, 4)  # of sampling, in background rows for each player
TIMED = 2000
MANY = 100_000
FORMATS = ["", "", ".1e", ",.0f", ",.0f", ".3f", ".4f", ".3f", ".1f", ".1f", ",.0f"]


def from_folder(name):
    """Return the numbers and the target of a table of the folder; texts are numbered."""
    table = pd.read_csv(f"{DATA}/{name}.csv.gz")
    numbers = [
        c if c.dtype.kind in "if" else pd.factorize(c)[0] for _, c in table.items()
    ]
    table = np.column_stack(numbers).astype(float)
    return table[:, :-1], table[:, -1]


TABLES = {
    "friedman1": lambda: make_friedman1(MOST_ROWS, 10, noise=0.5, random_state=0),
    "classification": lambda: make_classification(
        MOST_ROWS, 12, n_informative=8, random_state=0
    ),
    "digits, odd or even": lambda: (
        load_digits().data[:, load_digits().data.std(axis=0) > 3],
        load_digits().target % 2,
    ),
}
if DATA:
    TABLES |= {
        name: lambda name=name: from_folder(name) for name in ("cal_housing", "bank")
    }


def task(name):
    """Return the response of a perceptron, and the table in a random order."""
    X, y = TABLES[name]()
    order = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
    X, y = StandardScaler().fit_transform(X[order]), y[order]
    train = slice(0, len(X) * 2 // 3)
    layers = {"hidden_layer_sizes": (64, 64), "max_iter": 40, "random_state": 0}
    if len(np.unique(y)) == 2:
        model = MLPClassifier(**layers).fit(X[train], y[train])
        return lambda rows: model.predict_proba(rows)[:, 1], X
    model = MLPRegressor(**layers).fit(X[train], (y[train] - y.mean()) / y.std())
    return model.predict, X


def timed(call, *arguments):
    """Return the result of a call and its CPU seconds."""
    start = time.process_time()
    result = call(*arguments)
    return result, time.process_time() - start


def sampled(response, background, X, truth):
    """Return model rows, errors and CPU seconds of a row at each budget, ``(budgets, 3)``."""
    points = []
    for budget in BUDGETS:
        rows = int(budget * BACKGROUND * X.shape[1])
        explainer = ShapleyExplainer(response, max_rows=rows, random_state=0).fit(
            background
        )
        explanation, seconds = timed(explainer.explain, X)
        spent = explanation.n_model_rows.mean()
        points.append((spent, error(explanation.values, truth), seconds / len(X)))
    return np.array(points)


def error(values, truth):
    """Return the geometric mean of the relative squared errors of rows."""
    squares = ((values - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1)
    return np.exp(np.log(squares).mean())


def measured(name):
    """Return the record of one table."""
    response, X = task(name)
    background, X, rows = X[:BACKGROUND], X[BACKGROUND:-EXPLAINED], X[-EXPLAINED:]
    p = X.shape[1]
    fine = ShapleyExplainer(response, max_rows=20 * BACKGROUND * p, random_state=1)
    truth = fine.fit(background).explain(rows).values
    teacher = ShapleyExplainer(response, max_rows=TEACHER_ROWS, random_state=0).fit(
        background
    )
    amortized, fitting = timed(AmortizedExplainer(teacher).fit, X[len(X) * 2 // 3 :])
    learned = amortized.explain(rows)
    reached = error(learned.values, truth)
    held = np.abs(learned.values - truth) < 1.645 * learned.standard_errors
    cost, spent, errors, seconds = (
        8 * p + 1,
        *sampled(response, background, rows, truth).T,
    )
    order = np.argsort(errors)
    same = np.exp(
        np.interp(np.log(reached), np.log(errors[order]), np.log(spent[order]))
    )
    same_s = np.exp(
        np.interp(np.log(reached), np.log(errors[order]), np.log(seconds[order]))
    )
    many = X[:TIMED]
    explained, explaining = timed(amortized.explain, many)
    near, near_s = timed(amortized.explain, many[explained.n_model_rows == cost])
    pieces = [np.tile(many, (5, 1))[:8192]] * (len(near) * cost // 8192)
    _, model_s = timed(lambda: [response(piece) for piece in pieces])
    return {
        "table": name,
        "columns": p,
        "error": reached,
        "model rows": cost,
        "model rows of sampling": same,
        "coverage of 90 % intervals": held.mean(),
        "passed to the explainer": (explained.n_model_rows > cost).mean(),
        "beside the model, ms a row": (near_s - model_s) / len(near) * 1e3,
        "fit, s": fitting,
        f"{MANY:,} rows, s": fitting + explaining / TIMED * MANY,
        "sampled, s": same_s * MANY,
    }


def main():
    """Measure and write."""
    warnings.simplefilter("ignore")
    table = pd.DataFrame([measured(name) for name in TABLES])
    text = __doc__.partition("\n\nRun ``")[0].partition("\n\n")[2]
    table = table.to_markdown(index=False, floatfmt=FORMATS)
    head = f"# Learned attributions beside sampled ones\n\n{text}"
    RESULTS.write_text(f"{head}\n\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
