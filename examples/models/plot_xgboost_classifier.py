"""
An XGBoost classifier, in probabilities and in log-odds
=======================================================

Why does the model classify a tumour as malignant? The same explainer answers on two
scales. Probabilities are easy to understand. Log-odds are the scale on which boosted
trees add up.
"""

# %%
# The data are thirty measurements of cell nuclei, from images of 569 tumours.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from skshapley import ShapleyExplainer
from skshapley.plots import BeeswarmDisplay, WaterfallDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y == 0, random_state=0)
model = XGBClassifier(n_estimators=80, max_depth=3, learning_rate=0.1).fit(
    X_train, y_train
)
print(f"{model.score(X_test, y_test):.0%} of the test tumours are recognised.")

# %%
# Every attribution has a standard error. This explainer has fifty background rows and
# the default budget:

explainer = ShapleyExplainer(model, max_background=50, random_state=0).fit(X_train)
explanation = explainer.explain(X_test.iloc[:60])
explanation[0].to_frame("long").nlargest(5, "value")

# %%

BeeswarmDisplay.from_explanation(explanation)

# %%
# This tumour is certainly malignant. In probabilities (left), the features that enter
# last have little left to add. In log-odds (right), every feature adds its own
# evidence.

margins = ShapleyExplainer(
    model, response_method="log_odds", max_background=50, random_state=0
).fit(X_train)
surest = explanation.predictions.argmax()
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
WaterfallDisplay.from_explanation(explanation, row=surest, max_features=8, ax=axes[0])
WaterfallDisplay.from_explanation(
    margins.explain(X_test.iloc[[surest]]), max_features=8, ax=axes[1]
)
