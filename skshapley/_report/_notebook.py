"""The panel that computes as a widget of notebooks."""

from typing import Any

from skshapley._estimators._attributor import Attributor
from skshapley._report._write import SHARED
from skshapley._what_if import STYLE, page_text, panel_content

PANEL = ("model.js", "what_if.js", "widget.js")


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
    try:
        import anywidget
        import traitlets
    except ImportError as error:
        raise ImportError(
            f"{type(self).__name__}.widget needs anywidget: pip install anywidget, or"
            " write a page with explanation.report(path, what_if=explainer)."
        ) from error
    kernel, content = panel_content(self, X)
    scripts = [
        *(page_text("_report", name) for name in SHARED),
        *(page_text("_what_if", name) for name in PANEL),
    ]
    # The style of a page holds within the widget only.
    style = page_text("_report", "report.css") + page_text("_what_if", STYLE)
    nested = style.replace(":root", "&").replace("body {", "& {")

    class Panel(anywidget.AnyWidget):
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
