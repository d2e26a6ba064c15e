"""Sizes and means of explanations, as explanations."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._records._outcome import BY_OUTPUT, ERRORS

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation


def sizes(explanation: "Explanation") -> "Explanation":
    """Return the explanation of absolute values; see `abs(explanation)`."""
    unknown = np.full(explanation.base_values.shape, np.nan)
    return replace(
        explanation,
        values=np.abs(explanation.values),
        base_values=unknown,
        predictions=unknown,
        others=None,
        interactions=None,
    )


def mean(explanation: "Explanation", axis: Any) -> "Explanation":
    """Return the mean explanation; see `Explanation.mean`."""
    if axis != 0 or isinstance(axis, bool):
        raise ValueError(
            f"Explanation.mean takes axis=0, the mean over rows; got {axis!r}: attributions"
            f" of different features are summed, as by explanation.values.sum(axis=1)."
        )
    n = len(explanation)
    if not n:
        raise ValueError("Explanation.mean needs at least one row; got none.")
    parts: dict[str, Any] = {}
    for name in BY_OUTPUT:
        part = getattr(explanation, name)
        parts[name] = None if part is None else part.mean(axis=0, keepdims=True)
    errors = explanation.standard_errors
    if errors is not None:
        parts[ERRORS[0]] = np.sqrt((errors**2).sum(axis=0, keepdims=True)) / n
    nothing = np.full((1, len(explanation.feature_names)), None, dtype=object)
    data = pd.DataFrame(nothing, index=["mean"])
    return replace(
        explanation,
        data=data.set_axis(explanation.data.columns, axis=1),
        n_evaluations=explanation.n_evaluations.sum(keepdims=True),
        n_model_rows=explanation.n_model_rows.sum(keepdims=True),
        converged=np.array([explanation.converged.all()]),
        interactions=None,
        **parts,
    )
