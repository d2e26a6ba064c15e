"""The class probabilities that belong to the response of an explainer."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax

from skshapley._tables._inputs import take_rows
from skshapley.rewards._response import flat_classes

PROBED_ROWS = 64
ATOL = 1e-5  # models may compute in single precision
# Curve from the response ``(n, k)`` to probabilities
CURVES = {
    "two": lambda scores: np.column_stack([expit(-scores), expit(scores)]),
    "complement": lambda share: np.column_stack([1 - share, share]),
    "identity": lambda shares: shares,
    "softmax": lambda scores: softmax(scores, axis=1),
    "each": expit,
}


def probabilities(explainer: Any) -> dict[str, Any] | None:
    """Return the curve from the response to probabilities, and the classes' names.

    The curve is the one that reproduces ``predict_proba`` on background rows. None:
    the model has no probabilities, or no known curve gives them.
    """
    model, way = explainer.estimator, explainer._way
    classes = flat_classes(model)
    if classes is None or not hasattr(model, "predict_proba"):
        return None
    rows = take_rows(explainer.background_, slice(0, PROBED_ROWS))
    scores = way.predictions(rows)
    table = rows
    if way.reward is not None:
        masked = way.reward.masked_
        table = (masked.whole or masked).response.in_its_container(rows)
    shares = np.asarray(model.predict_proba(table))
    for step in (1, -1):  # the first of two classes may be explained
        for kind, curve in CURVES.items():
            candidate = curve(scores)
            same = candidate.shape == shares.shape
            if same and np.allclose(candidate, shares[:, ::step], 0, ATOL):
                names = [str(name) for name in classes[::step]]
                return {"kind": kind, "names": names}
    return None
