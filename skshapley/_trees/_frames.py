"""DataFrames with categories, as the boosting libraries turn them into matrices."""

import numpy as np
from numpy.typing import NDArray


def frame_to_matrix(frame, known_categories, unknown) -> NDArray[np.float64]:
    """Return a DataFrame as a float64 matrix, with categories replaced by their codes.

    Parameters
    ----------
    frame : DataFrame of shape (r, n)
    known_categories : dict
        The categories of a column, by its position, in the order of their codes in the model. A
        categorical column that is not in there keeps the frame's own codes.
    unknown : float or None
        The code of a category that the model has not seen; None to refuse it.

    Returns
    -------
    matrix : ndarray of shape (r, n), float64

    Raises
    ------
    ValueError
        For a category that the model has not seen, where `unknown` is None.
    """
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes):
        return frame.to_numpy(dtype=np.float64)
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


def _refuse_unknown(column, known) -> None:
    for name in column.cat.remove_unused_categories().cat.categories:
        if name not in known:
            raise ValueError(
                f"TreeEnsemble got category {name!r} in column {column.name!r}, which XGBoost did"
                f" not see in training and refuses: choose one of {list(known)}."
            )
