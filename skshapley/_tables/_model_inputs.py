"""The inputs of models: their columns by library, and documents in their containers."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer

from skshapley._tables._inputs import (
    as_pandas,
    column_names,
    is_frame,
    refuse_other_columns,
)

VECTORISERS = {"CountVectorizer", "HashingVectorizer"}  # and derived classes


class Piece(str):
    """A token of a document with its position, and the spaces and punctuation after it."""

    __slots__ = ("place",)
    place: int

    @classmethod
    def at(cls, place: int, text: str) -> "Piece":
        """Return the piece at a position."""
        piece = cls(text)
        piece.place = place
        return piece


def is_column_of_text(X: Any) -> bool:
    """Return True if X is a one-dimensional list of documents, not a table."""
    is_list = isinstance(X, list | tuple | np.ndarray) or hasattr(X, "to_list")
    return (
        is_list
        and getattr(X, "ndim", 1) == 1
        and any(isinstance(value, str) for value in _values(X))
    )


def is_table_of_text(X: Any) -> bool:
    """Return True if X is a frame or an array of one text column."""
    is_table = is_frame(X) or isinstance(X, np.ndarray)
    return (
        is_table
        and X.shape[1:] == (1,)
        and any(isinstance(value, str) for value in _values(X))
    )


def as_documents(X: Any, owner: str) -> pd.Series:
    """Return checked documents in a Series of str.

    Parameters
    ----------
    X : list, Series, array of shape (r,) or (r, 1), or frame of one column
    owner : str
        Name of the calling class, for errors.

    Raises
    ------
    TypeError
        For other containers, or a document that is not a str.
    """
    if not (is_column_of_text(X) or is_table_of_text(X)):
        description = (
            f"the str {X[:40]!r}" if isinstance(X, str) else f"a {type(X).__name__}"
        )
        raise TypeError(
            f"{owner} explains documents by their tokens here, and got {description}: pass a "
            "list, a Series or a frame of one column, with a str for each document."
        )
    values = _values(X)
    for row, value in enumerate(values):
        if not isinstance(value, str):
            raise TypeError(
                f"{owner} got {value!r} for document {row}: every document must be a "
                'str; use "" for one without text.'
            )
    index = getattr(X, "index", None)
    index = index if isinstance(index, pd.Index) else None
    return pd.Series([str(value) for value in values], index, dtype=object)


def _values(X: Any) -> list:
    if is_frame(X):
        return as_pandas(X).iloc[:, 0].tolist()
    return X.ravel().tolist() if isinstance(X, np.ndarray) else list(X)


def takes_documents(estimator: Any, X: Any) -> bool:
    """Return True if the model takes X as documents rather than as a table.

    Numbers for a vectoriser count as documents, which `as_documents` refuses.
    """
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return _is_vectoriser(first_step(estimator))
    if is_column_of_text(X) or not is_table_of_text(X):
        return is_column_of_text(X)
    column = _text_column(estimator)
    has_text_column = column is not None and is_frame(X) and column_names(X) == [column]
    return has_text_column or _is_vectoriser(first_step(estimator))


def container_for(estimator: Any, X: Any) -> Callable[[list[str]], Any]:
    """Return a function that puts texts into a container like the example X."""
    column = _text_column(estimator)
    if column is not None:
        return partial(pd.DataFrame, columns=[column])
    if isinstance(X, pd.Series):
        return partial(pd.Series, name=X.name, dtype=object)
    return np.array if isinstance(X, np.ndarray) else list


def column_of(container: Callable[[list[str]], Any]) -> Any:
    """Return the name of the column that a container has, or None."""
    keywords = getattr(container, "keywords", {})
    return keywords["columns"][0] if "columns" in keywords else keywords.get("name")


def _text_column(estimator: Any) -> str | None:
    """Return the text column that a model vectorises, if it is the only column; else None."""
    first = first_step(estimator)
    if not isinstance(first, ColumnTransformer):
        return None
    # without parts that drop their columns, or have none
    parts = [part for part in getattr(first, "transformers_", ()) if part[1] != "drop"]
    used = [part for part in parts if isinstance(part[2], str) or len(part[2])]
    # A list of one column gives the vectoriser a table, a str gives it the texts.
    _, step, column = used[0] if len(used) == 1 else ("", None, None)
    return column if isinstance(column, str) and _is_vectoriser(step) else None


def _is_vectoriser(step: Any) -> bool:
    if isinstance(step, FeatureUnion):
        return all(
            _is_vectoriser(first_step(part)) for _, part in step.transformer_list
        )
    step = first_step(step)
    return any(kind.__name__ in VECTORISERS for kind in type(step).__mro__)


def model_columns(model: Any) -> list | None:
    """Return the names, or None if the model was fitted without names."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = _booster_columns(model)
    # as objects of Python: a frame with NumPy's strings has no names for scikit-learn
    # 1.6
    return None if names is None else np.asarray(names, dtype=object).tolist()


def _booster_columns(model: Any) -> list | None:
    """Return the names of CatBoost, or of a Booster of XGBoost or LightGBM."""
    names = getattr(model, "feature_names_", None)
    invented = "{}"
    if type(model).__name__ == "Booster":
        if not hasattr(model, "feature_name"):
            return getattr(model, "feature_names", None)
        names = model.feature_name()
        invented = "Column_{}"
    # CatBoost and LightGBM invent names for arrays.
    unnamed = [invented.format(place) for place in range(len(names or []))]
    return None if list(map(str, names or [])) == unnamed else names


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
    lost = [] if isinstance(first, FunctionTransformer) else lost
    refuse_other_columns(
        lost,
        [name for name in column_names(X) if spelt[name] not in expected],
        owner,
        f"the training data of {type(model).__name__}",
    )
