"""Draw the values of columns and of groups of columns beside each other."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skshapley import ShapleyExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(random_state=0).fit(X, y)
groups = {
    "person": ["age", "sex", "bmi", "bp"],
    "serum": [f"s{k}" for k in range(1, 7)],
}
_, panels = plt.subplots(
    2, figsize=(7, 6.5), height_ratios=(10, 3), layout="constrained"
)
for players, ax in zip((None, groups), panels, strict=True):
    explainer = ShapleyExplainer(model, groups=players).fit(X)
    explainer.explain(X[:1]).plot.waterfall(0, ax=ax)
