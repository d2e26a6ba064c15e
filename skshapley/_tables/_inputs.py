"""Checks of input tables against the background; every table keeps its container.

Frames keep their columns, dtypes, categories and index; pandas is handled directly,
other frames (polars) through narwhals. Sparse matrices become CSR. Other tables become
NumPy arrays of their own dtype.
"""

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import validate_data

from skshapley._tools import needed
from skshapley.exceptions import ModelOutputError

MOST_LISTED = 10  # columns listed in a message


def is_frame(X: Any) -> bool:
    """Return True for a DataFrame of pandas, or of another library supported by narwhals."""
    return isinstance(X, pd.DataFrame) or is_foreign(X)


def is_foreign(X: Any) -> bool:
    """Return True for a frame of another library than pandas."""
    # from the class: a lazy frame would compute its columns
    if not hasattr(type(X), "columns") or isinstance(X, pd.DataFrame):
        return False
    nw = needed("narwhals", f"A {type(X).__module__.split('.')[0]} frame")
    return nw.dependencies.is_into_dataframe(X)


def narwhal(X: Any) -> Any:
    """Wrap a frame of another library than pandas by narwhals."""
    import narwhals as nw

    return nw.from_native(X, eager_only=True)


def column_names(X: Any) -> list:
    """Return the names of the columns; ``x0, x1, ...`` for an array."""
    if isinstance(X, pd.DataFrame):
        return list(X.columns)
    return narwhal(X).columns if is_foreign(X) else [f"x{i}" for i in range(X.shape[1])]


def as_array(X: Any) -> np.ndarray:
    """Return a frame as an array of one dtype; numbers that may be missing become floats."""
    if not isinstance(X, pd.DataFrame):
        return narwhal(X).to_numpy()
    nullable = any(
        isinstance(dtype, pd.api.extensions.ExtensionDtype) for dtype in X.dtypes
    )
    # pandas would make objects of nullable numbers, which no model takes.
    if nullable and all(_is_number(dtype) for dtype in X.dtypes):
        return X.to_numpy(dtype=np.float64, na_value=np.nan)
    return X.to_numpy()


def as_pandas(X: Any) -> pd.DataFrame:
    """Return X as a pandas DataFrame, for display."""
    if isinstance(X, pd.DataFrame):
        return X
    if is_foreign(X):
        # convert single columns, because polars' own conversion needs pyarrow
        return pd.DataFrame(
            {column.name: _pandas(column) for column in narwhal(X).iter_columns()}
        )
    return pd.DataFrame(
        X.toarray() if sparse.issparse(X) else X,
        columns=column_names(X),
    )


def _pandas(column: Any) -> Any:
    """Return a column of narwhals for pandas: an array, or categories."""
    import narwhals as nw

    values = column.to_numpy()
    if isinstance(column.dtype, nw.Enum):
        return pd.Categorical(values, categories=list(column.dtype.categories))
    return pd.Categorical(values) if column.dtype == nw.Categorical else values


def column_types(X: Any) -> list:
    """Return the type of each column; for an array, its single type."""
    if isinstance(X, pd.DataFrame):
        return list(X.dtypes)
    return list(narwhal(X).schema.values()) if is_foreign(X) else [X.dtype]


def n_rows(X: Any) -> int:
    """Return the number of rows of a table, which may be sparse, or of a list."""
    return X.shape[0] if hasattr(X, "shape") else len(X)


