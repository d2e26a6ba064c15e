"""Explanations in memory or on disk as numbers of rows, for comparing means."""

from collections.abc import Iterable
from typing import Any, Protocol

import numpy as np

from skshapley._records._inferred import flat, flat_errors, noise_of
from skshapley.explanation import Explanation

SAMPLE_ROWS = 10_000  # of explanations on disk, whose attributions tell the sizes of all


class Stored(Protocol):
    """Explanations that are read batch by batch, such as an `ExplanationDataset`."""

    def __iter__(self) -> Any:
        """Yield explanations, each time from the first."""

    def read(self, max_rows: int | None = None) -> Explanation:
        """Return some rows, evenly spread over all."""


class Rows:
    """The rows of an explanation, batch by batch.

    Parameters
    ----------
    source : Explanation, or what yields some
    owner : str
        Who takes it, for errors.
    """

    def __init__(self, source: "Explanation | Stored", owner: str) -> None:
        if isinstance(source, Explanation):
            self.batches: Iterable[Explanation] = [source]
            self.sample = source
        elif hasattr(source, "read"):
            self.batches, self.sample = source, source.read(max_rows=SAMPLE_ROWS)
        else:
            raise TypeError(
                f"{owner} takes an Explanation or an ExplanationDataset; got {source!r}."
            )
        if not len(self.sample):
            raise ValueError(f"{owner} needs at least one instance; got an empty explanation.")
        self._noise = noise_of(self.sample)

    def sizes(self, batch: Explanation) -> np.ndarray:
        """Return the debiased sizes of attributions, ``(n, k p)``."""
        return self._noise.sizes(flat(batch.values), flat_errors(batch))


def ends(batch: Explanation) -> np.ndarray:
    """Return base values, gaps and predictions, ``(n, 3 k)``."""
    parts = (batch.base_values, batch.efficiency_gap, batch.predictions)
    return np.hstack([part.reshape(len(batch), -1) for part in parts])


def check_same_players(owner: str, one: Explanation, other: Explanation) -> None:
    """Refuse explanations of different players or outputs."""
    for name in ("feature_names", "output_names"):
        ours, theirs = getattr(one, name), getattr(other, name)
        ours, theirs = (None if part is None else part.tolist() for part in (ours, theirs))
        if ours != theirs:
            raise ValueError(f"{owner} needs the same {name}: got {ours} and {theirs}.")
