"""
Main effects and interactions of a tree ensemble
================================================

Trees are explained exactly, from their tables, without a call of the model. The same tables give
the interactions: each attribution is split into what its feature does alone, and what it does
together with each other one.
"""

# %%
# Boosted trees for the progress of diabetes, against all 331 training rows as the background.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from xgboost import XGBRegressor

from skshapley import TreeExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = XGBRegressor(n_estimators=100, max_depth=3, learning_rate=0.08).fit(X_train, y_train)
explainer = TreeExplainer(model, interactions=True).fit(X_train)
explanation = explainer.explain(X)
interactions = explanation.interactions.matrix()
print(interactions.shape, np.allclose(interactions.sum(axis=2), explanation.values))

# %%
# Their mean sizes: on the diagonal what the features do alone; beside it half the interaction of
# each pair, the other half being on the other side.

order = np.abs(explanation.values).mean(axis=0).argsort()[::-1][:7]
size = pd.DataFrame(
    np.abs(interactions).mean(axis=0), explanation.feature_names, explanation.feature_names
).iloc[order, order]
figure, ax = plt.subplots(figsize=(6.2, 4.6), layout="constrained")
image = ax.imshow(size, cmap="Blues", norm="log")
ax.set(xticks=range(7), yticks=range(7), xticklabels=size.columns, yticklabels=size.index)
for (i, j), number in np.ndenumerate(size.to_numpy()):
    light = number > np.sqrt(size.to_numpy().max() * size.to_numpy().min())
    ax.text(j, i, f"{number:.2g}", ha="center", va="center", color="white" if light else "black")
figure.colorbar(image, label="mean size, in points of progress")

# %%
# One pair
# --------
# The attribution of body mass scatters, since it depends on the other columns as well. Its main
# effect is nearly a function of body mass alone. What it shares with blood pressure says for whom
# body mass matters more: among the heavy, those whose pressure is high.

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
# Another index
# -------------
# The Banzhaf value takes all coalitions to be equally likely, where the Shapley value takes all
# sizes to be. For these trees the two are close, but Banzhaf values do not add up to the
# prediction:

banzhaf = TreeExplainer(model, index="banzhaf").fit(X_train).explain(X_test[:3])
pd.DataFrame(
    {
        "prediction - base value": banzhaf.predictions - banzhaf.base_values,
        "sum of Banzhaf values": banzhaf.values.sum(axis=1),
        "sum of Shapley values": explainer.explain(X_test[:3]).values.sum(axis=1),
    },
    index=banzhaf.index,
).round(2)
