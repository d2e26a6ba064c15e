"""The accessor `explanation.plot`, as in `explanation.plot.waterfall(0)`."""

import inspect
import re
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from skshapley._tools import absent, corrected
from skshapley.plots import (
    _bars,
    _cells,
    _curves,
    _dependence,
    _intervals,
    _many_rows,
    _sentence,
)

P = ParamSpec("P")
R = TypeVar("R")

# Names in shap and elsewhere, and the equivalent calls here
INSTEAD = {
    "scatter": 'plot.dependence("age")',
    "partial_dependence": 'plot.dependence("age")',
    "heatmap": "plot.matrix()",
    "summary": "plot.beeswarm()",
    "summary_plot": "plot.beeswarm()",
    "violin": "plot.beeswarm()",
    "force": "plot.waterfall(0)",
    "force_plot": "plot.waterfall(0)",
    "image": "plot.heat_map(shape)",
    "text": "plot.sentence(row)",
    "show": "plot.bar(), which draws it; matplotlib.pyplot.show() opens a window",
    "group_difference": "plot.bar(cohorts=explanation.data['age'] > 40)",
    "embedding": "plot.matrix(), which has similar rows side by side",
    "box": "plot.beeswarm()",
    "pdp": 'plot.dependence("age")',
    "multioutput_decision": "plot.decision()",
}


def _method(
    name: str,
    make: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate["PlotAccessor", P], R]:
    """Return the `from_explanation` of a display as a method of the accessor.

    It has the same signature, and its errors begin with the name of the method.
    """
    display = make.__self__.__name__  # type: ignore[attr-defined]
    owner = f"plot.{name}"
    drawn = corrected(make, owner)

    def method(self: "PlotAccessor", *args: P.args, **kwargs: P.kwargs) -> R:
        if not len(self._explanation):
            raise ValueError(f"{owner} needs at least one row; got none.")
        try:
            return drawn(self._explanation, *args, **kwargs)
        except (TypeError, ValueError, IndexError) as error:
            # Errors of the model or of matplotlib pass through unchanged.
            if not str(error).startswith(display):
                raise
            raise type(error)(
                str(error).replace(display, owner, 1)
            ) from error.__cause__

    signature = inspect.signature(make)
    method.__name__, method.__qualname__ = name, f"PlotAccessor.{name}"
    # The accessor supplies the explanation, so its entry must not appear in the help.
    # Python 3.13 removes the indentation of docstrings, `getdoc` in any version.
    method.__doc__ = re.sub(
        r"explanation : Explanation\n( {4}.*\n)*",
        "",
        f"{inspect.getdoc(make)}\n",
    )
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD),
            *[*signature.parameters.values()][1:],
        ],
    )
    return method


class PlotAccessor:
    """The displays of an explanation, as methods of ``explanation.plot``.

    Each method draws a display and returns it.

    Parameters
    ----------
    explanation : Explanation

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> explainer = ShapleyExplainer(lambda X: X @ [1.0, -3.0]).fit(np.zeros((1, 2)))
    >>> explanation = explainer.explain(np.eye(2))
    >>> explanation.plot.bar().frame()["value"].tolist()
    [1.5, 0.5]
    """

    def __init__(self, explanation) -> None:
        self._explanation = explanation

    waterfall = _method("waterfall", _bars.WaterfallDisplay.from_explanation)
    bar = _method("bar", _bars.BarDisplay.from_explanation)
    beeswarm = _method("beeswarm", _many_rows.BeeswarmDisplay.from_explanation)
    dependence = _method("dependence", _dependence.DependenceDisplay.from_explanation)
    matrix = _method("matrix", _many_rows.MatrixDisplay.from_explanation)
    decision = _method("decision", _many_rows.DecisionDisplay.from_explanation)
    heat_map = _method("heat_map", _cells.HeatMapDisplay.from_explanation)
    importance = _method("importance", _intervals.ImportanceDisplay.from_explanation)
    interactions = _method("interactions", _cells.InteractionsDisplay.from_explanation)
    over_outputs = _method("over_outputs", _curves.OverOutputsDisplay.from_explanation)
    sentence = _method("sentence", _sentence.SentenceDisplay.from_explanation)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise TypeError with the names of the displays."""
        raise TypeError(
            f"explanation.plot is not a function: call plot.waterfall(0), or one of"
            f" {', '.join(name for name in vars(type(self)) if not name.startswith('_'))}."
        )

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(absent("explanation.plot", name, INSTEAD, dir(type(self))))
