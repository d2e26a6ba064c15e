"""
Many people in one table
========================

An explanation of many rows is a table like the explained one. It has the same index and
works with pandas.
"""

# %%
# Each of the 442 people in the diabetes data is explained, with all of them as the
# background. The index replaces their names.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from skshapley import Explanation, ShapleyExplainer
from skshapley.plots import BarDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X.index = pd.Index([f"P{number:03d}" for number in range(len(X))], name="person")
model = HistGradientBoostingRegressor(max_iter=60, max_depth=3, random_state=0).fit(
    X, y
)
explainer = ShapleyExplainer(model).fit(X)
explanation = explainer.explain(X)
table = explanation.to_frame()
table.head(3).round(1)

# %%
# For whom does blood pressure raise the prediction most?

table.nlargest(3, "bp").round(1)

# %%
# The long form has one line for each person and feature, with the measurement and the
# standard error. It can be joined, grouped and saved like any table. How often is each
# feature the strongest reason of a person?

long = explanation.to_frame("long")
strongest = long.loc[long["value"].abs().groupby(long["row"]).idxmax()]
strongest.groupby("feature")["value"].agg(["count", "mean"]).sort_values("count").iloc[
    ::-1
].round(1)

# %%
# Importance, for all people and by cohort
# ----------------------------------------
# The importance is the mean size of the attributions. Its standard error estimates how
# much it would change with another sample of people.

explanation.importance().head(4).round(2)

# %%
# A cohort is a column, or one label for each person. Here, the cohorts are thirds of
# the age:

age = pd.qcut(X["age"], 3, labels=["young", "middle", "old"])
BarDisplay.from_explanation(explanation, cohorts=age, max_features=5)

# %%
# Who has similar *reasons*? The points are attributions of body mass and of s5,
# coloured by the prediction:

figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
points = ax.scatter(
    table["bmi"], table["s5"], c=explanation.predictions, s=14, cmap="viridis"
)
ax.set(xlabel="attribution of bmi", ylabel="attribution of s5")
figure.colorbar(points, label="predicted progress")

# %%
# Rows are selected by position or by a mask. Batches that were explained separately can
# be concatenated:

high = explanation[explanation.predictions > 200]
halves = Explanation.merge([explainer.explain(X[:200]), explainer.explain(X[200:])])
print(high, (halves.values == explanation.values).all(), sep="\n")
