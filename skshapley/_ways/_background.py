"""Background rows that replace absent players, with their checks."""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from skshapley._references import herded
from skshapley._tables._arrow import Portable
from skshapley._tables._documents import as_documents
from skshapley._tables._inputs import (
    as_rows_of,
    check_columns,
    check_container,
    check_frame,
    checked_weights,
    column_names,
    in_order_of,
    is_frame,
    is_like,
    n_rows,
    refuse_no_table,
    take_rows,
    validated,
)
from skshapley._tables._model_columns import check_model_columns, model_columns
from skshapley.rewards import Players


@dataclass(frozen=True, eq=False)
class Background(Portable):
    """Background rows, their weights and their players.

    Attributes
    ----------
    rows : array or frame of shape (b, d), or None
        None if the model's own training data replace absent players.
    weights : ndarray of shape (b,)
        With sum 1; empty without rows.
    players : Players
    target : array of shape (b,) or (b, k), or None
        The target of the rows, if the reward needs it.
    """

    rows: Any
    weights: np.ndarray
    players: Players
    target: Any = None

    @classmethod
    def of(
        cls,
        owner: BaseEstimator,
        X: Any,
        sample_weight: Any,
        groups: Any,
        target: Any = None,
    ) -> Self:
        """Return the background of an estimator, checked.

        Parameters
        ----------
        owner : estimator
            The estimator; it stores the number and the names of the columns.
        X : array or frame of shape (b, d)
        sample_weight : array of shape (b,) or None
        groups : dict or None
        target : array of shape (b,) or (b, k), or None, default=None

        Raises
        ------
        ValueError, TypeError
            For no rows, wrong weights or groups.
        """
        name = type(owner).__name__
        X = checked_table(owner, X, model=owner.estimator)
        weights = checked_weights(sample_weight, n_rows(X), name)
        players = Players.from_groups(groups, column_names(X), name)
        rows = np.flatnonzero(weights)
        # Rows of weight 0 cost predictions and change nothing, so they are left out.
        if target is not None:
            check_consistent_length(X, target)
            target = np.asarray(target)[rows]
        weights = weights[rows] / weights[rows].sum()
        return cls(take_rows(X, rows), weights, players, target)

    def herded(self, n: int, predictions: np.ndarray, rng: np.random.Generator) -> Self:
        """Return a background of n of these rows that together resemble all rows.

        Parameters
        ----------
        n : int
        predictions : ndarray of shape (b, k)
        rng : numpy.random.Generator
        """
        rows = np.sort(herded(self.rows, n, predictions, self.weights, rng))
        return replace(
            self,
            rows=take_rows(self.rows, rows),
            weights=np.full(n, 1 / n),
            target=None if self.target is None else self.target[rows],
        )

    def table(self, owner: BaseEstimator, X: Any) -> Any:
        """Return rows to explain, checked against the background, in its container.

        Parameters
        ----------
        owner : estimator
        X : array or frame of shape (r, d)
            If the background is a frame, also a dict, a list of dicts, or a Series of
            one row.

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers.
        """
        # The checks take 90 us of CPU for a row of an array, and exact values of a
        # ridge regression 45 us. A table like the background needs no checks: the rows
        # of `fit` were checked too.
        like, state = self.rows, vars(owner)
        if like is None and "feature_names_in_" not in state:
            like = np.empty((0, state["n_features_in_"]))
        if is_like(X, like):
            return X
        if is_frame(self.rows) and not is_frame(X):
            X = as_rows_of(X, self.rows, type(owner).__name__)
        return checked_table(owner, X, self.rows, owner.estimator)


class Tokens(Background):
    """The background of an explainer of documents: no rows, and no players."""

    @classmethod
    def none(cls) -> Self:
        """Return the background."""
        players = Players(np.empty(0, dtype=object), np.empty(0, np.intp))
        return cls(None, np.empty(0), players)

    def table(self, owner: BaseEstimator, X: Any) -> Any:
        """Return documents to explain as a Series of str."""
        return as_documents(X, type(owner).__name__)


def checked_table(
    owner: BaseEstimator, X: Any, like: Any = None, model: Any = None
) -> Any:
    """Return X checked, in its own container.

    Parameters
    ----------
    owner : estimator
        It has the number and the names of the columns, or stores them without `like`.
    X : array, sparse matrix or frame
        The columns of a frame are sorted like `like`, or else like the model's.
    like : array, sparse matrix or frame, or None
        X must have its container, columns and dtypes.
    model : estimator or None
        Without `like`, X must have its columns; None if the model will be fitted to X.
    """
    name = type(owner).__name__
    refuse_no_table(X, name)
    if like is not None:
        check_container(X, like, name)
    if not is_frame(X):
        X = validated(owner, X, like is None)
        return X if like is None else check_columns(X, like, name)
    check_frame(X, name)
    if like is not None:
        return check_columns(X, like, name)
    columns = model_columns(model)
    X = X if columns is None else in_order_of(X, columns)
    check_model_columns(X, model, name)
    return validated(owner, X, reset=True)
