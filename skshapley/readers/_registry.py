"""The table of readers of fitted models, by library and class."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator

from skshapley._tools import installed
from skshapley._trees import TreeEnsemble
from skshapley.closed_forms import ClosedForm, Sum
from skshapley.exceptions import UnreadableModelError
from skshapley.readers import (
    _imodels,
    _interpret,
    _pygam,
    _sklearn_kernels,
    _sklearn_linear,
    _sklearn_sums,
    _sklearn_trees,
    _sksurv,
)
from skshapley.readers._base import Reader, TreeReader
from skshapley.readers._catboost import read_catboost
from skshapley.readers._hist_gradient_boosting import (
    read_hist_gradient_boosting,
    split_columns,
)
from skshapley.readers._lightgbm import LightGBMReader, read_lightgbm
from skshapley.readers._xgboost import XGBoostReader, read_xgboost

# Library -> class -> reader. A class that is derived from one of these is read the same
# way.
_LIBRARIES: dict[str, Mapping[str, Reader]] = {
    "sklearn": _sklearn_linear.READERS
    | _sklearn_kernels.READERS
    | _sklearn_sums.READERS
    | _sklearn_trees.READERS
    | dict.fromkeys(
        ("HistGradientBoostingRegressor", "HistGradientBoostingClassifier"),
        TreeReader(read_hist_gradient_boosting, splits=split_columns),
    ),
    "imblearn": {"Pipeline": _sklearn_sums.of_pipeline},
    "xgboost": {
        "Booster": TreeReader(read_xgboost, selects=True),
        "XGBModel": XGBoostReader(read_xgboost, selects=True),
    },
    "lightgbm": dict.fromkeys(
        ("Booster", "LGBMModel"),
        LightGBMReader(read_lightgbm, selects=True),
    ),
    "catboost": {"CatBoost": TreeReader(read_catboost)},
    "interpret": _interpret.READERS,
    "imodels": _imodels.READERS,
    "mapie": _imodels.MAPIE_READERS,
    "pygam": _pygam.READERS,
    "sksurv": _sksurv.READERS,
}
# "library.Class" -> reader
READERS: dict[str, Reader] = {
    f"{library}.{name}": reader
    for library, readers in _LIBRARIES.items()
    for name, reader in readers.items()
}


def read_model(model: Any, method: Any) -> ClosedForm:
    """Read a fitted model as a closed form.

    Parameters
    ----------
    model : fitted estimator
    method : str
        The method that returns the response, such as "predict", or "log_odds".

    Returns
    -------
    form : ClosedForm
        With one output for each column that the method returns.

    Raises
    ------
    UnreadableModelError
        If no reader knows the model, or its response cannot be read.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from skshapley.readers import read_model
    >>> X, y = load_diabetes(return_X_y=True)
    >>> read_model(Ridge().fit(X, y), "predict").label
    'linear terms'
    """
    reader = _reader_of(model, method)
    if reader is None:
        raise UnreadableModelError(
            f"{type(model).__name__}.{method} has no closed form here"
        )
    form = reader(model, method, read_model)
    return Sum(form) if isinstance(form, list) else form


def read_columns(model: Any, method: Any, n_columns: int) -> np.ndarray:
    """Return True for the columns that a response of a model uses, ``(d,)``.

    Parameters
    ----------
    model : fitted estimator
    method : str
    n_columns : int

    Raises
    ------
    UnreadableModelError
        If no reader knows the model, or its response cannot be read.
    """
    reader = _reader_of(model, method)
    if isinstance(reader, TreeReader) and reader.splits is not None:
        with suppress(AttributeError, ValueError):  # an unknown layout of the trees
            return np.isin(np.arange(n_columns), reader.splits(model))
    return read_model(model, method).used_columns(n_columns)


def _reader_of(model: Any, method: Any) -> Reader | None:
    """Return the reader of the most derived class that has one, or None.

    Raises
    ------
    UnreadableModelError
        If a derived class overrides the response.
    """
    # `log_odds` is no method of a model: it is computed from either of these two.
    methods = (
        ("predict_proba", "decision_function") if method == "log_odds" else (method,)
    )
    overrides: list[tuple[type, Any]] = []
    for kind in type(model).__mro__:
        library = kind.__module__.partition(".")[0]
        name = f"{library}.{kind.__name__}"
        # Own readers come first, so that an installed package cannot replace them by
        # accident.
        reader = READERS.get(name)
        if reader is None and name in installed("readers"):
            reader = installed("readers")[name].load()
        if reader is not None:
            for derived, response in overrides:
                # classes of the library itself may override each other
                if derived.__module__.partition(".")[0] != library:
                    raise UnreadableModelError(
                        f"{derived.__name__} overrides {response} of {kind.__name__}"
                    )
            return reader
        overrides += [
            (kind, response) for response in methods if response in vars(kind)
        ]
    return None


def read_trees(
    model: Any,
    response_method: str = "raw",
    output: int | None = None,
) -> TreeEnsemble:
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
    output : int or None, default=None
        Position of the only output to read; None: all outputs.

    Returns
    -------
    trees : TreeEnsemble

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
    reader = _reader_of(model, response_method)
    if not isinstance(reader, TreeReader):
        choices = sorted(
            name.partition(".")[2]
            for name, reader in READERS.items()
            if isinstance(reader, TreeReader)
        )
        raise UnreadableModelError(
            f"{type(model).__name__} is not a tree ensemble that can be read",
            f"choose one of {', '.join(dict.fromkeys(choices))}, or explain it by "
            "sampling",
        )
    return reader.trees(model, response_method, output)
