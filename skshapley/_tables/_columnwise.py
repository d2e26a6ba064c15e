"""The input column of each output column of a fitted transformer.

It is known for scikit-learn's transformers that compute each column from one column,
row by row, and for ColumnTransformer, FeatureUnion and Pipeline of these. Subclasses
may behave differently, so classes are compared by name, which imports none of them.
Functions and transformers of other libraries are tried on some rows; scikit-learn's
other transformers are refused.
"""

from collections import UserList
from contextlib import suppress
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import _safe_indexing

from skshapley._tables._inputs import as_pandas
from skshapley._tables._rows import row_pool


class MixedColumnsError(ValueError):
    """Error of a transformer with output columns that may depend on several columns."""


class UnknownStepError(MixedColumnsError):
    """Error of an unknown transformer, for which a trial may help."""


def passes(step) -> bool:
    """Return True if a step of a pipeline does not change a table in prediction."""
    # imbalanced-learn's samplers draw rows only in `fit`
    return step is None or isinstance(step, str) or hasattr(step, "fit_resample")


def sources(transformer, width) -> np.ndarray:
    """Return the input column of each output column of a fitted transformer.

    Parameters
    ----------
    transformer : fitted transformer, "passthrough" or None
    width : int
        Number of columns d of its input.

    Returns
    -------
    source : ndarray of shape (n_outputs,), int

    Raises
    ------
    MixedColumnsError
        If an output column may depend on several input columns.
    """
    if passes(transformer):
        return np.arange(width)
    kind = type(transformer)
    if kind.__module__.startswith("sklearn."):
        if kind.__name__ in _READERS:
            return _READERS[kind.__name__](transformer, width)
        if any(base.__name__ == "SelectorMixin" for base in kind.__mro__):
            return transformer.get_support(indices=True)
        # A trial of some rows could miss a dependence that scikit-learn's documentation
        # states.
        raise MixedColumnsError(
            f"{kind.__name__} is not known to work column by column"
        )
    raise UnknownStepError(f"{kind.__name__} is not known to work column by column")


def _by_name(transformer, width) -> NDArray[np.intp]:
    """Return the sources by the names of output columns, each with its input's name."""
    renamed = copy(transformer)
    vars(renamed).pop("feature_names_in_", None)
    renamed.feature_name_combiner = "concat"
    names = renamed.get_feature_names_out([f"<{column}>" for column in range(width)])
    return np.array(
        [name.partition("<")[2].partition(">")[0] for name in names],
        dtype=np.intp,
    )


def _of_function(transformer, width) -> NDArray[np.intp]:
    function = transformer.func
    by_element = isinstance(function, np.ufunc) and (function.nin, function.nout) == (
        1,
        1,
    )
    if function is None or (by_element and not transformer.kw_args):
        return np.arange(width)
    name = getattr(function, "__name__", repr(function))
    raise UnknownStepError(
        f"FunctionTransformer of {name} is not known to work column by column"
    )


def sources_or_trial(transformer, width, sample) -> NDArray[np.intp]:
    """Return the `sources` of a transformer, by a trial on some rows if nothing is known of it.

    In a trial, each column in turn takes the values of other rows. The output columns
    that change depend on it.

    Parameters
    ----------
    transformer : fitted transformer
    width : int
        Number of columns d of its input.
    sample : callable
        Returns the rows of a trial, an array or frame of shape (n, d).

    Raises
    ------
    MixedColumnsError
        If an output column may depend on several input columns. In a trial: if changes
        of two columns change the same output column, no change changes it, or the trial
        fails.
    """
    with suppress(UnknownStepError):
        return sources(transformer, width)
    table = sample()
    n, d = table.shape
    pool = row_pool(table, table, np.arange(d))
    rows = np.arange(n)
    # One pass for the unchanged rows and for each changed column: the transformer is
    # called once.
    instances = np.repeat(
        np.concatenate([np.ones((1, d), bool), ~np.eye(d, dtype=bool)]),
        n,
        axis=0,
    )
    references = np.concatenate(
        [rows, *(np.roll(rows, 1 + column % max(1, n - 1)) for column in range(d))]
    )
    name = type(transformer).__name__
    try:
        transformed = transformer.transform(
            pool.hybrid(instances, np.tile(rows, d + 1), references[:, None])
        )
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
    ) as error:
        raise MixedColumnsError(
            f"{name} raised {type(error).__name__} in a trial"
        ) from error
    transformed = as_pandas(
        transformed.toarray() if sparse.issparse(transformed) else transformed
    )
    # Codes compare values of any type, and equal missing values have equal codes.
    columns = [
        pd.factorize(column.astype(object))[0] for _, column in transformed.items()
    ]
    codes = np.array(columns).reshape(-1, d + 1, n)
    changes = (codes[:, 1:] != codes[:, :1]).any(axis=2)
    if (changes.sum(axis=1) > 1).any():
        raise MixedColumnsError(f"{name} mixes columns")
    if not changes.any(axis=1).all():  # a category that these rows do not have
        raise MixedColumnsError(
            f"an output of {name} is constant on {n} background rows"
        )
    return changes.argmax(axis=1)


def _of_text(vectorizer, width) -> NDArray[np.intp]:
    learnt = getattr(vectorizer, "vocabulary_", None)  # None for a HashingVectorizer
    n = vectorizer.n_features if learnt is None else len(learnt)
    return np.zeros(n, dtype=np.intp)  # its input is one column


def _of_union(union, width) -> NDArray[np.intp]:
    parts = [part for _, part in union.transformer_list if part != "drop"]
    return np.concatenate([sources(part, width) for part in parts])


def _of_pipeline(pipeline, width) -> NDArray[np.intp]:
    source = np.arange(width)
    for _, step in pipeline.steps:
        source = source[sources(step, len(source))]
    return source


def _of_column_transformer(transformer, width) -> NDArray[np.intp]:
    parts = [np.empty(0, dtype=np.intp)]
    for _, part, columns in transformer.transformers_:
        selection = chosen_columns(transformer, columns)
        if part != "drop" and len(selection):
            parts.append(selection[sources(part, len(selection))])
    return np.concatenate(parts)


def chosen_columns(transformer, columns) -> NDArray[np.intp]:
    """Return the positions of some columns of a ColumnTransformer: labels, ints or bools."""
    positions = pd.DataFrame(
        [np.arange(transformer.n_features_in_)],
        columns=getattr(transformer, "feature_names_in_", None),
    )
    return np.ravel(take_columns(columns, positions))


def take_columns(columns, table) -> Any:
    """Return some columns of a table, as a ColumnTransformer does."""
    if isinstance(columns, UserList):  # scikit-learn 1.6 warns of each access
        columns = columns.data
    return _safe_indexing(table, columns, axis=1)


# Transformers whose output names contain the name of the input
_NAMED = (
    "Binarizer",
    "KBinsDiscretizer",
    "MaxAbsScaler",
    "MinMaxScaler",
    "MissingIndicator",
    "OneHotEncoder",
    "OrdinalEncoder",
    "PowerTransformer",
    "QuantileTransformer",
    "RobustScaler",
    "SimpleImputer",
    "SplineTransformer",
    "StandardScaler",
    "TargetEncoder",
)
_READERS = {
    **dict.fromkeys(_NAMED, _by_name),
    **dict.fromkeys(
        ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer"),
        _of_text,
    ),
    "ColumnTransformer": _of_column_transformer,
    "FeatureUnion": _of_union,
    "FrozenEstimator": lambda frozen, width: sources(frozen.estimator, width),
    "FunctionTransformer": _of_function,
    "Pipeline": _of_pipeline,
}
