"""Rewards from models of rows with hidden columns: a regressor, and a forest.

The regressor with the smallest squared error over random masks is E[f(X) | x_S] for all
S: Frye, de Mijolla, Begley, Cowton, Stanley & Feige (2021), section 3.2; Covert,
Lundberg & Lee (2021), section 8.2; the surrogate of Olsen, Glad, Jullum & Aas (2024).

The forest of a coalition predicts the absent columns from the present ones. Its leaves
are the neighbourhoods: Meinshausen (2006), Quantile regression forests, JMLR 7, Eq 4
and 5. Redelmeier, Jullum & Aas (2020) use conditional inference trees.
"""

from dataclasses import dataclass
from math import ceil
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.multioutput import MultiOutputRegressor

from skshapley._tables import as_pandas, hashed
from skshapley._tools import Constraint, Count, generator, uniform_of_size
from skshapley.rewards._game import Game, NumericGame, WeightedGame
from skshapley.rewards._masked import MaskedModel
from skshapley.rewards._reward import BackgroundReward


def kernel_coalitions(
    rng: np.random.Generator,
    n: int,
    n_players: int,
) -> NDArray[np.bool_]:
    """Return coalitions ``(n, p)``, neither empty nor full, drawn by the Shapley kernel.

    The probability of size s is proportional to 1 / (s (p - s)), and uniform within a
    size. These are the weights of the regression that defines the Shapley value
    (Charnes et al. 1988).

    Parameters
    ----------
    rng : Generator
    n : int
    n_players : int
        p, at least two.
    """
    sizes = np.arange(1, n_players)
    weights = 1 / (sizes * (n_players - sizes))
    return uniform_of_size(
        rng,
        rng.choice(sizes, size=n, p=weights / weights.sum()),
        n_players,
    )


NUMBERS = ("integer", "floating", "mixed-integer-float", "boolean")
# Levels of a category for HistGradientBoosting, including missing values
MOST_LEVELS = 254


class HiddenColumns:
    """Numbers for the columns of a table, with NaN for absent columns.

    Numbers do not change. Other columns have a code for each level, one for unknown
    levels, and one for missing values. A column of numbers with missing values gets a
    second column, which shows if it is present.

    Parameters
    ----------
    table : array or frame of shape (b, d)
    """

    def __init__(self, table) -> None:
        frame = as_pandas(table)
        self._levels = [_levels(column) for _, column in frame.items()]
        numeric = np.array([levels is None for levels in self._levels])
        self._gaps = np.flatnonzero(numeric & frame.isna().any().to_numpy())

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """The columns with codes of few levels, including the second columns."""
        categorical = [
            levels is not None and len(levels) < MOST_LEVELS for levels in self._levels
        ]
        return np.array(categorical + [False] * len(self._gaps))

    def numbers(self, table) -> NDArray[np.float64]:
        """Return a table ``(n, d)`` as numbers."""
        return np.column_stack(
            [
                _numbers(levels, column)
                for levels, (_, column) in zip(
                    self._levels,
                    as_pandas(table).items(),
                    strict=True,
                )
            ]
        )

    def hidden(self, numbers, present) -> NDArray[np.float64]:
        """Return numbers ``(n, d)`` with NaN for absent columns, and the second columns."""
        return np.column_stack(
            [np.where(present, numbers, np.nan), present[:, self._gaps].astype(float)]
        )


def _levels(column) -> pd.Index | None:
    """Return the levels of a non-numeric column."""
    if (
        pd.api.types.is_numeric_dtype(column)
        or pd.api.types.infer_dtype(column, skipna=True) in NUMBERS
    ):
        return None
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.categories
    return pd.Index(column.dropna().unique()).sort_values(
        key=lambda level: level.astype(str)
    )


