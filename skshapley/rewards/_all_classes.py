"""A classifier that was fitted to some of the classes, with a probability for each of them."""

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if


def _has_probabilities(self) -> bool:
    return hasattr(self.model, "predict_proba")


class AllClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier, for scorers that want a probability for each class.

    Its probabilities are those of the model and of one further point of any class, so that none is
    zero: the loss of a class that the points lack is finite.

    Parameters
    ----------
    model : fitted classifier
    classes : ndarray of shape (c,)
        All classes, in order.
    prior : ndarray of shape (c,)
        Their shares.
    n_points : int
        How many points the model was fitted to.
    """

    def __init__(self, model, classes, prior, n_points) -> None:
        self.model = model
        self.classes = classes
        self.prior = prior
        self.n_points = n_points

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
        return (self.n_points * out + self.prior) / (self.n_points + 1)

    def score(self, X, y, **kwargs) -> float:
        """Return the model's own score."""
        return self.model.score(X, y, **kwargs)
