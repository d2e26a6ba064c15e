"""A fitted explainer as the model of a page that computes, or of a panel in a notebook."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import NOT_FITTED
from skshapley._tables import MixedColumnsError, as_pandas, n_rows, shorten, take_rows
from skshapley._trees._costs import count_costs
from skshapley._what_if._inputs import (
    RawColumn,
    accepted,
    cells_of,
    check_terms,
    encode,
    in_container,
    leaves_of,
)
from skshapley._what_if._terms import n_nodes
from skshapley.background import herd
from skshapley.closed_forms import Logistic, Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.plots._common import response_name
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
    model = explainer.estimator
    way = explainer._way
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
                return {"kind": kind, "names": [str(name) for name in classes[::step]]}
    return None


# Background rows of a page, and the fewest; fewer than the first if a pair of rows
# visits more nodes than in 100 trees of depth 6, so that a move takes 50 ms
MOST_ROWS = 100
LEAST_ROWS = 10
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
    way = explainer._way
    players = explainer.players_
    background = explainer.background_
    if way.form is None:
        return way.labels.settings.why_sampled or "its values are sampled"
    if background is None or sparse.issparse(background):
        return "its background is not a dense table"
    if players.n_players < len(players.column_player) or players.levels is not None:
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
    columns, terms = encode(way, columns, sample.iloc[:1], like)
    for table in (sample, rows):
        check_terms(terms, columns, way, table, like)
    names = way.labels.output_names
    return {
        "columns": [column.record() for column in columns],
        "terms": [
            term.record
            | {"inputs": [e.record(columns[e.source].linear) for e in term.encoders]}
            for term in terms
        ],
        "rows": cells_of(columns, rows),
        "background": cells_of(columns, sample),
        "weights": weights.tolist(),
        "n_background": n_rows(like),
        "n_outputs": way.form.n_outputs,
        "names": None if names is None else [str(name) for name in names],
        "probabilities": probabilities(explainer),
    }


def _representatives(explainer: Any, way: Any) -> tuple[Any, np.ndarray]:
    """Return all rows of a small background, or rows that resemble it, and the weights."""
    rows = explainer.background_
    weights = explainer.background_weights_
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
    sample = herd(
        rows,
        n,
        predictions=way.form.predict(way.form.background_),
        sample_weight=weights,
        random_state=0,
    )
    return sample, np.full(n, 1 / n)


INTERVAL = (
    " for sampling and for the choice of background rows, as far as they are known."
)


@dataclass(frozen=True, eq=False)
class PanelAnswers:
    """The answers of an explainer to the requests of a panel.

    Attributes
    ----------
    explainer : ShapleyExplainer or TreeExplainer
    columns : list of RawColumn
    like : array or frame
        The container of rows.
    """

    explainer: Any
    columns: list[RawColumn]
    like: Any

    def table(self, rows: list[list[float | None]]) -> Any:
        """Return rows of cells, numbers or codes, as the model's input."""
        series = []
        for column, cells in zip(self.columns, zip(*rows, strict=True), strict=True):
            numbers = np.array(cells, dtype=float)
            if column.number:
                values = pd.Series(numbers).astype(column.offered.dtype)
            else:
                codes = np.where(numbers < 0, len(column.offered), numbers).astype(int)
                values = column.probes.iloc[codes]
            series.append(values.reset_index(drop=True))
        return in_container(
            pd.concat(series, axis=1).set_axis(as_pandas(self.like).columns, axis=1),
            self.like,
        )

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return predictions, and the values if the panel asks for them."""
        cells = request["cells"]
        place = request["column"]
        curve = [[*cells[:place], x, *cells[place + 1 :]] for x in request["points"]]
        rows = [cells] if request["start"] is None else [cells, request["start"]]
        predictions = self.explainer._way.predictions(
            self.table([*rows, *curve]),
        ).tolist()
        states: list[dict[str, Any]] = [
            {"predictions": prediction}
            | (self._values(row, request["output"]) if request["values"] else {})
            for row, prediction in zip(rows, predictions, strict=False)
        ]
        answer = {"id": request["id"], "curve": predictions[len(rows) :], **states[0]}
        return answer if len(rows) == 1 else answer | {"former": states[1]}

    def _values(self, cells: list, output: int) -> dict[str, Any]:
        """Return the values of a row, their standard errors and the base value."""
        way = self.explainer._way
        table = self.explainer._table(self.table([cells]))
        explanation = way.explain(table, self.explainer.n_jobs, False)
        errors = explanation.background_errors
        if way.form is not None and way.reward is not None:
            errors = way.background_errors(table, self.explainer.n_jobs)
        p = len(explanation.feature_names)
        squares = np.zeros((p, explanation.values.size // p))
        for part in (explanation.standard_errors, errors):
            if part is not None:
                squares += np.nan_to_num(part).reshape(squares.shape) ** 2
        return {
            "values": explanation.values.reshape(squares.shape)[:, output].tolist(),
            "errors": np.sqrt(squares[:, output]).tolist(),
            "base": float(np.ravel(explanation.base_values)[output]),
        }


def panel_content(explainer: Any, X: Any) -> tuple[PanelAnswers, dict[str, Any]]:
    """Return the kernel of a panel, and the rows, columns and names that it shows."""
    check_is_fitted(explainer, "_way", msg=NOT_FITTED)
    if not explainer.players_.n_players or sparse.issparse(X):
        kind = "a sparse matrix" if sparse.issparse(X) else "documents"
        raise ValueError(
            f"{type(explainer).__name__}.widget got {kind}, and changes the columns of"
            " tables: pass rows of a dense table."
        )
    background = explainer.background_
    table = explainer._table(X)
    rows = as_pandas(table)
    like = table if background is None else background
    whole = as_pandas(like)
    columns = accepted(
        explainer._way,
        [
            RawColumn.of(name, whole.iloc[:, place], rows.iloc[:, place])
            for place, name in enumerate(rows.columns)
        ],
        whole.iloc[:1],
        like,
    )
    explanation = explainer.explain(take_rows(table, slice(0, 1)))
    names = explanation.output_names
    outputs = [explanation] if names is None else map(explanation.output, names)
    content = {
        "columns": [column.record() for column in columns],
        "rows": cells_of(columns, rows),
        "labels": [shorten(label, 120) for label in rows.index],
        "bars": [str(name) for name in explainer.players_.names],
        "names": None if names is None else [str(name) for name in names],
        "responses": [response_name(output) for output in outputs],
        "order": list(range(len(columns))),
        "probabilities": None if background is None else probabilities(explainer),
        "interval": INTERVAL,
    }
    return PanelAnswers(explainer, columns, like), content
