"""Which reader reads which model."""

from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from skshapley._ensembles._ensemble import UnreadableModelError
from skshapley._ensembles._read_hist_gradient_boosting import read_hist_gradient_boosting
from skshapley._ensembles._read_lightgbm import read_lightgbm
from skshapley._ensembles._read_sklearn import read_forest, read_gradient_boosting
from skshapley._ensembles._read_xgboost import read_xgboost

_FORESTS = tuple(
    f"{name}{kind}"
    for name in ("DecisionTree", "ExtraTree", "RandomForest", "ExtraTrees")
    for kind in ("Regressor", "Classifier")
)
# (library, class name) -> reader; any class derived from one of these is read the same way.
_READERS = {
    **{("sklearn", name): read_forest for name in _FORESTS},
    ("sklearn", "GradientBoostingRegressor"): read_gradient_boosting,
    ("sklearn", "GradientBoostingClassifier"): read_gradient_boosting,
    ("sklearn", "HistGradientBoostingRegressor"): read_hist_gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): read_hist_gradient_boosting,
    ("xgboost", "Booster"): read_xgboost,
    ("xgboost", "XGBModel"): read_xgboost,
    ("lightgbm", "Booster"): read_lightgbm,
    ("lightgbm", "LGBMModel"): read_lightgbm,
}
RESPONSES = ("raw", "predict", "predict_proba", "decision_function", "log_odds")


def read_trees(model, response_method="raw", output=None):
    """Read a fitted tree model through its library's own dump.

    Parameters
    ----------
    model : object
        A fitted model: XGBoost's and LightGBM's boosters and estimators, scikit-learn's
        HistGradientBoosting, GradientBoosting, random forests, extra trees and single trees.
    response_method : str, default="raw"
        "raw", "predict", "predict_proba", "decision_function" or "log_odds".
        The response to read.  "raw" is what the trees add up to: the margin of a boosted model
        (log-odds for a classifier), the mean or the class probabilities of a forest.  The others
        are read where they are that same thing, and refused where they are a function of it.
    output : int or None, default=None
        One column of the response; all of them when None.

    Returns
    -------
    TreeEnsemble

    Raises
    ------
    UnreadableModelError
        When there is no reader, or the response is not a sum over the trees.
    NotFittedError
        When the model is not fitted.

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
    if response_method not in RESPONSES:
        raise ValueError(
            f"read_trees got response_method={response_method!r}; choose one of {RESPONSES}."
        )
    while isinstance(model, FrozenEstimator):
        model = model.estimator
    read = _find_reader(model)
    if hasattr(model, "fit"):
        check_is_fitted(model)
    trees, name = read(model), type(model).__name__
    if response_method != "raw" and response_method not in trees.methods:
        exact = " or ".join(repr(method) for method in ("raw", *trees.methods))
        raise UnreadableModelError(
            f"{name}.{response_method} is not the sum of its trees, so it has no exact values "
            f"here; use response_method={exact}, or sampling."
        )
    if output is None:
        return trees
    if not 0 <= output < trees.n_outputs:
        raise ValueError(
            f"read_trees got output={output!r} but {name} has {trees.n_outputs} outputs; "
            f"choose an int from 0 to {trees.n_outputs - 1}."
        )
    return trees.take_output(output)


def _find_reader(model):
    for kind in type(model).__mro__:
        reader = _READERS.get((kind.__module__.split(".")[0], kind.__name__))
        if reader is not None:
            return reader
    known = sorted({name for _, name in _READERS})
    raise UnreadableModelError(
        f"{type(model).__name__} is not a tree ensemble that can be read; the readable ones are "
        f"{', '.join(known)}; use sampling."
    )
