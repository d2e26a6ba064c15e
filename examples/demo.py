"""A tour in half a minute: explain an XGBoost model and a neural network on real data.

The data, bundled with scikit-learn, are 569 breast tumours measured under the microscope: thirty
features of the cell nuclei, and whether the tumour was malignant (Street, Wolberg and Mangasarian,
1993). Run it with `make demo`, or `python examples/demo.py`; the files go to demo_output/.
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
from skshapley.plots import BarDisplay, BeeswarmDisplay, WaterfallDisplay

OUTPUT = Path("demo_output")
MODELS = {
    "XGBoost": XGBClassifier(n_estimators=100, max_depth=3, learning_rate=0.1, random_state=0),
    "MLP": make_pipeline(
        StandardScaler(), MLPClassifier((32,), alpha=0.1, max_iter=1000, random_state=0)
    ),
}


def tumours():
    """Return training and test rows, with True for a malignant tumour."""
    data = load_breast_cancer(as_frame=True)
    return train_test_split(data.data, data.target == 0, test_size=0.25, random_state=0)


def explain(model, X_train, X_test):
    """Explain the probability that each test tumour is malignant."""
    explainer = ShapleyExplainer(model, random_state=0)
    return explainer.fit(X_train).explain(X_test)


def table(explanation, row, n_features=6):
    """Return the largest attributions of one tumour, with their standard errors."""
    frame = explanation[row].to_frame("long").set_index("feature")
    order = frame["value"].abs().sort_values(ascending=False).index[:n_features]
    columns = {"data": "measured", "value": "attribution", "standard_error": "standard error"}
    return frame.loc[order, list(columns)].rename(columns=columns)


def save(explanation, name):
    """Write every attribution and three pictures; return the files."""
    frame = explanation.to_frame("long")
    path = OUTPUT / f"{name}_attributions.parquet"
    try:
        frame.to_parquet(path)
    except ImportError:  # without pyarrow
        path = path.with_suffix(".csv")
        frame.to_csv(path, index=False)
    files = [path]
    for kind, display in {
        "beeswarm": BeeswarmDisplay.from_explanation(explanation),
        "importance": BarDisplay.from_explanation(explanation),
        "waterfall": WaterfallDisplay.from_explanation(explanation, row=0),
    }.items():
        files.append(OUTPUT / f"{name}_{kind}.png")
        display.figure_.savefig(files[-1], dpi=150)
        plt.close(display.figure_)
    return files


def main():
    OUTPUT.mkdir(exist_ok=True)
    X_train, X_test, y_train, y_test = tumours()
    print(f"{len(X_train)} breast tumours to learn from, {len(X_test)} to explain.")
    for name, model in MODELS.items():
        model.fit(X_train, y_train)
        began = time.perf_counter()
        explanation = explain(model, X_train, X_test)
        seconds = time.perf_counter() - began
        print(
            f"\n{name}: {model.score(X_test, y_test):.0%} of the test tumours recognised;"
            f" explained in {seconds:.1f} s with {explanation.n_model_rows.sum():,} model rows."
        )
        print(
            f"The first one is malignant with probability {explanation.predictions[0]:.3f},"
            f" against {explanation.base_values[0]:.3f} on average, because of"
        )
        with pd.option_context("display.float_format", "{:.4f}".format):
            print(table(explanation, row=0).to_string())
        files = save(explanation, name.lower())
        print("Written: " + ", ".join(str(path) for path in files))


if __name__ == "__main__":
    main()
