"""Draw SAGE values with intervals, for the page on global importance."""

from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor

from skshapley import GlobalImportance
from skshapley.plots import ImportanceDisplay

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
model = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=8).fit(X[::2], y[::2])
importance = GlobalImportance(
    model, loss="squared_error", random_state=0, verbose=False
).fit(X[::2])
ImportanceDisplay.from_importance(importance.explain(X[1::2], y[1::2]))
