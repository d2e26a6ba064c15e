"""Draw importances with simultaneous intervals and ranks, for the page on decisions."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from skshapley import ShapleyExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=8).fit(X[::2], y[::2])
explanation = ShapleyExplainer(model).fit(X[::2]).explain(X[1::2])
explanation.plot.importance()
