"""The data of an explanation, without its methods.

The functions of this room take a `Record`; only `Explanation` knows these functions.
"""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import pandas as pd

from skshapley._records._outcome import Frozen, Settings

UNKNOWN = Settings()


@dataclass(frozen=True, eq=False, repr=False)
class Record(Frozen):
    """The data of an explanation; `Explanation` documents them."""

    values: np.ndarray
    standard_errors: np.ndarray | None
    base_values: np.ndarray
    predictions: np.ndarray
    data: pd.DataFrame
    feature_names: np.ndarray
    output_names: np.ndarray | None
    n_evaluations: np.ndarray
    n_model_rows: np.ndarray
    converged: np.ndarray
    settings: Settings = UNKNOWN
    background_errors: np.ndarray | None = None
    interactions: Any = None
    others: np.ndarray | None = None
    refit_values: np.ndarray | None = None

    @property
    def efficiency_gap(self) -> np.ndarray:
        """Prediction minus base value minus the sum of attributions, ``(r,)`` or ``(r, k)``."""
        # the brackets keep the difference of large, similar ends accurate
        gap = (self.predictions - self.base_values) - self.values.sum(axis=1)
        return gap if self.others is None else gap - self.others

    @property
    def index(self) -> pd.Index:
        """The index of the explained rows."""
        return self.data.index

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `values`: ``(r, p)`` or ``(r, p, k)``."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)


# An explanation, of which a part is an explanation too
SomeRecord = TypeVar("SomeRecord", bound=Record)
