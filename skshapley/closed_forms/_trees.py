"""Tree ensembles as closed forms, also with a linear model in each leaf, as in LightGBM.

With linear models: the response is g(x) + sum_j (x_j - c_j) h_j(x), with sums of plain
trees g and h_j. Against one background row z, the game of term j is the game of two
sums of plain trees,

    (x_j - c_j) [j is present] h_j + (z_j - c_j) [j is absent] h_j,

in which each tree begins with the question whether j is present. Over the background,
the first sum is averaged with the weights of the rows, and the second with these
weights times z_j - c_j. These are not negative if c_j is the smallest z_j.
"""

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tables import as_pandas, is_frame, take_rows
from skshapley._trees import TreeEnsemble, TreeValues
from skshapley._trees._costs import MODEL_NS, VISIT_NS, Costs, count_costs
from skshapley._trees._ensemble import NODES
from skshapley.closed_forms._base import SHAPLEY, ClosedForm, as_dense
from skshapley.indices import Index

# Background rows; with fewer, trees are not sampled against rows of their own
LEAST_SAMPLED = 32
# Pairs of a tree and a background row that take as long as sampling a row to the default
# relative error: 3,000 to 12,000 in forests of 30 and 100 trees.
SAMPLED_PAIRS = 1.5e4
MOST_SINGLE = np.finfo(np.float32).max


class Trees(ClosedForm):
    """A sum of decision trees.

    Parameters
    ----------
    trees : TreeEnsemble
    column_names : sequence of str or None, default=None
        The names of the model's columns, for tables without names.

    Notes
    -----
    A background of None (with weights and players) selects the training data: absent
    players follow it down the trees, in proportion to the covers of the nodes.

    References
    ----------
    Lundberg et al. (2020), From local explanations to global understanding with
    explainable AI for trees, Nature Machine Intelligence 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skshapley.readers import read_model
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> model = DecisionTreeRegressor().fit(X, X[:, 0] * X[:, 1])
    >>> form = read_model(model, "predict").fit(X[:1])
    >>> form.label, form.attributions(X[3:])[0, :, 0]
    ('trees', array([0.5, 0.5]))
    """

    label = "trees"
    nests = True
    # Every index is a mean over presence, which leaves support.
    indices = pair_indices = None

    def __init__(self, trees: TreeEnsemble, column_names: Any = None) -> None:
        self.trees = trees
        self.column_names = column_names
        self.n_outputs = trees.n_outputs
        self._costs: dict[str, Costs] = {}  # by groups and the players of the columns

    def combined(self, matrix: Any, constant: Any = 0.0) -> "Trees":
        """Return linear combinations of the outputs, as trees with other leaves."""
        return Trees(self.trees.combined(matrix, constant), self.column_names)

    def _fit(self) -> NDArray[np.float64]:
        self.solver_ = TreeValues(
            self.trees,
            self.column_player_,
            self.index,
            self.n_jobs_,
            self.n_players_,
            self.levels,
        )
        # Without rows, absent players follow the training data down the trees.
        rows = None if self.background_ is None else self._matrix(self.background_)
        return self.solver_.fit(rows, self.weights_).base_values

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return a copy with one method for all batches of a run."""
        run = copy(self)
        run.solver_ = self.solver_.for_run(n_rows, batch_rows)
        return run

    def expected_cost(self, column_player: Any, n_references: int) -> float:
        """Return the cost of each of a hundred rows, in model rows."""
        # counted once: 10 ms for a forest of 100 grown trees
        nested = self.levels is not None
        key = f"{nested} {column_player.tobytes().hex()}"
        if key not in self._costs:
            self._costs[key] = count_costs(self.trees, column_player, nested)
        return self._costs[key].model_rows(n_references)

    def usual_rows(self, n_players: int, n_references: int) -> float:
        """Return the cost of background rows for each tree, in model rows."""
        if n_references < LEAST_SAMPLED:
            return super().usual_rows(n_players, n_references)
        return SAMPLED_PAIRS * VISIT_NS / MODEL_NS / self.trees.n_trees

    def used_columns(self, n_columns: int) -> NDArray[np.bool_]:
        """Return True for the columns of splits, ``(d,)``."""
        return np.isin(np.arange(n_columns), self.trees.feature)

    @property
    def size(self) -> float:
        """The largest sum of leaves, one for each tree, in absolute value."""
        return self.trees.largest_sum

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of the trees, ``(r, k)``."""
        return self.solver_.predict(self._matrix(X))

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self.solver_.values(self._matrix(X))

    def attributions_and_predictions(self, X: Any) -> tuple[Any, Any]:
        """Return the values of the players, and the sum of the trees."""
        return self.solver_.values_and_predictions(self._matrix(X))

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        return self.solver_.pairs(self._matrix(X), index)

    def attributions_and_pairs(self, X: Any, index: Index) -> tuple[Any, Any]:
        """Return the values, and the interactions of every pair of players."""
        return self.solver_.values_and_pairs(self._matrix(X), index)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        return self.solver_.values_by_reference(
            self._matrix(X),
            self._matrix(take_rows(self.background_, np.asarray(rows))),
        )

    def _matrix(self, X: Any) -> NDArray[np.float64]:
        X = self.in_its_container(X)
        matrix = self.trees.to_matrix(X)
        response = self.trees.raw_response if self.trees.single_precision else None
        # Trees have a path for every number, but some models refuse missing values, or
        # numbers above the float32 range. They are called only to raise their error.
        if response is not None and not (np.abs(matrix) <= MOST_SINGLE).all():
            response(X)
        return matrix

    def in_its_container(self, X: Any) -> Any:
        """Return X as a DataFrame if the model was fitted with names, else unchanged.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d)
        """
        if type(X) is np.ndarray and self.column_names is None:
            return X
        if is_frame(X):
            return as_pandas(X)
        if sparse.issparse(X):
            entries = X.tocoo()
            X = np.full(X.shape, self.trees.absent)
            X[entries.row, entries.col] = entries.data
        if self.column_names is not None:
            X = pd.DataFrame(X, columns=self.column_names)
        return X


