"""A panel in a notebook, with values from the kernel for every model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import NOT_FITTED
from skshapley._tables._inputs import as_pandas, take_rows
from skshapley._tables._texts import shorten
from skshapley._what_if._inputs import (
    RawColumn,
    accepted,
    cells_of,
    column_record,
    in_container,
)
from skshapley._what_if._model import probabilities
from skshapley.plots._common import response_name

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
            missing = np.isnan(numbers) if column.number else numbers < 0
            if not column.number:
                codes = np.where(missing, len(column.offered), numbers).astype(int)
                values = column.probes.iloc[codes]
            else:
                values = pd.Series(numbers).astype(column.offered.dtype)
            series.append(values.reset_index(drop=True))
        frame = pd.concat(series, axis=1).set_axis(as_pandas(self.like).columns, axis=1)
        return in_container(frame, self.like)

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return predictions, and the values if the panel asks for them."""
        way = self.explainer._way
        cells, place = request["cells"], request["column"]
        curve = [[*cells[:place], x, *cells[place + 1 :]] for x in request["points"]]
        first = [cells] if request["start"] is None else [cells, request["start"]]
        predictions = way.predictions(self.table([*first, *curve])).tolist()
        answer = {"id": request["id"], "predictions": predictions[0]}
        answer["curve"] = predictions[len(first) :]
        if request["values"]:
            answer |= self._values(cells, request["output"])
        if request["start"] is not None:
            answer["former"] = {"predictions": predictions[1]}
            if request["values"]:
                answer["former"] |= self._values(request["start"], request["output"])
        return answer

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
    columns = [
        RawColumn.of(name, whole.iloc[:, place], rows.iloc[:, place])
        for place, name in enumerate(rows.columns)
    ]
    columns = accepted(explainer._way, columns, whole.iloc[:1], like)
    is_number = [column.number for column in columns]
    explanation = explainer.explain(take_rows(table, slice(0, 1)))
    names = explanation.output_names
    outputs = [explanation] if names is None else map(explanation.output, names)
    content = {
        "columns": [
            column_record(column, number)
            for column, number in zip(columns, is_number, strict=True)
        ],
        "rows": cells_of(columns, is_number, rows),
        "labels": [shorten(label, 120) for label in rows.index],
        "bars": [str(name) for name in explainer.players_.names],
        "names": None if names is None else [str(name) for name in names],
        "responses": [response_name(output) for output in outputs],
        "order": list(range(len(columns))),
        "probabilities": None if background is None else probabilities(explainer),
        "interval": INTERVAL,
    }
    return PanelAnswers(explainer, columns, like), content
