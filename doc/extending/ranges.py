"""A display: the range of each feature's attributions, and their median."""

import numpy as np
import pandas as pd

from skshapley.plots import Display


class RangeDisplay(Display):
    """A line for each feature, from its smallest attribution to its largest, and a dot in between.

    Parameters
    ----------
    table : DataFrame
        Columns ``feature``, ``low``, ``median``, ``high``.
    """

    def __init__(self, table):
        self.table = table

    @classmethod
    def from_explanation(cls, explanation, *, ax=None):
        """Draw an explanation of one output.

        Parameters
        ----------
        explanation : Explanation
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : RangeDisplay
        """
        low, median, high = np.quantile(explanation.values, [0, 0.5, 1], axis=0)
        columns = {
            "feature": explanation.feature_names,
            "low": low,
            "median": median,
            "high": high,
        }
        return cls(pd.DataFrame(columns)).plot(ax)

    def frame(self):
        """Return the drawn numbers."""
        return self.table

    def _size(self, alone):
        return 8, 1 + 0.3 * len(self.table)

    def _draw(self, ax):
        ax.hlines(self.table["feature"], self.table["low"], self.table["high"])
        ax.plot(self.table["median"], self.table["feature"], "o")
        ax.set_xlabel("attribution")
