"""What every reward is, and the interventional one: the mean response over a background."""

from abc import ABC, abstractmethod

import numpy as np
import sklearn
from sklearn.base import BaseEstimator

from skshapley._inputs import take_rows
from skshapley.rewards._game import Game
from skshapley.rewards._players import Players
from skshapley.rewards._response import Response
from skshapley.rewards._rows import CHUNK_ROWS, RowPool, row_pool


class Reward(BaseEstimator, ABC):
    """Base class of rewards: what a coalition of features of an instance is worth.

    A reward holds parameters only. `fit` takes the background, `game` binds it to instances.

    Attributes
    ----------
    n_references_ : int
        Number b of background rows that the game will have.
    response_ : Response
        The model's response that it evaluates.
    """

    n_references_: int
    response_: Response

    @abstractmethod
    def fit(self, response: Response, background, weights, players: Players) -> "Reward":
        """Take the background.

        Parameters
        ----------
        response : Response
        background : array or frame of shape (b, d)
        weights : ndarray of shape (b,)
            With sum 1.
        players : Players
        """

    @abstractmethod
    def game(self, X) -> Game:
        """Return the game of given instances.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            The instances, in the container of the background.
        """


class InterventionalReward(Reward):
    """Mean response when absent players take the values of background rows.

    v(S) = sum_b w_b f(x_S, background_b outside S). With one background row it is the contrastive
    game of Grah & Thouvenot (2020), f(z(x*, r, S)).

    References
    ----------
    Janzing, Minorics & Bloebaum (2020), Feature relevance quantification in explainable AI: a
    causal problem, AISTATS. Strumbelj & Kononenko (2014), Knowledge and Information Systems 41.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.rewards import InterventionalReward
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0] * X[:, 1], reward=InterventionalReward())
    >>> explainer.fit(np.array([[0.0, 0.0], [0.0, 2.0]])).explain(np.array([[1.0, 1.0]])).values
    array([[1., 0.]])
    """

    def fit(self, response, background, weights, players):
        """Take the background and evaluate the model on it once: v(empty) against each row."""
        self.response_, self.background_ = response, background
        self.weights_, self.players_ = weights, players
        self.n_references_ = len(weights)
        (first, where), *rest = _chunks(background, "background rows")
        parts = [response.probe(first, where), *(response(*chunk) for chunk in rest)]
        self.empty_ = np.concatenate(parts)
        return self

    def game(self, X):
        """Return the game of the instances X; the model is called on them once."""
        full, winners = [], []
        for chunk, where in _chunks(X, "instances"):
            full.append(self.response_(chunk, where))
            winners.append(self.response_.winners(chunk, full[-1]))
        pool = row_pool(X, self.background_, self.players_.column_player)
        labels = np.arange(len(X))
        return InterventionalGame(self, pool, np.concatenate(full), np.concatenate(winners), labels)


def _chunks(table, what):
    """Yield a table's rows in pieces of bounded size, each with where it is, for errors.

    The pieces are copies, since there are models that write into what they are given.
    """
    for start in range(0, len(table), CHUNK_ROWS):
        stop = min(start + CHUNK_ROWS, len(table))
        yield take_rows(table, np.arange(start, stop)), f" on {what} {start} to {stop - 1}"


class InterventionalGame(Game):
    """The interventional reward at given instances."""

    def __init__(self, reward: InterventionalReward, pool: RowPool, full, winners, labels):
        self._reward, self._response, self._pool = reward, reward.response_, pool
        self._empty, self._full, self._winners = reward.empty_, full, winners
        self._labels = labels
        self.n_players, self.n_rows = reward.players_.n_players, len(full)
        self.n_outputs = reward.response_.n_outputs
        self.n_references = self.rows_per_value = len(reward.weights_)
        self.reference_weights = reward.weights_
        self.bytes_per_row = pool.bytes_per_row

    def __call__(self, coalitions, rows, references=None):
        """Return the mean response over the background, or over the references, ``(r, m, k)``."""
        r, m, p = coalitions.shape
        flat, repeated = coalitions.reshape(-1, p), np.repeat(rows, m)
        if references is None:
            weights = self.reference_weights
            named = np.broadcast_to(np.arange(self.n_references), (r * m, self.n_references))
        else:
            named = references.reshape(r * m, -1)
            weights = np.full(named.shape[1], 1 / named.shape[1])
        outputs = self._outputs(flat, repeated, named)
        if named.shape[1] == 1:
            return outputs.reshape(r, m, -1)
        # contiguous along the mean, so that its rounding is the same in every batch
        weighted = np.ascontiguousarray(np.swapaxes(outputs, 1, 2)) * weights
        return weighted.sum(axis=-1).reshape(r, m, -1)

    def _outputs(self, coalitions, rows, references):
        """Return the response of each hybrid row, ``(n, q, k)``, in calls of bounded size."""
        n, q = references.shape
        memory = sklearn.get_config()["working_memory"] * 2**20 / 8
        step = max(1, int(min(CHUNK_ROWS, memory // self.bytes_per_row)) // n)
        parts = []
        for start in range(0, q, step):
            chunk = references[:, start : start + step]
            hybrid = self._pool.hybrid(coalitions, rows, chunk)
            where = (
                f" on hybrid rows of instances {self._labels[rows[0]]} to {self._labels[rows[-1]]}"
            )
            raw = self._response(hybrid, where=where).reshape(n, chunk.shape[1], -1)
            parts.append(self._response.choose(raw, self._winners[rows][:, None]))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def empty(self, rows):
        """Return the response on each background row, ``(r, b, k)``."""
        table = np.broadcast_to(self._empty, (len(rows), *self._empty.shape))
        return self._response.choose(table, self._winners[rows][:, None])

    def full(self, rows):
        """Return the response at the instances, ``(r, k)``."""
        return self._response.choose(self._full[rows], self._winners[rows])

    def active(self, rows):
        """Return the players of which some column differs from some background row."""
        differs = self._pool.take(rows).differs()
        active = np.zeros((len(rows), self.n_players), dtype=bool)
        for column, player in enumerate(self._pool.column_player):
            active[:, player] |= differs[:, column]
        return active

    def take(self, rows):
        """Return the game of some instances."""
        return InterventionalGame(
            self._reward,
            self._pool.take(rows),
            self._full[rows],
            self._winners[rows],
            self._labels[rows],
        )
