"""Names of the columns of a model's training data, by library."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from skshapley._tables._inputs import column_names

SHOWN = 5


def model_columns(model: Any) -> list | None:
    """Return the names, or None if the model was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = _of_catboost(model) or _of_booster(model)
    return None if names is None else list(names)


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


def check_model_columns(X: Any, model: Any, owner: str) -> None:
    """Refuse a frame without columns that the model needs, or with some it was not fitted on.

    Models tell both variously. A frame that has none of the model's names is left to the model. A
    model that begins with a ColumnTransformer takes its columns by name, and may be given more; one
    that begins with a function may need less.
    """
    first = first_step(model)
    chooses = isinstance(first, ColumnTransformer)
    known = _chosen(first) if chooses else model_columns(model) or []
    given = column_names(X)
    # LightGBM writes "a b" as "a_b"
    spelt = {name: {str(name), str(name).replace(" ", "_")} for name in given}
    lost = [name for name in known if not any(str(name) in both for both in spelt.values())]
    if len(lost) == len(known):
        return
    names = set(map(str, known))
    extra = [] if chooses else [name for name in given if not spelt[name] & names]
    kind = type(model).__name__
    if lost and not isinstance(first, FunctionTransformer):
        instead = f", and {_listed(extra)} instead" if extra else ""
        raise ValueError(
            f"{owner} got {_counted(lost, 'no column', 'not the columns')} {_listed(lost)}, which"
            f" {kind} was fitted on{instead}: pass the columns that it was fitted on."
        )
    if extra:
        shown = _listed(extra)
        raise ValueError(
            f"{owner} got {_counted(extra, 'a column', f'{len(extra)} columns')} that {kind} was"
            f" not fitted on, {shown}: leave {_counted(extra, 'it', 'them')} out,"
            f" X.drop(columns=[{shown}])."
        )


def _chosen(transformer: ColumnTransformer) -> list:
    """Return the names that a fitted ColumnTransformer needs; an empty list without names."""
    names = getattr(transformer, "feature_names_in_", None)
    if names is None:
        return []
    column = pd.Series(names, index=names)
    taken: set = set()
    dropped: set = set()
    rest: Any = "drop"
    for name, step, columns in transformer.transformers_:
        if name == "remainder":
            rest = step  # takes the columns of no other step
            continue
        own = column.loc[columns] if _are_names(columns) else column.iloc[columns]
        (dropped if isinstance(step, str) and step == "drop" else taken).update(np.atleast_1d(own))
    if not (isinstance(rest, str) and rest == "drop"):
        taken |= {*names} - taken - dropped
    return [name for name in names if name in taken]


def _are_names(columns: Any) -> bool:
    """Return whether columns are chosen by names, not by places or by a mask."""
    ends = [columns.start, columns.stop] if isinstance(columns, slice) else np.atleast_1d(columns)
    return any(isinstance(end, str) for end in ends)


def _listed(names: list) -> str:
    # without the type of numpy's texts
    shown = [repr(str(name) if isinstance(name, str) else name) for name in names[:SHOWN]]
    return ", ".join(shown) + (", ..." if len(names) > SHOWN else "")


def _counted(names: list, one: str, several: str) -> str:
    return one if len(names) == 1 else several
