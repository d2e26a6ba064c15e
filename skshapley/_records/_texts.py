"""The text and the HTML of an explanation in a notebook."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from skshapley._records._gap import gap_shows
from skshapley._records._outcome import Settings
from skshapley._tools._texts import counted

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation

MOST_SHOWN = 10
BAR = '<div style="width:{:.1f}em;height:.8em;background:#3b78b4"></div>'


def as_text(explanation: "Explanation") -> str:
    """Return the repr."""
    gap = _largest_gap(explanation)
    gap = gap and f"; efficiency gap up to {gap}"
    warning = _background_note(explanation)
    hint = _exact_response(explanation.settings)
    better = "" if hint is None else f"; response_method={hint!r} would be exact"
    told = f"{explanation.settings.method}{better}{gap}{warning and f'; {warning}'}"
    return f"<{_title(explanation)}; {told}>"


def as_html(explanation: "Explanation") -> str:
    """Return the method and a table of the most important players as HTML, names escaped."""
    settings, n = explanation.settings, len(explanation)
    frame = explanation.importance()[["importance", "standard_error"]].head(MOST_SHOWN)
    frame = frame.reset_index()
    titles = "".join(f"<th>{escape(title)}</th>" for title in (*frame.columns, ""))
    longest = frame["importance"].max() or 1.0
    lines = ""
    for _, *line in frame.itertuples():
        cells = (f"{v:.4g}" if isinstance(v, float) else escape(str(v)) for v in line)
        bar = BAR.format(10 * np.nan_to_num(line[-2] / longest))
        lines += f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}<td>{bar}</td></tr>"
    facts = {"method": settings.method}
    if n and np.any(rows := np.nan_to_num(explanation.n_model_rows)):
        facts["model rows for each row"] = f"{rows.mean():,.0f}"
    if explanation.converged.any() and not explanation.converged.all():
        facts["converged"] = f"{explanation.converged.sum()} of {n}"
    if warning := _background_note(explanation):
        facts["errors"] = warning.removeprefix("errors ")
    if (hint := _exact_response(settings)) is not None:
        facts["exact response"] = f"response_method={hint!r}"
    if gap := _largest_gap(explanation):
        facts["largest efficiency gap"] = gap
    told = ", ".join(f"{key}: {escape(str(value))}" for key, value in facts.items())
    head, table = f"<b>{escape(_title(explanation))}</b><br>{told}", "<table><thead><tr>"
    return f"<div>{head}{table}{titles}</tr></thead><tbody>{lines}</tbody></table></div>"


def _exact_response(settings: Settings) -> str | None:
    """Return the response that would be exact, unless the values are exact already."""
    return None if settings.method.startswith("exact") else settings.exact_response


def _title(explanation: "Explanation") -> str:
    n, names = len(explanation.feature_names), explanation.output_names
    left = "" if explanation.others is None else ", others left out"
    outputs = "" if names is None else f", {len(names)} outputs"
    return (
        f"Explanation: {counted(len(explanation), 'row')}, {counted(n, 'feature')}{left}{outputs}"
    )


def _largest_gap(explanation: "Explanation") -> str:
    """Return the largest efficiency gap as a text, where it is more than rounding; else ""."""
    full = explanation.predictions
    full = full if explanation.others is None else full - explanation.others
    if not gap_shows(explanation.values, explanation.base_values, full):
        return ""
    return f"{np.abs(explanation.efficiency_gap).max():.4g}"


def _background_note(explanation: "Explanation") -> str:
    """Return a note if the background error exceeds the method's error."""
    if explanation.background_errors is None or not len(explanation):
        return ""
    errors = explanation.standard_errors
    method = np.zeros(1) if errors is None else errors
    own, apart = (
        float(np.nanmean(e)) if np.isfinite(e).any() else 0.0
        for e in (method, explanation.background_errors)
    )
    if apart <= own:
        return ""
    return (
        f"errors {own:.2g} of sampling, and larger ones, {apart:.2g}, of the background as a sample"
    )
