"""scikit-learn's own checks, all of them, on the explainers around a model that any data fit."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from skshapley import GlobalImportance, ShapleyExplainer, ShapleyImportance


class RowSum(RegressorMixin, BaseEstimator):
    """A model without a state: the sum of whatever numbers a row has."""

    def fit(self, X, y=None):
        return self

    def predict(self, X):
        return np.nansum(np.asarray(X, dtype=np.float64), axis=1)

    def __sklearn_is_fitted__(self):
        return True


def checked(*estimators):
    """Decorate a test of scikit-learn's checks of estimators.

    The pairs are a list: pytest is about to refuse the generator of scikit-learn before 1.7.
    """
    mark = parametrize_with_checks([*estimators])
    names, pairs = mark.args
    return pytest.mark.parametrize(names, list(pairs), **mark.kwargs)


@checked(
    ShapleyExplainer(RowSum(), max_rows=2000, random_state=0),
    ShapleyExplainer(FrozenEstimator(RowSum()), sampler="kernel"),
    ShapleyExplainer(RowSum(), reward="baseline", max_rows=200, random_state=0),
    GlobalImportance(RowSum(), random_state=0),
    ShapleyImportance(LinearRegression(), cv=2),
)
@pytest.mark.filterwarnings("default")  # the checks' own warnings are not ours
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.slow
@checked(ShapleyImportance(LogisticRegression(), cv=2))
@pytest.mark.filterwarnings("default")
def test_scikit_learn_compatible_classifier(estimator, check):
    check(estimator)
