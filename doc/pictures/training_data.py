"""Draw one row with three errors, for the page on training data."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from skshapley import RefitExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=8, random_state=0)
explainer = RefitExplainer(model, random_state=0).fit(X, y)
explainer.explain(X[:1]).plot.waterfall()
