"""The forest reward: weights of background rows by the leaves that they share with a row.

The forest of a coalition predicts the absent columns from the present ones. Its leaves
are the neighbourhoods: Meinshausen (2006), Quantile regression forests, JMLR 7, Eq 4
and 5. Redelmeier, Jullum & Aas (2020) use conditional inference trees.
"""

from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesRegressor

from skshapley._tables._keys import hashed
from skshapley._tools._params import Count
from skshapley.rewards._linked import WeightedGame
from skshapley.rewards._masked import MaskedModel
from skshapley.rewards._reward import BackgroundReward
from skshapley.rewards._surrogate import HiddenColumns

# An odd constant, so that the seed of a coalition is not a small number
SEED = 0xA0761D6478BD642F
MOST_LEVELS = 20  # levels of a category that get a target each


class ForestReward(BackgroundReward):
    """The model's mean response over background rows that share leaves with the row.

    v(S) = sum_i w_i f(x_S, background_i outside S). The weights come from a random
    forest that predicts the absent columns from the present ones: w_i is the mean over
    trees of 1 / (rows in the leaf) if row i is in the leaf of the row to explain, and 0
    otherwise. The reward accepts numbers, categories and missing values, and assumes
    nothing about their distribution. ``reward="conditional"`` chooses it for tables that
    are not numbers without missing values.

    One forest serves all rows that are explained together; they share the coalitions.
    Fit the reward to many rows, such as the training table. Explanations have no
    `background_errors`: another background would have other forests.

    Parameters
    ----------
    n_trees : int, default=30
        Trees of each forest.
    min_samples_leaf : int, default=8
        Background rows in a leaf, at least.
    most_rows : int, default=100
        Background rows with the largest weights that an evaluation uses, at most.
    random_state : int, default=0
        With the coalition, it seeds the forest.

    See Also
    --------
    SurrogateReward : One regressor for all coalitions.
    ConditionalReward : Moves rows by a normal model, for numbers.

    References
    ----------
    Meinshausen (2006), Quantile regression forests, Journal of Machine Learning
    Research 7. Redelmeier, Jullum & Aas (2020), Explaining predictive models with mixed
    features using Shapley values and conditional inference trees, CD-MAKE.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skshapley import ShapleyExplainer
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"city": rng.choice(["Oslo", "Rome"], 500)})
    >>> X["rent"] = 2.0 * (X["city"] == "Oslo") + rng.normal(scale=0.1, size=500)
    >>> explainer = ShapleyExplainer(lambda X: X["rent"], reward="conditional").fit(X)
    >>> explainer.explain(pd.DataFrame({"city": ["Oslo"], "rent": [2.0]})).values.round(
    ...     1
    ... )
    array([[0.5, 0.5]])
    """

    joint = True
    memory = None
    pooled = True
    mixed = "raw columns of rows in the same leaves"
    _constraints = {
        "n_trees": Count(),
        "min_samples_leaf": Count(),
        "most_rows": Count(),
        "random_state": Count(least=0),
    }

    def __init__(
        self,
        n_trees: int = 30,
        min_samples_leaf: int = 8,
        most_rows: int = 100,
        random_state: int = 0,
    ) -> None:
        self.n_trees = n_trees
        self.min_samples_leaf = min_samples_leaf
        self.most_rows = most_rows
        self.random_state = random_state

    def fit(self, response, background, weights, players) -> Self:
        """Store the background, and evaluate the model on it once."""
        super().fit(response, background, weights, players)
        self.rows_per_value_ = min(self.most_rows, len(weights))
        self.columns_ = HiddenColumns(background)
        self.numbers_ = self.columns_.numbers(background)
        categorical = self.columns_.categorical[: self.numbers_.shape[1]]
        pairs = zip(self.numbers_.T, categorical, strict=True)
        self.targets_ = [_targets(column, codes) for column, codes in pairs]
        return self

    def _prepared(self, raw) -> MaskedModel:
        return raw

    def row_weights(self, numbers, coalition) -> NDArray[np.float64]:
        """Return the weights of background rows for rows to explain, ``(r, b)``.

        Parameters
        ----------
        numbers : ndarray of shape (r, d)
            The rows to explain, as `columns_` returns them.
        coalition : ndarray of shape (p,), bool
        """
        # constant columns separate no rows
        varied = np.array([target.any() for target in self.targets_])
        present = coalition[self.players_.column_player] & varied
        absent = np.flatnonzero(~present & varied)
        if not present.any() or not absent.size:  # all rows, or mixed rows are equal
            return np.tile(self.weights_, (len(numbers), 1))
        targets = np.column_stack([self.targets_[column] for column in absent])
        words = np.packbits(present)[None]
        forest = ExtraTreesRegressor(
            self.n_trees,
            min_samples_leaf=min(self.min_samples_leaf, len(self.weights_)),
            random_state=int(hashed([words], SEED + self.random_state)[0] % 2**31),
        )
        table = self.numbers_[:, present]
        targets = targets[:, 0] if targets.shape[1] == 1 else targets
        forest.fit(table, targets, self.weights_ * len(self.weights_))
        leaves = forest.apply(table)
        row_leaves = forest.apply(numbers[:, present])
        weights = np.zeros((len(numbers), len(table)))
        for leaf, row_leaf in zip(leaves.T, row_leaves.T, strict=True):
            shared = (row_leaf[:, None] == leaf) * self.weights_
            weights += shared / shared.sum(axis=1, keepdims=True)
        return _most(weights, self.rows_per_value_)

    def game(self, X) -> "ForestGame":
        """Return the game of the rows X; the model is called on them once."""
        return ForestGame(self._plain_game(X), self, self.columns_.numbers(X))


