"""Means over a table from a sample of its rows, regressed on what is known of all (model-assisted).

Deville & Särndal (1992), Calibration estimators in survey sampling, JASA 87; Breidt & Opsomer
(2017), Model-assisted survey estimation with modern prediction techniques, Statistical Science 32.
With traits that have mean zero over the table, the estimate is the regression's intercept: the mean
of its predictions over the table and of the residuals over the sample.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from skshapley._references._deck import Deck
from skshapley._references._traits import Traits

PENALTY = 5.0  # rows' worth of "no effect" on each coefficient
LEAST_REGRESSED = 24  # rows, below which a plain mean serves
MOST_LEVERAGE = 0.9  # a row that is fitted by itself alone tells no error


@dataclass(frozen=True, eq=False)
class Survey:
    """A sample of a table's rows, made ready to estimate means of many quantities.

    Parameters
    ----------
    deck : Deck
    rows : ndarray of shape (m,), int
        The rows that were looked at, in the order in which they were dealt.
    players : ndarray of shape (p,), int
        The players whose attributions are estimated.
    """

    deck: Deck
    rows: np.ndarray
    players: np.ndarray

    def mean(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return estimates of table means, and the errors of each row's prediction by the others.

        For each player and output the regression serves where it predicts rows that it has not
        seen better than the plain mean does.

        Parameters
        ----------
        values : ndarray of shape (m, p, k)
            One for each row.

        Returns
        -------
        means : ndarray of shape (p, k)
        errors : ndarray of shape (m, p, k)
        """
        m = len(values)
        means = values.mean(axis=0)
        errors = (values - means) * (m / max(m - 1, 1))
        traits = self.deck.traits
        if traits is None or m < LEAST_REGRESSED:
            return means, errors
        fitted, unseen = self._regressed(values, traits)
        better = (unseen**2).sum(axis=0) < (errors**2).sum(axis=0)
        return np.where(better, fitted, means), np.where(better, unseen, errors)

    def _regressed(self, values: np.ndarray, traits: Traits) -> tuple[np.ndarray, np.ndarray]:
        """Return the intercepts and the leave-one-out errors of ridge regressions."""
        rows = self.rows
        common = np.column_stack([np.ones(len(rows)), traits.common[rows]])
        penalty = np.full(common.shape[1], PENALTY)
        penalty[0] = 0.0
        gram = cho_factor(common.T @ common + np.diag(penalty))
        own = traits.own(rows, self.players)  # (p, m, n)

        def coefficients(y: np.ndarray) -> np.ndarray:
            """Return those of the common traits, ``(l, ...)``, for columns ``(m, ...)``."""
            flat = cho_solve(gram, common.T @ y.reshape(len(y), -1))
            return flat.reshape(-1, *y.shape[1:])

        def left(y: np.ndarray) -> np.ndarray:
            flat = common @ coefficients(y).reshape(common.shape[1], -1)
            return y - flat.reshape(y.shape)

        beyond = left(np.moveaxis(own, 0, 1)).transpose(1, 0, 2)  # (p, m, n)
        inner = np.swapaxes(own, 1, 2) @ beyond + PENALTY * np.eye(own.shape[2])
        weights = beyond @ np.linalg.inv(inner)  # (p, m, n)
        by_player = np.moveaxis(values, 1, 0)  # (p, m, k)
        slopes = np.swapaxes(weights, 1, 2) @ by_player
        rest = np.moveaxis(by_player - own @ slopes, 0, 1)  # (m, p, k)
        leverage = np.einsum("lm,ml->m", cho_solve(gram, common.T), common)
        taken = np.einsum("pmn,pmn->mp", beyond, weights)
        free = np.maximum(1 - leverage[:, None] - taken, 1 - MOST_LEVERAGE)
        return coefficients(rest)[0], left(rest) / free[:, :, None]
