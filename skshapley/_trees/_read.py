"""The reader of each kind of model."""

from collections.abc import Callable
from typing import Any

from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skshapley._trees._catboost import read_catboost
from skshapley._trees._ensemble import TreeEnsemble
from skshapley._trees._hist_gradient_boosting import read_hist_gradient_boosting
from skshapley._trees._lightgbm import read_lightgbm
from skshapley._trees._sklearn import (
    read_ada_boost,
    read_forest,
    read_gradient_boosting,
    read_isolation_forest,
)
from skshapley._trees._xgboost import read_xgboost
from skshapley.exceptions import UnreadableModelError

# "library.Class" -> reader; derived classes use the same reader.
TREE_MODELS: dict[str, Callable[[Any], TreeEnsemble]] = {
    **{
        f"sklearn.{name}{kind}": read_forest
        for name in ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees")
        for kind in ("Regressor", "Classifier")
    },
    "sklearn.GradientBoostingRegressor": read_gradient_boosting,
    "sklearn.GradientBoostingClassifier": read_gradient_boosting,
    "sklearn.AdaBoostClassifier": read_ada_boost,
    "sklearn.IsolationForest": read_isolation_forest,
    "sklearn.HistGradientBoostingRegressor": read_hist_gradient_boosting,
    "sklearn.HistGradientBoostingClassifier": read_hist_gradient_boosting,
    "xgboost.Booster": read_xgboost,
    "xgboost.XGBModel": read_xgboost,
    "catboost.CatBoost": read_catboost,
    "lightgbm.Booster": read_lightgbm,
    "lightgbm.LGBMModel": read_lightgbm,
}
# Responses to name instead of one that is not the sum, best first
PREFERRED = ("log_odds", "decision_function", "predict", "predict_proba")


def read_trees(model, response_method="raw") -> TreeEnsemble:
    """Read a fitted tree model through its library's own dump.

    Parameters
    ----------
    model : object
        A fitted model: XGBoost's and LightGBM's boosters and estimators, CatBoost's
        estimators with numeric and one-hot splits, scikit-learn's HistGradientBoosting,
        GradientBoosting, random forests, extra trees, single trees, AdaBoostClassifier
        of trees and IsolationForest.
    response_method : str, default="raw"
        "raw", "predict", "predict_proba", "decision_function", "log_odds" or
        "mean_depth". "raw" is the sum over the trees: the margin of a boosted model
        (log-odds for a classifier), the mean or the class probabilities of a forest,
        the mean depth of an isolation forest. The other responses can be read where
        they are equal to that sum.

    Returns
    -------
    trees : TreeEnsemble
        With all outputs; ``take_output`` selects one.

    Raises
    ------
    UnreadableModelError
        If there is no reader for the model, or the response is not a sum over its
        trees.
    NotFittedError
        If the model is not fitted.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from skshapley.trees import read_trees
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    >>> read_trees(forest, "predict").n_trees
    5
    """
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    read = _find_reader(model)
    if hasattr(model, "fit"):
        check_is_fitted(model)
    trees, name = read(model), type(model).__name__
    if response_method != "raw" and response_method not in trees.methods:
        others = f", or choose one of {trees.methods}" if trees.methods else ""
        raise UnreadableModelError(
            f"{name}.{response_method} is not the sum of its trees",
            f"leave response_method at its default{others}, or explain it by sampling",
            next((other for other in PREFERRED if other in trees.methods), None),
        )
    return trees


def class_names(model) -> dict[str, type]:
    """Return the classes of a model by "library.Class", the most derived one first."""
    kinds = type(model).__mro__
    return {
        f"{kind.__module__.partition('.')[0]}.{kind.__name__}": kind for kind in kinds
    }


def _find_reader(model) -> Callable[[Any], TreeEnsemble]:
    for name in class_names(model):
        if name in TREE_MODELS:
            return TREE_MODELS[name]
    known = sorted({name.partition(".")[2] for name in TREE_MODELS})
    raise UnreadableModelError(
        f"{type(model).__name__} is not a tree ensemble that can be read",
        f"choose one of {', '.join(known)}, or explain it by sampling",
    )
