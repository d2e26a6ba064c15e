"""Exact values in place of sampling: a table of instances in, an outcome of the engine out."""

from copy import copy
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles import TreeValues, UnreadableModelError
from skshapley._records._outcome import Outcome
from skshapley._tables._inputs import as_pandas, is_frame
from skshapley.indices import Index

# Rows of the background on which the reading of a model is compared with the model itself
CHECKED_ROWS = 32


class ExactTrees:
    """Exact values of a tree ensemble, for tables as the model takes them.

    Parameters
    ----------
    trees : TreeEnsemble
    column_player : ndarray of shape (d,), int
        The player of each column.
    index : {"shapley", "banzhaf"}, default="shapley"
    n_jobs : int or None, default=None
    column_names : sequence of str or None, default=None
        The names that the model was fitted with, for tables that come without names.
    n_players : int or None, default=None
        Number of players, of whom the last may have no column. None: those that have one.
    """

    def __init__(
        self, trees, column_player, index="shapley", n_jobs=None, column_names=None, n_players=None
    ) -> None:
        self.trees, self.column_names = trees, column_names
        self.solver = TreeValues(trees, column_player, index, n_jobs, n_players)

    def fit(self, background, weights=None) -> Self:
        """Let background rows stand in for absent players.

        The trees are compared with the model first.

        Parameters
        ----------
        background : array or frame of shape (b, d)
        weights : ndarray of shape (b,) or None, default=None

        Returns
        -------
        self

        Raises
        ------
        UnreadableModelError
            If the trees do not add up to what the model predicts.
        """
        matrix = self._matrix(background)
        self._compare(background[:CHECKED_ROWS], matrix[:CHECKED_ROWS])
        self.solver.fit(matrix, weights)
        return self

    def fit_path_dependent(self) -> Self:
        """Let absent players follow the training data down the trees.

        Returns
        -------
        self
        """
        self.solver.fit_path_dependent()
        return self

    def explain(self, X, pairs: Index | None = None) -> Outcome:
        """Explain a table of instances.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        pairs : Index or None, default=None
            Of the interactions that the outcome shall have entries for, too.

        Returns
        -------
        Outcome
            Its standard errors are zero. The model is not called.
        """
        matrix, found = self._matrix(X), None
        if pairs is None:
            values = self.solver.values(matrix)
        else:
            values, found = self.solver.values_and_pairs(matrix, pairs)
        base = self.solver.base_values
        v_empty = base[None] if len(values) == 1 else np.repeat(base[None], len(values), axis=0)
        shapley = self.solver.index == "shapley"
        v_full = v_empty + np.add.reduce(values, 1) if shapley else self.solver.predict(matrix)
        outcome = Outcome.exact(values, v_empty, v_full)
        if found is None:
            return outcome
        first, second = np.triu_indices(values.shape[1], 1)
        return outcome.with_pairs(found[:, first, second])

    def predict(self, X) -> NDArray[np.float64]:
        """Return the sum of the trees at a table of rows, ``(r, k)``.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        """
        return self.solver.predict(self._matrix(X))

    def references(self, X, references) -> NDArray[np.float64]:
        """Return the values against single reference rows.

        Parameters
        ----------
        X, references : array or frame of shape (r, d), (q, d)

        Returns
        -------
        values : ndarray of shape (r, q, n_players, n_outputs)
        """
        single = copy(self.solver).fit(self._matrix(references))
        return single.values_by_reference(self._matrix(X))

    def pairs(self, X, index: Index) -> NDArray[np.float64]:
        """Return the interaction index of all pairs of players, for a table of instances.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        index : Index

        Returns
        -------
        pairs : ndarray of shape (r, n_players, n_players, n_outputs)
            Symmetric, with zeros on the diagonal.
        """
        return self.solver.values_and_pairs(self._matrix(X), index)[1]

    def _matrix(self, X) -> NDArray[np.float64]:
        return self.trees.to_matrix(self._in_its_container(X))

    def _in_its_container(self, X) -> Any:
        """Return X as the model takes it: as a DataFrame if it was fitted with names."""
        if type(X) is np.ndarray and self.column_names is None:
            return X
        if is_frame(X):
            return as_pandas(X)
        if sparse.issparse(X):
            X = _dense(X, self.trees.absent)
        return X if self.column_names is None else pd.DataFrame(X, columns=self.column_names)

    def _compare(self, rows, matrix) -> None:
        """Refuse trees that do not add up to what the model predicts."""
        trees = self.trees
        if trees.raw_response is None:
            return
        theirs = trees.raw_response(self._in_its_container(rows))
        ours = self.solver.predict(matrix)
        largest = np.maximum.reduceat(np.abs(trees.value), trees.roots, axis=0).sum(axis=0)
        off = np.abs(ours - theirs) > 1e-5 * (largest + np.abs(trees.base))
        if off.any():
            row, output = np.argwhere(off)[0]
            raise UnreadableModelError(
                f"The trees as they were read add up to {ours[row, output]:.6g} where the model"
                f" predicts {theirs[row, output]:.6g} (background row {row})",
                "explain it by sampling, and please report the model",
            )


def _dense(X, absent) -> np.ndarray:
    """Return a sparse matrix as an array, with `absent` where nothing is stored."""
    dense, entries = np.full(X.shape, absent), X.tocoo()
    dense[entries.row, entries.col] = entries.data
    return dense
