"""Displays: explanations as pictures, and the numbers of each picture as a frame."""

from skshapley._tools import absent
from skshapley.plots._accessor import INSTEAD, PlotAccessor
from skshapley.plots._bars import BarDisplay, WaterfallDisplay
from skshapley.plots._cells import HeatMapDisplay, InteractionsDisplay
from skshapley.plots._curves import (
    ControlChartDisplay,
    ConvergenceDisplay,
    MaskingCurveDisplay,
    OverOutputsDisplay,
)
from skshapley.plots._dependence import DependenceDisplay
from skshapley.plots._display import Display, SmallMultiples
from skshapley.plots._intervals import (
    DumbbellDisplay,
    ImportanceDisplay,
    RefitComparisonDisplay,
)
from skshapley.plots._many_rows import BeeswarmDisplay, DecisionDisplay, MatrixDisplay
from skshapley.plots._sentence import SentenceDisplay

__all__ = [
    "BarDisplay",
    "BeeswarmDisplay",
    "ControlChartDisplay",
    "ConvergenceDisplay",
    "DecisionDisplay",
    "DependenceDisplay",
    "Display",
    "DumbbellDisplay",
    "HeatMapDisplay",
    "ImportanceDisplay",
    "InteractionsDisplay",
    "MaskingCurveDisplay",
    "MatrixDisplay",
    "OverOutputsDisplay",
    "PlotAccessor",
    "RefitComparisonDisplay",
    "SentenceDisplay",
    "SmallMultiples",
    "WaterfallDisplay",
]

_CALLS = {name: f"explanation.plot.{name}(...)" for name in dir(PlotAccessor)}


def __getattr__(name: str) -> object:
    raise AttributeError(absent("skshapley.plots", name, _CALLS | INSTEAD, __all__))
