"""The protocol of readers: from a fitted model and a response to a closed form."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from skshapley._tables import model_columns
from skshapley._trees import TreeEnsemble
from skshapley.closed_forms import ClosedForm, Part, Trees
from skshapley.exceptions import UnreadableModelError

# Reads a member of a model: the member, and its response
Ask = Callable[[Any, Any], ClosedForm]
# Result of a reader: a closed form, or the parts of a sum
Form = list[Part] | ClosedForm
# A model, its response, and the function that reads its members
Reader = Callable[[Any, Any, Ask], Form]
# Responses to name instead of one that is not the sum of trees, best first
PREFERRED = ("log_odds", "decision_function", "log", "predict", "predict_proba")


def check_method(
    model: Any,
    method: Any,
    readable: Sequence[str | None],
    instead: str | None = None,
) -> None:
    """Raise UnreadableModelError unless the response of a model is readable.

    Parameters
    ----------
    model : fitted estimator
    method : str or callable
        The response.
    readable : sequence of str
    instead : str or None, default=None
        A response of the model that can be read.
    """
    if method not in readable:
        reason = f"{type(model).__name__}.{method} has no closed form here"
        raise UnreadableModelError(reason, instead=instead)


@dataclass(frozen=True)
class TreeReader:
    """Reader of models that are sums of trees.

    Parameters
    ----------
    ensemble : callable
        From a fitted model to its `TreeEnsemble`, with all outputs.
    selects : bool, default=False
        Whether `ensemble` also takes the position of the only output to read.
    splits : callable or None, default=None
        From a fitted model to the columns of its splits, if that takes less time.
    """

    ensemble: Callable[..., TreeEnsemble]
    selects: bool = False
    splits: Callable[[Any], Any] | None = None

    def __call__(self, model: Any, method: Any, ask: Ask) -> Form:
        """Return the sum of a model's trees as a closed form."""
        return Trees(self.trees(model, method), model_columns(model))

    def trees(self, model: Any, method: str, output: int | None = None) -> TreeEnsemble:
        """Return the trees of a model if their sum is the response.

        Parameters
        ----------
        model : fitted model
        method : str
            The response, or "raw" for the sum itself.
        output : int or None, default=None
            Position of the only output to read; None: all outputs.

        Raises
        ------
        UnreadableModelError
            If the response is not the sum.
        NotFittedError
            If the model is not fitted.
        """
        # Sums of models of CatBoost have no attributes of a fit.
        is_fitted = getattr(model, "is_fitted", lambda: False)
        if hasattr(model, "fit") and not is_fitted():
            check_is_fitted(model)
        trees = self.ensemble(model, *([output] if self.selects else []))
        check_sum(model, trees, method)
        return trees if output is None else trees.take_output(output)


def check_sum(model: Any, trees: TreeEnsemble, method: str) -> None:
    """Raise UnreadableModelError unless a response is "raw" or the sum of the trees."""
    if method == "raw" or method in trees.methods:
        return
    choices = f", or choose one of {trees.methods}" if trees.methods else ""
    raise UnreadableModelError(
        f"{type(model).__name__}.{method} is not the sum of its trees",
        f"leave response_method at its default{choices}, or explain it by sampling",
        next((method for method in PREFERRED if method in trees.methods), None),
    )
