"""Draw the waterfall of the person on the page about reading."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skshapley import ShapleyExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(random_state=0).fit(X[:400], y[:400])
explanation = ShapleyExplainer(model, random_state=0).fit(X[:400]).explain(X[400:])
explanation.plot.waterfall(8)
