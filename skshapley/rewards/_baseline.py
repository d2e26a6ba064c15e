"""The response against a single baseline row."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy import sparse

from skshapley._tables import (
    as_pandas,
    as_rows_of,
    check_columns,
    codes_of,
    column_names,
    is_frame,
    narwhal,
)
from skshapley._tools import Constraint, Flag
from skshapley.rewards._reward import InterventionalReward


class BaselineReward(InterventionalReward):
    """The model's response if absent players take the values of one baseline row.

    v(S) = f(x_S, baseline outside S). Each value of v costs a single model row, but the
    baseline may be a row that does not exist.

    Parameters
    ----------
    baseline : None, or a table, mapping or sequence of one row, default=None
        The row. None: the weighted mean of each numeric column of the background, and
        the mode of each other column.
    transformed : bool, default=True
        As in `InterventionalReward`.

    References
    ----------
    Sundararajan & Najmi (2020), The many Shapley values for model explanation, ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0] * X[:, 1], reward="baseline")
    >>> explainer.fit(np.array([[0.0, 0.0], [0.0, 2.0]])).explain(
    ...     np.array([[1.0, 1.0]])
    ... ).values
    array([[1., 0.]])
    """

    _constraints = {
        "transformed": Flag(),
        "baseline": Constraint(
            lambda baseline: (
                baseline is None
                or is_frame(baseline)
                or (np.iterable(baseline) and not isinstance(baseline, str | bytes))
            ),
            "None or one row: an array, a mapping, a Series or a frame",
        ),
    }

    def __init__(self, baseline=None, transformed=True) -> None:
        super().__init__(transformed)
        self.baseline = baseline

    def fit(self, response, background, weights, players) -> Self:
        """Store the given baseline, or compute one from the background."""
        row = (
            _typical_row(background, weights)
            if self.baseline is None
            else self._given(background)
        )
        return super().fit(response, row, np.ones(1), players)

    def _given(self, background) -> Any:
        """Return the given baseline as a row in the container of the background."""
        row = self.baseline
        if is_frame(background) and not is_frame(row):
            if not isinstance(row, pd.Series | Mapping):
                row = zip(
                    column_names(background),
                    np.ravel(np.asarray(row, object)),
                    strict=False,
                )
            row = as_rows_of(dict(row), background, "BaselineReward")
        elif not is_frame(row):
            row = np.atleast_2d(
                row.toarray() if sparse.issparse(row) else np.asarray(row)
            )
            row = type(background)(row) if sparse.issparse(background) else row
        if row.shape[0] != 1 or row.shape[1] != background.shape[1]:
            raise ValueError(
                f"BaselineReward got a baseline of shape {row.shape}: pass one row "
                f"with the {background.shape[1]} columns of the background, or None."
            )
        return check_columns(row, background, "BaselineReward")


def _typical_row(background, weights) -> Any:
    """Return the weighted mean of numeric columns and the weighted mode of the others, one row."""
    if sparse.issparse(background):
        return type(background)(np.atleast_2d(background.T @ weights))
    frame = as_pandas(background)
    row = pd.DataFrame(
        {name: _typical(column, weights) for name, column in frame.items()}
    )
    if isinstance(background, pd.DataFrame):
        return row
    if not is_frame(background):
        # A mixed row of objects keeps its types only in an array of objects.
        kind = object if background.dtype == object else None
        return np.array(row.to_numpy(object).tolist(), dtype=kind)
    import narwhals as nw

    table = narwhal(background)
    schema = {
        name: nw.Float64 if _is_number(frame[name]) else kind
        for name, kind in table.schema.items()
    }
    return nw.from_dict(
        row.to_dict(orient="list"),
        schema=schema,
        backend=table.implementation,
    ).to_native()


def _is_number(column) -> bool:
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(
        column
    )


def _typical(column, weights) -> pd.Series:
    """Return the weighted mean of a numeric column, or the weighted mode of another, as one row."""
    present = column.notna().to_numpy()
    if _is_number(column):
        values = column[present].to_numpy(np.float64)
        return pd.Series(
            [np.average(values, weights=weights[present]) if present.any() else np.nan]
        )
    # Codes instead of values, since values may be of types that cannot be sorted.
    codes = codes_of(column)
    totals = np.bincount(codes[present], weights=weights[present], minlength=1)
    return column.iloc[[np.argmax(codes == totals.argmax())]].reset_index(drop=True)
