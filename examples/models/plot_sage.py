"""
Features that move a prediction, and features that make it right
================================================================

The mean absolute attribution shows which features move the predictions of a model. SAGE
values show which features its accuracy depends on: how much each feature reduces the
loss on unseen rows. This model overfits, and three of its features are noise, so the
two measures differ.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from xgboost import XGBRegressor

from skshapley import GlobalImportance, ShapleyExplainer
from skshapley.plots import BarDisplay, ImportanceDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
noise = np.random.default_rng(0).normal(size=(len(X), 3))
X = X.assign(**{f"noise {i}": noise[:, i] for i in range(3)})
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
model = XGBRegressor(n_estimators=60, max_depth=4, learning_rate=0.15, n_jobs=1)
model.fit(X_train, y_train)

# %%
# Both use the test rows. Only the second one uses the true outcome of these patients:

explanation = ShapleyExplainer(model).fit(X_train).explain(X_test)
importance = GlobalImportance(model, max_background=50, random_state=0)
importance = importance.fit(X_train).explain(X_test, y_test)

figure, axes = plt.subplots(1, 2, figsize=(13, 5), layout="constrained")
BarDisplay.from_explanation(explanation, max_features=None, ax=axes[0])
ImportanceDisplay.from_importance(importance, max_features=None, ax=axes[1])

# %%
# One column of noise is among the features that move the predictions most. On the test
# rows, none of the three noise columns reduces the loss. Two of them increase it by
# more than their errors explain: without them, the model would be better. The intervals
# are wide, because 221 rows are few to measure an accuracy. More evaluations would not
# help: most of each error comes from the choice of rows.

importance.to_frame().round()
