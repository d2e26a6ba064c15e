"""A reward: absent features follow the present ones, as in the nearest rows of the background."""

import numpy as np

from skshapley.constraints import Count
from skshapley.rewards import Game, Reward


class NearestReward(Reward):
    """Mean response over the background rows that agree best with the present features.

    v(S) is the mean over the k rows nearest to the instance in the features of S
    (Euclidean, in standard deviations of the background), with the instance's own
    values put in for S; v(empty) is the mean over the whole background. For tables of
    numbers.

    Parameters
    ----------
    n_neighbors : int, default=10
        k.

    References
    ----------
    Aas, Jullum & Loland (2021), Explaining individual predictions when features are
    dependent, Artificial Intelligence 298, section 3.3 (with kernel weights).
    """

    _constraints = {"n_neighbors": Count()}

    def __init__(self, n_neighbors=10):
        self.n_neighbors = n_neighbors

    def fit(self, response, background, weights, players):
        """Take the background."""
        self.response_, self.players_, self.n_references_ = response, players, 1
        self.rows_per_value_ = min(self.n_neighbors, len(weights))
        self.background_ = np.asarray(background, dtype=np.float64)
        spread = self.background_.std(axis=0)
        self.scale_ = np.where(spread > 0, spread, 1.0)
        self.empty_ = weights @ response.probe(background)
        return self

    def game(self, X):
        """Return the game of the instances X."""
        return NearestGame(self, np.asarray(X, dtype=np.float64))


class NearestGame(Game):
    """The reward at given instances."""

    def __init__(self, reward, X):
        self.reward, self.X = reward, X
        self.n_rows, self.n_players = len(X), reward.players_.n_players
        self.n_outputs = reward.response_.n_outputs
        self.rows_per_value = reward.rows_per_value_
        self.bytes_per_row = 8 * X.shape[1]
        raw = reward.response_(X)
        self.winners = reward.response_.winners(X, raw)
        self.at_instances = reward.response_.choose(raw, self.winners)

    def __call__(self, coalitions, rows, references=None):
        """Return the values of coalitions, ``(r, m, k)``."""
        reward, (r, m, _) = self.reward, coalitions.shape
        present = coalitions[
            :, :, reward.players_.column_player
        ]  # (r, m, d): groups as columns
        squares = (
            (self.X[rows][:, None] - reward.background_) / reward.scale_
        ) ** 2  # (r, b, d)
        distance = present @ np.swapaxes(squares, 1, 2)  # (r, m, b)
        nearest = distance.argsort(axis=2, kind="stable")[:, :, : self.rows_per_value]
        hybrid = np.where(
            present[:, :, None],
            self.X[rows][:, None, None],
            reward.background_[nearest],
        )
        raw = reward.response_(hybrid.reshape(-1, self.X.shape[1]))
        raw = raw.reshape(r, m, self.rows_per_value, -1)
        outputs = reward.response_.choose(raw, self.winners[rows][:, None, None])
        absent = ~coalitions.any(axis=2, keepdims=True)  # nobody is there to be near to
        return np.where(absent, self.empty(rows), outputs.mean(axis=2))

    def empty(self, rows):
        """Return v(empty), ``(r, 1, k)``: there is one reference, the whole background."""
        raw = np.broadcast_to(self.reward.empty_, (len(rows), len(self.reward.empty_)))
        return self.reward.response_.choose(raw, self.winners[rows])[:, None]

    def full(self, rows):
        """Return v(all), ``(r, k)``."""
        return self.at_instances[rows]

    def take(self, rows):
        """Return the game of some instances."""
        return NearestGame(self.reward, self.X[rows])
