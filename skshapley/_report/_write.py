"""The report as one self-contained page in a file, and its panel as a widget of notebooks."""

import json
import sys
from base64 import b64encode
from hashlib import sha256
from html import escape
from os import PathLike
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from skshapley._estimators._attributor import Attributor
from skshapley._report._content import content, shown_rows
from skshapley._tools import (
    Constraint,
    Count,
    Maybe,
    check_values,
    needed,
    write_whole,
)
from skshapley._what_if import PANEL, STYLE, page_model, page_text, panel_content
from skshapley.explanation import Explanation

FRAME = "width: 100%; height: 45em; border: 0"  # height of a report in a notebook
# One subject per file, in the order of their dependence
SHARED = ("elements.js", "texts.js", "charts.js", "group.js")
SCRIPTS = (
    "picture.js",
    "waterfall.js",
    "importance.js",
    "beside.js",
    "curves.js",
    "beeswarm.js",
    "dependence.js",
    "interactions.js",
    "rows.js",
    "truth.js",
    "groups.js",
    "main.js",
)
WIDGET = ("model.js", "what_if.js", "widget.js")
_CONSTRAINTS = {
    "title": Maybe(
        Constraint(lambda title: isinstance(title, str), "a str"),
        error=TypeError,
    ),
    "max_rows": Maybe(Count(), hint="None shows all"),
    "max_features": Maybe(Count(), hint="None shows all"),
}


