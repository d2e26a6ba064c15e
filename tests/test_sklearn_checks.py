"""scikit-learn's own checks, all of them, on the explainers around a model that any data fit."""

from contextlib import suppress

import numpy as np
import pytest
from numpy.exceptions import ComplexWarning
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from skshapley import (
    AmortizedExplainer,
    GlobalImportance,
    ShapleyExplainer,
    ShapleyImportance,
)
from skshapley.rewards import REWARDS
from skshapley.trees import TreeExplainer

WEIGHTS = "check_sample_weight_equivalence_on_dense_data"
# Rewards that learn from the table draw rows by weight where others draw repeated rows
DRAWN = ("conditional", "copula", "empirical", "surrogate", "forest")


class RowSum(RegressorMixin, BaseEstimator):
    """A model without a state: the sum of whatever numbers a row has."""

    def fit(self, X, y=None, sample_weight=None):
        return self

    def predict(self, X):
        return np.nansum(np.asarray(X, dtype=np.float64), axis=1)

    def __sklearn_is_fitted__(self):
        return True


class OwnTree(TreeExplainer):
    """The explainer of a tree that is fitted to the background, whatever columns that has."""

    def fit(self, X, y=None, sample_weight=None):
        given = self.estimator
        self.estimator = DecisionTreeRegressor(max_depth=2, random_state=0).fit(
            [[0.0]], [0.0]
        )
        refused = (TypeError, ValueError, IndexError, ComplexWarning)
        with suppress(*refused):  # the explainer refuses these tables
            rows = np.nan_to_num(
                X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=float)
            )
            kept = (
                slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
            )
            rows = np.unique(rows[kept], axis=0)
            self.estimator.fit(rows, rows[:, 0])
        try:
            return super().fit(X, sample_weight=sample_weight)
        finally:
            self.estimator = given


def expected_to_fail(estimator):
    reward = getattr(estimator, "reward", None)
    return {WEIGHTS: "equal up to sampling"} if reward in DRAWN else {}


def checked(*estimators):
    """Decorate a test of scikit-learn's checks of estimators.

    The pairs are a list: pytest is about to refuse the generator of scikit-learn before
    1.7.
    """
    mark = parametrize_with_checks(
        [*estimators], expected_failed_checks=expected_to_fail
    )
    names, pairs = mark.args
    return pytest.mark.parametrize(names, list(pairs), **mark.kwargs)


def of_reward(reward):
    n = 200 if reward == "baseline" else 2000
    return ShapleyExplainer(RowSum(), reward=reward, max_rows=n, random_state=0)


@checked(
    of_reward("interventional"),
    OwnTree(DecisionTreeRegressor()),
    AmortizedExplainer(ShapleyExplainer(RowSum(), max_rows=200, random_state=0)),
    GlobalImportance(RowSum(), random_state=0),
    ShapleyImportance(LinearRegression(), cv=2),
)
@pytest.mark.filterwarnings(
    "ignore:No features were selected"
)  # ... that a check asks for
def test_scikit_learn_compatible(estimator, check):
    check(estimator)


@pytest.mark.slow
@checked(
    *[of_reward(reward) for reward in REWARDS if reward != "interventional"],
    ShapleyExplainer(FrozenEstimator(RowSum()), sampler="kernel"),
    ShapleyImportance(LogisticRegression(), cv=2),
)
@pytest.mark.filterwarnings("ignore:No features were selected")
# scikit-learn casts the targets of a classifier, among them inf, to see which kind they
# are of
@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_scikit_learn_compatible_and_slow(estimator, check):
    check(estimator)
