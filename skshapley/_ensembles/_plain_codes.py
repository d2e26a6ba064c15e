"""Values themselves as codes: nothing is sorted, where few instances walk down large trees.

A node sends an instance left where its code is at most the rank, as with `Codes`. The rank is
the greatest number that meets the node's threshold, in the precision in which the library compares.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._codes import ZERO, number_rows
from skshapley._ensembles._precision import greatest


@dataclass(frozen=True, eq=False)
class PlainCodes:
    """How the nodes of an ensemble read an instance, without ranks among the thresholds.

    Attributes
    ----------
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; -1 at a leaf.
    rank : ndarray of shape (n_nodes,), float32 or float64
        The node sends an instance left where ``codes[row] <= rank``.
    feature : ndarray of shape (n_rows,), int64
    of_missing : ndarray of shape (n_rows, 1), float64
        The code of missing values: an infinite one.
    zero_missing : ndarray of shape (n_rows, 1), bool
        Whether zero counts as missing.
    """

    row: np.ndarray
    rank: np.ndarray
    feature: np.ndarray
    of_missing: np.ndarray
    zero_missing: np.ndarray

    def __call__(self, X) -> NDArray[np.floating]:
        """Return the codes of a float64 matrix.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        codes : ndarray of shape (n_rows, r)
        """
        x = X.T.take(self.feature, axis=0)
        missing = np.isnan(x)
        if self.zero_missing.any():
            missing |= self.zero_missing & (np.abs(x) <= ZERO)
        if missing.any():
            x = np.where(missing, self.of_missing, x)
        with np.errstate(over="ignore"):
            return x.astype(self.rank.dtype)


def plan_plain_codes(trees) -> PlainCodes | None:
    """Return how the nodes of an ensemble read an instance; None where that takes ranks.

    Parameters
    ----------
    trees : TreeEnsemble
    """
    leaf = trees.is_leaf
    rank = greatest(trees.threshold, trees.strict, trees.single_precision)
    if trees.category_splits or ((rank == np.inf) & ~leaf).any():
        return None
    rows, row = number_rows(trees, ~leaf)
    return PlainCodes(
        row=row,
        rank=rank,
        feature=np.array([one.feature for one in rows], dtype=np.int64),
        of_missing=np.array([-np.inf if one.missing_left else np.inf for one in rows])[:, None],
        zero_missing=np.array([one.zero_missing for one in rows], dtype=bool)[:, None],
    )