def write_report(
    self: Explanation,
    path: str | PathLike[str] | None = None,
    *,
    title: str | None = None,
    max_rows: int | None = 1000,
    max_features: int | None = 50,
    y: Any = None,
    beside: Explanation | None = None,
    what_if: Any = None,
    groups: Any = None,
) -> Path | None:
    """Write one HTML file that any browser opens, without a server or a network.

    It shows the settings and the errors, the importances with their intervals, a
    beeswarm, the dependence of the strongest features, interactions where there are
    any, and a table of the rows, each with its waterfall. A thousand rows of thirty
    features take about a megabyte for each output.

    Parameters
    ----------
    path : str or path, default=None
        The file; an existing one is replaced. None: show the report below a notebook's
        cell; elsewhere write "report.html".
    title : str, default=None
        The title. None: named after the model.
    max_rows : int or None, default=1000
        Number of rows to show, evenly spread over all. Importances use all rows. None:
        all.
    max_features : int or None, default=50
        Number of features shown separately, the most important first; the others are
        summed. None: all.
    y : array-like of shape (r,), default=None
        True labels. The report then shows them, and the error of the model.
    beside : Explanation, default=None
        Another explanation of the same rows and features, such as of another model. The
        report then shows the differences.
    what_if : ShapleyExplainer or TreeExplainer, default=None
        The explainer of these rows. The page then has a panel in which values can be
        changed, and the prediction and its attributions follow. **The file then
        contains the model and up to 100 background rows.** The model must have a closed
        form that a page can compute: trees, linear and logistic models, tables.
    groups : dict, default=None
        Nested groups of features, as in `Explanation.folded`. Bars and waterfalls then
        show the sums of groups, which unfold into their members.

    Returns
    -------
    path : Path, or None in a notebook
        The file.

    Raises
    ------
    ValueError, TypeError
        For an invalid title, max_rows or max_features, an explanation without rows, or
        labels `y` of another length or kind, a `beside` of other rows, a `what_if` that
        explains other rows or cannot be computed in a page, or groups of unknown
        features.
    OSError
        If the file cannot be written, as on a full disk. An existing file is kept.
    """
    options: dict[str, Any] = {
        "title": title,
        "max_rows": max_rows,
        "max_features": max_features,
    }
    check_values("Explanation.report", options, _CONSTRAINTS)
    text = report_html(
        self,
        **options,
        y=y,
        beside=beside,
        what_if=what_if,
        groups=groups,
    )
    if path is None and "ipykernel" in sys.modules:
        from IPython.display import HTML, display

        display(HTML(f'<iframe srcdoc="{escape(text)}" style="{FRAME}"></iframe>'))
        return None
    if path is None:
        path = Path("report.html")
        sys.stdout.write(f"The report is in {path.resolve()}\n")
    if not isinstance(path, str | PathLike):
        raise TypeError(
            f"Explanation.report takes path as a str or path; got {path!r}."
        )
    path = Path(path)
    if path.suffix.lower() not in ("", ".html", ".htm"):
        raise ValueError(
            f"Explanation.report writes an HTML page, and got {str(path)!r}: pass"
            f" {str(path.with_suffix('.html'))!r}, and print it from a browser."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    # Labels may have single surrogates, which UTF-8 cannot encode.
    page = text.encode("utf-8", "replace")
    write_whole(path, lambda file: file.write(page))
    return path


def report_html(
    explanation: Explanation,
    *,
    title: str | None = None,
    max_rows: int | None = 1000,
    max_features: int | None = 50,
    n_rows: int | None = None,
    y: Any = None,
    beside: Explanation | None = None,
    what_if: Any = None,
    groups: Any = None,
) -> str:
    """Return the report as text.

    Parameters
    ----------
    explanation : Explanation
    title, max_rows, max_features, y, beside, what_if, groups
        As in `write_report`.
    n_rows : int, default=None
        The number of rows behind a sampled explanation. None: it is not a sample.
    """
    if not len(explanation):
        raise ValueError("Explanation.report needs at least one row to show; got none.")
    model = (explanation.settings.model or "").split("(")[0]
    default_title = f"Explanation of {model}" if model.isidentifier() else "Explanation"
    facts = content(explanation, max_rows, max_features, n_rows, y, beside, groups)
    scripts = [page_text("_report", name) for name in SHARED]
    style = page_text("_report", "report.css")
    if what_if is not None:
        facts["what_if"] = _what_if_content(explanation, len(facts["rows"]), what_if)
        scripts += [page_text("_what_if", name) for name in PANEL]
        style += page_text("_what_if", STYLE)
    if facts["groups"]:
        style += page_text("_report", "groups.css")
    # Sections that only some explanations have
    needs = {
        "beside.js": beside is not None,
        "curves.js": facts["places"] is not None,
        "interactions.js": any(output["pairs"] for output in facts["outputs"]),
        "truth.js": y is not None,
        "groups.js": bool(facts["groups"]),
    }
    scripts += [page_text("_report", name) for name in SCRIPTS if needs.get(name, True)]
    # In separate functions, so that their names are not global
    script = "(() => {\n" + "\n".join(scripts) + "\n})();"
    text = json.dumps(facts, separators=(",", ":"), allow_nan=False)
    # The policy of the page allows only this script and this style, and loads nothing
    # else.
    return Template(page_text("_report", "report.html")).substitute(
        title=escape(default_title if title is None else title),
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        # A label such as "</script>" would end the element.
        content=text.replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026"),
    )


def _what_if_content(explanation: Explanation, n: int, explainer: Any) -> dict:
    """Return the model part for the shown rows, with the columns by importance."""
    names = list(explanation.feature_names)
    if not hasattr(explainer, "players_"):
        raise ValueError(
            f"Explanation.report takes what_if as a fitted explainer; got what_if="
            f"{explainer!r}."
        )
    if names != list(explainer.players_.names):
        raise ValueError(
            f"Explanation.report got a what_if={type(explainer).__name__} of other"
            f" features than the explanation's {names[:5]}: pass the explainer that made"
            " the explanation."
        )
    sizes = np.abs(explanation.values).reshape(len(explanation), len(names), -1)
    return page_model(
        explainer,
        explanation.data.iloc[shown_rows(len(explanation), n)],
    ) | {
        "order": np.argsort(-sizes.mean(axis=(0, 2)), kind="stable").tolist(),
    }


def _hash(text: str) -> str:
    """Return the name of an inline text in a policy."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def explainer_widget(self: Attributor, X: Any) -> Any:
    """Return a notebook widget in which values can be changed.

    It shows the prediction of a row, its attributions with their errors, and the curve
    of the prediction along the column that was moved last. The kernel answers: it
    predicts at each move, and explains while the inputs rest. Sampled explanations work
    as well. Without a kernel, the widget shows its last state.

    Parameters
    ----------
    X : array or frame of shape (r, d)
        The rows to begin with, as for `explain`; some dozens at most.

    Returns
    -------
    widget : anywidget.AnyWidget
        For Jupyter, VS Code and marimo.

    Raises
    ------
    ImportError
        Without anywidget.
    NotFittedError
        If the explainer is not fitted.
    ValueError, TypeError
        For other columns, dtypes or containers, or documents.
    """
    anywidget = needed("anywidget", f"{type(self).__name__}.widget")
    traitlets = needed("traitlets", f"{type(self).__name__}.widget")
    kernel, content = panel_content(self, X)
    scripts = [
        *(page_text("_report", name) for name in SHARED),
        *(page_text("_what_if", name) for name in WIDGET),
    ]
    # The style of a page holds within the widget only.
    style = page_text("_report", "report.css") + page_text("_what_if", STYLE)
    nested = style.replace(":root", "&").replace("body {", "& {")

    class Panel(anywidget.AnyWidget):  # type: ignore[name-defined]
        """A panel that asks the kernel."""

        _esm = "\n".join(scripts)
        _css = f".skshapley {{ {nested} }}"
        content = traitlets.Dict().tag(sync=True)
        request = traitlets.Dict().tag(sync=True)
        answer = traitlets.Dict().tag(sync=True)

        @traitlets.observe("request")
        def _reply(self, change: Any) -> None:
            self.answer = kernel.answer(change["new"])

    cells = [column[0] for column in content["rows"]]
    first = {"cells": cells, "start": cells, "output": 0, "column": 0, "points": []}
    widget = Panel(content=content)
    widget.request = first | {"id": 0, "values": True}
    return widget
