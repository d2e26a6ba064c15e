"""The names of the columns that a model was fitted on, wherever its library keeps them."""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from skshapley._tables._inputs import column_names

SHOWN = 5


def model_columns(model: Any) -> list | None:
    """Return the names, or None where the model was fitted without any."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = _of_catboost(model) or _of_booster(model)
    return None if names is None else list(names)


def _of_catboost(model: Any) -> list | None:
    """Return CatBoost's names, which are numbers where it was given none."""
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
        unnamed = [f"Column_{place}" for place in range(len(names))]
        return None if names == unnamed else names
    return names


def first_step(estimator: Any) -> Any:
    """Return the first step of a pipeline within frozen estimators and searches."""
    if isinstance(estimator, FrozenEstimator):
        return first_step(estimator.estimator)
    if hasattr(estimator, "best_estimator_"):
        return first_step(estimator.best_estimator_)
    if isinstance(estimator, Pipeline):
        return first_step(estimator.steps[0][1])
    return estimator


def refuse_extra_columns(X: Any, model: Any, owner: str) -> None:
    """Refuse a frame with columns that the model was not fitted on, which models tell variously.

    A frame that has none of the model's names is left to the model, and so is one for a model that
    begins with a ColumnTransformer, which takes its columns by name.
    """
    if isinstance(first_step(model), ColumnTransformer):
        return
    known = set(map(str, model_columns(model) or ()))
    given = column_names(X)
    # LightGBM writes "a b" as "a_b"
    extra = [name for name in given if not {str(name), str(name).replace(" ", "_")} & known]
    if known and 0 < len(extra) < len(given):
        shown = ", ".join(map(repr, extra[:SHOWN])) + (", ..." if len(extra) > SHOWN else "")
        one = len(extra) == 1
        columns, them = ("a column", "it") if one else (f"{len(extra)} columns", "them")
        raise ValueError(
            f"{owner} got {columns} that {type(model).__name__} was not fitted on, {shown}: leave"
            f" {them} out, X.drop(columns=[{shown}])."
        )
