"""The rounded numbers of a report: the data, the truth, and the strongest features first."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit

from skshapley._records._selection import paths_of, summed
from skshapley._records._summary import gap_shows
from skshapley._report._facts import facts, is_logit, parameters
from skshapley._tables import number, ordered_numbers, shorten
from skshapley.explanation import Explanation
from skshapley.plots._common import (
    adding_up,
    ends_of,
    numbers_of_outputs,
    response_name,
)
from skshapley.plots._partners import strongest_partners
from skshapley.rewards._methods import BY_CLASS

# Numbers in a script are doubles: larger integers would lose their last digits
LARGEST_INTEGER = 2**53
DATA_DIGITS = 10
# 50,000 attributions take .43 MB with six digits, and .96 MB with 17.
VALUE_DIGITS = 6
ERROR_DIGITS = 3
TEXT_LETTERS = 120


def rounded(numbers: NDArray[np.float64], digits: int) -> list[float | None]:
    """Return numbers with few significant digits, short in JSON; None for NaN and infinity."""
    short = [float(f"{x:.{digits}g}") for x in numbers.tolist()]
    # whole numbers as integers: "2" is shorter than "2.0" and "-0.0"
    return [
        None
        if not np.isfinite(x)
        else int(x)
        if x.is_integer() and abs(x) <= LARGEST_INTEGER
        else x
        for x in short
    ]


def column(data: pd.Series) -> dict[str, Any]:
    """Return a column of the data for the page.

    Returns
    -------
    column : dict
        Numbers and dates: ``kind`` ("number", or "date" in seconds), ``x`` (None
        without a finite number) and ``ends``, the limits of the colours. Infinite
        values are in ``texts``, by row. Other columns: ``kind`` "text", ``names``,
        ``codes`` (-1 for missing values) and whether the names are ``ordered``.
    """
    if pd.api.types.is_datetime64_any_dtype(data):
        # Readers expect the local time of their data.
        clock = data.dt.tz_localize(None) if data.dt.tz is not None else data
        seconds = clock.astype("datetime64[ms]").astype("int64").to_numpy() / 1e3
        return _ordered_column("date", np.where(data.isna(), np.nan, seconds))
    if pd.api.types.is_bool_dtype(data):
        return _texts(data, [False, True], ordered=True)
    if isinstance(data.dtype, pd.CategoricalDtype):
        return _texts(data, list(data.cat.categories), ordered=bool(data.cat.ordered))
    numbers = ordered_numbers(data)
    unordered = np.isnan(numbers).all() or pd.api.types.is_timedelta64_dtype(data)
    # Integers that exceed doubles, such as long keys, are texts.
    ends = (data.min(), data.max()) if pd.api.types.is_integer_dtype(data) else ()
    if unordered or any(abs(int(end)) > LARGEST_INTEGER for end in ends):
        texts = [text(value) for value in data]
        return _texts(
            pd.Series(texts, dtype=object),
            sorted({value for value in texts if value is not None}),
            ordered=False,
        )
    return _ordered_column("number", numbers)


def text(value: Any) -> str | None:
    """Return any value as a text of at most 120 letters, or None if it is missing."""
    # `isna` of a list is an array
    return None if pd.isna(value) is True else shorten(value, TEXT_LETTERS)


def _ordered_column(kind: str, numbers: NDArray[np.float64]) -> dict[str, Any]:
    return {
        "kind": kind,
        "x": rounded(numbers, DATA_DIGITS if kind == "number" else 17),
        "ends": rounded(np.array(ends_of(numbers)), DATA_DIGITS),
        "texts": {
            str(row): "∞" if numbers[row] > 0 else "−∞"
            for row in np.flatnonzero(np.isinf(numbers))
        },
    }


def _texts(data: pd.Series, names: list, ordered: bool) -> dict[str, Any]:
    return {
        "kind": "text",
        "names": [text(name) for name in names],
        "codes": pd.Categorical(data, names).codes.tolist(),
        "ordered": ordered,
    }


def truth(explanation: Explanation, y: Any, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return the true labels of some rows, and the error of the model over all rows.

    Parameters
    ----------
    explanation : Explanation
    y : array-like of shape (r,)
    rows : ndarray of shape (n,), int
        The shown rows.

    Returns
    -------
    truth : dict
        The labels as ``texts``; ``errors``, by which the shown rows are sorted: the
        probability of the other classes, or the size of the difference; and ``fact``,
        the error of the model in words.

    Raises
    ------
    ValueError
        For another number of labels than rows, or labels that the predictions do not
        belong to.
    """
    labels = np.asarray(y)
    if labels.shape != (len(explanation),):
        raise ValueError(
            f"Explanation.report takes y with one label for each of the"
            f" {len(explanation)} rows; got shape {labels.shape}."
        )
    shares = _shares(explanation, labels)
    if shares is not None:
        errors = 1 - shares
        fact = (
            f"the true class has less than 50 % in {np.mean(shares < 0.5):.1%} of rows"
        )
    elif (
        labels.dtype.kind in "biuf"
        and np.ndim(explanation.predictions) == 1
        and explanation.settings.response_method not in BY_CLASS
    ):
        errors = np.abs(explanation.predictions - labels)
        rmse = np.sqrt(np.mean(errors**2))
        fact = f"{number(errors.mean())} (mean size), {number(rmse)} (root mean square)"
    else:
        raise ValueError(
            "Explanation.report takes y as the classes that the explanation has, or as"
            f" numbers to compare with its predictions; got {labels[:3].tolist()}: pass"
            " labels of the explained response."
        )
    return {
        "texts": [text(label) or "missing" for label in labels[rows]],
        "errors": rounded(errors[rows], VALUE_DIGITS),
        "shares": shares is not None,
        "fact": fact,
    }