def _numbers(levels, column) -> NDArray[np.float64]:
    if levels is None:
        return pd.to_numeric(column.astype(object), errors="coerce").to_numpy(
            np.float64,
            na_value=np.nan,
        )
    codes = levels.get_indexer(column)
    # A level of its own, because NaN already means that the column is hidden.
    return np.where(codes < 0, len(levels), codes).astype(np.float64)


MOST_ROWS = 2**16  # training rows of a surrogate, unless the background has more
LEAF_ROWS = 5  # background rows per leaf of the default regressor, with all their masks


@dataclass(frozen=True, eq=False)
class Surrogate(MaskedModel):
    """Regressors of the outputs of a response, without its model, on hidden columns.

    Attributes
    ----------
    regressor : fitted regressor of c outputs
    low, high : ndarray of shape (c,)
        Range of the training responses, which contains all conditional means.
    columns : HiddenColumns
    """

    regressor: Any
    low: np.ndarray
    high: np.ndarray
    columns: HiddenColumns

    def predict(self, numbers, coalitions) -> NDArray[np.float64]:
        """Return the outputs predicted from the present columns, ``(n, c)``."""
        present = coalitions.take(self.column_player, axis=1)
        # Trees of residuals may leave the range of the response, such as probabilities.
        return np.clip(
            self.regressor.predict(self.columns.hidden(numbers, present)),
            self.low,
            self.high,
        )


@dataclass(eq=False, repr=False)
class SurrogateReward(BackgroundReward):
    """A regressor's prediction of the response from the present columns.

    v(S) is the prediction of a regressor trained to predict the model's response on
    background rows with randomly hidden columns. The best such regressor returns E[f(X)
    | X_S = x_S]. It accepts columns of any kind and missing values, and assumes nothing
    about their joint distribution. The regressor's error affects the values but not the
    standard errors. `skshapley.diagnostics.conditional_error` estimates it, and
    compares it with other rewards.

    v(empty) is the mean response over the background, v(all) the model's response at
    the row to explain. One evaluation of v is one row of the surrogate, for any size of
    the background. Fit the reward to many rows, such as the training table.

    Parameters
    ----------
    regressor : None or regressor, default=None
        It must accept NaN for hidden columns, and sample weights if background rows
        have weights; categories are passed as codes. A clone is fitted for each output.
        None: a HistGradientBoostingRegressor that knows the categorical columns.
    n_masks : int, default=64
        Masks for each background row; fewer if the total would exceed 65536 rows. The
        number of visible columns is drawn with the weights of the Shapley value.
    random_state : int, default=0
        For the masks.

    Attributes
    ----------
    surrogate_ : Surrogate
        The surrogate trained on all rows.

    See Also
    --------
    ConditionalReward : Moves rows by a normal model, for numbers.

    References
    ----------
    Frye, de Mijolla, Begley, Cowton, Stanley & Feige (2021), Shapley explainability on
    the data manifold, ICLR, section 3.2. Covert, Lundberg & Lee (2021), Explaining by
    removing: a unified framework for model explanation, JMLR 22. Olsen, Glad, Jullum &
    Aas (2024), A comparative study of methods for estimating model-agnostic Shapley
    value explanations, Data Mining and Knowledge Discovery 38.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> X = np.random.default_rng(0).multivariate_normal(
    ...     [0, 0], [[1, 0.8], [0.8, 1]], size=500
    ... )
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0], reward="surrogate").fit(X)
    >>> explainer.explain(np.array([[1.0, 1.0]])).values.round(1)
    array([[0.5, 0.4]])
    """

    regressor: Any = None
    n_masks: int = 64
    random_state: int = 0

    mixed = "raw columns, hidden from a surrogate"
    _constraints = {
        "regressor": Constraint(
            lambda regressor: (
                regressor is None
                or (
                    hasattr(regressor, "fit")
                    and hasattr(regressor, "predict")
                    and not isinstance(regressor, type)
                )
            ),
            "None or a regressor that takes NaN",
        ),
        "n_masks": Count(),
        "random_state": Count(least=0),
    }

    def fit(self, response, background, weights, players) -> Self:
        """Store the background, evaluate the model on it once, and train the surrogate."""
        super().fit(response, background, weights, players)
        self.n_references_ = self.rows_per_value_ = 1
        columns = HiddenColumns(background)
        numbers = columns.numbers(background)
        targets = self.masked_.empty
        if not response.predicted:
            targets = response.choose(targets, 0)
        # Few rows get all masks; a large table has enough rows for fewer masks each.
        n_masks = max(1, min(self.n_masks, ceil(MOST_ROWS / len(numbers))))
        row = np.repeat(np.arange(len(numbers)), n_masks)
        masks = np.ones((len(row), 1), dtype=bool)
        if players.n_players > 1:  # the coalitions of a single one are known
            masks = kernel_coalitions(
                generator(self.random_state, 1),
                len(row),
                players.n_players,
            )
        masked = columns.hidden(numbers[row], masks.take(players.column_player, axis=1))
        regressor = self.regressor
        if regressor is None:
            # The masks of a row have equal responses, so a leaf needs several rows, and
            # early stopping is misleading. On eight normal columns and a rough
            # response, leaves of 20, 5 n_masks and 20 n_masks gave errors of 0.91, 0.89
            # and 0.94.
            categorical = columns.categorical
            regressor = HistGradientBoostingRegressor(
                learning_rate=0.05,
                max_iter=200,
                min_samples_leaf=max(20, LEAF_ROWS * n_masks),
                early_stopping=False,
                categorical_features=categorical if categorical.any() else None,
                random_state=0,
            )
        share = (
            None
            if weights.min() == weights.max()
            else weights[row] / weights[row].mean()
        )
        self.surrogate_ = Surrogate(
            response.of(None),
            None,
            weights,
            players.column_player,
            MultiOutputRegressor(regressor).fit(masked, targets[row], share),
            targets.min(axis=0),
            targets.max(axis=0),
            columns,
            v_empty=self.masked_.v_empty,
        )
        return self

    def _prepared(self, raw) -> MaskedModel:
        return raw

    def game(self, X) -> "SurrogateGame":
        """Return the game of the rows X; the model is called on them once."""
        game = self._plain_game(X)
        game.shared = self.surrogate_
        return SurrogateGame(game, self.surrogate_.columns.numbers(X))


