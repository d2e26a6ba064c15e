"""DataFrames with categories, as the boosting libraries turn them into matrices."""

import numpy as np


def is_frame(X):
    """Whether X is a pandas DataFrame, without importing pandas."""
    return hasattr(X, "columns") and hasattr(X, "iloc")


def frame_to_matrix(frame, known_categories, unknown):
    """The float64 matrix of a DataFrame, categories replaced by their codes.

    Parameters
    ----------
    frame : DataFrame of shape (r, n)
    known_categories : dict
        For a column's position, the categories in the order of their codes in the model; the
        frame's own order for a categorical column that is not named.
    unknown : float or None
        The code of a category that the model has not seen; None to refuse it.

    Returns
    -------
    ndarray of shape (r, n), float64

    Raises
    ------
    ValueError
        For an unknown category, where `unknown` is None.
    """
    matrix = np.empty(frame.shape)
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        if not hasattr(column, "cat"):
            matrix[:, position] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        codes = column.cat.codes.to_numpy().astype(np.float64)
        if position in known_categories:
            known = {name: code for code, name in enumerate(known_categories[position])}
            if unknown is None:
                _refuse_unknown(column, known)
            recode = [known.get(name, unknown) for name in column.cat.categories]
            codes = np.array([*recode, np.nan], dtype=np.float64)[codes.astype(int)]
        codes[column.isna().to_numpy()] = np.nan
        matrix[:, position] = codes
    return matrix


def _refuse_unknown(column, known):
    for name in column.cat.remove_unused_categories().cat.categories:
        if name not in known:
            raise ValueError(
                f"Found category {name!r} in column {column.name!r}, which XGBoost did not see in "
                f"training and refuses; it knows {list(known)}."
            )
