"""A fitted explainer as the model of a page that computes, with class probabilities."""

from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit, softmax

from skshapley._tables._columnwise import MixedColumnsError
from skshapley._tables._inputs import as_pandas, n_rows, take_rows
from skshapley._trees._costs import count_costs
from skshapley._what_if._inputs import Inputs, RawColumn, in_container, leaves_of
from skshapley._what_if._terms import n_nodes
from skshapley.background import herd
from skshapley.closed_forms import Logistic, Trees
from skshapley.exceptions import UnreadableModelError
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


# Background rows of a page, and the fewest; fewer than the first if a pair of rows
# visits more nodes than in 100 trees of depth 6, so that a move takes 50 ms
MOST_ROWS, LEAST_ROWS = 100, 10
MOST_VISITS = 2_000
VISITS_OF_A_FACTOR = 10


def page_model(explainer: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """Return the model, its background and some rows for the script of a page.

    Parameters
    ----------
    explainer : ShapleyExplainer or TreeExplainer
        Fitted.
    rows : DataFrame of shape (r, d)
        The rows to begin with, in the columns of the background.

    Returns
    -------
    model : dict

    Raises
    ------
    ValueError
        If the page cannot compute the explainer's values.
    """
    way = explainer._way
    settings = way.labels.settings
    reason = _obstacle(explainer)
    if reason is None:
        try:
            return _written(explainer, way, rows)
        except (UnreadableModelError, MixedColumnsError) as error:
            reason = getattr(error, "reason", str(error))
    alternative = settings.exact_response
    choice = f"choose response_method={alternative!r}, or " if alternative else ""
    raise ValueError(
        f"A what-if page cannot compute {type(explainer.estimator).__name__} with"
        f" response_method={settings.response_method!r}: {reason}; {choice}use"
        " explainer.widget(X) in a notebook, which asks the model itself."
    )


def _obstacle(explainer: Any) -> str | None:
    """Return the obstacle to computing the values of an explainer in a page, or None."""
    way, players = explainer._way, explainer.players_
    background = explainer.background_
    if way.form is None:
        return way.labels.settings.why_sampled or "its values are sampled"
    if background is None or sparse.issparse(background):
        return "its background is not a dense table"
    groups = players.n_players < len(players.column_player)
    if groups or players.levels is not None:
        return "it explains groups of columns"
    if way.form.index.name != "shapley":
        return f'it explains by the index "{way.form.index.name}"'
    if way.reward is not None and way.reward.masked_.response.predicted:
        return 'output="predicted" explains another class in each row'
    return None


def _written(explainer: Any, way: Any, rows: pd.DataFrame) -> dict[str, Any]:
    """Return the model as lists and dicts."""
    like = explainer.background_
    background, weights = _representatives(explainer, way)
    whole = as_pandas(like)
    sample = as_pandas(background)
    columns = [
        RawColumn.of(name, whole.iloc[:, place], rows.iloc[:, place])
        for place, name in enumerate(explainer.players_.names)
    ]
    inputs = Inputs.of(way, columns, sample.iloc[:1], like)
    inputs.check(way, sample, background)
    inputs.check(way, rows, in_container(rows, like))
    names = way.labels.output_names
    return {
        "columns": inputs.column_records(),
        "terms": inputs.term_records(),
        "rows": inputs.cells(rows),
        "background": inputs.cells(sample),
        "weights": weights.tolist(),
        "n_background": n_rows(like),
        "n_outputs": way.form.n_outputs,
        "names": None if names is None else [str(name) for name in names],
        "probabilities": probabilities(explainer),
    }


def _representatives(explainer: Any, way: Any) -> tuple[Any, np.ndarray]:
    """Return all rows of a small background, or rows that resemble it, and the weights."""
    rows, weights = explainer.background_, explainer.background_weights_
    trees = [
        leaf.form.trees
        for leaf in leaves_of(way, take_rows(rows, slice(0, 1)))
        if isinstance(leaf.form, Trees)
    ]
    visits = sum(
        count_costs(ensemble, np.arange(ensemble.n_features)).visits
        for ensemble in trees
    )
    if isinstance(way.form, Logistic):  # its waves cost as much as some visits
        p = explainer.players_.n_players
        visits = VISITS_OF_A_FACTOR * p * n_nodes(p)
    n = max(LEAST_ROWS, int(MOST_ROWS * min(1.0, MOST_VISITS / max(visits, 1.0))))
    if n_rows(rows) <= n:
        return rows, weights
    predictions = way.form.predict(way.form.background_)
    sample = herd(
        rows, n, predictions=predictions, sample_weight=weights, random_state=0
    )
    return sample, np.full(n, 1 / n)
