"""
Groups of people that the model treats alike
============================================

Clusters of *attributions* are groups of people with the same reasons for their
predictions. They differ from clusters of similar measurements. An explainer is a
transformer, so clustering takes two lines.
"""

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes
from sklearn.pipeline import make_pipeline
from xgboost import XGBRegressor

from skshapley import ShapleyExplainer
from skshapley.plots import BarDisplay, MatrixDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = XGBRegressor(n_estimators=60, max_depth=3, learning_rate=0.1).fit(X, y)
explainer = ShapleyExplainer(
    model, sampler="antithetic", max_rows=3_000, max_background=30, random_state=0
)

# %%
# The two lines:

clusters = make_pipeline(explainer, KMeans(3, n_init=10, random_state=0)).fit(X)
labels = pd.Series(clusters.predict(X), X.index).map({0: "A", 1: "B", 2: "C"})

# %%
# The table shows the mean measurements and predictions of the clusters:

table = X.assign(prediction=model.predict(X), cluster=labels).groupby("cluster").mean()
table[["bmi", "bp", "s5", "prediction"]].round(1)

# %%

explanation = explainer.fit(X).explain(X)
figure, axes = plt.subplots(1, 2, figsize=(13, 4.6), layout="constrained")
BarDisplay.from_explanation(explanation, cohorts=labels, max_features=4, ax=axes[0])
MatrixDisplay.from_explanation(explanation, max_features=6, ax=axes[1])
