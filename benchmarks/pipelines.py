"""Pipelines at the speed of their model: preprocessing once, or for every mixed row.

The table has 30 columns: numbers with missing values, and strings with 6 values each.
The pipeline is fitted on 10,000 rows. It imputes and scales the numbers, and ends in an
XGBoost classifier with 100 trees of depth 6 ("shallow": 3). 20 rows are explained
against 100 background rows by antithetic permutations, with 250 evaluations each. Exact
values of trees are switched off.

"once" is the default. "every row" is ``InterventionalReward(transformed=False)``. Costs
are CPU seconds on one thread for `fit` and `explain` together, the smaller of two
alternated runs. "model alone" is the last step on as many rows, transformed beforehand.
The ratio of both ways cannot exceed the ratio of "every row" to "model alone". The last
column is the largest difference of attributions.

The second table shows responses that are sums of trees: regressions and log-odds. Their
default is exact, with raw columns as players. "every row" samples without either
shortcut. "difference" is the largest difference to `TreeExplainer` on the transformed
table, with one group of columns for each raw column. "error" is the root mean squared
error of the sampled values. It is shown beside the root mean square of their standard
errors.

The goal was to be five times as fast as "every row". For regressions and log-odds, the
default is faster than that. The probability of a classifier is sampled. In the first
line, predicting alone takes more than a fifth of the time of "every row", so no method
can reach the goal there.

Run ``python -m benchmarks pipelines``; it writes
``doc/results/pipelines.md``.
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
from xgboost import XGBClassifier, XGBRegressor

from skshapley import ShapleyExplainer, TreeExplainer
from skshapley.rewards import InterventionalReward

N, P, B, R, EVALS, REPEATS = 10_000, 30, 100, 20, 250, 2
PLACES = np.array(["north", "south", "east", "west", "up", "down"])
RESULTS = Path(__file__).parents[1] / "doc" / "results" / "pipelines.md"


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


def explain(pipeline, X, transformed, sampler="antithetic", response_method="auto"):
    """Return the explanation and its CPU seconds."""
    explainer = ShapleyExplainer(
        pipeline,
        response_method=response_method,
        reward=InterventionalReward(transformed=transformed),
        sampler=sampler,
        max_rows=(EVALS - 2) * B + 1,
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


def grouped(pipeline, X):
    """Return exact values of the last step, a group of the transformed columns for each column."""
    rows = pipeline[0].transform(X[: B + R])
    made = [name.split("__", 1)[1] for name in pipeline[0].get_feature_names_out()]
    groups = {
        name: [
            f"x{j}" for j, end in enumerate(made) if f"{end}_".startswith(f"{name}_")
        ]
        for name in X
    }
    return (
        TreeExplainer(pipeline[-1], groups=groups)
        .fit(rows[:B])
        .explain(rows[B:])
        .values
    )


def read(n_words):
    """Yield the lines of the second table."""
    X, y = table(n_words)
    _, pipeline = next(pipelines(X))
    trees = {"n_estimators": 100, "max_depth": 6, "n_jobs": 1}
    for last, method in (
        (XGBRegressor(**trees), "auto"),
        (XGBClassifier(**trees), "log_odds"),
    ):
        model = make_pipeline(pipeline[0], last).fit(X, y)
        times = []
        for _ in range(REPEATS):
            exact, fast = explain(model, X, True, "auto", method)
            sampled, slow = explain(model, X, False, "antithetic", method)
            times.append((slow, fast))
        slow, fast = np.min(times, axis=0)
        off = np.abs(exact.values - grouped(model, X)).max()
        error = np.sqrt(((sampled.values - exact.values) ** 2).mean())
        claimed = np.sqrt((sampled.standard_errors**2).mean())
        kinds = f"{P - n_words} scaled, {n_words} one-hot"
        yield (
            f"| {kinds}; {type(last).__name__}, {method} | {slow:.2f} | {fast:.2f}"
            f" | {slow / fast:.0f} | {off:.0e} | {error:.4f} | {claimed:.4f} |"
        )


def main():
    lines = [
        (
            "| pipeline | every row, CPU s | once, CPU s | ratio | model alone, CPU s | "
            "difference |"
        ),
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
    lines += [
        "",
        (
            "| pipeline | every row, CPU s | trees read, CPU s | ratio | difference | "
            "error | its SE |"
        ),
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for n_words in (10, 20):
        for line in read(n_words):
            lines.append(line)
            print(line, flush=True)
    title = "# Pipelines at the speed of their model"
    text = __doc__.split("\n\n", 1)[1].split("\n\nRun ``")[0]
    RESULTS.write_text(f"{title}\n\n{text}\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
