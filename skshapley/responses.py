"""Responses to explain that are not a method of the model, after Grah & Thouvenot (2020).

Each is a function of ``(estimator, X)``, to be passed as the ``response_method`` of
`ShapleyExplainer`. The other rewards of their section 2.2 need no such function:

- one reference (the contrastive game): ``fit`` on a table of one row;
- a reference population: ``fit`` on all its rows; attributions are then means over
  these rows;
- the probability of the predicted class:
  ``response_method="predict_proba", output="predicted"``;
- an anomaly score: an outlier detector's ``score_samples``, the default of "auto". The
  score of an
isolation forest is sampled; its `mean_depth` is exact.

Examples
--------
Why is the first of these irises a setosa, against one versicolor, and against all of
them?

>>> from sklearn.datasets import load_iris
>>> from sklearn.ensemble import IsolationForest
>>> from sklearn.linear_model import LogisticRegression
>>> from skshapley import ShapleyExplainer
>>> X, y = load_iris(return_X_y=True)
>>> model = LogisticRegression(max_iter=1000).fit(X, y)
>>> explainer = ShapleyExplainer(
...     model, response_method="predict_proba", output="predicted"
... )
>>> contrast = explainer.fit(X[50:51]).explain(X[:1])
>>> contrast.predictions.round(2), contrast.base_values.round(2)
(array([0.98]), array([0.]))
>>> population = explainer.fit(X[50:100]).explain(X[:1])
>>> population.values.sum().round(2) == (
...     population.predictions - population.base_values
... ).round(2)
array([ True])

Which measurement makes the last iris unusual among the others?

>>> forest = IsolationForest(random_state=0).fit(X)
>>> anomaly = ShapleyExplainer(forest, max_rows=1000).fit(X[::10]).explain(X[-1:])
>>> anomaly.settings.response_method
'score_samples'
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray


def same_class(estimator, X) -> NDArray[np.float64]:
    """Return an indicator of each class: 1 for the predicted class, 0 for the others.

    With ``output="predicted"``, v(S) is 1 if the model still predicts the row's own
    class, else 0, averaged over the background. This is the reward of Grah & Thouvenot
    (2020), section 5.1. It accepts any classifier with ``predict``.

    Parameters
    ----------
    estimator : fitted classifier
    X : table of shape (n, d)

    Returns
    -------
    indicator : ndarray of shape (n, n_classes)

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating
    Shapley value applied in attribute importance, CD-MAKE, sections 2.2 and 5.1.

    Examples
    --------
    Why is this iris a virginica and not a setosa? Both measurements of its petal
    decide:

    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.responses import same_class
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier().fit(X, y)
    >>> explainer = ShapleyExplainer(
    ...     model, response_method=same_class, output="predicted"
    ... )
    >>> explanation = explainer.fit(X[:1]).explain(X[120:121])
    >>> explanation.values.round(3)
    array([[0. , 0. , 0.5, 0.5]])
    """
    predicted = np.asarray(estimator.predict(X))
    return (predicted[:, None] == np.asarray(estimator.classes_)).astype(np.float64)


def highest_probability(estimator, X) -> NDArray[np.float64]:
    """Return the probability of the most probable class, the certainty of the model.

    Parameters
    ----------
    estimator : fitted classifier
        It has ``predict_proba``.
    X : table of shape (n, d)

    Returns
    -------
    probability : ndarray of shape (n,)

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 2.2 ("the maximum probability estimated").

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.responses import highest_probability
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> explainer = ShapleyExplainer(model, response_method=highest_probability)
    >>> explanation = explainer.fit(X[::10]).explain(X[:1])
    >>> round(float(explanation.values.sum() + explanation.base_values[0]), 3)
    0.982
    >>> round(float(model.predict_proba(X[:1]).max()), 3)
    0.982
    """
    return np.asarray(estimator.predict_proba(X)).max(axis=1)


def rank(estimator, X, *, competitors) -> NDArray[np.float64]:
    """Return the rank of each row among competitors, by the model's prediction; 1 is the highest.

    Parameters
    ----------
    estimator : fitted regressor
    X : table of shape (n, d)
    competitors : array-like of shape (m,)
        Predictions of the competitors.

    Returns
    -------
    rank : ndarray of shape (n,)
        1 + the number of competitors with a higher prediction.

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 2.2 ("the predicted rank in a ranking
    problem").

    Examples
    --------
    >>> from functools import partial
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.responses import rank
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    >>> model = LinearRegression().fit(X, X.sum(axis=1))
    >>> among_three = partial(rank, competitors=[0.5, 1.5, 3.5])
    >>> explainer = ShapleyExplainer(model, response_method=among_three)
    >>> explainer.fit(X[:1]).explain(np.array([[2.0, 2.0]])).values
    array([[-1.5, -1.5]])
    """
    ordered = np.sort(np.asarray(competitors, dtype=np.float64))
    # Right of equal scores: only strictly better competitors count.
    above = len(ordered) - np.searchsorted(ordered, estimator.predict(X), side="right")
    return 1.0 + above


def mean_depth(estimator, X) -> NDArray[np.float64]:
    """Return the mean depth at which an isolation forest isolates each row; 1 is the usual one.

    The score of a row is minus 2 to the power of minus this depth. The depth is a sum
    over trees, so its values are exact. The score is sampled.

    Parameters
    ----------
    estimator : fitted IsolationForest, or a wrapper of one
    X : table of shape (n, d)

    Returns
    -------
    depth : ndarray of shape (n,)
        Relative to the mean depth of a search tree with as many samples as each tree.

    References
    ----------
    Liu, Ting & Zhou (2008), Isolation forest, ICDM, equation 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import IsolationForest
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.responses import mean_depth
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> forest = IsolationForest(random_state=0).fit(X)
    >>> explainer = ShapleyExplainer(forest, response_method=mean_depth).fit(X)
    >>> explanation = explainer.explain(np.array([[0.0, 6.0]]))
    >>> explanation.settings.closed_form, bool(explanation.values[0, 1] < -0.2)
    ('trees', True)
    """
    return -np.log2(-np.asarray(estimator.score_samples(X)))


@dataclass(frozen=True)
class SurvivalAt:
    """The probability of surviving beyond given times, with one output per time.

    For survival forests of scikit-survival, it is a sum over the trees, so its values
    are exact. For Cox models with few features, it is a function of linear terms, and
    exact too.

    Parameters
    ----------
    times : sequence of float

    References
    ----------
    Ishwaran, Kogalur, Blackstone & Lauer (2008), Random survival forests, Annals of
    Applied Statistics 2.

    Examples
    --------
    This model has the survival of all rows at times 1 and 2:

    >>> import numpy as np
    >>> from skshapley.responses import SurvivalAt
    >>> class Known:
    ...     unique_times_ = np.array([1.0, 2.0])
    ...
    ...     def predict_survival_function(self, X, return_array):
    ...         return np.tile([0.9, 0.5], (len(X), 1))
    >>> SurvivalAt([0.5, 1.5, 3.0])(Known(), np.zeros((1, 2)))
       0.5  1.5  3.0
    0  1.0  0.9  0.5
    """

    times: Sequence[float]

    def __call__(self, estimator, X) -> pd.DataFrame:
        """Return the survival of rows X ``(n, d)``, ``(n, n_times)``, with the times as names."""
        curves = estimator.predict_survival_function(X, return_array=True)
        # The times are an attribute of the model, which is the last step of a pipeline.
        last = estimator[-1] if hasattr(estimator, "steps") else estimator
        times = np.asarray(self.times, dtype=np.float64)
        return pd.DataFrame(
            self.look_up(last.unique_times_, np.asarray(curves)),
            columns=times,
        )

    def look_up(self, known_times, survival) -> NDArray[np.float64]:
        """Return survival at the times, 1 before the first known time.

        Parameters
        ----------
        known_times : ndarray of shape (m,)
            Ascending.
        survival : ndarray of shape (n, m)
            Step functions.

        Returns
        -------
        survival : ndarray of shape (n, n_times)
        """
        after = np.searchsorted(known_times, self.times, side="right")
        return np.column_stack([np.ones(len(survival)), survival])[:, after]
