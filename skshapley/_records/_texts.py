"""The text and the HTML of an explanation in a notebook."""

from html import escape
from typing import TYPE_CHECKING

import numpy as np

from skshapley._tools._texts import counted

if TYPE_CHECKING:
    from skshapley._records._explanation import Explanation

MOST_SHOWN = 10
# Sampled values of a boosted model left 1e-15 of the prediction. Numbers in single
# precision, as from other packages, leave about 1e-7.
NEGLIGIBLE = 1e-6  # share of the largest value or end: smaller gaps are rounding errors


def gap_shows(explanation: "Explanation") -> bool:
    """Return True if any efficiency gap exceeds rounding."""
    ends = np.fmax(np.abs(explanation.base_values), np.abs(explanation.predictions))
    largest = np.fmax(np.abs(explanation.values).max(axis=1, initial=0.0), ends)
    return bool((np.abs(explanation.efficiency_gap) > NEGLIGIBLE * largest).any())


def as_text(explanation: "Explanation") -> str:
    """Return the repr."""
    return f"<{_title(explanation)}; {'; '.join(_sentences(explanation))}>"


def as_html(explanation: "Explanation") -> str:
    """Return the method and a table of the most important players as HTML, names escaped."""
    frame = explanation.importance()[["importance", "standard_error"]].head(MOST_SHOWN)
    table = frame.reset_index().to_html(
        index=False, float_format="{:.4g}".format, border=0
    )
    facts = _sentences(explanation)
    if len(explanation) and np.any(rows := np.nan_to_num(explanation.n_model_rows)):
        facts.append(f"{rows.mean():,.0f} model rows for each row")
    if explanation.converged.any() and not explanation.converged.all():
        facts.append(
            f"{explanation.converged.sum()} of {len(explanation)} rows converged"
        )
    head = f"<b>{escape(_title(explanation))}</b><br>{escape('; '.join(facts))}"
    return f"<div>{head}{table}</div>"


def _sentences(explanation: "Explanation") -> list[str]:
    """Return the method, and the warnings about the values."""
    settings = explanation.settings
    found, better = [settings.method], settings.exact_response
    if better is not None and not settings.method.startswith("exact"):
        found.append(f"response_method={better!r} would be exact")
    if gap_shows(explanation):
        found.append(
            f"efficiency gap up to {np.abs(explanation.efficiency_gap).max():.4g}"
        )
    return [*found, *_background_note(explanation)]


def _title(explanation: "Explanation") -> str:
    n, names = len(explanation.feature_names), explanation.output_names
    left = "" if explanation.others is None else ", others left out"
    outputs = "" if names is None else f", {len(names)} outputs"
    size = f"{counted(len(explanation), 'row')}, {counted(n, 'feature')}"
    return f"Explanation: {size}{left}{outputs}"


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
        (
            f"errors {own:.2g} of sampling, and larger ones, {apart:.2g}, of the "
            "background as a sample"
        )
    ]
