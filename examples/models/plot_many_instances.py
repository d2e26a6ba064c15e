"""
Many people in one table
========================

An explanation of many instances is a table like the one that it explains: with its index, ready for
pandas. What matters for whom, and how sure is that?
"""

# %%
# Diabetes again, every one of 442 people explained against all of them. The index stands for their
# names.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from skshapley import Explanation, ShapleyExplainer
from skshapley.plots import BarDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X.index = pd.Index([f"P{number:03d}" for number in range(len(X))], name="person")
model = HistGradientBoostingRegressor(max_iter=60, max_depth=3, random_state=0).fit(X, y)
explainer = ShapleyExplainer(model).fit(X)
explanation = explainer.explain(X)
table = explanation.to_frame()
table.head(3).round(1)

# %%
# Whose prediction does blood pressure raise most?

table.nlargest(3, "bp").round(1)

# %%
# The long form has a line for each person and feature, with the measurement and the standard error;
# it joins, groups and goes to a file like any other table. What is the strongest reason of each
# person, how often?

long = explanation.to_frame("long")
strongest = long.loc[long["value"].abs().groupby(long["row"]).idxmax()]
strongest.groupby("feature")["value"].agg(["count", "mean"]).sort_values("count").iloc[::-1].round(
    1
)

# %%
# Importance, for everybody and by cohort
# ---------------------------------------
# The mean size of an attribution. Its standard error says how much it would be another one with
# other people of the same kind.

explanation.importance().head(4).round(2)

# %%
# A cohort is a column or one label a person. Here: by thirds of age.

age = pd.qcut(X["age"], 3, labels=["young", "middle", "old"])
BarDisplay.from_explanation(explanation, cohorts=age, max_features=5)

# %%
# Who is like whom in *reasons*? Attributions of body mass and of s5, coloured by the prediction:

figure, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
points = ax.scatter(table["bmi"], table["s5"], c=explanation.predictions, s=14, cmap="viridis")
ax.set(xlabel="attribution of bmi", ylabel="attribution of s5")
figure.colorbar(points, label="predicted progress")

# %%
# Rows are chosen by position or by a mask, and batches that were explained apart are put together:

high = explanation[explanation.predictions > 200]
halves = Explanation.merge([explainer.explain(X[:200]), explainer.explain(X[200:])])
print(high, (halves.values == explanation.values).all(), sep="\n")
