"""What ``max_rows="auto"`` must be: the default sampler's error against shap's defaults.

Truth is shap's interventional TreeExplainer; the error is the mean of |phi - truth|^2 / |truth|^2
over instances. Run ``python -m benchmarks.budget``; it prints a markdown table.
"""

import logging
import warnings

import numpy as np
import shap
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1, make_regression
from xgboost import XGBClassifier, XGBRegressor

from skshapley import ShapleyExplainer
from skshapley._run._plan import Size, auto_rows


def tasks():
    """Yield (name, model, X, response method, function for shap)."""
    regressions = {
        "friedman1, 10": make_friedman1(1000, 10, random_state=0),
        "friedman1, 20": make_friedman1(1000, 20, random_state=0),
        "linear, 100": make_regression(1000, 100, n_informative=40, random_state=0),
    }
    for name, (X, y) in regressions.items():
        model = XGBRegressor(n_jobs=1).fit(X, y)
        yield name, model, X, "predict", lambda Z, m=model: m.predict(Z)
    cancer, digits = load_breast_cancer(return_X_y=True), load_digits(return_X_y=True)
    for name, (X, y) in {
        "breast cancer, 30": cancer,
        "digits, 64": (digits[0], digits[1] % 2),
    }.items():
        model = XGBClassifier(n_jobs=1).fit(X, y)
        yield name, model, X, "log_odds", lambda Z, m=model: m.predict(Z, output_margin=True)


def row(name, model, X, method, function, b, instances=6, seeds=2):
    """Return one line of the table."""
    order = np.random.default_rng(0).permutation(len(X))
    chosen, background = X[order[:instances]], X[order[100 : 100 + b]]
    exact = shap.TreeExplainer(model, background, feature_perturbation="interventional")
    truth = exact.shap_values(chosen)

    def error(values):
        return np.mean(((values - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1))

    masker = shap.maskers.Independent(background, max_samples=b)
    walks = shap.PermutationExplainer(function, masker, seed=0)(chosen, max_evals=500, silent=True)
    kernel = np.array(shap.KernelExplainer(function, background).shap_values(chosen, silent=True))
    p, cells = X.shape[1], []
    size = Size(p, b, b)
    for budget in (size.rows(max(125, 2 * p)), auto_rows(size), size.rows(512 + p // 2)):
        explainers = (
            ShapleyExplainer(
                model,
                response_method=method,
                sampler="antithetic",
                max_rows=budget,
                random_state=seed,
            )
            for seed in range(seeds)
        )
        errors = [error(e.fit(background).explain(chosen).values) for e in explainers]
        cells.append(f"{np.mean(errors):.1e} ({budget})")
    return [
        name,
        b,
        f"{error(walks.values):.1e} ({500 * b})",
        f"{error(kernel):.1e} ({(2048 + 2 * p) * b})",
        *cells,
    ]


def main():
    """Print the table: errors, and model rows in brackets."""
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    head = [
        "task, p",
        "b",
        "shap Permutation",
        "shap Kernel",
        "ours, 125",
        "ours, auto",
        "ours, Kernel/4",
    ]
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for task in tasks():
        for b in (1, 10, 100):
            print("| " + " | ".join(str(cell) for cell in row(*task, b)) + " |", flush=True)


if __name__ == "__main__":
    main()
