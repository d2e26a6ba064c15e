"""
A pipeline on a DataFrame with numbers, categories and missing values
=====================================================================

The pipeline imputes, scales and encodes, and the explanation has one value for each
original column. No wrapper is needed. Absent columns take background values of the same
dtype, including missing values.
"""

# sphinx_gallery_thumbnail_number = 2

# %%
# The diabetes data are in their original units. Sex is a string, blood pressure a
# category, and a tenth of the blood sugar measurements (s6) is removed.

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
X["bp"] = pd.cut(
    X["bp"], [0, 80, 95, 110, 200], labels=["low", "normal", "raised", "high"]
)
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
# There are ten players, one for each column of the DataFrame.

explainer = ShapleyExplainer(
    model, max_background=30, max_rows=3_600, random_state=0
).fit(X_train)
explanation = explainer.explain(X_test.iloc[:60])
BarDisplay.from_explanation(explanation, cohorts="bp")

# %%
# The panels show a category, a number, and a number with missing values:

DependenceDisplay.from_explanation(explanation, features=["bp", "bmi", "s6"])
