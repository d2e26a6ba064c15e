"""Draw the strongest interactions of a forest of boosted trees."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor

from skshapley import TreeExplainer

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = GradientBoostingRegressor(random_state=0).fit(X, y)
explanation = TreeExplainer(model, interactions=True).fit(X[:100]).explain(X[:200])
explanation.plot.interactions()
