"""Merge explanations of one model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from skshapley._records._interactions import Interactions
from skshapley._records._outcome import BY_ROW, joined

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
    merged: dict[str, Any] = {name: joined(explanations, name) for name in BY_ROW}
    return replace(
        first,
        data=pd.concat([e.data for e in explanations]),
        interactions=Interactions.merge(records) if records else None,
        **merged,
    )


def _subject(explanation: "Explanation") -> dict[str, Any]:
    """Return the properties that merged explanations must share."""
    names, pairs = explanation.output_names, explanation.interactions
    return {
        "feature_names": explanation.feature_names.tolist(),
        "output_names": None if names is None else names.tolist(),
        "output": explanation.settings.output,
        "index of interactions": None if pairs is None else pairs.index,
    }
