"""Games that are fitted to a sample of values, and whose Shapley values are known exactly."""

import numpy as np
from scipy.special import gammaln

TREES = 50
DEPTH = 4


class LinearSurrogate:
    """An additive game by weighted least squares, its values with sum zero.

    Parameters
    ----------
    coalitions : ndarray of shape (m, p), bool
    expected : ndarray of shape (m,)
        Expected number of coalitions of that size.
    values : ndarray of shape (m, k)
        With zeros at the empty and the full coalition.
    """

    def __init__(self, coalitions, expected, values):
        p = coalitions.shape[1]
        size = coalitions.sum(axis=1, keepdims=True)
        root = 1 / np.sqrt(size * (p - size) * expected[:, None])
        self._slopes = np.linalg.lstsq(root * (coalitions - size / p), root * values, rcond=1e-10)[
            0
        ]

    def predict(self, coalitions):
        """Return the values of coalitions, ``(m, k)``."""
        return (coalitions - coalitions.mean(axis=1, keepdims=True)) @ self._slopes

    def shapley(self):
        """Return the Shapley values, ``(p, k)``."""
        return self._slopes - self._slopes.mean(axis=0)


class TreeSurrogate:
    """Boosted regression trees on the players' presence, one ensemble for each output.

    Parameters
    ----------
    coalitions : ndarray of shape (m, p), bool
    expected : ndarray of shape (m,)
        Not used: trees need no weights to be unbiased.
    values : ndarray of shape (m, k)
        With zeros at the empty and the full coalition.
    """

    def __init__(self, coalitions, expected, values):
        from sklearn.ensemble import GradientBoostingRegressor

        self._n_players = coalitions.shape[1]
        ends = np.repeat([[False], [True]], self._n_players, axis=1)
        present = np.concatenate([ends, coalitions]).astype(np.float32)
        self._ensembles = []
        for column in values.T:
            model = GradientBoostingRegressor(n_estimators=TREES, max_depth=DEPTH, random_state=0)
            self._ensembles.append(model.fit(present, np.concatenate([[0.0, 0.0], column])))

    def predict(self, coalitions):
        """Return the values of coalitions, ``(m, k)``."""
        present = coalitions.astype(np.float32)
        return np.stack([model.predict(present) for model in self._ensembles], axis=1)

    def shapley(self):
        """Return the Shapley values, ``(p, k)``, with sum f(all) - f(empty)."""
        return np.stack([self._of(model) for model in self._ensembles], axis=1)

    def _of(self, model):
        out = np.zeros(self._n_players)
        for (tree,) in model.estimators_:
            _add_tree(tree.tree_, out)
        return model.learning_rate * out


def _add_tree(tree, out):
    """Add the Shapley values of one tree of 0/1 features to `out`, ``(p,)``.

    A leaf is reached if the a players on whose right it stands are present and the b others on its
    path absent: a game in which each of the former gets (a - 1)! b!/(a + b)! of its value, and each
    of the latter minus a! (b - 1)!/(a + b)!.
    """
    stack: list[tuple[int, tuple[int, ...], tuple[int, ...]]] = [(0, (), ())]
    while stack:
        node, present, absent = stack.pop()
        if tree.children_left[node] >= 0:
            player = int(tree.feature[node])
            stack.append((tree.children_left[node], present, (*absent, player)))
            stack.append((tree.children_right[node], (*present, player), absent))
            continue
        a, b = len(present), len(absent)
        value = tree.value[node, 0, 0] * np.exp(
            gammaln(a + 1) + gammaln(b + 1) - gammaln(a + b + 1)
        )
        for player in present:
            out[player] += value / a
        for player in absent:
            out[player] -= value / b


SURROGATES: dict[str, type[LinearSurrogate] | type[TreeSurrogate]] = {
    "linear": LinearSurrogate,
    "tree": TreeSurrogate,
}
