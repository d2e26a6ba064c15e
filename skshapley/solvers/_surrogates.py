"""Games fitted to a sample of values, with exact Shapley values."""

from itertools import product
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import clone, is_regressor
from sklearn.exceptions import NotFittedError

from skshapley._tools import Constraint, all_coalitions
from skshapley._trees import TreeValues
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import INDICES, enumerated
from skshapley.readers._registry import read_trees

MOST_ENUMERATED = 14  # players
TINY = np.finfo(float).tiny
MOST_COALITIONS = 400  # in a kernel
# Candidates for the kernel: reaches in proportion to powers of the effects, and noises
REACH_POWERS = 0.0, 1.0
NOISES = 1e-4, 0.03, 1.0, 100.0
TOTAL_REACH = 1.5
LONGEST = 1.2


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
        self,
        coalitions: np.ndarray,
        expected: np.ndarray,
        values: np.ndarray,
    ) -> None:
        p = coalitions.shape[1]
        size = coalitions.sum(axis=1, keepdims=True)
        root = 1 / np.sqrt(size * (p - size) * expected[:, None])
        self._slopes = np.linalg.lstsq(
            root * (coalitions - size / p),
            root * values,
            rcond=1e-10,
        )[0]

    def predict(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values of coalitions, ``(m, k)``."""
        return (coalitions - coalitions.mean(axis=1, keepdims=True)) @ self._slopes

    def shapley(self) -> np.ndarray:
        """Return the Shapley values, ``(p, k)``."""
        return self._slopes - self._slopes.mean(axis=0)


class KernelSurrogate:
    """An additive game and a Gaussian process with the covariance prod_j (1 + rho_j s_j t_j).

    With signs s and t of two coalitions, the process has all interactions. The
    restricted likelihood chooses rho and the noise among few candidates.

    Parameters
    ----------
    coalitions : ndarray of shape (m, p), bool
    expected : ndarray of shape (m,)
        As of `LinearSurrogate`.
    values : ndarray of shape (m, k)
        With zeros at the empty and the full coalition.
    gain : ndarray of shape (k,) or float
        The sum of the Shapley values before the line in the size was subtracted.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, Eqs 2.42 and
    2.45.
    """

    def __init__(
        self,
        coalitions: np.ndarray,
        expected: np.ndarray,
        values: np.ndarray,
        gain: np.ndarray | float,
    ) -> None:
        p = coalitions.shape[1]
        effects = LinearSurrogate(coalitions, expected, values).shapley() + gain / p
        strength = np.linalg.norm(effects, axis=1) + TINY
        step = -(-len(coalitions) // MOST_COALITIONS)
        ends = np.repeat(
            [[False], [True]],
            p,
            axis=1,
        )
        self._signs = 2.0 * np.concatenate([ends, coalitions[::step]]) - 1
        values = np.concatenate([np.zeros((2, values.shape[1])), values[::step]])
        sample = np.column_stack([np.ones(len(values)), self._signs, values])
        largest = -np.inf
        for power, noise in product(REACH_POWERS, NOISES):
            weights = strength**power
            reach = np.minimum(TOTAL_REACH * weights / weights.sum(), LONGEST)
            covariance = self._covariance(self._signs, reach)
            covariance += noise * np.eye(len(values))
            factor = cholesky(covariance, lower=True, overwrite_a=True)
            halves = solve_triangular(factor, sample, lower=True)
            slopes = np.linalg.lstsq(halves[:, : p + 1], halves[:, p + 1 :])[0]
            residuals = halves[:, p + 1 :] - halves[:, : p + 1] @ slopes
            scale = (residuals**2).sum(axis=0)
            volume = np.log(np.diag(factor)).sum()
            volume += np.log(np.linalg.svd(halves[:, : p + 1], compute_uv=False)).sum()
            likelihood = (p + 1 - len(values)) / 2 * np.log(
                scale + TINY
            ).mean() - volume
            if likelihood > largest:
                largest = likelihood
                self._reach, self._slopes = reach, slopes
                self._solution = solve_triangular(
                    factor,
                    residuals,
                    lower=True,
                    trans=1,
                )

    def _covariance(self, signs: np.ndarray, reach: np.ndarray) -> np.ndarray:
        """Return the covariances of signs ``(n, p)`` with the fitted coalitions, ``(n, m)``."""
        return np.exp((signs * reach) @ self._signs.T - reach.sum())

    def predict(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values of coalitions, ``(m, k)``."""
        signs = 2.0 * coalitions - 1
        return (
            self._slopes[0]
            + signs @ self._slopes[1:]
            + self._covariance(signs, self._reach) @ self._solution
        )

    def shapley(self) -> np.ndarray:
        """Return the Shapley values, ``(p, k)``, with sum f(all) - f(empty)."""
        signs, rho = self._signs, np.tanh(self._reach)
        nodes, weights = INDICES["shapley"].nodes(len(rho) // 2 + 1)
        # the mean over u of prod (1 + u rho_l t_l) over l other than the player, in
        # units of the covariance
        scaled = nodes[:, None] * rho
        flat = 1 - scaled**2
        log_scale = np.log(flat).sum(axis=1) / 2 - np.log1p(rho).sum()
        products = weights * np.exp(signs @ np.arctanh(scaled).T + log_scale)
        means = products @ (1 / flat) - rho * signs * (
            products @ (nodes[:, None] / flat)
        )
        return 2 * self._slopes[1:] + (2 * rho * signs * means).T @ self._solution


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
        self,
        regressor: Any,
        coalitions: np.ndarray,
        values: np.ndarray,
    ) -> None:
        self._n_players = coalitions.shape[1]
        ends = np.repeat(
            [[False], [True]],
            self._n_players,
            axis=1,
        )
        present = np.concatenate([ends, coalitions]).astype(np.float64)
        self._models = [
            clone(regressor).fit(present, column)
            for column in np.concatenate([np.zeros((2, values.shape[1])), values]).T
        ]

    def predict(self, coalitions: np.ndarray) -> np.ndarray:
        """Return the values of coalitions, ``(m, k)``."""
        present = coalitions.astype(np.float64)
        return np.stack(
            [model.predict(present) for model in self._models],
            axis=1,
        ).astype(float)

    def shapley(self) -> np.ndarray:
        """Return the Shapley values, ``(p, k)``, with sum f(all) - f(empty)."""
        p = self._n_players
        if not is_read(self._models[0]):
            return enumerated(self.predict(all_coalitions(p)), INDICES["shapley"], 1)
        forms = [
            TreeValues(read_trees(model, "predict"), np.arange(p))
            for model in self._models
        ]
        ends = np.ones((1, p)), np.zeros((1, p))
        return np.concatenate(
            [form.values_by_reference(*ends)[0, 0] for form in forms],
            axis=1,
        )


def is_read(regressor: Any) -> bool:
    """Return True if the values of a regressor can be computed from its trees."""
    try:
        read_trees(regressor, "predict")
    except NotFittedError:
        return True
    except UnreadableModelError:
        return False
    return True


SURROGATE = Constraint(
    lambda surrogate: (
        surrogate in {"auto", "linear", "kernel", "tree"}
        if isinstance(surrogate, str)
        else hasattr(surrogate, "__sklearn_tags__") and is_regressor(surrogate)
    ),
    '"auto", "linear", "kernel", "tree", or a regressor, which is fitted to 0/1 indicators of the '
    "players",
)


def fit_surrogate(
    surrogate: Any,
    coalitions: np.ndarray,
    expected: Any,
    values: np.ndarray,
    gain: np.ndarray | float = 0.0,
) -> LinearSurrogate | KernelSurrogate | FittedSurrogate:
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
    gain : ndarray of shape (k,) or float, default=0.0
        As of `KernelSurrogate`.
    """
    if isinstance(surrogate, str) and surrogate == "linear":
        return LinearSurrogate(coalitions, expected, values)
    if isinstance(surrogate, str) and surrogate == "kernel":
        return KernelSurrogate(coalitions, expected, values, gain)
    if isinstance(surrogate, str):
        from sklearn.ensemble import GradientBoostingRegressor

        surrogate = GradientBoostingRegressor(
            n_estimators=50,
            max_depth=4,
            random_state=0,
        )
    return FittedSurrogate(surrogate, coalitions, values)