@dataclass(frozen=True, eq=False)
class _Slope:
    """The slopes of a column in all leaves, fitted to the background.

    Attributes
    ----------
    column : int
    lowest : float
        Smallest background value c_j of the column.
    mean : float
        Mean of the background values minus the smallest one.
    present, absent : Trees
        Slopes at the rows where the column is present, and where it is absent.
    """

    column: int
    lowest: float
    mean: float
    present: Trees
    absent: Trees


class LinearLeaves(ClosedForm):
    """A sum of trees with a linear model in each leaf.

    Parameters
    ----------
    trees : TreeEnsemble
        The trees with the constants of the leaves.
    slopes : mapping of int to ndarray of shape (n_nodes, k)
        For each column with slopes, its slopes in the leaves.
    column_names : sequence of str or None, default=None
        The names of the model's columns, for tables without names.

    References
    ----------
    Shi, Li & Li (2019), Gradient boosting with piece-wise linear regression trees,
    IJCAI.

    Examples
    --------
    This response is 0.5 plus the second column if the first is above 0.5, else 0:

    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skshapley.closed_forms import LinearLeaves
    >>> from skshapley.trees import read_trees
    >>> stump = read_trees(DecisionTreeRegressor().fit([[0, 0], [1, 0]], [0, 0.5]))
    >>> form = LinearLeaves(stump, {1: 2 * stump.value}).fit(np.zeros((1, 2)))
    >>> form.attributions(np.array([[1.0, 3.0]]))[0, :, 0]
    array([2. , 1.5])
    """

    label = "trees with linear leaves"
    # Every index is a mean over presence, which leaves support.
    indices = pair_indices = None

    def __init__(
        self,
        trees: TreeEnsemble,
        slopes: Mapping[int, NDArray[np.float64]],
        column_names: Any = None,
    ) -> None:
        self.trees = trees
        self.slopes = slopes
        self.column_names = column_names
        self.n_outputs = trees.n_outputs

    def combined(self, matrix: Any, constant: Any = 0.0) -> "LinearLeaves":
        """Return linear combinations of the outputs."""
        trees = replace(
            self.trees,
            base=self.trees.base @ matrix + constant,
            value=self.trees.value @ matrix,
        )
        return LinearLeaves(
            trees,
            {column: slope @ matrix for column, slope in self.slopes.items()},
            self.column_names,
        )

    def _fit(self) -> NDArray[np.float64]:
        rows = self._matrix(self.background_)
        players = self.column_player_
        plain = replace(self.trees, encode=None)
        flat = replace(plain, base=np.zeros(self.n_outputs))
        flagged = np.column_stack([rows, np.zeros(len(rows))])
        constants = plain.value
        self.slopes_ = []
        for column, slope in self.slopes.items():
            # Weights of a background must not be negative; distances from the smallest
            # value are not.
            lowest = rows[:, column].min()
            away = self.weights_ * (rows[:, column] - lowest)
            # `combined` with the identity drops the trees in which this column has no
            # slope.
            trees = replace(flat, value=slope).combined(np.eye(self.n_outputs))
            # The flag enters with its column, hence it belongs to the same player.
            owners = np.append(players, players[column])
            present = self._fitted(
                _with_flag(trees, True),
                flagged,
                self.weights_,
                owners,
            )
            # A constant column has no distances. Any weights do then, since the result
            # is multiplied by 0.
            shares = away if away.any() else self.weights_
            absent = self._fitted(_with_flag(trees, False), flagged, shares, owners)
            self.slopes_.append(_Slope(column, lowest, away.sum(), present, absent))
            constants = constants + lowest * slope
        self.plain_ = self._fitted(
            replace(plain, value=constants),
            rows,
            self.weights_,
            players,
        )
        return super()._fit()

    def _fitted(
        self,
        trees: TreeEnsemble,
        rows: Any,
        weights: Any,
        owners: Any,
    ) -> Trees:
        form = Trees(trees)
        form.set_index(self.index)
        return form.fit(rows, weights, owners, self.n_players_, self.n_jobs_)

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return a copy with one method of each part for all batches of a run."""
        run = copy(self)
        run.plain_ = self.plain_.for_run(n_rows, batch_rows)
        run.slopes_ = [
            replace(
                slope,
                present=slope.present.for_run(n_rows, batch_rows),
                absent=slope.absent.for_run(n_rows, batch_rows),
            )
            for slope in self.slopes_
        ]
        return run

    def _matrix(self, X: Any) -> NDArray[np.float64]:
        matrix = Trees(self.trees, self.column_names)._matrix(X)
        # refuses NaN, for which a leaf is constant
        as_dense(matrix[:, list(self.slopes)])
        return matrix

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of the trees, ``(r, k)``."""
        return self._sum(X, Trees.predict, lambda slope: 0.0)

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self._sum(X, Trees.attributions, lambda slope: slope.mean)

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        return self._sum(
            X,
            lambda form, rows: form.pairs(rows, index),
            lambda slope: slope.mean,
        )

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        rows = np.asarray(rows)
        against = self._matrix(take_rows(self.background_, rows))[..., None, None]
        return self._sum(
            X,
            lambda form, table: form.references(table, rows),
            lambda slope: against[:, slope.column] - slope.lowest,
        )

    def _sum(
        self,
        X: Any,
        of: Callable[[Trees, Any], NDArray[np.float64]],
        away: Callable[[_Slope], Any],
    ) -> NDArray[np.float64]:
        """Return the sum of a result over the trees and the slopes, times the distances."""
        rows = self._matrix(X)
        total = of(self.plain_, rows)
        # Background rows have the flag 0 and rows to explain 1, so the flag says who is
        # present.
        flagged = np.column_stack([rows, np.ones(len(rows))])
        for slope in self.slopes_:
            present = of(slope.present, flagged)
            distance = rows[:, slope.column] - slope.lowest
            distance = distance.reshape(-1, *[1] * (present.ndim - 1))
            total = total + distance * present
            total = total + away(slope) * of(slope.absent, flagged)
        return total


