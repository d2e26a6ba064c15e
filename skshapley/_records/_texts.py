"""The text and the HTML of an explanation in a notebook."""

from html import escape

import numpy as np

from skshapley._records._record import Record
from skshapley._records._summary import gap_shows, summary
from skshapley._tools._texts import counted


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
    notes = _background_note(explanation)
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
    n, names = len(explanation.feature_names), explanation.output_names
    left = "" if explanation.others is None else ", others left out"
    outputs = "" if names is None else f", {len(names)} outputs"
    size = f"{counted(len(explanation), 'row')}, {counted(n, 'feature')}"
    return f"Explanation: {size}{left}{outputs}"


def _background_note(explanation: Record) -> list[str]:
    """Return a note if the background error exceeds the method's error."""
    if explanation.background_errors is None or not len(explanation):
        return []
    sampling = _mean(explanation.standard_errors)
    background = _mean(explanation.background_errors)
    if background <= sampling:
        return []
    if not sampling:
        return [f"errors {background:.2g} of the background as a sample"]
    of_sampling = f"errors {sampling:.2g} of sampling, and larger ones, "
    return [f"{of_sampling}{background:.2g}, of the background as a sample"]


def _mean(errors: np.ndarray | None) -> float:
    if errors is None or not np.isfinite(errors).any():
        return 0.0
    return float(np.nanmean(errors))
