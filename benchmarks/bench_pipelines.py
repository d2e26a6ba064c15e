"""Pipelines at the speed of their model: preprocessing once against preprocessing every hybrid row.

A table of 30 columns: numbers with gaps, and strings with 6 values each; 10,000 rows to fit on, a
background of 100 rows, 20 instances, 250 evaluations each, antithetic permutations: the trees are
not read from their tables. Numbers are imputed and scaled; XGBoost classifies with 100 trees of
depth 6 (3 where it says "shallow"). "once" is the default, "every row" is
``InterventionalReward(transformed=False)``. Costs are CPU seconds of this process on one thread,
the lesser of two runs, measured in turn, `fit` and `explain` together; "model alone" is the last
step on as many rows, transformed beforehand. The largest difference of attributions between both
ways is in the last column. The ratio cannot pass that of "every row" to "model alone".

Run ``OMP_NUM_THREADS=1 python benchmarks/bench_pipelines.py``; it writes
``benchmarks/results/pipelines.md``.
"""

from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from xgboost import XGBClassifier

from skshapley import ShapleyExplainer
from skshapley.rewards import InterventionalReward

N, P, B, R, EVALS, REPEATS = 10_000, 30, 100, 20, 250, 2
PLACES = np.array(["north", "south", "east", "west", "up", "down"])
RESULTS = Path(__file__).parent / "results" / "pipelines.md"


def table(n_words):
    """Return X, of numbers and then strings, and the labels."""
    rng = np.random.default_rng(0)
    n_numbers = P - n_words
    numbers, codes = rng.normal(size=(N, n_numbers)), rng.integers(6, size=(N, n_words))
    score = numbers[:, :5].sum(axis=1) + (codes[:, :5] == np.arange(5)).sum(axis=1)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    X = pd.DataFrame(numbers, columns=[f"number {i}" for i in range(n_numbers)])
    words = pd.DataFrame(PLACES[codes], columns=[f"word {i}" for i in range(n_words)])
    y = score + rng.normal(size=N) > np.median(score)
    return pd.concat([X, words], axis=1), y.astype(int)


def pipelines(X):
    """Yield (name, pipeline)."""
    numbers = list(X.select_dtypes("number"))
    words = [name for name in X if name not in numbers]
    kinds = f"{len(numbers)} scaled, {len(words)} one-hot"
    fill = make_pipeline(SimpleImputer(), StandardScaler())
    trees = XGBClassifier(n_estimators=100, max_depth=6, n_jobs=1)
    shallow = XGBClassifier(n_estimators=100, max_depth=3, n_jobs=1)

    def columns(encoder, **kwargs):
        return make_column_transformer((fill, numbers), (encoder, words), **kwargs)

    dense = columns(OneHotEncoder(sparse_output=False))
    framed = columns(OneHotEncoder(sparse_output=False)).set_output(transform="pandas")
    yield f"{kinds}; XGBoost", make_pipeline(dense, trees)
    yield f"{kinds}; XGBoost, shallow", make_pipeline(dense, shallow)
    yield f"{kinds}; logistic regression", make_pipeline(dense, LogisticRegression())
    if len(words) > len(numbers):
        return
    yield (
        f"{kinds}, sparse; XGBoost",
        make_pipeline(columns(OneHotEncoder(), sparse_threshold=1), trees),
    )
    yield f"{kinds}, as a frame; XGBoost", make_pipeline(framed, trees)
    yield (
        f"{len(numbers)} scaled, {len(words)} ordinal; XGBoost",
        make_pipeline(columns(OrdinalEncoder()), trees),
    )


def explain(pipeline, X, transformed):
    """Return the explanation and its CPU seconds."""
    explainer = ShapleyExplainer(
        pipeline,
        reward=InterventionalReward(transformed=transformed),
        sampler="antithetic",
        max_evals=EVALS,
        random_state=0,
    )
    start = process_time()
    explanation = explainer.fit(X[:B]).explain(X[B : B + R])
    return explanation, process_time() - start


def predicting(pipeline, X, n_model_rows):
    """Return the CPU seconds of the last step on as many transformed rows, in blocks of 8192."""
    rows = pipeline[:-1].transform(X[:8192])
    start = process_time()
    for _ in range(max(1, round(n_model_rows / 8192))):
        pipeline[-1].predict_proba(rows)
    return (process_time() - start) * n_model_rows / (round(n_model_rows / 8192) * 8192)


def measured(pipeline, X):
    """Return the CPU seconds of both ways and of predicting, and the largest difference."""
    costs = []
    for _ in range(REPEATS):
        once, fast = explain(pipeline, X, transformed=True)
        plain, slow = explain(pipeline, X, transformed=False)
        costs.append((fast, slow, predicting(pipeline, X, once.n_model_rows.sum())))
    fast, slow, alone = np.min(costs, axis=0)
    return fast, slow, alone, np.abs(once.values - plain.values).max()


def main():
    lines = [
        "| pipeline | every row, CPU s | once, CPU s | ratio | model alone, CPU s | difference |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for n_words in (10, 20):
        X, y = table(n_words)
        for name, pipeline in pipelines(X):
            fast, slow, alone, difference = measured(pipeline.fit(X, y), X)
            lines.append(
                f"| {name} | {slow:.2f} | {fast:.2f} | {slow / fast:.1f} | {alone:.2f}"
                f" | {difference:.0e} |"
            )
            print(lines[-1], flush=True)
    title = "# Pipelines at the speed of their model"
    text = __doc__.split("\n\n", 1)[1].split("\n\nRun ``")[0]
    RESULTS.write_text(f"{title}\n\n{text}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
