"""
Feature selection and drift
===========================

This example shows importances with intervals, features selected out of fold, a
comparison of two groups, and a year of predictions on a control chart.
"""

# %%
# The model predicts the progress of diabetes. It is explained on people that it was not
# fitted to.

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
# How certain are the importances?
# --------------------------------
# The intervals hold simultaneously for all features. Each name is followed by the ranks
# that the data allow.

explanation.plot.importance()

# %%
# Which features to keep
# ----------------------
# A column of noise and a shuffled copy are added. Each fold is explained with a model
# of the other folds. A feature is kept if its attributions predict the target.

rng = np.random.default_rng(0)
table = X.assign(noise=rng.normal(size=len(X)), shuffled=rng.permutation(X["bmi"]))
selector = ShapleyImportance(model).fit(table, y)
ImportanceDisplay.from_selector(selector)

# %%

selector.to_frame().round(3)

# %%
# Two groups
# ----------
# The figure divides the difference between the mean predictions of two groups among the
# features. A pale line may be due to chance.

first = (explanation.data["sex"] == 1).to_numpy()
comparison = compare(explanation[first], explanation[~first], names=("sex 1", "sex 2"))
DumbbellDisplay.from_comparison(comparison, kind="attribution")

# %%
# The contributions add up to the difference:

differences = comparison.to_frame("attribution")["difference"]
print(f"{differences.sum():.6f} {comparison.prediction_difference:.6f}")

# %%
# A year
# ------
# From July on, people are heavier. The limits hold simultaneously for all features and
# months.

year = X[1::2].sample(frac=1, random_state=0)
months = np.array(
    [f"{month:02d}" for month in 1 + 12 * np.arange(len(year)) // len(year)]
)
year.loc[months >= "07", "bmi"] += 4
found = drift(explainer.explain(year), months, baseline=["01", "02", "03"])
ControlChartDisplay.from_drift(found, max_features=3)

# %%

print(found.alarms)
