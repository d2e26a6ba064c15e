"""The log-odds of boosted trees, as a control variate for a sampled probability.

A probability of boosted trees is a curve of a sum of trees. The sum has exact Shapley
values, and the curve does not. Contributions to both, along the same permutation, are
correlated. The known mean of the first corrects the second.

Lavenberg & Welch (1981), A perspective on the use of control variables to increase the
efficiency of Monte Carlo simulations, Management Science 27.
"""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from skshapley._tables._inputs import n_rows, take_rows
from skshapley._ways._read import checked_rows, read_outputs
from skshapley.closed_forms._trees import Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.rewards import InterventionalReward, Reward

# XGBoost's probabilities are in single precision. At .999999, the logit has an error of
# .03. Small probabilities of the second class are precise; those of the first class are
# 1 minus the second
LEAST_GAP, LEAST_OF_SECOND = 1e-6, 1e-10
LOGIT_ATOL = 0.05  # from the trees, on background rows
# Largest standard deviation of the log-odds of background rows. Beyond it, nearly all
# probabilities are 0 or 1, and contributions to them hardly depend on the log-odds.
MOST_SPREAD = 5.0
MOST_COST = 10_000  # largest cost of each of twenty rows, in model rows
# Smallest budget, in model rows per row to explain. Reading the trees and making tables
# takes as long as 15,000 model rows against 100 background rows, and 50,000 against
# 10,000. With at most 2,000 model rows each, up to ten rows reach the same error sooner
# without the log-odds; a hundred rows need at most 1.5 times as long (five tables).
LEAST_ROWS = 2001


class Margins:
    """The exact Shapley values of the log-odds, for the rows that can use them.

    Parameters
    ----------
    form : Trees
        Of the log-odds of the explained class, fitted.
    second : bool
        Whether the explained class is the second of the two.
    """

    def __init__(self, form: Trees, second: bool) -> None:
        self.form, self.second = form, second

    @classmethod
    def of(cls, reward: Reward) -> "Margins | None":
        """Return the margins of a fitted reward, or None if they are unknown or take long.

        Parameters
        ----------
        reward : Reward
        """
        # A derived reward may change the game, and a control variate of another game
        # would not help.
        if type(reward) is not InterventionalReward or reward.link is not None:
            return None
        masked = reward.masked_
        odds = copy(masked.response)
        if odds.method != "predict_proba" or odds.n_columns != 2 or odds.column is None:
            return None
        odds.method = "log_odds"
        # Background probabilities are known from fit, so this test costs no call of the
        # model.
        probabilities = odds.choose(reward.empty_, 0)
        if (
            not _precise(probabilities, bool(odds.column)).all()
            or logit(probabilities).std() > MOST_SPREAD
        ):
            return None
        try:
            # The method was changed above: this reads the log-odds, not the
            # probability.
            form = read_outputs(odds)
            cost = form.expected_cost(masked.column_player, len(probabilities))
            if not isinstance(form, Trees) or cost > MOST_COST:
                return None
            background = odds.in_its_container(masked.background)
            form.fit(
                background,
                masked.weights,
                masked.column_player,
                reward.players_.n_players,
            )
        except UnreadableModelError:
            return None
        rows = checked_rows(len(probabilities))
        off = form.predict(take_rows(background, rows)) - logit(probabilities[rows])
        return cls(form, bool(odds.column)) if np.abs(off).max() < LOGIT_ATOL else None

    def __call__(
        self, X: Any, probabilities: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the Shapley values of the log-odds, ``(r, p)``; NaN for extreme probabilities.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, D)
            In the mixed columns.
        probabilities : ndarray of shape (r, 1)
            Of the explained class.
        """
        margins = np.full((n_rows(X), self.form.n_players_), np.nan)
        rows = np.flatnonzero(_precise(probabilities, self.second))
        margins[rows] = self.form.attributions(take_rows(X, rows))[:, :, 0]
        return margins


def _precise(probabilities, second) -> NDArray[np.bool_]:
    """Return True for probabilities ``(n, 1)`` with a precise logit, ``(n,)``."""
    least = LEAST_OF_SECOND if second else LEAST_GAP
    return ((probabilities > least) & (probabilities < 1 - LEAST_GAP))[:, 0]
