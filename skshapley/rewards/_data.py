"""The game of data valuation: the worth of training points is the score of their model."""

from contextlib import suppress
from typing import Any
from warnings import warn

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import FitFailedWarning
from sklearn.utils import _safe_indexing
from sklearn.utils.metaestimators import available_if

from skshapley.exceptions import ModelOutputError
from skshapley.rewards._game import Game, Unvalued


class AllClasses(ClassifierMixin, BaseEstimator):
    """A fitted classifier with a probability for each class, for scorers.

    Classes unknown to the model get the probability 0.

    Parameters
    ----------
    model : fitted classifier
    classes : ndarray of shape (c,)
        All classes, in order.
    """

    def __init__(self, model, classes) -> None:
        self.model = model
        self.classes = self.classes_ = classes

    def predict(self, X) -> NDArray:
        """Return the model's predictions, ``(n,)``."""
        return self.model.predict(X)

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X) -> NDArray[np.float64]:
        """Return probabilities of all classes, ``(n, c)``."""
        probabilities = self.model.predict_proba(X)
        out = np.zeros((len(probabilities), len(self.classes)))
        out[:, np.searchsorted(self.classes, self.model.classes_)] = probabilities
        return out

    def score(self, X, y, **kwargs) -> float:
        """Return the model's own score."""
        return self.model.score(X, y, **kwargs)


class DataGame(Game):
    """The game of training points: v(S) is the validation score of a model fitted to S.

    The players are training points, or groups of them. The game has one row and one
    output, and one evaluation is one fit. The empty coalition has the score of the
    constant prediction from all labels. A coalition with a single class has the score
    of predicting this class. If a coalition lacks a class, its probability is 0.

    Parameters
    ----------
    estimator : estimator
        The model; clones of it are fitted. Set its `random_state`, so that v(S) is
        reproducible.
    X, y : training data, ``(n, d)`` and ``(n,)``
    X_val, y_val : validation data
    scorer : callable(estimator, X, y) -> float
    members : ndarray of shape (n,), int
        The player of each training point.
    truncation : float or None
        Saves fits along chains of growing coalitions, such as permutations. If a score
        is this close to the score with all points, larger coalitions of the chain take
        the score of all points without a fit (Ghorbani & Zou 2019, Algorithm 1). None:
        no truncation.
    """

    n_rows = n_outputs = 1
    unvalued: Unvalued

    def __init__(
        self,
        estimator,
        X,
        y,
        X_val,
        y_val,
        *,
        scorer,
        members,
        truncation=None,
    ) -> None:
        self.estimator = estimator
        self.scorer = scorer
        self.X = X
        self.y = y
        self.X_val = X_val
        self.y_val = y_val
        self.members = members
        self.truncation = truncation
        self.n_players = int(members.max()) + 1
        # Truncation needs whole chains in one call; otherwise each fit may go to
        # another worker.
        self.most_values = self.n_players - 1 if truncation is not None else 1
        classify = is_classifier(estimator)
        self._classes = np.unique(np.asarray(y)) if classify else None
        constant = DummyClassifier() if classify else DummyRegressor()
        self._v_empty = self._scored(constant.fit(X, y))
        # Fitted here, so that an error of the model appears before hours of fits.
        self._v_full = self._fitted(np.ones(self.n_players, dtype=bool))
        # coalitions for which fitting or scoring fails
        self.unvalued = Unvalued(self._v_empty)

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the scores of coalitions, ``(r, m, 1)``; NaN for a missing score."""
        r, m, p = coalitions.shape
        values = np.full(r * m, np.nan)
        done = False
        last: Any = None
        for i, coalition in enumerate(coalitions.reshape(-1, p)):
            # Truncation holds along one chain only; the next permutation begins with a
            # smaller coalition.
            done = done and not (last & ~coalition).any()
            with suppress(Exception):  # a fit or a score that fails
                values[i] = self._v_full if done else self._fitted(coalition)
            if self.truncation is not None:
                done = abs(values[i] - self._v_full) <= self.truncation
            last = coalition
        return values.reshape(r, m, 1)

    def count_unfitted(self) -> int:
        """Return the number of coalitions without a score; warn with the error of the first one."""
        coalitions = self.unvalued.coalitions
        if not coalitions:
            return 0
        try:
            # Fitted again only to get the error, which workers did not send.
            self._fitted(coalitions[0])
        except Exception as error:
            n_points = coalitions[0][self.members].sum()
            warn(
                f"DataGame cannot fit or score {self.estimator!r} on {len(coalitions)} "
                f"coalitions; they count as {self.unvalued.worth:.6g}, the score without "
                f"points. The first, of {n_points} training points: "
                f"{type(error).__name__}: {error}",
                FitFailedWarning,
                stacklevel=3,
            )
        return len(coalitions)

    def _fitted(self, coalition) -> float:
        """Return the score of a model fitted to the points of a coalition."""
        rows = np.flatnonzero(coalition[self.members])
        if not len(rows):
            return self._v_empty
        y = _safe_indexing(self.y, rows)
        model: Any = clone(self.estimator)
        # Many classifiers refuse a single class, which permutations always begin with.
        if self._classes is not None and len(np.unique(y)) == 1:
            model = DummyClassifier()
        model.fit(_safe_indexing(self.X, rows), y)
        classes = getattr(model, "classes_", None)
        if (
            self._classes is not None
            and classes is not None
            and len(classes) < len(self._classes)
        ):
            model = AllClasses(model, self._classes)
        return self._scored(model)

    def _scored(self, model) -> float:
        """Return the score of a fitted model on the validation data."""
        score = float(self.scorer(model, self.X_val, self.y_val))
        if not np.isfinite(score):
            raise ModelOutputError(
                f"DataGame got the score {score} of {model!r} on the validation data: "
                "choose a scoring that is finite for every coalition of training "
                "points."
            )
        return score

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty), ``(r, 1, 1)``."""
        return np.full((len(rows), 1, 1), self._v_empty)

    def full(self, rows) -> NDArray[np.float64]:
        """Return v(all), ``(r, 1)``."""
        return np.full((len(rows), 1), self._v_full)
