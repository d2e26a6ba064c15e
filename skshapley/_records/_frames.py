"""Attributions as frames."""

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from skshapley._records._importance import player_index
from skshapley._records._inferred import flat, flat_errors

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
    columns = {
        "row": np.repeat(explanation.index.to_numpy(), p * k),
        "output": np.tile(np.repeat(np.array(outputs, dtype=object), p), r),
        "feature": np.tile(explanation.feature_names, r * k),
        "data": np.tile(explanation.data.to_numpy(dtype=object)[:, None], (1, k, 1)).ravel(),
        "value": flat(explanation.values).ravel(),
        "standard_error": flat_errors(explanation).ravel(),
        "background_error": flat_errors(explanation, "background_errors").ravel(),
    }
    if names is None:
        del columns["output"]
    return pd.DataFrame(columns)


def _wide(explanation: "Explanation") -> pd.DataFrame:
    several = explanation.output_names is not None
    columns = player_index(explanation) if several else explanation.feature_names
    return pd.DataFrame(flat(explanation.values), index=explanation.index, columns=columns)
