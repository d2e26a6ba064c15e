"""The rounded numbers of a report, with the strongest features first."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._records._selection import paths_of, summed
from skshapley._records._summary import gap_shows
from skshapley._report._beside import beside
from skshapley._report._columns import column, rounded, text
from skshapley._report._facts import facts, is_logit, parameters
from skshapley._report._truth import truth
from skshapley.explanation import Explanation
from skshapley.plots._common import adding_up, numbers_of_outputs, response_name
from skshapley.plots._partners import strongest_partners

# 50,000 attributions take .43 MB with six digits, and .96 MB with 17.
VALUE_DIGITS = 6
ERROR_DIGITS = 3
# Pairs with drawn interactions
MOST_PAIRS = 10


def content(
    explanation: Explanation,
    max_rows: int | None = None,
    max_features: int | None = None,
    n_rows: int | None = None,
    y: Any = None,
    other: Explanation | None = None,
    groups: Any = None,
) -> dict[str, Any]:
    """Return the page's content as lists and dicts.

    Parameters
    ----------
    explanation : Explanation
    max_rows, max_features : int or None
        As in `Explanation.report`.
    n_rows : int, default=None
        The number of rows behind a sampled explanation.
    y : array-like of shape (r,), default=None
        True labels.
    other : Explanation, default=None
        An explanation of the same rows.
    groups : dict, default=None
        As in `Explanation.folded`.

    Returns
    -------
    content : dict
        Features and columns are sorted by the largest share of a feature in any output.
        Attributions are lists by feature, over all rows; the sum of the other features
        is one more.
    """
    original = explanation
    explanation = adding_up(explanation)
    r = len(explanation)
    n = r if max_rows is None else min(max_rows, r)
    rows = shown_rows(r, n)
    outputs = _by_output(explanation)
    order = _order(outputs)
    n_kept = len(order) if max_features is None else max_features
    n_kept += n_kept == len(order) - 1  # a single remaining feature is shown as well
    columns, left_out = order[:n_kept], order[n_kept:]
    paths = paths_of(explanation, groups or {})
    left_out = np.array([player for player in left_out if not paths[player]], dtype=int)
    page_rows = explanation[rows]
    page: dict[str, Any] = {
        "rows": [text(label) or "missing" for label in page_rows.index],
        "n_rows": r if n_rows is None else n_rows,
        "n_explained": r,
        "features": [str(name) for name in explanation.feature_names[columns]],
        "n_features": len(order),
        "n_others": len(left_out),
        "columns": [column(page_rows.data.iloc[:, player]) for player in columns],
        "places": numbers_of_outputs(explanation),
        "outputs": [_output(whole, rows, columns, left_out) for whole in outputs],
        "names": None
        if explanation.output_names is None
        else [str(name) for name in explanation.output_names],
    }
    members = _members(paths, columns)
    if members:
        page["paths"] = [paths[player] for player in columns]
        page["groups"] = [[path, len(players)] for path, players in members.items()]
        sums = summed(explanation, list(range(len(members))), list(members.values()))
        for output, part in zip(page["outputs"], _by_output(sums), strict=True):
            output["groups"] = _numbers(part, rows, np.arange(len(members)))
    if y is not None:
        page["truth"] = truth(original, y, rows)
        for output in page["outputs"]:
            output["facts"].insert(2, ["Error of the model", page["truth"]["fact"]])
    if other is not None:
        page["beside"] = beside(original, other, rows, columns)
    return page


def _members(paths: list[tuple], columns: NDArray[np.intp]) -> dict[tuple, list[int]]:
    """Return the features of each group by its path, a group before those within it.

    The members of a group that are not among the shown columns are a group called None.
    """
    members: dict[tuple, list[int]] = {}
    for player, path in enumerate(paths):
        nodes = [path[:length] for length in range(1, len(path) + 1)]
        if path and player not in columns:
            nodes.append((*path, None))
        for node in nodes:
            members.setdefault(node, []).append(player)
    return members


def shown_rows(r: int, n: int) -> NDArray[np.intp]:
    """Return the positions of n of r rows, evenly spread without rounding; the first is shown."""
    return np.arange(n) * r // n


def _by_output(explanation: Explanation) -> list[Explanation]:
    """Return an explanation of each output, with features identified by position."""
    positions = np.arange(len(explanation.feature_names))
    pairs = explanation.interactions
    numbered = replace(
        explanation,
        feature_names=positions,
        interactions=None if pairs is None else replace(pairs, feature_names=positions),
    )
    names = explanation.output_names
    return [numbered] if names is None else [numbered.output(name) for name in names]


def _order(outputs: list[Explanation]) -> NDArray[np.intp]:
    """Return the positions of the features, ``(p,)``, the largest share of any output first."""
    sizes = np.array([np.abs(output.values).mean(axis=0) for output in outputs])
    total = sizes.sum(axis=1, keepdims=True)
    shares = np.divide(sizes, total, out=np.zeros_like(sizes), where=total > 0)
    return np.argsort(-shares.max(axis=0), kind="stable")


def _output(
    whole: Explanation,
    rows: NDArray[np.intp],
    kept: NDArray[np.intp],
    rest: NDArray[np.intp],
) -> dict[str, Any]:
    """Return the numbers of one output: importances of all rows, and attributions of some."""
    page_rows = whole[rows]
    numbers = _numbers(whole, rows, kept)
    if len(rest):
        sums = page_rows.values[:, rest].sum(axis=1)
        numbers["values"].append(rounded(sums, VALUE_DIGITS))
    return {
        **numbers,
        "response": response_name(whole),
        "facts": facts(whole),
        "parameters": parameters(whole),
        "logit": is_logit(whole),
        "base": rounded(page_rows.base_values, VALUE_DIGITS),
        "predictions": rounded(page_rows.predictions, VALUE_DIGITS),
        "gap": gap_shows(page_rows),
        "others": float(np.abs(whole.values[:, rest].sum(axis=1)).mean()),
        "partners": _partners(page_rows, kept),
        "pairs": _pairs(whole, rows, kept),
    }


def _numbers(
    whole: Explanation, rows: NDArray[np.intp], kept: NDArray[np.intp]
) -> dict[str, Any]:
    """Return the attributions of some rows with their errors, and importances of all rows."""
    page_rows = whole[rows]
    return {
        "values": _by_feature(page_rows.values[:, kept], VALUE_DIGITS),
        "errors": _errors(page_rows.standard_errors, kept),
        "wider": _errors(page_rows.background_errors, kept),
        "refit": _errors(page_rows.refit_errors, kept),
        "importance": _importance(whole, kept),
    }


def _by_feature(numbers: NDArray[np.float64], digits: int) -> list[list[float | None]]:
    return [rounded(numbers[:, player], digits) for player in range(numbers.shape[1])]


def _errors(
    errors: NDArray[np.float64] | None, kept: NDArray[np.intp]
) -> list[list[float | None]] | None:
    """Return errors by feature; None if all of them are 0 or unknown, without an interval."""
    if errors is None or not (np.nan_to_num(errors[:, kept]) > 0).any():
        return None
    return _by_feature(errors[:, kept], ERROR_DIGITS)


def _importance(whole: Explanation, kept: NDArray[np.intp]) -> list[list[float | None]]:
    """Return the mean size and its errors, for each shown feature."""
    frame = whole.importance().loc[kept]
    names = ["importance", "standard_error", "background_error", "refit_error"]
    return [rounded(line, VALUE_DIGITS) for line in frame[names].to_numpy(dtype=float)]


def _partners(shown: Explanation, kept: NDArray[np.intp]) -> list[int | None]:
    """Return, for each shown feature, the position of the feature that colours its dependence."""
    places: dict[Any, int] = {player: place for place, player in enumerate(kept)}
    partners = strongest_partners(shown[:, kept], range(len(kept)))
    return [places.get(partner) for partner in partners]


def _pairs(
    whole: Explanation, rows: NDArray[np.intp], kept: NDArray[np.intp]
) -> list[dict[str, Any]]:
    """Return the strongest pairs of shown features, with their interactions row by row."""
    if whole.interactions is None:
        return []
    places = {int(player): place for place, player in enumerate(kept)}
    values = whole.interactions[rows].values
    sizes = whole.interactions.importance()[["importance", "standard_error"]]
    strongest = sizes[[set(pair) <= places.keys() for pair in sizes.index]].head(
        MOST_PAIRS
    )
    return [
        {
            "features": [places[first], places[second]],
            "importance": rounded(np.array(size), VALUE_DIGITS),
            "values": rounded(values[:, first, second], VALUE_DIGITS),
        }
        for (first, second), *size in strongest.itertuples()
    ]