class SurrogateGame(NumericGame):
    """The game of the surrogate reward for given rows; they share the surrogate."""

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the surrogate's predictions, ``(r, m, k)``; v(empty) and v(all) are exact."""
        r, m, p = coalitions.shape
        flat = coalitions.reshape(-1, p)
        repeated = np.repeat(rows, m)
        values = self.shared.predict(self._numbers[repeated], flat)
        if self.shared.response.predicted:  # all outputs were learned
            values = self.shared.response.choose(
                values,
                self._game.instances.winners[repeated],
            )
        nobody = ~flat.any(axis=1)
        full = flat.all(axis=1)
        values[nobody] = self.empty(repeated[nobody])[:, 0]
        values[full] = self.full(repeated[full])
        return values.reshape(r, m, -1)

    active = Game.active  # columns are hidden and not replaced


# An odd constant, so that the seed of a coalition is not a small number
SEED = 0xA0761D6478BD642F
MOST_TARGETS = 20  # levels of a category that get a target each


@dataclass(frozen=True, eq=False, kw_only=True)
class ForestModel(MaskedModel):
    """A response with background rows weighted by forests of the absent columns.

    Attributes
    ----------
    forest : ExtraTreesRegressor
        Not fitted, with the parameters of each forest.
    seed : int
        With the coalition, it seeds the forest.
    most_rows : int
    columns : HiddenColumns
    numbers : ndarray of shape (b, d)
        The background as numbers.
    targets : list of ndarray of shape (b, t)
        The targets that stand for each column.
    """

    forest: ExtraTreesRegressor
    seed: int
    most_rows: int
    columns: HiddenColumns
    numbers: np.ndarray
    targets: list[np.ndarray]

    def row_weights(self, given, coalitions) -> NDArray[np.float64]:
        """Return the weights of background rows, with sum 1, ``(n, b)``.

        Parameters
        ----------
        given : ndarray of shape (n, d)
            The rows to explain, as `columns` returns them.
        coalitions : ndarray of shape (n, p), bool
        """
        weights = np.empty((len(given), len(self.weights)))
        sets, place = np.unique(coalitions, axis=0, return_inverse=True)
        for number, coalition in enumerate(sets):
            lines = place.reshape(-1) == number
            weights[lines] = self._weights_of(coalition, given[lines])
        return weights

    def _weights_of(self, coalition, given) -> NDArray[np.float64]:
        """Return the weights of one coalition for rows to explain, ``(r, b)``."""
        # constant columns separate no rows
        varied = np.array([target.any() for target in self.targets])
        present = coalition[self.column_player] & varied
        absent = np.flatnonzero(~present & varied)
        if not present.any() or not absent.size:  # all rows, or mixed rows are equal
            return np.tile(self.weights, (len(given), 1))
        targets = np.column_stack([self.targets[column] for column in absent])
        seed = hashed([np.packbits(present)[None]], self.seed)[0]
        forest = clone(self.forest).set_params(random_state=int(seed % 2**31))
        table = self.numbers[:, present]
        targets = targets[:, 0] if targets.shape[1] == 1 else targets
        forest.fit(table, targets, self.weights * len(self.weights))
        leaves = forest.apply(table)
        row_leaves = forest.apply(given[:, present])
        weights = np.zeros((len(given), len(table)))
        for leaf, row_leaf in zip(leaves.T, row_leaves.T, strict=True):
            shared = (row_leaf[:, None] == leaf) * self.weights
            weights += shared / shared.sum(axis=1, keepdims=True)
        return _most(weights, self.most_rows)


