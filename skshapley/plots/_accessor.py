"""The accessor `explanation.plot`, as in `explanation.plot.waterfall()`."""

from skshapley.plots._bar import BarDisplay
from skshapley.plots._beeswarm import BeeswarmDisplay
from skshapley.plots._decision import DecisionDisplay
from skshapley.plots._dependence import DependenceDisplay
from skshapley.plots._display import SmallMultiples
from skshapley.plots._force import ForceDisplay
from skshapley.plots._heat_map import HeatMapDisplay
from skshapley.plots._importance import ImportanceDisplay
from skshapley.plots._interactions import InteractionsDisplay
from skshapley.plots._matrix import MatrixDisplay
from skshapley.plots._sentence import SentenceDisplay
from skshapley.plots._waterfall import WaterfallDisplay


class PlotAccessor:
    """The displays of an explanation, as methods of ``explanation.plot``.

    Each method draws a display and returns it. It takes the keyword arguments of the display's
    `from_explanation`.

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

    def waterfall(self, **kwargs) -> WaterfallDisplay | SmallMultiples:
        """Return the drawn `WaterfallDisplay`."""
        return WaterfallDisplay.from_explanation(self._explanation, **kwargs)

    def bar(self, **kwargs) -> BarDisplay | SmallMultiples:
        """Return the drawn `BarDisplay`."""
        return BarDisplay.from_explanation(self._explanation, **kwargs)

    def beeswarm(self, **kwargs) -> BeeswarmDisplay | SmallMultiples:
        """Return the drawn `BeeswarmDisplay`."""
        return BeeswarmDisplay.from_explanation(self._explanation, **kwargs)

    def dependence(self, **kwargs) -> DependenceDisplay | SmallMultiples:
        """Return the drawn `DependenceDisplay`."""
        return DependenceDisplay.from_explanation(self._explanation, **kwargs)

    def matrix(self, **kwargs) -> MatrixDisplay | SmallMultiples:
        """Return the drawn `MatrixDisplay`."""
        return MatrixDisplay.from_explanation(self._explanation, **kwargs)

    def force(self, **kwargs) -> ForceDisplay | SmallMultiples:
        """Return the drawn `ForceDisplay`."""
        return ForceDisplay.from_explanation(self._explanation, **kwargs)

    def decision(self, **kwargs) -> DecisionDisplay | SmallMultiples:
        """Return the drawn `DecisionDisplay`."""
        return DecisionDisplay.from_explanation(self._explanation, **kwargs)

    def heat_map(self, **kwargs) -> HeatMapDisplay | SmallMultiples:
        """Return the drawn `HeatMapDisplay`."""
        return HeatMapDisplay.from_explanation(self._explanation, **kwargs)

    def importance(self, **kwargs) -> ImportanceDisplay | SmallMultiples:
        """Return the drawn `ImportanceDisplay`."""
        return ImportanceDisplay.from_explanation(self._explanation, **kwargs)

    def interactions(self, **kwargs) -> InteractionsDisplay | SmallMultiples:
        """Return the drawn `InteractionsDisplay`."""
        return InteractionsDisplay.from_explanation(self._explanation, **kwargs)

    def sentence(self, **kwargs) -> SentenceDisplay | SmallMultiples:
        """Return the drawn `SentenceDisplay`."""
        return SentenceDisplay.from_explanation(self._explanation, **kwargs)