def take_rows(X: Any, positions: Any) -> Any:
    """Return the rows of X at `positions`, in X's own container."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[positions]
    return narwhal(X)[positions].to_native() if is_foreign(X) else X[positions]


def joined_index(indices: list[pd.Index]) -> pd.Index:
    """Return indices one after the other."""
    index = indices[0].append(indices[1:])
    if index.nlevels > 1 or any(part.dtype != object for part in indices):
        return index
    # pandas makes integers of objects that are integers here, but not in other batches
    cells = np.concatenate([part.to_numpy() for part in indices])
    return pd.Index(cells, object, name=index.name, tupleize_cols=False)


def in_order_of(X: Any, names: list) -> Any:
    """Return a frame with columns in the order of `names`, or unchanged if it has others."""
    columns = column_names(X)
    if columns == names or len(columns) != len(names) or set(columns) != set(names):
        return X
    return (
        X[names]
        if isinstance(X, pd.DataFrame)
        else narwhal(X).select(names).to_native()
    )


def check_frame(X: Any, owner: str) -> None:
    """Raise ValueError for a frame without rows or columns, or with repeated names."""
    names = column_names(X)
    for count, unit in ((len(X), "sample"), (len(names), "feature")):
        if not count:
            raise ValueError(
                f"Found array with 0 {unit}(s) (shape={X.shape}) while a minimum of 1 "
                f"is required by {owner}."
            )
    if len(set(names)) < len(names):
        twice = list(dict.fromkeys(name for name in names if names.count(name) > 1))
        raise ValueError(
            f"{owner} needs columns of different names; got more than one of the names "
            f"{twice}: rename them, or pass X.to_numpy()."
        )


def refuse_no_table(X: Any, owner: str) -> None:
    """Raise ValueError for None, paths, single columns and lazy frames; TypeError for models."""
    if isinstance(X, pd.Series):
        raise ValueError(
            f"{owner} takes a table of rows and columns; got a Series: pass rows with "
            "all columns, as in fit(X_train) and explain(X_test)."
        )
    if (
        isinstance(X, list | tuple)
        or hasattr(X, "shape")
        or hasattr(X, "__array__")
        or is_frame(X)
    ):
        return
    if hasattr(X, "predict"):
        raise TypeError(
            f"{owner} got the model {type(X).__name__} in the place of the rows: "
            f"{owner.partition('.')[0]}(model).fit(X_train)."
        )
    description = (
        f"{X!r:.60}"
        if X is None or isinstance(X, str | int | float)
        else type(X).__name__
    )
    ready = (
        "its collect()"
        if description == "LazyFrame"
        else "an array, a sparse matrix or a frame"
    )
    raise ValueError(
        f"{owner} takes a table of rows and columns; got {description}: pass {ready}."
    )


def refuse_other_columns(lost: list, extra: list, owner: str, of: str) -> None:
    """Raise ValueError with the names of missing and extra columns, if any.

    Parameters
    ----------
    lost, extra : list
        Names of columns.
    owner : str
        Name of the calling class.
    of : str
        The table with the required columns.
    """
    if lost:
        instead = f"; it has {_listed(extra)} instead" if extra else ""
        raise ValueError(
            f"{owner} needs {_listed(lost)}, which the given table does not "
            f"have{instead}."
        )
    if extra:
        raise ValueError(
            f"{owner} got {_listed(extra)}, which {of} does not have: leave the rest "
            f"out, X.drop(columns={extra[:MOST_LISTED]})."
        )


def _listed(names: list) -> str:
    """Return the columns of these names as the part of a sentence."""
    names_text = ", ".join(
        repr(
            str(name) if isinstance(name, str) else name
        )  # without the type of numpy's texts
        for name in names[:MOST_LISTED]
    )
    ellipsis = (
        f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    )
    return f"the column{'s' if len(names) > 1 else ''} {names_text}{ellipsis}"


def is_like(X: Any, rows: Any) -> bool:
    """Return True for an array with the dtype and width of other rows, so that all checks pass."""
    return (
        type(X) is type(rows) is np.ndarray
        and X.dtype == rows.dtype
        and X.ndim == 2
        and X.shape[1] == rows.shape[1]
        and len(X) > 0
    )


def check_container(X: Any, background: Any, owner: str) -> None:
    """Raise TypeError for a container unlike the background's; a sparse one also allows arrays."""
    kinds = [is_frame, is_foreign]
    if sparse.issparse(X):
        kinds.append(sparse.issparse)
    # Models treat frames and arrays differently, so the container must not change
    # silently.
    if any(kind(background) != kind(X) for kind in kinds):
        raise TypeError(
            f"{owner} got rows of type {_type_name(X)} for a background of type"
            f" {_type_name(background)}: pass the same kind, with the same "
            f"columns{_conversion(X, background)}."
        )


def _type_name(X: Any) -> str:
    """Return the name of a type with its library, such as pandas.DataFrame."""
    return f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"


def _conversion(X: Any, background: Any) -> str:
    """Return the call that makes a container like the background's, or an empty text."""
    names = "explainer.feature_names_in_"
    if isinstance(background, pd.DataFrame):
        conversion = f": pandas.DataFrame(rows, columns={names})"
        return ": X.to_pandas()" if is_foreign(X) else conversion
    if is_foreign(background):
        library = type(background).__module__.partition(".")[0]
        if isinstance(X, pd.DataFrame) and library == "polars":
            return ": polars.from_pandas(X)"
        return f": {library}.DataFrame(rows, {names})" if library == "polars" else ""
    if sparse.issparse(X):
        return ": X.toarray()"
    return ": X.to_numpy()" if is_frame(X) else ""


