"""Models whose state is the same in every process; run as a script, it prints their states."""

import json
import sys

import numpy as np
import sklearn
from lightgbm import LGBMRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from xgboost import XGBRegressor

from skshapley.batches._state import state_digest

X = np.random.default_rng(0).normal(size=(60, 3))
Y = X[:, 0] * X[:, 1]
TREES = HistGradientBoostingRegressor(max_iter=3, random_state=0)
MODELS = {
    "forest": RandomForestRegressor(3, random_state=0),
    "boosted": TREES,
    "xgboost": XGBRegressor(n_estimators=3),
    "lightgbm": LGBMRegressor(n_estimators=3, verbose=-1),
    "network": MLPRegressor(hidden_layer_sizes=4, solver="lbfgs", tol=1.0, random_state=0),
    "search": GridSearchCV(make_pipeline(StandardScaler(), TREES), {}, cv=2),
}


def trained(name, y=Y):
    return sklearn.clone(MODELS[name]).fit(X, y)


def states():
    return {name: state_digest(trained(name)) for name in MODELS}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(states()))
