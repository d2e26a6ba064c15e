"""
Do two networks use the same features?
======================================

Networks with different initial weights reach the same accuracy in different ways.
Standard errors separate two kinds of differences: between the models, and from
sampling.
"""

# %%
# Three perceptrons classify tumours as malignant or benign. They differ only in their
# seeds.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.plots import BarDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y == 0, random_state=0)
models = {
    f"seed {seed}": make_pipeline(
        StandardScaler(),
        MLPClassifier((20,), alpha=0.1, max_iter=1000, random_state=seed),
    ).fit(X_train, y_train)
    for seed in range(3)
}
for name, model in models.items():
    print(f"{name}: {model.score(X_test, y_test):.1%} recognised")

# %%
# The log-odds are explained, because nearly all probabilities of these networks are
# near 0 or 1.

explanations = {
    name: ShapleyExplainer(
        model,
        response_method="log_odds",
        sampler="antithetic",
        max_background=100,
        max_rows=20_000,
        random_state=0,
    )
    .fit(X_train)
    .explain(X_test.iloc[:40])
    for name, model in models.items()
}

# %%
# The most important features of the first network, over 40 tumours:

BarDisplay.from_explanation(explanations["seed 0"])

# %%
# One tumour is explained with all three networks. The intervals are narrow. Where they
# do not overlap, the networks differ:

tables = {name: e[0].to_frame("long") for name, e in explanations.items()}
table = pd.concat(tables, names=["network"]).reset_index("network")
table["interval"] = 1.96 * table["standard_error"]
numbers = table.pivot_table(["value", "interval"], "feature", "network")
largest = numbers["value"].abs().max(axis=1).nlargest(10).index[::-1]
intervals = numbers["interval"].loc[largest]
bars = numbers["value"].loc[largest].plot.barh(xerr=intervals)
bars.set_xlabel("attribution (log-odds), with 95 % interval")

# %%
# The last picture compares two standard deviations over all tumours: of an attribution
# over the three networks, and from the sampling of coalitions alone. The explanation of
# one network is accurate to the second digit. The explanation of another network is
# different.

values = np.stack([e.values for e in explanations.values()])
errors = np.stack([e.standard_errors for e in explanations.values()])
between = values.var(axis=0, ddof=1).mean(axis=0)
within = (errors**2).mean(axis=(0, 1))
order = between.argsort()[-10:]
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.barh(
    X.columns[order], np.sqrt(between[order]), color="#9ECAE1", label="between networks"
)
ax.barh(
    X.columns[order],
    np.sqrt(within[order]),
    height=0.4,
    color="#E07B00",
    label="by sampling alone",
)
ax.set_xlabel("standard deviation of an attribution, log-odds")
ax.legend(frameon=False, loc="lower right")