def _shares(
    explanation: Explanation,
    labels: NDArray[Any],
) -> NDArray[np.float64] | None:
    """Return the probability of each row's true class, or None without probabilities."""
    settings = explanation.settings
    scores = np.asarray(explanation.predictions)
    method = settings.response_method
    if settings.explained_class is not None and method in ("predict_proba", "log_odds"):
        share = expit(scores) if method == "log_odds" else scores
        return np.where(labels == settings.explained_class, share, 1 - share)
    names = explanation.output_names
    if names is None or method != "predict_proba":
        return None
    places = {name: place for place, name in enumerate(names.tolist())}
    if not {*labels.tolist()} <= {*places}:
        return None
    return scores[np.arange(len(scores)), [places[label] for label in labels.tolist()]]


SHARED = {"features": "feature_names", "rows": "index", "outputs": "output_names"}


def beside(
    explanation: Explanation,
    other: Any,
    rows: NDArray[np.intp],
    kept: NDArray[np.intp],
) -> list[dict[str, Any]]:
    """Return the differences between two explanations, by output.

    Parameters
    ----------
    explanation, other : Explanation
        Of the same rows and features.
    rows : ndarray of shape (n,), int
        The shown rows.
    kept : ndarray of shape (p',), int
        The shown features.

    Raises
    ------
    ValueError
        If the rows, features or outputs differ.
    """
    for noun, attribute in SHARED.items():
        if not np.array_equal(
            np.array(getattr(explanation, attribute)),
            np.array(getattr(other, attribute, None)),
        ):
            raise ValueError(
                f"Explanation.report got beside with other {noun} than the explanation:"
                " pass an Explanation of the same rows, features and outputs."
            )
    first = adding_up(explanation)
    second = adding_up(other)
    shape = (*first.values.shape[:2], -1)
    values = first.values.reshape(shape)
    other_values = second.values.reshape(shape)
    predictions = second.predictions.reshape(len(second), -1)
    differences = np.abs(other_values - values)
    return [
        {
            "sizes": rounded(
                np.abs(other_values[:, kept, k]).mean(axis=0),
                VALUE_DIGITS,
            ),
            "differences": rounded(differences[:, kept, k].mean(axis=0), VALUE_DIGITS),
            "rows": rounded(differences[rows, :, k].sum(axis=1), VALUE_DIGITS),
            "predictions": rounded(predictions[rows, k], VALUE_DIGITS),
        }
        for k in range(values.shape[2])
    ]


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
    rows = shown_rows(r, r if max_rows is None else min(max_rows, r))
    outputs = _by_output(explanation)
    order = _order(outputs)
    n_kept = len(order) if max_features is None else max_features
    n_kept += n_kept == len(order) - 1  # a single remaining feature is shown as well
    columns = order[:n_kept]
    left_out = order[n_kept:]
    paths = paths_of(explanation, groups)
    left_out = np.array([player for player in left_out if not paths[player]], dtype=int)
    members = _members(paths, columns)
    page_rows = explanation[rows]
    page: dict[str, Any] = {
        "rows": [text(label) or "missing" for label in page_rows.index],
        "n_rows": r if n_rows is None else n_rows,
        "n_explained": r,
        "features": [str(name) for name in explanation.feature_names[columns]],
        "n_features": len(order),
        "n_others": len(left_out),
        "paths": [paths[player] for player in columns],
        "groups": [[path, len(players)] for path, players in members.items()],
        "columns": [column(page_rows.data.iloc[:, player]) for player in columns],
        "places": numbers_of_outputs(explanation),
        "outputs": [_output(whole, rows, columns, left_out) for whole in outputs],
        "names": None
        if explanation.output_names is None
        else [str(name) for name in explanation.output_names],
    }
    if members:
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
    places: dict[Any, int] = {player: place for place, player in enumerate(kept)}
    partners = strongest_partners(page_rows[:, kept], range(len(kept)))
    if len(rest):
        numbers["values"].append(
            rounded(page_rows.values[:, rest].sum(axis=1), VALUE_DIGITS),
        )
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
        # the positions of the features that colour the dependence of each
        "partners": [places.get(partner) for partner in partners],
        "pairs": _pairs(whole, rows, kept),
    }


def _numbers(
    whole: Explanation,
    rows: NDArray[np.intp],
    kept: NDArray[np.intp],
) -> dict[str, Any]:
    """Return the attributions of some rows with their errors, and importances of all rows."""
    page_rows = whole[rows]
    importance = whole.importance().loc[
        kept,
        ["importance", "standard_error", "background_error", "refit_error"],
    ]
    return {
        "values": [rounded(page_rows.values[:, k], VALUE_DIGITS) for k in kept],
        "errors": _errors(page_rows.standard_errors, kept),
        "wider": _errors(page_rows.background_errors, kept),
        "refit": _errors(page_rows.refit_errors, kept),
        "importance": [
            rounded(line, VALUE_DIGITS) for line in importance.to_numpy(dtype=float)
        ],
    }


def _errors(
    errors: NDArray[np.float64] | None,
    kept: NDArray[np.intp],
) -> list[list[float | None]] | None:
    """Return errors by feature; None if all of them are 0 or unknown, without an interval."""
    if errors is None or not (np.nan_to_num(errors[:, kept]) > 0).any():
        return None
    return [rounded(errors[:, player], ERROR_DIGITS) for player in kept]


def _pairs(
    whole: Explanation,
    rows: NDArray[np.intp],
    kept: NDArray[np.intp],
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