def _targets(column: NDArray[np.float64], is_code: bool) -> NDArray[np.float64]:
    """Return the targets that stand for an absent column, in standard units ``(b, t)``."""
    if is_code:
        levels, counts = np.unique(column, return_counts=True)
        frequent = levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
        targets = (column[:, None] == frequent).astype(float)
    else:
        missing = np.isnan(column)
        ranks = pd.Series(column).rank(pct=True).fillna(0.5)
        targets = np.column_stack([ranks, missing])
    # Every column has the same total variance, and a constant one has zeros.
    targets = targets - targets.mean(axis=0)
    total = targets.var(axis=0).sum()
    return targets / np.sqrt(total) if total > 0 else np.zeros_like(targets)


def _most(weights: NDArray[np.float64], n: int) -> NDArray[np.float64]:
    """Return the n largest weights of each row, with sum 1; the others are 0."""
    if n < weights.shape[1]:
        smallest = np.partition(weights, -n, axis=1)[:, -n, None]
        above = weights > smallest
        ties = weights == smallest
        room = n - above.sum(axis=1, keepdims=True)
        weights = np.where(above | (ties & (ties.cumsum(axis=1) <= room)), weights, 0.0)
    return weights / weights.sum(axis=1, keepdims=True)


class ForestGame(WeightedGame):
    """The game of the forest reward for given rows.

    Parameters
    ----------
    game : InterventionalGame
    reward : ForestReward
        Fitted.
    numbers : ndarray of shape (r, d)
        The rows to explain.
    """

    by_row = ("_numbers",)

    def __init__(self, game: Any, reward: ForestReward, numbers: np.ndarray) -> None:
        super().__init__(game)
        self._reward, self._numbers = reward, numbers
        self.rows_per_value = reward.rows_per_value_

    def _weights(self, coalitions, rows) -> NDArray[np.float64]:
        weights = np.empty((len(rows), len(self._reward.weights_)))
        sets, place = np.unique(coalitions, axis=0, return_inverse=True)
        for number, coalition in enumerate(sets):
            lines = np.flatnonzero(place.reshape(-1) == number)
            numbers = self._numbers[rows[lines]]
            weights[lines] = self._reward.row_weights(numbers, coalition)
        return weights
