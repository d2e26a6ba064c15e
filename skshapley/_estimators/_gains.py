"""Gains: the information in a feature's attributions about the target, on held-out rows.

The gain of feature j at a row with target y, response f and attribution phi_j is

    phi_j (y - (f - phi_j)),

the attribution times what the target has beyond the attributions of all others. Its mean is that of
phi_j^2 + phi_j (y - f): the mean squared attribution where the model is right, and less by what the
model learnt by heart. For a column that is independent of the target and of all other columns the
mean is zero or below, whatever the model makes of it: E phi_j is then 0 given the others, and
interactions are shared alike, so that E phi_j phi_k is not below 0. Where attributions are of
log-odds, f - phi_j goes through their inverse first.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, softmax

from skshapley._estimators._explainer import ShapleyExplainer
from skshapley.closed_forms import Logistic
from skshapley.explanation import Explanation

CLOSE = 1e-4  # of probabilities in single precision

Link = Callable[[np.ndarray], np.ndarray]


def explained_rows(explainer: ShapleyExplainer, X: Any) -> tuple[Explanation, Link]:
    """Return the explanation of rows, and the expected target by explained response.

    A classifier whose log-odds are explained exactly is explained by those.

    Parameters
    ----------
    explainer : ShapleyExplainer
        Fitted.
    X : array or frame of shape (r, d)
    """
    facts = explainer._facts()
    logistic = facts["closed_form"] == Logistic.label
    exact = "log_odds" if logistic else facts["exact_response"]
    if exact is not None:
        background = explainer.background_
        by_odds = ShapleyExplainer(**{**explainer.get_params(deep=False), "response_method": exact})
        explanation = by_odds.fit(background).explain(X)
        link: Link = expit if explanation.values.ndim == 2 else _softmax
        given = explainer.estimator.predict_proba(X)
        given = given[:, 1] if explanation.values.ndim == 2 else given
        if np.allclose(link(explanation.predictions), given, rtol=0, atol=CLOSE):
            return explanation, link
    return explainer.explain(X), _same


def gains(explanation: Explanation, link: Link, targets: np.ndarray) -> np.ndarray:
    """Return the gain of each player at each row, summed over outputs.

    Parameters
    ----------
    explanation : Explanation
    link : callable
        The expected target by explained response.
    targets : ndarray of shape (r,) or (r, k)
        Numbers, or 1 at the class of the row.

    Returns
    -------
    gains : ndarray of shape (r, p)
    """
    values, errors = explanation.values, explanation.standard_errors
    without = link(explanation.predictions[:, None] - values)
    gain = values * (targets[:, None] - without)
    if link is _same and errors is not None:
        gain = gain - np.nan_to_num(errors) ** 2  # what noise adds to a square
    return gain if gain.ndim == 2 else gain.sum(axis=2)


def targets_of(y: np.ndarray, classes: np.ndarray | None, explanation: Explanation) -> np.ndarray:
    """Return the targets in the shape of the predictions of an explanation."""
    if classes is None:
        return np.asarray(y, dtype=np.float64)
    hits = (y[:, None] == classes).astype(np.float64)
    return hits[:, 1] if explanation.output_names is None else hits


def _same(response: np.ndarray) -> np.ndarray:
    return response


def _softmax(response: np.ndarray) -> np.ndarray:
    return softmax(response, axis=-1)
