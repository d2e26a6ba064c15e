"""What every display can do."""

from abc import ABC, abstractmethod
from typing import Any

import pandas as pd


class Drawn(ABC):
    """Something that is drawn by `plot` and read back by `frame`.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on.
    figure_ : matplotlib Figure
    """

    @abstractmethod
    def plot(self, ax=None):
        """Draw."""

    @abstractmethod
    def frame(self) -> pd.DataFrame:
        """Return what is drawn, as numbers."""

    def _drawn_on(self, ax):
        self.ax_ = ax
        self.figure_ = ax.figure
        return self


class Display(Drawn):
    """Base class of the displays of one Explanation.

    Attributes
    ----------
    ax_ : matplotlib Axes
        What was drawn on.
    figure_ : matplotlib Figure
    """

    @classmethod
    @abstractmethod
    def from_explanation(cls, *args: Any, **kwargs: Any):
        """Draw an explanation."""

    @classmethod
    def from_estimator(cls, explainer, X, **kwargs):
        """Explain rows and draw their explanation.

        Parameters
        ----------
        explainer : fitted ShapleyExplainer, or anything with an `explain` method
        X : array or frame of shape (r, d)
            The rows to explain.
        **kwargs
            As in `from_explanation`.

        Returns
        -------
        display : the drawn display
        """
        return cls.from_explanation(explainer.explain(X), **kwargs)
