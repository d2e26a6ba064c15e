"""Texts and tables of an explanation for notebooks and terminals."""

from html import escape
from itertools import zip_longest
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._records._importance import errors_of, unsorted_importance
from skshapley._records._outcome import Record
from skshapley._records._selection import chosen
from skshapley._tables import LEFT_OUT, MINUS, UNEXPLAINED, Piece, number, value_text
from skshapley._tools import counted

MOST_FEATURES = 10
FEW_ROWS = 5
# Each row and output has a column of signed values; more are hard to compare.
MOST_COLUMNS = 6
DIGITS = 3  # significant digits of the largest number of a column
# Sampled values of a boosted model left 1e-15 of the prediction. Numbers in single
# precision, as from other packages, leave about 1e-7.
NEGLIGIBLE = 1e-6  # share of the largest value or end: smaller gaps are rounding errors
OF_CLASSES = (
    "predict_proba",
    "predict_log_proba",
    "decision_function",
    "log_odds",
)


def summary(explanation: Record) -> tuple[pd.DataFrame, list[str]]:
    """Return a table of texts, features by size, and notes on omitted lines.

    One row: its data and signed values with their errors, from the prediction to the
    base value. A few rows: their signed values. More rows: importances.
    """
    notes = []
    strongest = explanation
    names = explanation.output_names
    if names is not None and len(names) > MOST_COLUMNS:
        notes.append(f"the {MOST_COLUMNS} strongest of {len(names)} outputs")
        sizes = np.abs(explanation.values).mean(axis=0).sum(axis=0)
        places = np.sort(np.argsort(-sizes, kind="stable")[:MOST_COLUMNS])
        strongest = chosen(explanation, (slice(None), slice(None), places))
    order = np.argsort(-overall_sizes(strongest), kind="stable")
    places = order[:MOST_FEATURES]
    if len(order) > len(places):
        notes.append(f"the {len(places)} strongest of {len(order)} features")
    if len(strongest) == 1 or (
        len(strongest) <= FEW_ROWS and strongest.base_values.size <= MOST_COLUMNS
    ):
        return _signed_table(strongest, places), notes
    return _importance_table(chosen(strongest, (slice(None), places))), notes


def gap_shows(explanation: Record) -> bool:
    """Return True if any efficiency gap exceeds rounding."""
    ends = np.fmax(np.abs(explanation.base_values), np.abs(explanation.predictions))
    largest = np.fmax(np.abs(explanation.values).max(axis=1, initial=0.0), ends)
    return bool((np.abs(explanation.efficiency_gap) > NEGLIGIBLE * largest).any())


def kind_of_outputs(explanation: Any) -> str:
    """Return "class " if the outputs are classes, for titles."""
    settings = getattr(explanation, "settings", None)
    return "class " if getattr(settings, "response_method", None) in OF_CLASSES else ""


def overall_sizes(explanation: Record) -> NDArray[np.float64]:
    """Return the mean absolute attribution of each feature, summed over outputs, ``(p,)``."""
    sizes = np.abs(explanation.values).mean(axis=0)
    return sizes if sizes.ndim == 1 else sizes.sum(axis=1)


def _titles(explanation: Record) -> list[str]:
    """Return the titles of the outputs; an empty one for a single output."""
    names = explanation.output_names
    kind = kind_of_outputs(explanation)
    return [
        name if isinstance(name, str) else f"{kind}{name}"
        for name in ([""] if names is None else names)
    ]


def _signed_table(explanation: Record, kept: NDArray[np.intp]) -> pd.DataFrame:
    """Return the values of single rows: a column for each row and output."""
    values = explanation.values
    parts = [
        (str(name), values[:, place])
        for name, place in zip(explanation.feature_names[kept], kept, strict=True)
    ]
    if n_folded := values.shape[1] - len(kept):
        remainder = values.sum(axis=1) - values[:, kept].sum(axis=1)
        parts.append((counted(n_folded, "other feature"), remainder))
    if explanation.others is not None:
        parts.append((LEFT_OUT, explanation.others))
    if gap_shows(explanation):
        parts.append((UNEXPLAINED, explanation.efficiency_gap))
    lines = ["prediction", *(name for name, _ in parts), "base value"]
    # for each row and output, in this order
    value_columns = map(
        _signed_texts,
        explanation.predictions.ravel(),
        explanation.base_values.ravel(),
        *(part.ravel() for _, part in parts),
    )
    alone = len(explanation) == 1
    titles = _titles(explanation)
    labels = [""] if alone else [str(label) for label in explanation.index]
    places = [(label, title) for label in labels for title in titles]
    names = [", ".join(filter(None, place)) or "value" for place in places]
    columns = dict(zip(names, value_columns, strict=True))
    if alone and explanation.output_names is not None:
        # a single output has columns of errors
        for name, output_errors in zip(
            names,
            errors_of(explanation)[0, kept].T,
            strict=True,
        ):
            pairs = zip_longest(
                columns[name],
                ["", *_plus_minus(output_errors)],
                fillvalue="",
            )
            columns[name] = [" ".join(pair).rstrip() for pair in pairs]
    if not alone:
        return pd.DataFrame(columns, index=lines)
    texts = [
        "" if cell is None or isinstance(cell, Piece) else value_text(cell)
        for cell in explanation.data.iloc[0, kept]
    ]
    details = {"data": texts}
    if explanation.output_names is None:
        for kind in ("standard_errors", "background_errors", "refit_errors"):
            name = kind.removesuffix("s").replace("_", " ")
            details[name] = _plus_minus(errors_of(explanation, kind)[0, kept])
    padded = {
        name: ["", *texts, *[""] * (len(lines) - len(texts) - 1)]
        for name, texts in details.items()
        if any(texts)
    }
    data = {"data": padded.pop("data", [""] * len(lines))}
    return pd.DataFrame(data | columns | padded, index=lines)


