"""Merge explanations of one model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from skshapley._records._interactions import Interactions
from skshapley._records._outcome import BY_ROW, ERRORS

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation


def merge(explanations: Sequence["Explanation"]) -> "Explanation":
    """Return the merged explanation; see `Explanation.merge`."""
    if not explanations:
        raise ValueError("Explanation.merge needs at least one explanation; got none.")
    first = explanations[0]
    ours = _subject(first)
    for other in explanations[1:]:
        for name, theirs in _subject(other).items():
            if ours[name] != theirs:
                raise ValueError(
                    f"Explanation.merge needs the same {name}: got {ours[name]} and {theirs}."
                )
    records = [e.interactions for e in explanations if e.interactions is not None]
    merged: dict[str, Any] = {name: _joined(explanations, name) for name in BY_ROW}
    return replace(
        first,
        data=pd.concat([e.data for e in explanations]),
        interactions=Interactions.merge(records) if records else None,
        **merged,
    )


def _joined(explanations: Sequence["Explanation"], name: str) -> np.ndarray | None:
    """Return an array of all rows; None if no part has it."""
    parts = [getattr(explanation, name) for explanation in explanations]
    if all(part is None for part in parts):
        return None
    known = [
        _unknown(explanation, name) if part is None else part
        for explanation, part in zip(explanations, parts, strict=True)
    ]
    whole = np.concatenate(known)
    return None if name in ERRORS and np.isnan(whole).all() else whole


def _unknown(explanation: "Explanation", name: str) -> np.ndarray:
    """Return the fill value for a part that an explanation lacks."""
    if name == "others":  # nothing was left out
        return np.zeros(explanation.base_values.shape)
    return np.full(explanation.values.shape, np.nan)


def _subject(explanation: "Explanation") -> dict[str, Any]:
    """Return the properties that merged explanations must share."""
    names, pairs = explanation.output_names, explanation.interactions
    return {
        "feature_names": explanation.feature_names.tolist(),
        "output_names": None if names is None else names.tolist(),
        "output": explanation.settings.output,
        "index of interactions": None if pairs is None else pairs.index,
    }
