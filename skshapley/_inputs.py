"""Tables as they come in: kept in their own container, checked against the background's.

Anything that is not a frame becomes a numpy array of its own dtype. Frames keep their columns,
dtypes, categories and index; pandas is handled directly, other frames (polars) through narwhals.
"""

import difflib

import numpy as np
import pandas as pd


def is_frame(X) -> bool:
    """Return whether X is a DataFrame of pandas, or of another library that narwhals knows."""
    return isinstance(X, pd.DataFrame) or _foreign(X)


def _foreign(X):
    """Return whether X is a frame that is not pandas'."""
    if not hasattr(X, "columns") or isinstance(X, pd.DataFrame):
        return False
    try:
        import narwhals as nw
    except ImportError as error:
        raise ImportError(
            f"A {type(X).__module__.split('.')[0]} frame needs narwhals; install it or pass a"
            f" pandas"
            f" DataFrame."
        ) from error
    return nw.dependencies.is_into_dataframe(X)


def column_names(X) -> list:
    """Return the names of the columns; ``x0, x1, ...`` for an array."""
    if is_frame(X):
        return list(X.columns)
    return [f"x{i}" for i in range(X.shape[1])]


def as_pandas(X) -> pd.DataFrame:
    """Return X as a pandas DataFrame, for display."""
    if isinstance(X, pd.DataFrame):
        return X
    if is_frame(X):
        import narwhals as nw

        return nw.from_native(X, eager_only=True).to_pandas()
    return pd.DataFrame(X, columns=column_names(X))


def take_rows(X, positions):
    """Return the rows of X at `positions`, in X's own container."""
    if isinstance(X, pd.DataFrame):
        return X.iloc[positions]
    if is_frame(X):
        import narwhals as nw

        frame = nw.from_native(X, eager_only=True)
        return frame[np.asarray(positions).tolist()].to_native()
    return X[positions]


def check_columns(X, background, owner):
    """Refuse columns other than the background's; return X with matching dtypes.

    Numbers may differ in kind (int, float, bool): the hybrid rows take the common type. A
    categorical column takes the background's categories if it holds no others.

    Raises
    ------
    ValueError
        For other columns or another order (shown as a diff), other dtypes, unknown categories.
    TypeError
        For another container.
    """
    if is_frame(background) != is_frame(X) or _foreign(background) != _foreign(X):
        kind, given = type(background).__name__, type(X).__name__
        raise TypeError(
            f"{owner} was fitted on a background of type {kind}, and got instances of type {given}:"
            f" pass the same kind, with the same columns."
        )
    if not is_frame(X):
        return X if X.dtype == background.dtype else _checked_array(X, background, owner)
    names, others = column_names(background), column_names(X)
    if names != others:
        diff = difflib.ndiff([str(c) for c in names], [str(c) for c in others])
        changes = [line for line in diff if line[0] in "-+"]
        raise ValueError(
            f"{owner} got other columns, or another order, than the background's (-: background, +:"
            f" given): {'; '.join(changes)}."
        )
    return _checked_frame(X, background, owner) if isinstance(X, pd.DataFrame) else X


def _checked_array(X, background, owner):
    if _is_number(X.dtype) != _is_number(background.dtype):
        raise ValueError(
            f"{owner} was fitted on an array of dtype {background.dtype}, and got {X.dtype}."
        )
    return X


def _checked_frame(X, background, owner):
    wrong, recoded = [], {}
    for name in X.columns:
        given, expected = X[name].dtype, background[name].dtype
        if given == expected or (_is_number(given) and _is_number(expected)):
            continue
        if isinstance(given, pd.CategoricalDtype) and isinstance(expected, pd.CategoricalDtype):
            unknown = (
                X[name]
                .cat.remove_unused_categories()
                .cat.categories.difference(expected.categories)
            )
            if len(unknown):
                raise ValueError(
                    f"{owner} got categories {unknown.tolist()} in column {name!r}, which the"
                    f" background's dtype does not have: it has {expected.categories.tolist()}."
                )
            recoded[name] = X[name].cat.set_categories(
                expected.categories, ordered=expected.ordered
            )
        elif not (_is_text(given) and _is_text(expected)):
            wrong.append(f"{name!r} is {given} instead of {expected}")
    if wrong:
        raise ValueError(
            f"{owner} got other dtypes than the background's: {'; '.join(wrong)}. Convert them with"
            f" X.astype(background.dtypes)."
        )
    return X.assign(**recoded) if recoded else X


def _is_number(dtype):
    return pd.api.types.is_numeric_dtype(dtype)


def _is_text(dtype):
    return pd.api.types.is_string_dtype(dtype) or pd.api.types.is_object_dtype(dtype)
