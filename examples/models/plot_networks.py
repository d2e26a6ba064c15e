"""
Do two networks see the same thing?
===================================

Networks that start from other weights reach the same accuracy on their own ways. Standard errors
tell the two kinds of differences apart: those between the models, and those of the estimate.
"""

# %%
# Three perceptrons that tell malignant from benign tumours, alike but for their seeds.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.plots import BarDisplay, ComparisonDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y == 0, random_state=0)
models = {
    f"seed {seed}": make_pipeline(
        StandardScaler(), MLPClassifier((20,), alpha=0.1, max_iter=1000, random_state=seed)
    ).fit(X_train, y_train)
    for seed in range(3)
}
for name, model in models.items():
    print(f"{name}: {model.score(X_test, y_test):.1%} recognised")

# %%
# Log-odds, since these networks are so sure of themselves that all probabilities are near 0 or 1.

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
# What matters to the first of them, over 40 tumours:

BarDisplay.from_explanation(explanations["seed 0"])

# %%
# One tumour by all three. Where intervals (narrow here) do not overlap, the networks differ:

ComparisonDisplay.from_explanations(explanations, row=0)

# %%
# Over all tumours: the standard deviation of an attribution over the three networks, and that which
# the sampling of coalitions alone would make. The explanation of one network is sure to the second
# digit; the next network has another one.

values = np.stack([e.values for e in explanations.values()])
errors = np.stack([e.standard_errors for e in explanations.values()])
between = values.var(axis=0, ddof=1).mean(axis=0)
within = (errors**2).mean(axis=(0, 1))
order = between.argsort()[-10:]
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
ax.barh(X.columns[order], np.sqrt(between[order]), color="#9ECAE1", label="between networks")
ax.barh(
    X.columns[order], np.sqrt(within[order]), height=0.4, color="#E07B00", label="by sampling alone"
)
ax.set_xlabel("standard deviation of an attribution, log-odds")
ax.legend(frameon=False, loc="lower right")
