"""Refit errors: coverage of the expected model, and tests of two models.

Three laws, none of them used while the method was designed. The truth is the mean of
the attributions over many other training sets. "coverage" is the share of attributions
in nominal 90 % intervals by ten half samples, ten bootstrap samples and a jackknife
that leaves out tenths. The tests compare pairs of models from independent training sets
of one law: "declared" is the share of values with a p-value below 5 %, "any feature"
the share of pairs with any feature declared simultaneously, and "rows" the share of
rows. "power" is the share of values of a column that are declared after its coefficient
changed by four standard errors, of one estimate and of a difference of two. Run
``python -m benchmarks refits [--law NAME]``; it takes four CPU minutes and writes
doc/results/refits.csv.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from skshapley import RefitExplainer, ShapleyExplainer
from skshapley.comparison import compare_refits

RESULTS = Path(__file__).parents[1] / "doc" / "results" / "refits.csv"
N_ROWS, N_BACKGROUND, N_REFITS, OTHERS = 8, 40, 10, 40
Z90 = 1.645


class Law:
    """A law of rows and targets; subclasses have rows, and the mean of the target."""

    n, runs = 400, 10
    categories = ()

    def targets(self, X, rng):
        """Return targets with noise."""
        return self.mean(X) + rng.normal(size=len(X))

    def sample(self, seed):
        """Return a training set."""
        rng = np.random.default_rng([self.n, seed])
        X = self.rows(self.n, rng)
        return X, self.targets(X, rng)


class Correlated(Law):
    """Eight columns with correlations of .5, curves and products."""

    def rows(self, n, rng):
        """Return rows."""
        return np.sqrt(0.5) * (rng.normal(size=(n, 8)) + rng.normal(size=(n, 1)))

    def mean(self, X):
        """Return the mean of the target."""
        curve = np.exp(0.6 * X[:, 0]) + np.abs(X[:, 1]) * X[:, 2]
        return curve + X[:, 3] - 0.5 * X[:, 4]


class Categories(Law):
    """Four numbers and two categories, which change the slopes."""

    n, runs = 1000, 8
    categories = (4, 5)

    def rows(self, n, rng):
        """Return rows."""
        numbers = rng.exponential(size=(n, 4)) - 1
        codes = np.column_stack([rng.integers(4, size=n), rng.integers(3, size=n)])
        numbers[:, 1] += 0.5 * codes[:, 0]
        return np.hstack([numbers, codes])

    def mean(self, X):
        """Return the mean of the target."""
        slope = np.array([1.0, -1.0, 0.5, 2.0])[X[:, 4].astype(int)]
        return slope * X[:, 0] + X[:, 1] + (X[:, 5] == 2) * np.minimum(X[:, 2], 1)


class Wide(Law):
    """Twenty columns in a chain of correlations of .7, with steps."""

    n, runs = 4000, 4

    def rows(self, n, rng):
        """Return rows."""
        X = rng.normal(size=(n, 20))
        for column in range(1, 20):
            X[:, column] = 0.7 * X[:, column - 1] + np.sqrt(0.51) * X[:, column]
        return X

    def mean(self, X):
        """Return the mean of the target."""
        steps = (X[:, :5] > 0.5).sum(axis=1)
        return steps + X[:, 6] * X[:, 12] + np.sin(2 * X[:, 15]) + X[:, 18]


LAWS = {"correlated": Correlated(), "categories": Categories(), "wide": Wide()}


def models(law):
    """Return the models by name; the logistic regression classifies large targets."""
    scaled = StandardScaler()
    if law.categories:
        others = [column for column in range(6) if column not in law.categories]
        scaled = make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), list(law.categories)),
            (StandardScaler(), others),
            sparse_threshold=0,
        )
    perceptron = MLPRegressor(
        hidden_layer_sizes=(16,), solver="lbfgs", alpha=1.0, max_iter=100
    )
    return {
        "ridge": make_pipeline(scaled, RidgeCV()),
        "logistic regression": make_pipeline(scaled, LogisticRegression()),
        "forest": RandomForestRegressor(20, min_samples_leaf=5, max_depth=8),
        "boosting": HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8),
        "perceptron": make_pipeline(scaled, perceptron),
    }


class Task:
    """A law with a model, the rows to explain and the background."""

    def __init__(self, law, name):
        self.law, self.name = law, name
        self.estimator = models(law)[name]
        rng = np.random.default_rng(0)
        self.explained = law.rows(N_ROWS, rng)
        self.background = law.rows(N_BACKGROUND, rng)
        self.cut = np.median(law.targets(law.rows(20_000, rng), rng))

    def data(self, seed):
        """Return a training set of the task."""
        X, y = self.law.sample(seed)
        return X, y > self.cut if self.name.startswith("logistic") else y

    def fitted(self, X, y, seed):
        """Return a fitted model."""
        seeds = {
            name: seed
            for name in self.estimator.get_params()
            if name.rpartition("__")[2] == "random_state"
        }
        return clone(self.estimator).set_params(**seeds).fit(X, y)

    def attributions(self, seed):
        """Return the attributions of a model of a training set."""
        model = self.fitted(*self.data(seed), seed)
        explainer = ShapleyExplainer(model, random_state=0, verbose=False)
        return explainer.fit(self.background).explain(self.explained).values

    def explanation(self, X, y, seed, others=None):
        """Return the explanation of a model with half samples, or with other models."""
        explainer = RefitExplainer(
            self.fitted(X, y, seed),
            self.background,
            models=others,
            random_state=seed,
            verbose=False,
        )
        return explainer.fit(X, y).explain(self.explained)

    def resampled(self, X, y, seed):
        """Return explanations with bootstrap samples, and without each tenth."""
        rng = np.random.default_rng([1, seed])
        n = len(X)
        draws = [rng.integers(n, size=n) for _ in range(N_REFITS)]
        tenths = np.array_split(rng.permutation(n), N_REFITS)
        kept = [np.setdiff1d(np.arange(n), tenth) for tenth in tenths]
        for samples in (draws, kept):
            others = [
                self.fitted(X[rows], y[rows], seed * 100 + place)
                for place, rows in enumerate(samples)
            ]
            yield self.explanation(X, y, seed, others)


def measured(law_name, name):
    """Return the line of a law and a model."""
    law = LAWS[law_name]
    task = Task(law, name)
    others = np.array([task.attributions(1000 + seed) for seed in range(OTHERS)])
    expected, spread = others.mean(axis=0), others.std(axis=0, ddof=1)
    covered, explanations = [], []
    for seed in range(law.runs):
        X, y = task.data(seed)
        halves = task.explanation(X, y, seed)
        bootstrap, jackknife = task.resampled(X, y, seed)
        explanations.append(halves)
        factor = (N_REFITS - 1) / np.sqrt(N_REFITS)
        errors = [
            halves.refit_errors,
            bootstrap.refit_errors,
            factor * jackknife.refit_errors,
        ]
        gap = np.abs(halves.values - expected)
        covered.append([(gap <= Z90 * error).mean() for error in errors])
    half, bootstrap, jackknife = np.mean(covered, axis=0)
    line = {
        "law": law_name,
        "n": law.n,
        "model": name,
        "sd over training sets": np.sqrt((spread**2).mean()),
        "rms attribution": np.sqrt((expected**2).mean()),
        "coverage, half samples": half,
        "bootstrap": bootstrap,
        "jackknife": jackknife,
    }
    return line | tested(explanations) | powers(task, others, explanations)


def tested(explanations):
    """Return shares of differences that are declared between models of one law."""
    values, rows, features = [], [], []
    for place, first in enumerate(explanations):
        for second in explanations[place + 1 :]:
            comparison = compare_refits(first, second)
            values.append((comparison.to_frame("value")["p_value"] < 0.05).mean())
            rows.append((comparison.to_frame("row")["p_value"] < 0.05).mean())
            features.append((comparison.to_frame()["p_adjusted"] < 0.05).any())
    means = {"declared": values, "any feature": features, "rows": rows}
    return {name: np.mean(shares) for name, shares in means.items()}


def powers(task, others, explanations):
    """Return the share of values declared after a coefficient has changed."""
    names = ("power, 4 errors", "power, 4 errors of a difference")
    if task.name != "ridge":
        return dict.fromkeys(names, np.nan)
    column = 3
    # An attribution is the coefficient times the distance from the mean row.
    distance = task.explained[:, column] - task.background[:, column].mean()
    row = np.argmax(np.abs(distance))
    error = others[:, row, column].std(ddof=1) / np.abs(distance[row])
    found = {}
    for name, size in zip(names, (4, 4 * np.sqrt(2)), strict=True):
        shares = []
        for seed, first in enumerate(explanations):
            X, y = task.data(2000 + seed)
            y = y + size * error * X[:, column]
            second = task.explanation(X, y, 2000 + seed)
            table = compare_refits(first, second).to_frame("value")
            changed = table.xs(first.feature_names[column], level="feature")
            shares.append((changed["p_value"] < 0.05).mean())
        found[name] = np.mean(shares)
    return found


def main():
    """Measure some laws, and write all lines."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description="Measure refit errors.")
    parser.add_argument("--law", choices=LAWS, action="append", help="one of the laws")
    parser.add_argument("--model", action="append", help="one of the models")
    options = parser.parse_args()
    lines = pd.read_csv(RESULTS) if RESULTS.exists() else pd.DataFrame()
    for law_name in options.law or LAWS:
        for name in options.model or models(LAWS[law_name]):
            line = pd.DataFrame([measured(law_name, name)])
            print(line.T.to_string(), flush=True)
            lines = pd.concat([lines, line])
            lines = lines.drop_duplicates(["law", "model"], keep="last")
            lines.round(3).to_csv(RESULTS, index=False)


if __name__ == "__main__":
    main()
