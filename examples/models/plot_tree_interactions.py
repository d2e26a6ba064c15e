"""
Main effects and interactions of a tree ensemble
================================================

The values of trees are exact, and the model is not called. The interactions are exact
too. They split each attribution into the main effect of its feature and the
interactions with the others.
"""

# %%
# Boosted trees predict the progress of diabetes. All 331 training rows are the
# background.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer, TreeExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = XGBRegressor(n_estimators=100, max_depth=3, learning_rate=0.08).fit(
    X_train, y_train
)
explainer = TreeExplainer(model, interactions=True).fit(X_train)
explanation = explainer.explain(X)
interactions = explanation.interactions.matrix()
print(interactions.shape, np.allclose(interactions.sum(axis=2), explanation.values))

# %%
# The matrix shows mean sizes: the interaction of each pair below the diagonal, and the
# main effects on the diagonal. The errors show how much these means would change with
# other rows.

explanation.plot.interactions(max_features=7)

# %%
# One pair
# --------
# The attribution of body mass also depends on other columns, so its points scatter. The
# main effect is nearly a function of body mass alone. The interaction with blood
# pressure shows for whom body mass matters more: heavy people with high blood pressure.

bmi, bp = X.columns.get_loc("bmi"), X.columns.get_loc("bp")
parts = {
    "attribution of bmi": explanation.values[:, bmi],
    "main effect of bmi": interactions[:, bmi, bmi],
    "bmi with bp": 2 * interactions[:, bmi, bp],
}
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ax, (title, values) in zip(axes, parts.items(), strict=True):
    points = ax.scatter(X["bmi"], values, c=X["bp"], s=12, cmap="viridis")
    ax.axhline(0, color="grey", lw=0.8, zorder=0)
    ax.set(title=title, xlabel="bmi")
axes[0].set_ylabel("points of progress")
figure.colorbar(points, ax=axes, label="blood pressure (bp)")

# %%
# Interactions of other models
# ----------------------------
# A perceptron has no closed form. Its interactions come from the same evaluations as
# its attributions, with standard errors. These are the three strongest of one patient:

perceptron = MLPRegressor(
    hidden_layer_sizes=16, alpha=1.0, solver="lbfgs", max_iter=1000, random_state=0
)
machine = make_pipeline(StandardScaler(), perceptron).fit(X_train, y_train)
sampled = ShapleyExplainer(
    machine, interactions=True, max_rows=198 * 60 + 1, random_state=0
)
sampled = sampled.fit(X_train[:60]).explain(X_test[:1])
sampled.plot.interactions(max_features=7)
sampled.interactions.strongest(3)

# %%
# Another index
# -------------
# The Banzhaf value gives all coalitions the same weight. The Shapley value gives all
# coalition sizes the same weight. For these trees the two are close, but Banzhaf values
# do not add up to the prediction:

banzhaf = TreeExplainer(model, index="banzhaf").fit(X_train).explain(X_test[:3])
pd.DataFrame(
    {
        "prediction - base value": banzhaf.predictions - banzhaf.base_values,
        "sum of Banzhaf values": banzhaf.values.sum(axis=1),
        "sum of Shapley values": explainer.explain(X_test[:3]).values.sum(axis=1),
    },
    index=banzhaf.index,
).round(2)
