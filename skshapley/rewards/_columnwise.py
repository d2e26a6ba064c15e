"""The input column from which a fitted transformer makes each of its output columns.

This is known for those of scikit-learn's own transformers that make each column of one column
alone, row by row, and for ColumnTransformer, FeatureUnion and Pipeline of them. A subclass may do
anything. So classes are compared by name, which loads none of them, and all others are refused.
"""

from collections import UserList

import numpy as np
import pandas as pd
from numpy.typing import NDArray


class MixedColumnsError(ValueError):
    """A transformer that is not known to make each of its columns of one column alone."""


def sources(transformer, width) -> np.ndarray:
    """Return the column that each column of a fitted transformer's output is made of.

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
        If the transformer is not known to make each column of one column alone.
    """
    if transformer is None or isinstance(transformer, str):  # "passthrough"
        return np.arange(width)
    kind = type(transformer)
    if kind.__module__.startswith("sklearn."):
        if kind.__name__ in _READERS:
            return _READERS[kind.__name__](transformer, width)
        if any(base.__name__ == "SelectorMixin" for base in kind.__mro__):
            return transformer.get_support(indices=True)
    raise MixedColumnsError(f"{kind.__name__} is not known to work column by column")


def _one_to_one(transformer, width) -> NDArray[np.intp]:
    return np.arange(width)


def _of_one_hot(encoder, width) -> NDArray[np.intp]:
    counts = np.array([len(categories) for categories in encoder.categories_])
    if encoder.min_frequency is not None or encoder.max_categories is not None:
        rare = encoder.infrequent_categories_
        counts -= [0 if categories is None else len(categories) - 1 for categories in rare]
    if encoder.drop_idx_ is not None:
        counts -= [dropped is not None for dropped in encoder.drop_idx_]
    return np.repeat(np.arange(width), counts)


def _of_bins(binner, width) -> NDArray[np.intp]:
    ordinal = binner.encode == "ordinal"
    return np.arange(width) if ordinal else np.repeat(np.arange(width), binner.n_bins_)


def _of_splines(splines, width) -> NDArray[np.intp]:
    return np.repeat(np.arange(width), splines.n_features_out_ // width)


def _of_targets(encoder, width) -> NDArray[np.intp]:
    multiclass = encoder.target_type_ == "multiclass"
    return np.repeat(np.arange(width), len(encoder.classes_) if multiclass else 1)


def _of_imputer(imputer, width) -> NDArray[np.intp]:
    # the imputer drops columns in which all values are missing
    kept = imputer.keep_empty_features | ~pd.isna(imputer.statistics_)
    flagged = imputer.indicator_.features_ if imputer.add_indicator else []
    return np.r_[np.flatnonzero(kept), np.asarray(flagged, dtype=np.intp)]


def _of_function(transformer, width) -> NDArray[np.intp]:
    function = transformer.func
    by_element = isinstance(function, np.ufunc) and (function.nin, function.nout) == (1, 1)
    if function is None or (by_element and not transformer.kw_args):
        return np.arange(width)
    name = getattr(function, "__name__", repr(function))
    raise MixedColumnsError(f"FunctionTransformer of {name} is not known to work column by column")


def _of_text(vectorizer, width) -> NDArray[np.intp]:
    learnt = getattr(vectorizer, "vocabulary_", None)  # None for a HashingVectorizer
    n = vectorizer.n_features if learnt is None else len(learnt)
    return np.zeros(n, dtype=np.intp)  # its input is one column


def _of_union(union, width) -> NDArray[np.intp]:
    fitted = [part for _, part in union.transformer_list]
    parts = [part for part in fitted if not (isinstance(part, str) and part == "drop")]
    return np.concatenate([sources(part, width) for part in parts])


def _of_pipeline(pipeline, width) -> NDArray[np.intp]:
    source = np.arange(width)
    for _, step in pipeline.steps:
        source = source[sources(step, len(source))]
    return source


def _of_column_transformer(transformer, width) -> NDArray[np.intp]:
    names = getattr(transformer, "feature_names_in_", None)
    positions = pd.DataFrame([np.arange(transformer.n_features_in_)], columns=names)
    parts = [np.empty(0, dtype=np.intp)]
    for _, part, columns in transformer.transformers_:
        chosen = _chosen(positions, columns)
        if (isinstance(part, str) and part == "drop") or not len(chosen):
            continue
        parts.append(chosen[sources(part, len(chosen))])
    return np.concatenate(parts)


def _chosen(positions, columns) -> NDArray[np.intp]:
    """Return the positions of columns as a ColumnTransformer names them: labels, ints, bools."""
    if isinstance(columns, UserList):  # of scikit-learn 1.6, which warns of each look into it
        columns = columns.data
    if np.isscalar(columns):
        columns = [columns]
    if isinstance(columns, slice):
        labels = isinstance(columns.start, str) or isinstance(columns.stop, str)
    else:
        columns = np.asarray(columns)
        labels = len(columns) > 0 and isinstance(columns[0], str)
    if not labels and not isinstance(columns, slice) and not len(columns):
        return np.empty(0, dtype=np.intp)
    found = positions.loc[:, columns] if labels else positions.iloc[:, columns]
    return found.to_numpy()[0]


_SCALERS = ("MaxAbsScaler", "MinMaxScaler", "RobustScaler", "StandardScaler")
_MAPS = ("Binarizer", "OrdinalEncoder", "PowerTransformer", "QuantileTransformer")
_READERS = {
    **dict.fromkeys((*_SCALERS, *_MAPS), _one_to_one),
    **dict.fromkeys(("CountVectorizer", "HashingVectorizer", "TfidfVectorizer"), _of_text),
    "ColumnTransformer": _of_column_transformer,
    "FeatureUnion": _of_union,
    "FrozenEstimator": lambda frozen, width: sources(frozen.estimator, width),
    "FunctionTransformer": _of_function,
    "KBinsDiscretizer": _of_bins,
    "MissingIndicator": lambda indicator, width: indicator.features_,
    "OneHotEncoder": _of_one_hot,
    "Pipeline": _of_pipeline,
    "SimpleImputer": _of_imputer,
    "SplineTransformer": _of_splines,
    "TargetEncoder": _of_targets,
}
