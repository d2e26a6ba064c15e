"""Tree ensembles as a closed form: sums of the trees of any library that has a reader."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles import (
    INDICES,
    RESPONSES,
    TreeEnsemble,
    has_reader,
    not_the_sum,
    read_trees,
)
from skshapley._records._outcome import Outcome
from skshapley._tables._inputs import n_rows
from skshapley.closed_forms._base import ClosedForm
from skshapley.indices import PAIR_INDICES, Index
from skshapley.trees._exact import ExactTrees


class Trees(ClosedForm):
    """A sum of decision trees.

    Parameters
    ----------
    trees : TreeEnsemble
    column_names : sequence of str or None, default=None
        The names that the model was fitted with, for tables that come without names.

    References
    ----------
    Lundberg et al. (2020), From local explanations to global understanding with explainable AI for
    trees, Nature Machine Intelligence 2.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skshapley.closed_forms import read_model
    >>> X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    >>> model = DecisionTreeRegressor().fit(X, X[:, 0] * X[:, 1])
    >>> form = read_model(model, "predict").fit(X[:1])
    >>> form.label, form.attributions(X[3:])[0, :, 0]
    ('trees', array([0.5, 0.5]))
    """

    label = "trees"
    checks_itself = True

    def __init__(self, trees: TreeEnsemble, column_names: Any = None) -> None:
        self.trees, self.column_names = trees, column_names
        self.n_outputs = trees.n_outputs

    @classmethod
    def read(cls, model: Any, method: str, ask: Callable[..., ClosedForm]) -> Self | None:
        """Return the sum of a model's trees; None for a model that is no tree ensemble."""
        if not has_reader(model):
            return None
        if method not in RESPONSES:
            raise not_the_sum(model, method, read_trees(model).methods)
        return cls(read_trees(model, method), getattr(model, "feature_names_in_", None))

    def combined(self, matrix: Any, constant: Any = 0.0) -> "Trees":
        """Return linear combinations of the outputs, as trees with other leaves."""
        return Trees(self.trees.combined(matrix, constant), self.column_names)

    def _fit(self) -> NDArray[np.float64]:
        self.exact_ = ExactTrees(
            self.trees, self.column_player_, self.index.name, self.n_jobs_, self.column_names,
            self.n_players_,
        )  # fmt: skip
        self.exact_.fit(self.background_, self.weights_)
        return self.exact_.solver.base_values

    def gives(self, index: Index) -> bool:
        """Return whether the trees are read for the index."""
        return index.name in INDICES

    def gives_pairs(self, index: Index) -> bool:
        """Return True: any index is a mean over presence, which the leaves know."""
        return True

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of the trees, ``(r, k)``."""
        return self.exact_.predict(X)

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self.exact_.explain(X).values

    def pairs(self, X: Any) -> NDArray[np.float64]:
        """Return the Shapley interaction index of every pair of players, ``(r, p, p, k)``."""
        return self.pairs_by(X, PAIR_INDICES["shapley"])

    def pairs_by(self, X: Any, index: Index) -> NDArray[np.float64]:
        """Return the interactions of every pair of players by an index, ``(r, p, p, k)``."""
        return self.exact_.pairs(X, index)

    def explain(self, X: Any, pairs: Index | None = None) -> Outcome:
        """Explain a table of instances, with pairs by the same walks down the trees."""
        return self.exact_.explain(X, pairs) if n_rows(X) else super().explain(X, pairs)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        return self.exact_.references(X, self.taken(rows))

    def state(self) -> list:
        """Return what the trees consist of."""
        return self.trees.state()
