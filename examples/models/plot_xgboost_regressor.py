"""
An XGBoost regressor, exactly and by sampling
=============================================

Where the response is the sum of the trees, `ShapleyExplainer` reads them and is exact. Asked for a
sampler, it treats the same model as a black box. That makes a test of the standard errors: do the
intervals hold the exact values?
"""

# %%
# How diabetes progressed within a year, from ten measurements. All of the 331 training rows are the
# background, and the 111 others are explained; trees do not mind how many there are.

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
model = XGBRegressor(n_estimators=60, max_depth=3, learning_rate=0.1).fit(X_train, y_train)
exact = ShapleyExplainer(model).fit(X_train).explain(X_test)
print(exact)

# %%

BeeswarmDisplay.from_explanation(exact)

# %%
# The highest prediction, from the mean of all to what is said of this person:

WaterfallDisplay.from_explanation(exact, row=int(exact.predictions.argmax()), max_features=7)

# %%
# The same, as a black box
# ------------------------
# 12,600 model rows for each instance: some four for each feature and each of the 331 people in the
# background. On the left the errors of the attributions of five people, with their 95 % intervals;
# those that miss 0 are orange. On the right the errors of all 111, in units of their standard
# errors, and the normal law.

sampled = ShapleyExplainer(model, sampler="antithetic", max_rows=12_600, random_state=0)
sampled = sampled.fit(X_train).explain(X_test)
error = sampled.values - exact.values
half = 1.96 * sampled.standard_errors
held = np.abs(error) <= half

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained", width_ratios=[2, 1])
place = np.arange(50).reshape(5, 10)
for shown, colour in ((held[:5], "#2B83BA"), (~held[:5], "#E07B00")):
    axes[0].errorbar(place[shown], error[:5][shown], half[:5][shown], fmt=".", color=colour)
axes[0].axhline(0, color="black", lw=0.8)
axes[0].set(xlabel="attributions of five people", ylabel="sampled - exact", xticks=[])
axes[1].hist(
    (error / sampled.standard_errors).ravel(), 40, range=(-4, 4), density=True, color="#9ECAE1"
)
grid = np.linspace(-4, 4, 100)
axes[1].plot(grid, norm.pdf(grid), color="black", lw=1)
axes[1].set(xlabel="error / standard error", yticks=[])
print(f"{held.mean():.1%} of {held.size} intervals hold the exact value.")
