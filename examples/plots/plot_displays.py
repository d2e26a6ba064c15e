"""
All displays of one model
=========================

Each display is made from an `Explanation`, draws on a new figure or on given axes, and
returns its numbers as a DataFrame. Standard errors are drawn as 95 % intervals.
"""

# %%
# The model predicts the progress of diabetes within a year, from ten measurements of
# 442 people.

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer
from skshapley.comparison import compare
from skshapley.plots import (
    BarDisplay,
    BeeswarmDisplay,
    ConvergenceDisplay,
    DecisionDisplay,
    DependenceDisplay,
    DumbbellDisplay,
    MatrixDisplay,
    WaterfallDisplay,
)

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = X["sex"].map({1: "female", 2: "male"}).astype("category")
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = XGBRegressor(
    n_estimators=60, max_depth=3, learning_rate=0.1, enable_categorical=True
)
explainer = ShapleyExplainer(
    model.fit(X_train, y_train), sampler="antithetic", max_background=50, random_state=0
).fit(X_train)
explanation = explainer.explain(X_test)

# %%
# One person
# ----------
# A waterfall leads from the base value to the prediction. Bars show the same values.

WaterfallDisplay.from_explanation(explanation, row=0, max_features=6)

# %%

figure, axes = plt.subplots(1, 2, figsize=(10, 3.4), layout="constrained")
BarDisplay.from_explanation(explanation, row=0, ax=axes[0], max_features=6)
BarDisplay.from_explanation(explanation, row=1, ax=axes[1], max_features=6)

# %%
# All people
# ----------
# The displays show importances for all people and by sex, then every attribution as a
# point, as a matrix, and as paths.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
BarDisplay.from_explanation(explanation, ax=axes[0])
BarDisplay.from_explanation(explanation, cohorts="sex", max_features=5, ax=axes[1])

# %%

BeeswarmDisplay.from_explanation(explanation)

# %%

MatrixDisplay.from_explanation(explanation)

# %%

DecisionDisplay.from_explanation(explanation)

# %%
# The effect of a feature
# -----------------------
# The value of a feature is plotted against its attribution. The colour is another
# feature that explains the remaining variation.

DependenceDisplay.from_explanation(explanation, features=["bmi", "s5", "bp", "sex"])

# %%
# Two models
# ----------

perceptron = MLPRegressor(
    hidden_layer_sizes=(16,),
    alpha=3.0,
    learning_rate_init=0.02,
    max_iter=3000,
    random_state=0,
)
network = make_pipeline(StandardScaler(), perceptron)
numbers = X.assign(sex=X["sex"].cat.codes)
network.fit(numbers.loc[X_train.index], y_train)
other = ShapleyExplainer(network, max_background=50, random_state=0)
other = other.fit(numbers.loc[X_train.index]).explain(numbers.loc[X_test.index])
DumbbellDisplay.from_comparison(
    compare(explanation, other, names=("XGBoost", "network"))
)

# %%
# Was the budget large enough?
# ----------------------------

ConvergenceDisplay.from_estimator(
    explainer, X_test[:1], budgets=[500, 1000, 2000, 4000, 8000]
)

# %%
# The numbers of a display
# ------------------------

WaterfallDisplay.from_explanation(explanation, row=0, max_features=6).frame().round(2)
