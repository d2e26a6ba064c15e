"""
An XGBoost regressor, exactly and by sampling
=============================================

For a sum of trees, `ShapleyExplainer` computes exact values. If a sampler is passed, it
treats the same model as a black box. This tests the standard errors: do the intervals
contain the exact values?
"""

# %%
# The model predicts how far diabetes has progressed after one year, from ten
# measurements. All 331 training rows are the background, and the 111 test rows are
# explained. The cost of exact tree values does not depend on the size of the
# background.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer
from skshapley.plots import BeeswarmDisplay, WaterfallDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = XGBRegressor(n_estimators=60, max_depth=3, learning_rate=0.1).fit(
    X_train, y_train
)
exact = ShapleyExplainer(model).fit(X_train).explain(X_test)
print(exact)

# %%

BeeswarmDisplay.from_explanation(exact)

# %%
# The waterfall explains the highest prediction, starting from the mean prediction:

WaterfallDisplay.from_explanation(
    exact, row=int(exact.predictions.argmax()), max_features=7
)

# %%
# The same model as a black box
# -----------------------------
# Each row may cost 12,600 model rows. This is about four for each feature and each of
# the 331 background rows. The left panel shows the errors of the attributions of five
# people, with their 95 % intervals. Intervals that miss 0 are orange. The right panel
# shows the errors of all 111 people in units of their standard errors, with the normal
# density.

sampled = ShapleyExplainer(model, sampler="antithetic", max_rows=12_600, random_state=0)
sampled = sampled.fit(X_train).explain(X_test)
error = sampled.values - exact.values
half = 1.96 * sampled.standard_errors
held = np.abs(error) <= half

figure, axes = plt.subplots(
    1, 2, figsize=(11, 3.6), layout="constrained", width_ratios=[2, 1]
)
place = np.arange(50).reshape(5, 10)
for shown, colour in ((held[:5], "#2B83BA"), (~held[:5], "#E07B00")):
    axes[0].errorbar(
        place[shown], error[:5][shown], half[:5][shown], fmt=".", color=colour
    )
axes[0].axhline(0, color="black", lw=0.8)
axes[0].set(xlabel="attributions of five people", ylabel="sampled - exact", xticks=[])
axes[1].hist(
    (error / sampled.standard_errors).ravel(),
    40,
    range=(-4, 4),
    density=True,
    color="#9ECAE1",
)
grid = np.linspace(-4, 4, 100)
axes[1].plot(grid, norm.pdf(grid), color="black", lw=1)
axes[1].set(xlabel="error / standard error", yticks=[])
print(f"{held.mean():.1%} of {held.size} intervals contain the exact value.")
