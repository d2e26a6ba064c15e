"""Shapley values of any fitted estimator, with the interface of scikit-learn."""

from skshapley._estimators._amortized import AmortizedExplainer
from skshapley._estimators._attributor import Attributor
from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._estimators._global import GlobalImportance
from skshapley._estimators._orders import shapley_values
from skshapley._estimators._refits import RefitExplainer
from skshapley._estimators._selection import ShapleyImportance
from skshapley._estimators._valuation import DataShapley
from skshapley._records._interactions import Interactions
from skshapley._records._result import GlobalExplanation
from skshapley._report import explainer_widget, write_report
from skshapley._tools import absent, corrected
from skshapley.explanation import Explanation
from skshapley.plots import PlotAccessor
from skshapley.trees import TreeExplainer

__version__ = "0.1.0"

__all__ = [
    "AmortizedExplainer",
    "DataShapley",
    "Explanation",
    "GlobalExplanation",
    "GlobalImportance",
    "Interactions",
    "RefitExplainer",
    "ShapleyExplainer",
    "ShapleyImportance",
    "TreeExplainer",
    "shapley_values",
]

Explanation.plot = property(PlotAccessor)
Explanation.report = corrected(write_report, "Explanation.report")
Attributor.widget = corrected(explainer_widget, "explainer.widget")

# Names in shap, and the equivalent calls here
_INSTEAD = {
    **dict.fromkeys(
        (
            *(
                "Explainer",
                "KernelExplainer",
                "PermutationExplainer",
                "LinearExplainer",
            ),
            *("DeepExplainer", "GradientExplainer", "ExactExplainer", "explain"),
        ),
        "ShapleyExplainer(model).fit(X_train).explain(X)",
    ),
    **dict.fromkeys(("summary_plot", "beeswarm"), "explanation.plot.beeswarm()"),
    **dict.fromkeys(
        ("waterfall_plot", "waterfall", "force_plot", "force"),
        "explanation.plot.waterfall(0)",
    ),
    **dict.fromkeys(
        ("dependence_plot", "scatter"),
        'explanation.plot.dependence("age")',
    ),
    **dict.fromkeys(("load", "load_explanation"), "Explanation.load(path)"),
    **dict.fromkeys(
        ("plot", "image_plot", "initjs"),
        "explanation.plot, as in plot.bar()",
    ),
    "maskers": 'ShapleyExplainer(model, reward="interventional"), or another reward',
    "bar_plot": "explanation.plot.bar()",
    "bar": "explanation.plot.bar()",
    **dict.fromkeys(
        ("explain_batches", "batches"),
        "skshapley.batches.explain_batches(...)",
    ),
    **{
        name: f"import skshapley.{name}" for name in ("diagnostics", "bounds", "shapiq")
    },
    "Settings": "skshapley.explanation.Settings",
    "sample": "ShapleyExplainer(model, max_background=100)",
    "kmeans": "ShapleyExplainer(model, max_background=100)",
}


def __getattr__(name: str) -> object:
    raise AttributeError(absent("skshapley", name, _INSTEAD, __all__))
