"""A tree reader: sums of stumps, as a model that no library has."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skshapley.trees import TreeEnsemble


class Stumps(RegressorMixin, BaseEstimator):
    """One step per feature, at its median: the mean of y on either side of it."""

    def fit(self, X, y):
        """Find the steps."""
        X = validate_data(self, X)
        self.steps_ = np.median(X, axis=0)
        right = self.steps_ < X
        self.sides_ = (
            np.array([[y[~side].mean(), y[side].mean()] for side in right.T])
            / X.shape[1]
        )
        return self

    def predict(self, X):
        """Return the sum of the steps."""
        check_is_fitted(self)
        right = (self.steps_ < validate_data(self, X, reset=False)).astype(int)
        return self.sides_[np.arange(len(self.steps_)), right].sum(axis=1)


def read_stumps(model):
    """Return the steps as trees of three nodes each: a root, its left leaf, its right leaf."""
    d = len(model.steps_)
    roots = 3 * np.arange(d)
    leaf = np.full(3 * d, -1)
    left, right, feature = leaf.copy(), leaf.copy(), leaf.copy()
    left[roots], right[roots], feature[roots] = roots + 1, roots + 2, np.arange(d)
    value, threshold = np.zeros((3 * d, 1)), np.zeros(3 * d)
    value[roots + 1, 0], value[roots + 2, 0] = model.sides_.T
    threshold[roots] = model.steps_
    nowhere = np.zeros(3 * d, dtype=bool)
    return TreeEnsemble(
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        missing_left=nowhere,
        zero_missing=nowhere,
        value=value,
        cover=np.ones(3 * d),
        roots=roots,
        base=np.zeros(1),
        n_features=d,
        strict=False,
        single_precision=False,
        methods=("predict",),
        raw_response=lambda X: model.predict(X)[:, None],
    )