@dataclass(eq=False, repr=False)
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

    n_trees: int = 30
    min_samples_leaf: int = 8
    most_rows: int = 100
    random_state: int = 0

    joint = True
    pooled = True
    mixed = "raw columns of rows in the same leaves"
    _constraints = {
        "n_trees": Count(),
        "min_samples_leaf": Count(),
        "most_rows": Count(),
        "random_state": Count(least=0),
    }

    def _set_sizes(self, n) -> None:
        super()._set_sizes(min(self.most_rows, n))

    def _prepared(self, raw) -> ForestModel:
        columns = HiddenColumns(raw.background)
        numbers = columns.numbers(raw.background)
        pairs = zip(numbers.T, columns.categorical[: numbers.shape[1]], strict=True)
        b = len(raw.weights)
        return ForestModel(
            **vars(raw),
            forest=ExtraTreesRegressor(
                self.n_trees,
                min_samples_leaf=min(self.min_samples_leaf, b),
            ),
            seed=SEED + self.random_state,
            most_rows=min(self.most_rows, b),
            columns=columns,
            numbers=numbers,
            targets=[_targets(column, is_code) for column, is_code in pairs],
        )

    def game(self, X) -> WeightedGame:
        """Return the game of the rows X; the model is called on them once."""
        return WeightedGame(
            self._plain_game(X),
            self.masked_.columns.numbers(X),
            self.rows_per_value_,
        )


def _targets(column: NDArray[np.float64], is_code: bool) -> NDArray[np.float64]:
    """Return the targets that stand for an absent column, in standard units ``(b, t)``."""
    if is_code:
        levels, counts = np.unique(column, return_counts=True)
        frequent = levels[np.argsort(-counts, kind="stable")[:MOST_TARGETS]]
        targets = (column[:, None] == frequent).astype(float)
    else:
        missing = np.isnan(column)
        targets = np.column_stack(
            [pd.Series(column).rank(pct=True).fillna(0.5), missing]
        )
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
