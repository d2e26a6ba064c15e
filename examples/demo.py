"""Explain an XGBoost model and a neural network on real data, in half a minute.

The data are bundled with scikit-learn (Street, Wolberg and Mangasarian, 1993): 569
breast tumours, each with thirty measurements of cell nuclei, and its diagnosis. The
attributions and interactions of the trees are exact. The network is sampled, and each
attribution has a standard error.

Run it with `make demo`, or `python examples/demo.py`; the files go to demo_output/.
"""

import time
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBClassifier

from skshapley import ShapleyExplainer

OUTPUT = Path("demo_output")


def tumours():
    """Return training and test rows, with True for a malignant tumour."""
    data = load_breast_cancer(as_frame=True)
    return train_test_split(data.data, data.target == 0, test_size=0.25, random_state=0)


def boosted_trees(X_train, X_test, y_train, y_test):
    """Return boosted trees that are fitted to the training rows."""
    model = XGBClassifier(
        n_estimators=100, max_depth=3, learning_rate=0.1, random_state=0
    )
    return model.fit(X_train, y_train)


def explain_trees(X_train, X_test, y_train, y_test):
    """Explain the log-odds of boosted trees: exact values, and interactions of all pairs."""
    model = boosted_trees(X_train, X_test, y_train, y_test)
    print(
        f"\nXGBoost: {model.score(X_test, y_test):.0%} of the test tumours classified "
        "correctly."
    )
    explainer = ShapleyExplainer(model, response_method="log_odds", interactions=True)
    return timed(lambda: explainer.fit(X_train).explain(X_test))


def explain_network(X_train, X_test, y_train, y_test):
    """Explain the probability of a neural network: sampled values with standard errors."""
    network = MLPClassifier((32,), alpha=0.1, max_iter=1000, random_state=0)
    model = make_pipeline(StandardScaler(), network).fit(X_train, y_train)
    print(
        f"\nMLP: {model.score(X_test, y_test):.0%} of the test tumours classified "
        "correctly."
    )
    explainer = ShapleyExplainer(model, max_rows=15_000, random_state=0)
    return timed(lambda: explainer.fit(X_train).explain(X_test))


def timed(explain):
    """Return an explanation and print its cost."""
    began = time.perf_counter()
    explanation = explain()
    seconds = time.perf_counter() - began
    print(
        f"Explained in {seconds:.1f} s with {explanation.n_model_rows.sum():,} model "
        "rows."
    )
    return explanation


def table(explanation, row, n_features=6):
    """Return the largest attributions of one tumour, with their standard errors or "exact"."""
    frame = explanation[row].to_frame("long").set_index("feature")
    order = frame["value"].abs().sort_values(ascending=False).index[:n_features]
    columns = {
        "data": "measured",
        "value": "attribution",
        "standard_error": "standard error",
    }
    shown = frame.loc[order, list(columns)].rename(columns=columns)
    errors = shown["standard error"]
    return shown.assign(
        **{"standard error": errors.astype(object).where(errors > 0, "exact")}
    )


def save(explanation, name):
    """Write the report, the attributions and some pictures, and return the files."""
    title = f"Breast tumours, by {name}"
    files = [explanation.report(OUTPUT / f"{name}_report.html", title=title)]
    frame = explanation.to_frame("long")
    path = OUTPUT / f"{name}_attributions.parquet"
    try:
        frame.to_parquet(path)
    except ImportError:  # without pyarrow
        path = path.with_suffix(".csv")
        frame.to_csv(path, index=False)
    files.append(path)
    displays = {
        "beeswarm": explanation.plot.beeswarm(),
        "importance": explanation.plot.bar(),
        "waterfall": explanation.plot.waterfall(0),
    }
    if explanation.interactions is not None:
        displays["interactions"] = explanation.plot.interactions()
    for kind, display in displays.items():
        files.append(OUTPUT / f"{name}_{kind}.png")
        display.figure_.savefig(files[-1], dpi=150)
        plt.close(display.figure_)
    return files


def show(explanation, name, response):
    """Print the explanation of the first tumour, and write all of them."""
    print(
        f"The {response} of the first one is {explanation.predictions[0]:.3f}, against"
        f" {explanation.base_values[0]:.3f} on average, because of"
    )
    with pd.option_context("display.float_format", "{:.4f}".format):
        print(table(explanation, row=0).to_string())
        if explanation.interactions is not None:
            strongest = explanation[0].interactions.strongest(1).iloc[0]
            print(
                f"Together, {strongest['feature']} and {strongest['other']} add"
                f" {strongest['value']:+.4f} beyond what each adds by itself."
            )
    files = save(explanation, name)
    print("Written: " + ", ".join(str(path) for path in files))


def main():
    OUTPUT.mkdir(exist_ok=True)
    X_train, X_test, y_train, y_test = tumours()
    print(f"{len(X_train)} breast tumours for training, {len(X_test)} to explain.")
    show(
        explain_trees(X_train, X_test, y_train, y_test),
        "xgboost",
        "log-odds of malignancy",
    )
    show(
        explain_network(X_train, X_test, y_train, y_test),
        "mlp",
        "probability of malignancy",
    )
    print(f"\nOpen {OUTPUT / 'mlp_report.html'} in a browser to see the report.")


if __name__ == "__main__":
    main()
