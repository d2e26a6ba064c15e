"""Responses of scikit-learn's perceptrons to mixed rows, without the mixed rows.

Along a permutation, a mixed row differs from the one before in the columns of one
player. Its first layer differs by the change of these columns times their weights.
Cumulative sums of such changes replace wide rows and their product with all weights.
"""

from collections.abc import Callable
from copy import copy

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from skshapley._tables import ArrayPool, RowPool
from skshapley.rewards._response import Response

PERCEPTRONS = "sklearn.neural_network._multilayer_perceptron"
MIN_COLUMNS = 128  # Below 100, mixed rows take less time than their differences.
# A mixed row follows from the one before if at most this share of its columns changes.
MOST_CHANGED = 1 / 8
CHECKED_ROWS = 8  # background rows for the comparison with the model
ACTIVATIONS: dict[str, Callable] = {
    "identity": np.asarray,
    "logistic": expit,
    "relu": lambda sums: np.maximum(sums, 0),
    "tanh": np.tanh,
}


def perceptron_layers(response, pool, empty) -> "PerceptronLayers | None":
    """Return the layers of a perceptron on wide tables; None for other models and tables.

    Parameters
    ----------
    response : Response
    pool : RowPool
    empty : ndarray of shape (b, K)
        The response on each background row.
    """
    if not _has_layers(response, pool):
        return None
    layers = PerceptronLayers(response, pool)
    sums = layers.first_sums(pool.background[:CHECKED_ROWS])
    # The attributes of the model may not be what its method computes from.
    same = np.allclose(layers.respond(sums), empty[:CHECKED_ROWS], 1e-9, 1e-12)
    return layers if same else None


def _has_layers(response: Response, pool: RowPool) -> bool:
    """Return True for a perceptron with a hidden layer, and float64 in many columns."""
    model = response.estimator
    if type(model).__module__ != PERCEPTRONS or callable(response.method):
        return False
    # Cumulative sums of wide first layers leave the cache.
    narrowest = max(MIN_COLUMNS, len(model.intercepts_[0]))
    if type(pool) is not ArrayPool or pool.X.shape[1] < narrowest:
        return False
    arrays = pool.X, pool.background, model.coefs_[0]
    return len(model.coefs_) > 1 and all(array.dtype == float for array in arrays)


class PerceptronLayers:
    """The first layer of a perceptron on mixed rows, and the response of the later layers.

    Parameters
    ----------
    response : Response
        The response of an `MLPRegressor` or `MLPClassifier`.
    pool : ArrayPool
    """

    def __init__(self, response: Response, pool: ArrayPool) -> None:
        model = response.estimator
        self._pool = pool
        self._weights = model.coefs_[0]
        self._intercepts = model.intercepts_[0]
        self._activation = model.activation  # a name, because functions need not pickle
        later = copy(model)
        later.coefs_ = model.coefs_[1:]
        later.intercepts_ = model.intercepts_[1:]
        later.n_layers_ = model.n_layers_ - 1
        later.n_features_in_ = len(self._intercepts)
        vars(later).pop("feature_names_in_", None)
        self._later = response.of(later)

    def first_sums(self, table) -> NDArray[np.float64]:
        """Return the first layer before its activation, ``(n, h)``.

        Parameters
        ----------
        table : ndarray or frame of shape (n, d)
        """
        return np.asarray(table) @ self._weights + self._intercepts

    def respond(self, sums, where="") -> NDArray[np.float64]:
        """Return the raw response ``(n, K)``, as `Response`.

        Parameters
        ----------
        sums : ndarray of shape (n, h)
            From `first_sums`.
        where : str, default=""
        """
        return self._later(ACTIVATIONS[self._activation](sums), where)

    def mixed_sums(self, coalitions, rows, references) -> NDArray[np.float64] | None:
        """Return `first_sums` of mixed rows; None unless most follow from the one before.

        Parameters
        ----------
        coalitions : ndarray of shape (n, p), bool
        rows, references : ndarray of shape (n,), int
        """
        present = self._pool.by_column(coalitions)
        n, d = present.shape
        changed = present[1:] != present[:-1]
        if np.count_nonzero(changed) > n * d * MOST_CHANGED:
            return None
        row, column = np.divmod(np.flatnonzero(changed) + d, d)
        follows = np.bincount(row, minlength=n) <= d * MOST_CHANGED
        same_row = rows[1:] == rows[:-1]
        follows[1:] &= same_row & (references[1:] == references[:-1])
        follows[0] = False
        if follows.mean() < 1 - MOST_CHANGED:
            return None
        small = follows[row]
        row = row[small]
        column = column[small]
        instances = self._pool.X[rows[row], column]
        change = instances - self._pool.background[references[row], column]
        change *= np.where(present[row, column], 1, -1)
        ends = np.searchsorted(row, np.arange(n + 1))
        changes = sparse.csr_array((change, column, ends), shape=(n, d))
        sums = changes @ self._weights
        starts = np.flatnonzero(~follows)
        table = self._pool.hybrid(
            coalitions[starts], rows[starts], references[starts, None]
        )
        sums[starts] = self.first_sums(table)
        for permutation in np.split(sums, starts[1:]):
            np.cumsum(permutation, axis=0, out=permutation)
        return sums