def _with_flag(trees: TreeEnsemble, present: bool) -> TreeEnsemble:
    """Return trees that are 0 unless a last column, the presence of a player, is 1 (or 0).

    Two nodes are put before each tree: a root that compares this column, and a leaf of
    0.
    """
    tree = np.arange(trees.n_trees)
    places = np.repeat(trees.roots, 2)
    roots = trees.roots + 2 * tree
    shift = np.repeat(2 * tree + 2, np.diff([*trees.roots, trees.n_nodes]))
    nodes = {name: np.insert(getattr(trees, name), places, 0, axis=0) for name in NODES}
    nodes["feature"][roots] = trees.n_features
    nodes["feature"][roots + 1] = -1
    # The flag is 0 or 1. A threshold between them is safe for both <= and <.
    nodes["threshold"][roots] = 0.5
    for side, step in (("left", 1 if present else 2), ("right", 2 if present else 1)):
        children = getattr(trees, side)
        shifted = np.where(children < 0, -1, children + shift)
        nodes[side] = np.insert(shifted, places, -1)
        nodes[side][roots] = roots + step
    splits = (
        replace(split, node=int(split.node + shift[split.node]))
        for split in trees.category_splits
    )
    return replace(
        trees,
        roots=roots,
        n_features=trees.n_features + 1,
        category_splits=tuple(splits),
        **nodes,
    )
