"""Reader of explainable boosting machines, from `interpret`."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables._inputs import is_frame
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._sums import Part, View
from skshapley.closed_forms._tables import Tables
from skshapley.exceptions import UnreadableModelError


class Codes:
    """Transformer that looks up the bins of a fitted machine, a column for each feature and size.

    Parameters
    ----------
    machine : ExplainableBoostingModel
    keys : sequence of (int, int)
        The feature of each column, and which of its binnings.
    """

    def __init__(self, machine: Any, keys: Any) -> None:
        # the machine itself looks up the bins, as scores of terms that are their own numbers
        own = copy(machine)
        own.intercept_, own.term_features_, own.term_scores_, own.bins_ = 0.0, [], [], []
        self.machines = []
        for size in sorted({size for _, size in keys}):
            bins = [[levels[min(size, len(levels) - 1)]] for levels in machine.bins_]
            features = [feature for feature, of in keys if of == size]
            numbers = [np.arange(_n_bins(bins[feature][0]), dtype=float) for feature in features]
            part = copy(own)
            part.bins_, part.term_scores_ = bins, numbers
            part.term_features_ = [(feature,) for feature in features]
            self.machines.append(part)
        self.order = np.argsort(
            [place for size in sorted({s for _, s in keys})
             for place, (_, of) in enumerate(keys) if of == size]
        )  # fmt: skip
        self.names = list(machine.feature_names_in_)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the bins of a table, ``(n, D)``."""
        X = X if is_frame(X) else pd.DataFrame(np.asarray(X), columns=self.names)
        return np.column_stack([part.eval_terms(X) for part in self.machines])[:, self.order]


def _n_bins(bins: Any) -> int:
    """Return the number of scores of a feature, including missing and unseen values."""
    return len(bins) + (2 if isinstance(bins, dict) else 3)


def read_machine(model: Any, method: str, ask: Callable[..., ClosedForm]) -> list[Part]:
    """Return the sum of a machine's tables: its prediction, or the log-odds of two classes."""
    classes = getattr(model, "classes_", None)
    wanted = "predict" if classes is None else "log_odds"
    two = classes is None or len(classes) == 2
    if max(map(len, model.term_features_)) > 2 or not two:
        raise UnreadableModelError(
            f"{type(model).__name__} has terms of three features, or three classes",
            "explain it by sampling",
        )
    if method not in (wanted, "decision_function") or (not two or model.link_ not in LINKS):
        raise UnreadableModelError(
            f"{type(model).__name__}.{method} is a curve of its sum of tables",
            f"choose response_method={wanted!r}" if classes is not None else "sample it",
            None if classes is None else wanted,
        )
    keys: list[tuple[int, int]] = []
    tables = []
    for features, scores in zip(model.term_features_, model.term_scores_, strict=True):
        own = []
        for feature in features:
            key = feature, min(len(features), len(model.bins_[feature])) - 1
            if key not in keys:
                keys.append(key)
            own.append(keys.index(key))
        tables.append((own, scores[..., None]))
    source = np.array([feature for feature, _ in keys])
    form = Tables(tables, np.reshape(model.intercept_, -1))
    return [Part(form, View(source, len(model.bins_), (Codes(model, keys),)))]


LINKS = {"identity", "logit"}
READERS = dict.fromkeys(
    ("ExplainableBoostingRegressor", "ExplainableBoostingClassifier"), read_machine
)
