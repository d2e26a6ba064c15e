"""
Three classes at once
=====================

A classifier with several classes has several outputs. All outputs are explained from
the same model calls; `output` selects one by its label.
"""

# sphinx_gallery_thumbnail_number = 2

# %%
# The data are wines from three growers in one valley, with thirteen chemical
# measurements.

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.plots import BeeswarmDisplay, WaterfallDisplay

wine = load_wine(as_frame=True)
growers = wine.target.map({0: "grower 1", 1: "grower 2", 2: "grower 3"})
X_train, X_test, y_train, y_test = train_test_split(wine.data, growers, random_state=0)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)

explainer = ShapleyExplainer(model, max_background=50, random_state=0).fit(X_train)
explanation = explainer.explain(X_test)
print(explanation.values.shape, explanation.output_names.tolist())

# %%
# These features raise or lower the probability of each grower:

figure, axes = plt.subplots(1, 3, figsize=(15, 3.6), layout="constrained")
for ax, name in zip(axes, explanation.output_names, strict=True):
    BeeswarmDisplay.from_explanation(explanation, output=name, max_features=5, ax=ax)
    ax.set_title(name)

# %%
# ``output="predicted"`` explains the predicted class of each wine. The values of one
# output add up to its probability minus the base value. The values of one feature add
# up to 0 over all outputs.

own = ShapleyExplainer(model, output="predicted", max_background=50, random_state=0)
WaterfallDisplay.from_estimator(own.fit(X_train), X_test.iloc[:1])
