"""Tree ensembles as a closed form: sums of the trees of any library that has a reader."""

from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skshapley._tables._inputs import as_pandas, is_frame, take_rows
from skshapley._trees import TreeEnsemble, TreeValues
from skshapley._trees._costs import MODEL_NS, VISIT_NS, Costs, count_costs
from skshapley.closed_forms._base import SHAPLEY, ClosedForm
from skshapley.indices import Index

# Background rows; with fewer, trees are not sampled against rows of their own
LEAST_SAMPLED = 32
# Pairs of a tree and a background row that take as long as sampling a row to the default
# relative error: 3,000 to 12,000 in forests of 30 and 100 trees.
SAMPLED_PAIRS = 1.5e4


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
        if self.background_ is None:
            # absent players follow the training data down the trees
            return self.solver_.fit().base_values
        background = self._matrix(self.background_)
        return self.solver_.fit(background, self.weights_).base_values

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
        against = self._matrix(take_rows(self.background_, np.asarray(rows)))
        return self.solver_.values_by_reference(self._matrix(X), against)

    def _matrix(self, X: Any) -> NDArray[np.float64]:
        return self.trees.to_matrix(self.in_its_container(X))

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
