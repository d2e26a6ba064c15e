"""Features that are selected: useless ones should be few, and weak ones many.

Of 12 columns 4 tell of the target, 4 are noise, and 4 are permuted copies of the first
four. Beside `ShapleyImportance`, by the same test and the same adjustment: permutation
importance on the same folds; and, where they are installed, hidimstat's permutation
importance and powershap. Run ``make bench-selection``; it prints a markdown table.
``--runs 500`` is the size of the table kept.
"""

import argparse
import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold
from xgboost import XGBRegressor

from skshapley import ShapleyImportance
from skshapley._inference._means import Means, adjusted, p_values

ROWS, USEFUL, ALPHA, FOLDS = 200, np.array([1.0, 0.35, 0.25, 0.2]), 0.05, 5
REPEATS = 10  # permutations of a column, in each fold
MODELS = {
    "linear": LinearRegression(),
    "XGBoost": XGBRegressor(n_estimators=30, max_depth=3, learning_rate=0.15, n_jobs=1),
}


def drawn(rng):
    """Return a table of 12 columns and its target."""
    X = rng.normal(size=(ROWS, 8))
    X = np.column_stack([X, *(rng.permutation(X[:, j]) for j in range(4))])
    return X, X[:, :4] @ USEFUL + rng.normal(size=ROWS)


def shapley(model, X, y, rng):
    """Return the selection and the p-values of `ShapleyImportance`."""
    seed = int(rng.integers(2**31))
    found = ShapleyImportance(model, cv=FOLDS, random_state=seed).fit(X, y)
    return found.get_support(), found.p_values_


def permutation(model, X, y, rng):
    """Return the same by the rise of the squared error at each held-out row."""
    rises = np.empty(X.shape)
    for train, test in KFold(FOLDS).split(X):
        fitted = clone(model).fit(X[train], y[train])
        before = (y[test] - fitted.predict(X[test])) ** 2
        for j in range(X.shape[1]):
            shuffled = np.tile(X[test], (REPEATS, 1))
            shuffled[:, j] = np.concatenate(
                [rng.permutation(X[test, j]) for _ in range(REPEATS)]
            )
            errors = (np.tile(y[test], REPEATS) - fitted.predict(shuffled)) ** 2
            rises[test, j] = errors.reshape(REPEATS, -1).mean(axis=0) - before
    p = p_values(Means.of(rises, np.full(len(X), 1 / len(X))))
    return adjusted(p) <= ALPHA, p


def hidimstat(model, X, y, rng):
    """Return the selection of hidimstat's cross-validated permutation importance."""
    from hidimstat import PFICV

    folds = KFold(FOLDS)
    estimators = [clone(model).fit(X[train], y[train]) for train, _ in folds.split(X)]
    found = PFICV(estimators, folds, n_permutations=REPEATS, random_state=0)
    found.fit(X, y)
    found.importance(X, y)
    p = np.asarray(found.pvalues_)
    return adjusted(p) <= ALPHA, p


def powershap(model, X, y, rng):
    """Return the selection of powershap, with ten refits."""
    from powershap import PowerShap

    found = PowerShap(
        clone(model),
        power_iterations=10,
        automatic=False,
        power_alpha=ALPHA,
        show_progress=False,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(found.fit(X, y).get_support()), None


METHODS = {
    "ShapleyImportance": shapley,
    "permutation importance": permutation,
    "hidimstat PFICV": hidimstat,
    "powershap": powershap,
}


def measured(model, method, n_runs):
    """Return shares: selected of the useful, of the useless; runs with a false one; p below .05."""
    chosen, small, start = [], [], time.process_time()
    for run in range(n_runs):
        rng = np.random.default_rng(run)
        selected, p = method(model, *drawn(rng), rng)
        chosen.append(selected)
        small.append(np.full(12, np.nan) if p is None else p <= ALPHA)
    chosen, small = np.array(chosen), np.array(small)
    seconds = (time.process_time() - start) / n_runs
    useful, useless = chosen[:, :4].mean(axis=0), chosen[:, 4:].mean()
    return (
        useful,
        useless,
        chosen[:, 4:].any(axis=1).mean(),
        small[:, 4:].mean(),
        seconds,
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    asked = parser.parse_args()
    print("| model | method | useful selected | useless selected | runs with a useless one"
          " | useless with p < .05 | seconds |")  # fmt: skip
    print("|---|---|---|---|---|---|---|")
    for name, model in MODELS.items():
        for method in asked.methods:
            try:
                parts = measured(model, METHODS[method], asked.runs)
            except ImportError:
                continue
            useful, useless, runs, small, seconds = parts
            weak = " ".join(f"{share:.2f}" for share in useful)
            print(f"| {name} | {method} | {weak} | {useless:.4f} | {runs:.3f} | {small:.3f}"
                  f" | {seconds:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
