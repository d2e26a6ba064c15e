"""Explainers and explanations for `from_estimator` of the displays."""

from typing import Any

from skshapley._estimators._explainer import ShapleyExplainer
from skshapley.explanation import Explanation


def explainer_of(owner: str, estimator: Any, background: Any, **asked: Any) -> Any:
    """Return a fitted explainer of an estimator; an explainer is returned as it is.

    Parameters
    ----------
    owner : str
        Who asks.
    estimator : fitted estimator, function, or fitted explainer
    background : array or frame of shape (b, d), or None
    **asked
        Parameters of the explainer, where one is made.
    """
    name = type(estimator).__name__
    if hasattr(estimator, "explain"):
        if background is not None:
            raise ValueError(
                f"{owner} got a background for a {name}, which has its own: leave one of them out."
            )
        return estimator
    if background is None:
        raise ValueError(
            f"{owner} got background=None for a {name}: pass the rows that stand in for absent"
            f" features, such as background=X_train, or a fitted ShapleyExplainer."
        )
    return ShapleyExplainer(estimator, **asked).fit(background)


def explanation_of(
    owner: str, estimator: Any, X: Any, background: Any, **asked: Any
) -> Explanation:
    """Return the explanation of rows by an estimator; parameters as for `explainer_of`."""
    return explainer_of(owner, estimator, background, **asked).explain(X)