def _signed_texts(prediction: float, base_value: float, *values: float) -> list[str]:
    """Return the prediction, values with their signs, and the base value as texts."""
    largest = np.abs(values)[np.isfinite(values)].max(initial=0.0)
    # the decimals that give the largest number three digits; None for extremes
    decimals = None
    if 1e-4 <= largest < 1e6:
        decimals = max(0, DIGITS - 1 - int(np.floor(np.log10(largest))))
    return [
        _fixed(prediction, decimals, ""),
        *(_fixed(value, decimals, "+") for value in values),
        _fixed(base_value, decimals, ""),
    ]


def _fixed(value: float, decimals: int | None, sign: str) -> str:
    if decimals is None or not np.isfinite(value):
        return _text(value, signed=bool(sign))
    rounded = round(float(value), decimals) + 0.0  # without the sign of -0.0
    return f"{rounded:{sign if rounded else ''}.{decimals}f}".replace("-", MINUS)


def _importance_table(explanation: Record) -> pd.DataFrame:
    """Return the importances of features: a column for each output, or for each error."""
    columns: dict[str, list[str]] = {}
    whole = unsorted_importance(explanation)
    p = len(explanation.feature_names)
    for place, title in enumerate(_titles(explanation)):
        table = whole.iloc[place * p : (place + 1) * p]
        texts = {
            "importance": [_text(size) for size in table["importance"]],
            "standard error": _plus_minus(table["standard_error"]),
            "background error": _plus_minus(table["background_error"]),
            "refit error": _plus_minus(table["refit_error"]),
            "direction": [_text(rho, signed=True) for rho in table["direction"]],
            "direction error": _plus_minus(table["direction_error"]),
        }
        if title:
            pairs = zip(texts["importance"], texts["standard error"], strict=True)
            texts = {title: [" ".join(pair) for pair in pairs]}
        columns |= {name: column for name, column in texts.items() if any(column)}
    return pd.DataFrame(
        columns,
        index=[str(name) for name in explanation.feature_names],
    )


def _plus_minus(errors: Any) -> list[str]:
    """Return errors as texts: empty if all are 0 or unknown."""
    if not np.nan_to_num(errors).any():
        return [""] * len(errors)
    return [f"± {_text(error, digits=2)}" if error >= 0 else "" for error in errors]


def _text(value: float, **how: Any) -> str:
    return number(value, **how) if np.isfinite(value) else ""


def as_text(explanation: Record) -> str:
    """Return the repr: the method, and a table of values or importances."""
    head = f"<{_title(explanation)}; {'; '.join(_sentences(explanation))}>"
    if not len(explanation):
        return head
    table, notes = summary(explanation)
    return "\n".join([head, table.to_string(), *notes])


def as_html(explanation: Record) -> str:
    """Return the method and a table of values or importances as HTML, names escaped."""
    facts = _sentences(explanation)
    n_model_rows = np.nan_to_num(explanation.n_model_rows)
    if n_model_rows.any():
        facts.append(f"{n_model_rows.mean():,.0f} model rows for each row")
    if explanation.converged.any() and not explanation.converged.all():
        facts.append(
            f"{explanation.converged.sum()} of {len(explanation)} rows converged"
        )
    head = f"<b>{escape(_title(explanation))}</b><br>{escape('; '.join(facts))}"
    if not len(explanation):
        return f"<div>{head}</div>"
    table, notes = summary(explanation)
    return f"<div>{head}{table.to_html(border=0)}{escape('; '.join(notes))}</div>"


def _sentences(explanation: Record) -> list[str]:
    """Return the method, and the warnings about the values."""
    settings = explanation.settings
    notes = []
    sampling = _mean(explanation.standard_errors)
    background = _mean(explanation.background_errors)
    if background > sampling > 0:
        notes.append(
            f"errors {sampling:.2g} of sampling, and larger ones, {background:.2g}, of "
            "the background as a sample"
        )
    elif background > sampling:
        notes.append(f"errors {background:.2g} of the background as a sample")
    # Another background would change the values.
    scope = "exact for this background" if notes else "exact"
    sentences = [settings.method.replace("exact", scope, 1)]
    better = settings.exact_response
    if better is not None and not settings.method.startswith("exact"):
        sentences.append(f"response_method={better!r} would be exact")
    if gap_shows(explanation):
        sentences.append(
            f"efficiency gap up to {np.abs(explanation.efficiency_gap).max():.4g}"
        )
    return [*sentences, *notes]


def _title(explanation: Record) -> str:
    n = len(explanation.feature_names)
    names = explanation.output_names
    left = "" if explanation.others is None else ", others left out"
    outputs = "" if names is None else f", {len(names)} outputs"
    size = f"{counted(len(explanation), 'row')}, {counted(n, 'feature')}"
    return f"Explanation: {size}{left}{outputs}"


def _mean(errors: np.ndarray | None) -> float:
    if errors is None or not np.isfinite(errors).any():
        return 0.0
    return float(np.nanmean(errors))
