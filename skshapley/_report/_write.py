"""The report as a file: what may be asked for, and what is written."""

import sys
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skshapley._report._content import content
from skshapley._report._page import page
from skshapley._tools._constraints import Count, Fitting, Maybe, check_values

if TYPE_CHECKING:
    from skshapley.explanation import Explanation

FRAME = "width: 100%; height: 45em; border: 0"  # of a report in a notebook
_CONSTRAINTS = {
    "title": Maybe(Fitting(lambda title: isinstance(title, str), "a str"), error=TypeError),
    "max_rows": Maybe(Count(), hint="None shows all"),
    "max_features": Maybe(Count(), hint="None shows all"),
}


def write_report(
    self: "Explanation",
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    max_rows: int | None = 1000,
    max_features: int | None = 50,
) -> Path | None:
    """Write one HTML file that any browser opens, without a server or a network.

    It shows what was explained and how sure it is, the importances with their intervals, a
    beeswarm, the dependence of the strongest features, interactions where there are any, and a
    table of the rows, each with its waterfall. A thousand rows of thirty features take about a
    megabyte for each output.

    Parameters
    ----------
    path : str or path, default=None
        The file. It is replaced if it is there. None: the report is shown below a notebook's cell;
        elsewhere it is written to "report.html".
    title : str, default=None
        The title. None: named after the model.
    max_rows : int or None, default=1000
        Rows to show, evenly spread over all. Importances are those of all rows. None: all.
    max_features : int or None, default=50
        Features to show one by one, the most important first; the others are summed. None: all.

    Returns
    -------
    path : Path, or None in a notebook
        The file.

    Raises
    ------
    ValueError, TypeError
        For an invalid title, max_rows or max_features, or an explanation of no rows.
    """
    given: dict[str, Any] = {"title": title, "max_rows": max_rows, "max_features": max_features}
    check_values("Explanation.report", given, _CONSTRAINTS)
    text = report_html(self, **given)
    if path is None and "ipykernel" in sys.modules:
        from IPython.display import HTML, display

        display(HTML(f'<iframe srcdoc="{escape(text)}" style="{FRAME}"></iframe>'))
        return None
    if path is None:
        path = Path("report.html")
        sys.stdout.write(f"The report is in {path.resolve()}\n")
    path = Path(path)
    path.write_bytes(text.encode("utf-8", "replace"))
    return path


def report_html(
    explanation: "Explanation",
    *,
    title: str | None = None,
    max_rows: int | None = 1000,
    max_features: int | None = 50,
    n_rows: int | None = None,
) -> str:
    """Return the report as text.

    Parameters
    ----------
    explanation : Explanation
    title, max_rows, max_features
        As in `write_report`.
    n_rows : int, default=None
        The number of rows that the explanation is a sample of. None: it is no sample.
    """
    if not len(explanation):
        raise ValueError("Explanation.report needs at least one row to show; got none.")
    title = _title(explanation.settings.model) if title is None else title
    shown: dict[str, Any] = content(explanation, max_rows, max_features, n_rows)
    return page(title, shown)


def _title(model: str | None) -> str:
    """Return a title that names the model's class."""
    name = (model or "").split("(")[0]
    return f"Explanation of {name}" if name.isidentifier() else "Explanation"
