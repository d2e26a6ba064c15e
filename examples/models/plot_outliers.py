"""
Explanations of outliers
========================

An isolation forest gives each tumour a score, which is low for outliers. The
attributions of the score show which measurements are unusual.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import IsolationForest

from skshapley import ShapleyExplainer
from skshapley.plots import DecisionDisplay, WaterfallDisplay

X = load_breast_cancer(as_frame=True).data
forest = IsolationForest(n_estimators=50, random_state=0).fit(X)
order = np.argsort(forest.score_samples(X))

# %%
# An outlier detector has no probabilities, so ``response_method="auto"`` explains its
# scores. These two outliers have different reasons:

explainer = ShapleyExplainer(
    forest, max_background=30, max_rows=4_500, random_state=0
).fit(X)
explanation = explainer.explain(X.iloc[order[:2]])
figure, axes = plt.subplots(1, 2, figsize=(12, 4), layout="constrained")
for row, ax in enumerate(axes):
    WaterfallDisplay.from_explanation(explanation, row=row, max_features=7, ax=ax)

# %%
# The decision plot shows the ten most unusual and the ten most common tumours. Each
# line leads from the mean score to the score of one tumour:

DecisionDisplay.from_explanation(
    explainer.explain(X.iloc[np.r_[order[:10], order[-10:]]])
)