def check_columns(X: Any, background: Any, owner: str) -> Any:
    """Raise an error for other columns than the background's; return X in its order and categories.

    Numbers may differ in kind (int, float, bool): mixed rows have the common type. A
    categorical column gets the background's categories if it has no others.

    Raises
    ------
    ValueError
        For other columns, other dtypes, unknown categories.
    TypeError
        For another container.
    """
    check_container(X, background, owner)
    if not is_frame(X):
        kind = background.dtype
        if X.shape[1] != background.shape[1]:
            raise ValueError(
                f"{owner} was fitted on {background.shape[1]} columns, and got "
                f"{X.shape[1]}."
            )
        if X.dtype != kind and _is_number(X.dtype) != _is_number(kind):
            raise ValueError(
                f"{owner} was fitted on an array of dtype {kind}, and got "
                f"{X.dtype}: pass X.astype({str(kind)!r})."
            )
        if sparse.issparse(X) == sparse.issparse(background):
            return X
        # Zeros stay stored: XGBoost reads an entry that is not stored as missing.
        r, d = X.shape
        return type(background)(
            (X.ravel(), np.tile(np.arange(d), r), d * np.arange(r + 1)),
            shape=(r, d),
        )
    expected = column_names(background)
    columns = column_names(X)
    refuse_other_columns(
        [name for name in expected if name not in columns],
        [name for name in columns if name not in expected],
        owner,
        "the background",
    )
    X = in_order_of(X, expected)
    wrong = []
    recoded = {}
    for name, kind, expected_kind in zip(
        expected,
        column_types(X),
        column_types(background),
        strict=True,
    ):
        # Text may be stored as object or as string, and numbers of any kind mix to a
        # common type.
        if kind == expected_kind or any(
            is_kind(kind) and is_kind(expected_kind)
            for is_kind in (_is_number, _is_text)
        ):
            continue
        if isinstance(kind, pd.CategoricalDtype) and isinstance(
            expected_kind,
            pd.CategoricalDtype,
        ):
            recoded[name] = _recoded(X[name], expected_kind, owner)
        else:
            wrong.append(f"{name!r} is {kind} instead of {expected_kind}")
    if wrong:
        call = (
            "cast(background.schema)" if is_foreign(X) else "astype(background.dtypes)"
        )
        raise ValueError(
            f"{owner} got other dtypes than the background's: {'; '.join(wrong)}. "
            f"Convert them with X.{call}."
        )
    X = X.copy(deep=False) if recoded else X
    for name, column in recoded.items():
        X[name] = column
    return X


def _recoded(column: pd.Series, dtype: pd.CategoricalDtype, owner: str) -> pd.Series:
    """Return a categorical column with the categories of `dtype`, if they are sufficient."""
    used = column.cat.remove_unused_categories().cat.categories
    unknown = used.difference(dtype.categories).tolist()
    if unknown:
        raise ValueError(
            f"{owner} got categories {unknown} in column {column.name!r}, which the "
            f"background's dtype does not have: it has {dtype.categories.tolist()}."
        )
    return column.cat.set_categories(dtype.categories, ordered=dtype.ordered)


def _is_number(dtype: Any) -> bool:
    """Return True for a numeric or boolean dtype of pandas or narwhals."""
    if hasattr(dtype, "is_numeric"):
        return dtype.is_numeric() or str(dtype) == "Boolean"
    return pd.api.types.is_numeric_dtype(dtype)


def _is_text(dtype: Any) -> bool:
    return pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype)


def validated(explainer: Any, X: Any, reset: bool) -> Any:
    """Return X after scikit-learn's checks of its width and names."""
    plain = type(X) is np.ndarray and X.ndim == 2 and X.size and X.dtype.kind in "biuf"
    if plain or is_frame(X):
        validate_data(explainer, X, reset=reset, skip_check_array=True)
        return X
    if np.ma.is_masked(X):
        raise ValueError(
            f"{type(explainer).__name__} got a masked array with "
            f"{np.ma.count_masked(X)} of {X.size} values masked, and models ignore "
            "masks: fill them, X.filled(numpy.nan), or drop their rows."
        )
    X = validate_data(
        explainer,
        X,
        reset=reset,
        dtype=None,
        ensure_all_finite=False,
        accept_sparse="csr",
    )
    if sparse.issparse(X) and not X.has_canonical_format:
        X = X.copy()  # the given table is not changed
        X.sum_duplicates()
    return X


def checked_weights(
    sample_weight: Any,
    n: int,
    owner: str,
    unit: str = "background row",
) -> np.ndarray:
    """Return weights with sum 1, or raise ValueError."""
    if sample_weight is None:
        return np.full(n, 1 / n)
    weights = np.asarray(sample_weight)
    if weights.shape != (n,) or weights.dtype.kind not in "biuf":
        raise ValueError(
            f"{owner} needs a number as sample_weight for each {unit}, shape ({n},); "
            f"got shape {weights.shape} of dtype {weights.dtype}."
        )
    weights = weights.astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any() or not weights.any():
        place = wrong.argmax()
        raise ValueError(
            f"{owner} needs finite sample_weight >= 0, not all of them zero; got "
            f"{weights[place]} for {unit} {place}."
        )
    # Divided by the largest first, since the sum of huge weights overflows.
    return weights / weights.max() / (weights / weights.max()).sum()


