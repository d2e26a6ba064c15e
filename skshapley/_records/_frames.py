"""Attributions as frames."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation


def to_frame(explanation: "Explanation", kind: str) -> pd.DataFrame:
    """Return a frame of the explanation; see `Explanation.to_frame`."""
    if kind not in ("wide", "long"):
        raise ValueError(f'Explanation.to_frame takes kind as "wide" or "long"; got {kind!r}.')
    frame = _wide(explanation) if kind == "wide" else _long(explanation)
    if explanation.settings.learned is not None:
        frame.attrs["method"] = explanation.settings.method
    return frame


def _long(explanation: "Explanation") -> pd.DataFrame:
    r, p = explanation.values.shape[:2]
    names = explanation.output_names
    outputs = [None] if names is None else list(names)
    k = len(outputs)
    unknown = np.full(explanation.values.shape, np.nan)
    errors = unknown if explanation.standard_errors is None else explanation.standard_errors
    apart = unknown if explanation.background_errors is None else explanation.background_errors
    columns = {
        "row": np.repeat(explanation.index.to_numpy(), p * k),
        "output": np.tile(np.repeat(np.array(outputs, dtype=object), p), r),
        "feature": np.tile(explanation.feature_names, r * k),
        "data": np.tile(explanation.data.to_numpy(dtype=object)[:, None], (1, k, 1)).ravel(),
        "value": _by_output(explanation.values),
        "standard_error": _by_output(errors),
        "background_error": _by_output(apart),
    }
    if names is None:
        del columns["output"]
    return pd.DataFrame(columns)


def _wide(explanation: "Explanation") -> pd.DataFrame:
    values, features = explanation.values, explanation.feature_names
    if explanation.output_names is None:
        return pd.DataFrame(values, index=explanation.index, columns=features)
    columns = pd.MultiIndex.from_product(
        [explanation.output_names, features], names=["output", "feature"]
    )
    flat = np.swapaxes(values, 1, 2).reshape(len(values), -1)
    return pd.DataFrame(flat, index=explanation.index, columns=columns)


def _by_output(array: np.ndarray) -> np.ndarray:
    """Return the numbers ordered by row, output, player."""
    return (array if array.ndim == 2 else np.swapaxes(array, 1, 2)).ravel()
