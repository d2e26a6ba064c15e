"""
What to keep, and what has changed
==================================

Importances with intervals, features selected out of fold, two groups side by side, and a year of
predictions on a control chart.
"""

# %%
# A model of how diabetes progresses, and people that it was not fitted to.

import numpy as np
from sklearn.datasets import load_diabetes
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer, ShapleyImportance
from skshapley.comparison import compare, drift
from skshapley.plots import ControlChartDisplay, DumbbellDisplay, ImportanceDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = XGBRegressor(n_estimators=60, max_depth=3, learning_rate=0.1)
explainer = ShapleyExplainer(model.fit(X[::2], y[::2])).fit(X[::2])
explanation = explainer.explain(X[1::2])

# %%
# How sure importances are
# ------------------------
# The intervals hold all features at once; beside the names are the ranks that the data leave open.

explanation.plot.importance()

# %%
# Which features to keep
# ----------------------
# A noise column and a shuffled copy are put in. Each fold is explained by a model of the others,
# and tested for what its attributions tell of the target.

rng = np.random.default_rng(0)
table = X.assign(noise=rng.normal(size=len(X)), shuffled=rng.permutation(X["bmi"]))
selector = ShapleyImportance(model).fit(table, y)
ImportanceDisplay.from_selector(selector)

# %%

selector.to_frame().round(3)

# %%
# Two groups
# ----------
# What each feature carries of the difference of their mean predictions. A pale dumbbell may be
# chance.

first = (explanation.data["sex"] == 1).to_numpy()
comparison = compare(explanation[first], explanation[~first], names=("sex 1", "sex 2"))
DumbbellDisplay.from_comparison(comparison, kind="attribution")

# %%
# They add up:

differences = comparison.to_frame("attribution")["difference"]
print(f"{differences.sum():.6f} {comparison.prediction_difference:.6f}")

# %%
# A year
# ------
# From July on people are heavier. The limits hold all features and months at once.

year = X[1::2].sample(frac=1, random_state=0)
months = np.array([f"{month:02d}" for month in 1 + 12 * np.arange(len(year)) // len(year)])
year.loc[months >= "07", "bmi"] += 4
found = drift(explainer.explain(year), months, baseline=["01", "02", "03"])
ControlChartDisplay.from_drift(found, max_features=3)

# %%

print(found.alarms)
