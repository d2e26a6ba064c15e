"""The text and the HTML of an explanation in a notebook."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from skshapley._records._gap import gap_shows
from skshapley._tools._texts import counted

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation

MOST_SHOWN = 10
BAR = '<div style="width:{:.1f}em;height:.8em;background:#3b78b4"></div>'


def as_text(explanation: "Explanation") -> str:
    """Return the repr."""
    return f"<{_title(explanation)}; {'; '.join(_sentences(explanation))}>"


def as_html(explanation: "Explanation") -> str:
    """Return the method and a table of the most important players as HTML, names escaped."""
    frame = explanation.importance()[["importance", "standard_error"]].head(MOST_SHOWN)
    frame = frame.reset_index()
    titles = "".join(f"<th>{escape(title)}</th>" for title in (*frame.columns, ""))
    longest = frame["importance"].max() or 1.0
    lines = ""
    for _, *line in frame.itertuples():
        cells = (f"{v:.4g}" if isinstance(v, float) else escape(str(v)) for v in line)
        bar = BAR.format(10 * np.nan_to_num(line[-2] / longest))
        lines += f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}<td>{bar}</td></tr>"
    facts = _sentences(explanation)
    if len(explanation) and np.any(rows := np.nan_to_num(explanation.n_model_rows)):
        facts.append(f"{rows.mean():,.0f} model rows for each row")
    if explanation.converged.any() and not explanation.converged.all():
        facts.append(f"{explanation.converged.sum()} of {len(explanation)} rows converged")
    head = f"<b>{escape(_title(explanation))}</b><br>{escape('; '.join(facts))}"
    table = f"<table><thead><tr>{titles}</tr></thead><tbody>{lines}</tbody></table>"
    return f"<div>{head}{table}</div>"


def _sentences(explanation: "Explanation") -> list[str]:
    """Return the method, and the warnings about the values."""
    settings = explanation.settings
    found, better = [settings.method], settings.exact_response
    if better is not None and not settings.method.startswith("exact"):
        found.append(f"response_method={better!r} would be exact")
    full = explanation.predictions
    full = full if explanation.others is None else full - explanation.others
    if gap_shows(explanation.values, explanation.base_values, full):
        found.append(f"efficiency gap up to {np.abs(explanation.efficiency_gap).max():.4g}")
    return [*found, *_background_note(explanation)]


def _title(explanation: "Explanation") -> str:
    n, names = len(explanation.feature_names), explanation.output_names
    left = "" if explanation.others is None else ", others left out"
    outputs = "" if names is None else f", {len(names)} outputs"
    return (
        f"Explanation: {counted(len(explanation), 'row')}, {counted(n, 'feature')}{left}{outputs}"
    )


def _background_note(explanation: "Explanation") -> list[str]:
    """Return a note if the background error exceeds the method's error."""
    if explanation.background_errors is None or not len(explanation):
        return []
    errors = explanation.standard_errors
    own, apart = (
        float(np.nanmean(each)) if each is not None and np.isfinite(each).any() else 0.0
        for each in (errors, explanation.background_errors)
    )
    if apart <= own:
        return []
    return [
        f"errors {own:.2g} of sampling, and larger ones, {apart:.2g}, of the background as a sample"
    ]
