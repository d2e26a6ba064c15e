"""Means over a table from a sample of rows, by regression on known quantities (model-assisted).

Deville & Särndal (1992), Calibration estimators in survey sampling, JASA 87; Breidt & Opsomer
(2017), Model-assisted survey estimation with modern prediction techniques, Statistical Science 32.
With traits that have mean zero over the table, the estimate is the regression's intercept: the mean
of its predictions over the table and of the residuals over the sample.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

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
        (m, p, k), rows = values.shape, self.rows
        common = np.column_stack([np.ones(m), traits.common.take(rows, axis=0)])  # (m, l)
        penalty = np.full(common.shape[1], PENALTY)
        penalty[0] = 0.0
        factor = cholesky(common.T @ common + np.diag(penalty), lower=True, check_finite=False)
        # what the common traits predict of y is seen seen' y
        turn = solve_triangular(factor, np.eye(len(factor)), lower=True, check_finite=False).T
        seen = common @ turn
        own = traits.own(rows, self.players)  # (m, p, n)
        n = own.shape[2]
        flat = own.reshape(m, p * n)
        beyond = seen @ (seen.T @ flat)
        beyond = np.subtract(flat, beyond, out=beyond).reshape(m, p, n)
        # by player, as views: products of them are copied nowhere
        by_player, wide = own.transpose(1, 0, 2), beyond.transpose(1, 0, 2)  # (p, m, n)
        inverse = np.linalg.inv(by_player.swapaxes(1, 2) @ wide + PENALTY * np.eye(n))
        slopes = inverse @ (wide.swapaxes(1, 2) @ values.transpose(1, 0, 2))
        rest = values.reshape(m, p * k) - (by_player @ slopes).transpose(1, 0, 2).reshape(m, p * k)
        told = seen.T @ rest
        left = (rest - seen @ told).reshape(m, p, k)
        taken = np.einsum("pmn,pmn->mp", wide, wide @ inverse)
        free = 1 - np.einsum("ml,ml->m", seen, seen)[:, None] - taken
        return (turn[0] @ told).reshape(p, k), left / np.maximum(free, 1 - MOST_LEVERAGE)[
            :, :, None
        ]
