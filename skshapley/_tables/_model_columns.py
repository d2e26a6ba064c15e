"""Names of the columns of a model's training data, by library."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skshapley._tables._inputs import column_names, refuse_other_columns


def model_columns(model: Any) -> list | None:
    """Return the names, or None if the model was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = _of_catboost(model) or _of_booster(model)
    # as objects of Python: a frame with NumPy's strings has no names for scikit-learn
    # 1.6
    return None if names is None else np.asarray(names, dtype=object).tolist()


def _of_catboost(model: Any) -> list | None:
    """Return CatBoost's names; CatBoost uses numbers if it had no names."""
    names = getattr(model, "feature_names_", None)
    if names is None or list(map(str, names)) == list(map(str, range(len(names)))):
        return None
    return list(names)


def _of_booster(model: Any) -> list | None:
    """Return the names of a Booster, of XGBoost or LightGBM."""
    if type(model).__name__ != "Booster":
        return None
    names = getattr(model, "feature_names", None)
    if names is None and hasattr(model, "feature_name"):
        names = model.feature_name()
        # LightGBM invents these names for arrays.
        unnamed = [f"Column_{place}" for place in range(len(names))]
        return None if names == unnamed else names
    return names


def in_model_columns(model: Any, rows: Any) -> Any:
    """Return an array as a frame with the model's names, if it was fitted with names.

    Parameters
    ----------
    model : fitted estimator
    rows : ndarray of shape (n, d)
    """
    names = getattr(model, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=names)


def first_step(estimator: Any) -> Any:
    """Return the first step of a pipeline within frozen estimators and searches."""
    if isinstance(estimator, FrozenEstimator):
        return first_step(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):
        return first_step(estimator.best_estimator_)
    if isinstance(estimator, Pipeline):
        return first_step(estimator.steps[0][1])
    return estimator


def check_model_columns(X: Any, model: Any, owner: str) -> None:
    """Raise ValueError if a frame lacks columns of the model, or has unknown ones.

    A frame without any of the model's names is left to the model. The same holds for
    models that begin with a ColumnTransformer, which selects columns by name. A model
    that begins with a function may need fewer columns.
    """
    first = first_step(model)
    model_names = (
        [] if isinstance(first, ColumnTransformer) else model_columns(model) or []
    )
    # LightGBM writes "a b" as "a_b"
    spelt = {
        name: str(name).replace(" ", "_") for name in (*model_names, *column_names(X))
    }
    expected = {spelt[name] for name in model_names}
    spelt_columns = {spelt[name] for name in column_names(X)}
    if not expected & spelt_columns:
        return
    lost = [name for name in model_names if spelt[name] not in spelt_columns]
    extra = [name for name in column_names(X) if spelt[name] not in expected]
    lost = [] if isinstance(first, FunctionTransformer) else lost
    refuse_other_columns(
        lost, extra, owner, f"the training data of {type(model).__name__}"
    )
