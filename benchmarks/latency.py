"""One row, ten rows, a hundred: explaining after fit, beside the model's own time for its rows.

CPU seconds of one thread, medians of alternated runs in one process: ``explain`` of n
rows, and the model's predictions of as many rows as that gave it, in the same pieces.
Run ``make bench-latency``; it writes doc/results/latency.md.
"""

import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPRegressor
from xgboost import XGBClassifier

from skshapley import ShapleyExplainer

RESULTS = Path(__file__).parents[1] / "doc" / "results" / "latency.md"
COLUMNS, PIECE = 30, 8192
REPEATS = {1: 45, 10: 5, 100: 1}


def timed(explainer, predict, X, rows):
    """Return the CPU seconds of explaining rows, and of the model for the same requests."""
    start = time.process_time()
    total = int(explainer.explain(rows).n_model_rows.sum())
    explained = time.process_time() - start
    start = time.process_time()
    for done in range(0, total, PIECE):
        predict(X[: min(PIECE, total - done)])
    return explained, time.process_time() - start


def measured():
    """Yield a record for each model, background and number of rows."""
    X, y = make_classification(12_000, COLUMNS, n_informative=12, random_state=0)
    models = {
        "perceptron of 100": MLPRegressor(
            hidden_layer_sizes=(100,), max_iter=30, random_state=0
        ).fit(X, y),
        "XGBoost probability": XGBClassifier(n_jobs=1, n_estimators=100).fit(X, y),
    }
    for name, model in models.items():
        proba = hasattr(model, "predict_proba")
        predict = model.predict_proba if proba else model.predict
        for b in (100, 10_000):
            explainer = ShapleyExplainer(model, random_state=0)
            start = time.process_time()
            explainer.fit(X[:b])
            fit = time.process_time() - start
            for n, repeats in REPEATS.items():
                pairs = [
                    timed(explainer, predict, X, X[10_000 + i * n :][:n])
                    for i in range(repeats)
                ]
                explained, model_s = np.median(pairs, axis=0)
                yield {
                    "model": name,
                    "background": b,
                    "rows": n,
                    "fit, s": fit,
                    "explain, ms a row": explained / n * 1e3,
                    "model, ms a row": model_s / n * 1e3,
                    "ratio": explained / model_s,
                    "beyond 1.3 times, ms": (explained - 1.3 * model_s) / n * 1e3,
                }


def main():
    """Measure and write."""
    warnings.simplefilter("ignore")
    text = __doc__.split("\n\n")[1].split(" Run\n")[0]
    table = pd.DataFrame(measured()).round(3).to_markdown(index=False)
    RESULTS.write_text(f"# One row after fit\n\n{text}\n\n{table}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