def as_rows_of(X: Any, like: Any, owner: str) -> Any:
    """Convert rows from a service to a frame like the background's.

    Parameters
    ----------
    X : object
        A mapping from columns to a value or a list, a sequence of mappings, a Series
        with the columns as its index, or an array ``(r, d)`` or ``(d,)``. Columns of an
        array are taken in order, with scikit-learn's warning. Anything else is returned
        unchanged.
    like : frame
        Its columns and dtypes are those of the result.
    owner : str
        Name of the calling class, for the warning.
    """
    names = column_names(like)
    # Objects, since pandas 3 makes NaN of None in columns of text.
    frame = partial(pd.DataFrame, dtype=object)
    if isinstance(X, pd.Series) and set(X.index) == set(names):
        rows = frame([X.to_list()], columns=X.index, index=[X.name])
    elif isinstance(X, Mapping):
        several = any(
            isinstance(value, list | tuple | np.ndarray) for value in X.values()
        )
        rows = frame(dict(X) if several else [dict(X)])
    elif (
        isinstance(X, list | tuple) and X and all(isinstance(row, Mapping) for row in X)
    ):
        rows = frame([dict(row) for row in X])
    elif isinstance(X, np.ndarray) and X.ndim in (1, 2) and X.shape[-1] == len(names):
        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature "
            "names",
            UserWarning,
            stacklevel=5,
        )
        rows = frame(np.atleast_2d(X), columns=names)
    else:
        return X
    if not isinstance(like, pd.DataFrame):
        schema = {name: kind for name, kind in like.schema.items() if name in rows}
        return type(like)(rows[list(schema)].to_dict("list"), schema=schema)
    return cast_like(rows, like.dtypes)


def cast_like(rows: pd.DataFrame, kinds: pd.Series) -> pd.DataFrame:
    """Return rows after a cast of their columns, in place, where it changes no value."""
    for name, kind in kinds.items():
        if name in rows and rows[name].dtype != kind:
            rows[name] = _cast(rows[name], kind)
    return rows


def _cast(column: pd.Series, kind: Any) -> pd.Series:
    """Return a column cast to another dtype if its values are unchanged."""
    if (
        isinstance(kind, pd.CategoricalDtype)
        and not column.dropna().isin(kind.categories).all()
    ):
        return column
    try:
        cast = column.astype(kind)
    except (TypeError, ValueError):
        return column
    missing = column.isna()
    same = (cast.astype(object) == column.astype(object)) | missing
    return cast if same.all() and (cast.isna() == missing).all() else column


ABOUT_NUMBERS = ("nan", "missing", "infin", "null")
ABOUT_CATEGORIES = (
    "category",
    "categories",
    "categorical",
    "unseen",
    "unknown",
    "previously",
)


def refuse_unusual_cells(X: Any, background: Any, error: Exception, owner: str) -> None:
    """Raise an error with the user's column, if its cells explain the error of a model.

    Models behind a pipeline name the columns of an inner table, or none.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        The rows that the user passed.
    background : array or frame of shape (b, d), or None
        None if X is the background.
    error : Exception
        The error of the model, which becomes the cause.
    owner : str
        Name of the calling class.
    """
    if type(error) not in (ValueError, TypeError, KeyError, ModelOutputError):
        return
    # Hints of this package may have these words too.
    text = str(error.__cause__ or error).lower()
    kind = ModelOutputError if isinstance(error, ModelOutputError) else ValueError
    if any(word in text for word in ABOUT_NUMBERS):
        table = as_pandas(X)
        missing = (table.isna() | table.isin([np.inf, -np.inf])).to_numpy()
        if missing.any():
            row, column = np.argwhere(missing)[0]
            rows = "background rows" if background is None else "rows"
            # A batch knows the number of its row in the source.
            place = f", row {row} of {len(table)}" if len(table) > 1 else ""
            raise kind(
                f"{owner} got {rows} with missing or infinite values, which the model "
                f"does not take: {table.columns[column]!r}{place}; impute them in "
                "the model's pipeline, or leave these rows out."
            ) from error
    if background is not None and any(word in text for word in ABOUT_CATEGORIES):
        background_rows = as_pandas(background)
        for name, column in as_pandas(X).items():
            unknown = ~column.isin(background_rows[name].unique()) & column.notna()
            if not pd.api.types.is_numeric_dtype(column) and unknown.any():
                row = int(np.flatnonzero(unknown)[0])
                raise kind(
                    f"{owner} got {column.iloc[row]!r} in {name!r}, row {row}, which "
                    "the model does not know: leave the row out, or fit the encoder "
                    'with handle_unknown="ignore".'
                ) from error
