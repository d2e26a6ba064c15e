"""Shapley values for any fitted estimator, the scikit-learn way."""

from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._estimators._functional import shapley_values
from skshapley._estimators._global import GlobalImportance
from skshapley._estimators._orders import interaction_values
from skshapley._estimators._selection import ShapleyImportance
from skshapley._estimators._valuation import DataShapley
from skshapley._records._global_explanation import GlobalExplanation
from skshapley._records._interactions import Interactions
from skshapley._report import write_report
from skshapley.explanation import Explanation
from skshapley.plots import PlotAccessor
from skshapley.trees import TreeExplainer

__version__ = "0.1.0"

__all__ = [
    "DataShapley",
    "Explanation",
    "GlobalExplanation",
    "GlobalImportance",
    "Interactions",
    "ShapleyExplainer",
    "ShapleyImportance",
    "TreeExplainer",
    "interaction_values",
    "shapley_values",
]

Explanation.plot = property(PlotAccessor)  # type: ignore[method-assign, assignment]
Explanation.report = write_report
