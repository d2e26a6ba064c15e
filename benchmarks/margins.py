"""Probabilities of boosted trees: errors with and without their known log-odds.

A model has a control variate, and the same model as a function has none. The truth is
the mean of long runs of both. Errors are squared and relative,
``|phi - truth|^2/|truth|^2``, in means over rows and seeds. Run ``make bench-margins``;
with SKSHAPLEY_DATA, on its tables too. It writes doc/results/margins.csv and
prints a markdown table.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier

from benchmarks.background import tables
from skshapley import ShapleyExplainer

OUT = Path(__file__).parents[1] / "doc" / "results" / "margins.csv"
N_ROWS, N_BACKGROUND, N_INSTANCES, N_SEEDS = 4000, 2000, 6, 6
LONG_ROWS = 500_000
BUDGETS = (3300, 10_000, 33_000, "auto")
MODELS = {
    "XGBoost": XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1),
    "histogram boosting": HistGradientBoostingClassifier(random_state=0),
}


def explained(model, background, instances, budget, seed):
    """Return the explanation by a budget, or by the default precision."""
    how = {} if budget == "auto" else {"max_rows": budget}
    explainer = ShapleyExplainer(model, random_state=seed, verbose=False, **how)
    return explainer.fit(background).explain(instances)


def tasks():
    """Yield (name, models by name of the way, background, instances)."""
    for table, X, y in tables():
        order = np.random.default_rng(1).permutation(len(X))[: N_ROWS + N_INSTANCES]
        X, y = X[order].astype(np.float32), y[order]
        y = y > np.median(y) if len(np.unique(y)) > 2 else y > y.min()
        for kind, model in MODELS.items():
            model.fit(X[:N_ROWS], y[:N_ROWS])
            ways = {
                "without": lambda Z, m=model: m.predict_proba(Z)[:, 1],
                "with": model,
            }
            yield f"{table}, {kind}", ways, X[:N_BACKGROUND], X[N_ROWS:]


def true_values(ways, background, instances):
    """Return the mean of long runs of both ways."""
    long = [
        explained(m, background, instances, LONG_ROWS, 99).values for m in ways.values()
    ]
    return np.mean(long, axis=0)


def errors(model, background, instances, truth, budget):
    """Return the model rows, errors and coverage of one way with one budget."""
    found = [explained(model, background, instances, budget, s) for s in range(N_SEEDS)]
    off = np.stack([e.values for e in found]) - truth
    errors = np.stack([e.standard_errors for e in found])
    size = (truth**2).sum(axis=1)
    return {
        "model rows": np.mean([e.n_model_rows.mean() for e in found]),
        "error": ((off**2).sum(axis=2) / size).mean(),
        "stated": ((errors**2).sum(axis=2) / size).mean(),
        "coverage": (np.abs(off) <= 1.96 * errors).mean(),
    }


def measured():
    """Yield a record of each task, budget and way."""
    for task, ways, *rows in tasks():
        truth = true_values(ways, *rows)
        for budget in BUDGETS:
            for way, model in ways.items():
                yield {
                    "task": task,
                    "budget": budget,
                    "way": way,
                    **errors(model, *rows, truth, budget),
                }
        print(task, file=sys.stderr, flush=True)


def main():
    """Measure, write and print."""
    warnings.simplefilter("ignore")
    table = pd.DataFrame(measured())
    table.to_csv(OUT, index=False, float_format="%.4g")
    wide = table.pivot_table(index=["task", "budget"], columns="way", sort=False)
    ratios = pd.DataFrame(
        {m: wide[m, "with"] / wide[m, "without"] for m in ("error", "model rows")}
    )
    print(ratios.round(2).to_markdown())
    print("\nGeometric means over tasks")
    print(
        np.exp(np.log(ratios).groupby("budget", sort=False).mean())
        .round(2)
        .to_markdown()
    )
    print(
        "\n", table.groupby(["budget", "way"], sort=False)["coverage"].mean().round(3)
    )


if __name__ == "__main__":
    main()
