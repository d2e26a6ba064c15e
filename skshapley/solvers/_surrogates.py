"""Games fitted to a sample of values, with exact Shapley values."""

from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

from skshapley._tools._constraints import Constraint
from skshapley._tools._counting import all_coalitions
from skshapley._trees import TreeValues
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import INDICES, enumerated
from skshapley.readers._registry import read_trees

SURROGATES = ("linear", "tree")
MOST_ENUMERATED = 14  # players


class LinearSurrogate:
    """An additive game fitted by weighted least squares, with values of sum zero.

    Parameters
    ----------
    coalitions : ndarray of shape (m, p), bool
    expected : ndarray of shape (m,)
        Expected number of coalitions of that size.
    values : ndarray of shape (m, k)
        With zeros at the empty and the full coalition.
    """

    def __init__(
        self, coalitions: np.ndarray, expected: np.ndarray, values: np.ndarray
    ) -> None:
        p = coalitions.shape[1]
        size = coalitions.sum(axis=1, keepdims=True)
        root = 1 / np.sqrt(size * (p - size) * expected[:, None])
        self._slopes = np.linalg.lstsq(
            root * (coalitions - size / p), root * values, rcond=1e-10
        )[0]

    def predict(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values of coalitions, ``(m, k)``."""
        return (coalitions - coalitions.mean(axis=1, keepdims=True)) @ self._slopes

    def shapley(self) -> np.ndarray:
        """Return the Shapley values, ``(p, k)``."""
        return self._slopes - self._slopes.mean(axis=0)


class FittedSurrogate:
    """Any regressor on the presence of players, fitted for each output.

    Parameters
    ----------
    regressor : estimator
        Cloned for each output.
    coalitions : ndarray of shape (m, p), bool
    values : ndarray of shape (m, k)
        With zeros at the empty and the full coalition.
    """

    def __init__(
        self, regressor: Any, coalitions: np.ndarray, values: np.ndarray
    ) -> None:
        self._n_players = coalitions.shape[1]
        ends = np.repeat([[False], [True]], self._n_players, axis=1)
        present = np.concatenate([ends, coalitions]).astype(np.float64)
        end_values = np.zeros((2, values.shape[1]))
        self._models = [
            clone(regressor).fit(present, column)
            for column in np.concatenate([end_values, values]).T
        ]

    def predict(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values of coalitions, ``(m, k)``."""
        present = coalitions.astype(np.float64)
        return np.stack(
            [model.predict(present) for model in self._models], axis=1
        ).astype(float)

    def shapley(self) -> np.ndarray:
        """Return the Shapley values, ``(p, k)``, with sum f(all) - f(empty)."""
        return np.concatenate([self._of(model) for model in self._models], axis=1)

    def _of(self, model: Any) -> np.ndarray:
        p = self._n_players
        if not is_read(model):
            cube = all_coalitions(p).astype(np.float64)
            values = np.asarray(model.predict(cube), dtype=float)[:, None]
            return enumerated(values, INDICES["shapley"], 1)
        nobody, everybody = np.zeros((1, p)), np.ones((1, p))
        trees = TreeValues(read_trees(model, "predict"), np.arange(p))
        return trees.values_by_reference(everybody, nobody)[0, 0]


def is_read(regressor: Any) -> bool:
    """Return True if the values of a regressor can be computed from its trees."""
    try:
        read_trees(regressor, "predict")
    except NotFittedError:
        return True
    except UnreadableModelError:
        return False
    return True


def is_surrogate(surrogate: object) -> bool:
    """Return True for a known name or a regressor."""
    if isinstance(surrogate, str):
        return surrogate in SURROGATES
    return hasattr(surrogate, "__sklearn_tags__") and is_regressor(surrogate)


SURROGATE = Constraint(
    is_surrogate,
    '"linear", "tree", or a regressor, which is fitted to 0/1 indicators of the '
    "players",
)


def check_enumerable(surrogate: Any, n_players: int, owner: str) -> None:
    """Raise ValueError if a surrogate has too many coalitions for exact values.

    Parameters
    ----------
    surrogate : str or estimator
    n_players : int
    owner : str
        Owner of the parameter, for the error.
    """
    if isinstance(surrogate, str):
        return
    if n_players > MOST_ENUMERATED and not is_read(surrogate):
        raise ValueError(
            f"{owner} got surrogate={surrogate!r} with {n_players} players: the values "
            "of a regressor other than trees are enumerated, for at most "
            f'{MOST_ENUMERATED} players; try surrogate="tree".'
        )


def fit_surrogate(
    surrogate: Any, coalitions: np.ndarray, expected: Any, values: np.ndarray
) -> LinearSurrogate | FittedSurrogate:
    """Return the fitted surrogate.

    Parameters
    ----------
    surrogate : str or estimator
    coalitions : ndarray of shape (m, p), bool
    expected : ndarray of shape (m,)
        Expected number of coalitions of that size; trees need no such weights to be
        unbiased.
    values : ndarray of shape (m, k)
        With zeros at the empty and the full coalition.
    """
    if isinstance(surrogate, str) and surrogate == "linear":
        return LinearSurrogate(coalitions, expected, values)
    if isinstance(surrogate, str):
        from sklearn.ensemble import GradientBoostingRegressor

        surrogate = GradientBoostingRegressor(
            n_estimators=50, max_depth=4, random_state=0
        )
    return FittedSurrogate(surrogate, coalitions, values)
