"""The base of ways: how the rows of a fitted explainer are explained.

A way is chosen once, in ``fit`` (`choose`). Nothing else asks which one it is.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np

from skshapley._tables._arrow import Portable
from skshapley._ways._labels import Labels
from skshapley.closed_forms import ClosedForm
from skshapley.explanation import Explanation
from skshapley.stopping import StoppingRule


class Way(Portable, ABC):
    """A way to explain rows, with all that it needs.

    Attributes
    ----------
    labels : Labels
    reward : Reward or None
        The fitted reward; None if only a formula is known.
    entropy : int
        Source of all random numbers.
    form : ClosedForm or None
        The closed form, if the values are exact.
    container : callable or None
        Makes the model's input from texts, if documents are explained.
    merge : callable
        From explanations of the parts of a table to one of all rows.
    """

    labels: Labels
    reward: Any
    entropy: int
    form: ClosedForm | None = None
    container: Callable[[list[str]], Any] | None = None
    merge: ClassVar[Callable[..., Explanation]] = staticmethod(Explanation.merge)

    @abstractmethod
    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of checked rows.

        Raises
        ------
        PartialExplanationError
            If an error or an interruption comes after some rows were finished.
        """

    def values(self, X: Any, n_jobs: int | None, verbose: Any) -> np.ndarray:
        """Return the values of the explanation, without a record if possible."""
        return self.explain(X, n_jobs, verbose).values

    @abstractmethod
    def predictions(self, X: Any) -> np.ndarray:
        """Return the predictions of rows, ``(r, k)``, but not as sums of their values."""

    def background_errors(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return errors due to the choice of the background; NaN where unknown."""
        explanation = self.explain(X, n_jobs, False)
        errors = explanation.background_errors
        return np.full(explanation.values.shape, np.nan) if errors is None else errors

    def stopped_by(self, rule: StoppingRule) -> Self:
        """Return this way with a stopping rule, or itself if no rule would save draws."""
        return self

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return this way for the batches of a run, with bits that a resumed run repeats.

        Parameters
        ----------
        n_rows : int or None
            Number of all rows, if it is known.
        batch_rows : int
        """
        return self

    @abstractmethod
    def with_entropy(self, entropy: int) -> Self:
        """Return this way, as if it were chosen with other entropy."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """Return arrays that differ if the values may; a resumed run compares them."""
