"""
A pipeline on a DataFrame of numbers, categories and gaps
=========================================================

The pipeline imputes, scales and encodes; the explanation speaks of the columns as they came. No
wrapper is needed: absent columns are filled in with background values of the same dtype, gaps and
all.
"""

# %%
# The diabetes data in their own units. Sex is a string, blood pressure a category, and we lose one
# in ten measurements of blood sugar (s6), as it happens.

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skshapley import ShapleyExplainer
from skshapley.plots import BarDisplay, DependenceDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X["sex"] = X["sex"].map({1: "female", 2: "male"})
X["bp"] = pd.cut(X["bp"], [0, 80, 95, 110, 200], labels=["low", "normal", "raised", "high"])
X.loc[np.random.default_rng(0).random(len(X)) < 0.1, "s6"] = np.nan
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
X_train.head(3)

# %%

encode = make_column_transformer(
    (SimpleImputer(add_indicator=True), make_column_selector(dtype_include="number")),
    (OneHotEncoder(sparse_output=False), make_column_selector(dtype_exclude="number")),
)
forest = ExtraTreesRegressor(n_estimators=50, min_samples_leaf=4, random_state=0)
model = make_pipeline(encode, forest).fit(X_train, y_train)
n_columns = model[:-1].transform(X_test).shape[1]
print(f"Inside there are {n_columns} columns; R² is {model.score(X_test, y_test):.2f}.")

# %%
# Ten players, one for each column of the DataFrame.

explainer = ShapleyExplainer(model, max_background=30, max_rows=3_600, random_state=0).fit(X_train)
explanation = explainer.explain(X_test.iloc[:60])
BarDisplay.from_explanation(explanation, cohorts="bp")

# %%
# A category, a number, and a number with gaps:

DependenceDisplay.from_explanation(explanation, features=["bp", "bmi", "s6"])
