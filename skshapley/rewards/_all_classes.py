"""A classifier that was fitted to some of the classes, with a probability for each of them."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if


def _has_probabilities(self) -> bool:
    return hasattr(self.model, "predict_proba")


class AllClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier, for scorers that want a probability for each class.

    Classes that the model has not seen get the probability 0.

    Parameters
    ----------
    model : fitted classifier
    classes : ndarray of shape (c,)
        All classes, in order.
    """

    def __init__(self, model, classes) -> None:
        self.model = model
        self.classes = classes

    @property
    def classes_(self) -> NDArray:
        """All classes."""
        return self.classes

    def predict(self, X) -> NDArray:
        """Return what the model predicts, ``(n,)``."""
        return self.model.predict(X)

    @available_if(_has_probabilities)
    def predict_proba(self, X) -> NDArray[np.float64]:
        """Return probabilities of all classes, ``(n, c)``."""
        some = self.model.predict_proba(X)
        out = np.zeros((len(some), len(self.classes)))
        out[:, np.searchsorted(self.classes, self.model.classes_)] = some
        return out

    def score(self, X, y, **kwargs) -> float:
        """Return the model's own score."""
        return self.model.score(X, y, **kwargs)
