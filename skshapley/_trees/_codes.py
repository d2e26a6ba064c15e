"""Small integers instead of floats: a row answers a node's question by one comparison.

Every numeric feature is replaced by its rank among the thresholds that the trees compare it with,
and ``x <= t`` (or ``x < t``) becomes ``code <= rank of t``. A missing value is coded below or above
every threshold, so a feature has up to two code rows, one for each side that its nodes send
missing values to. A split on categories has a row of its own with the codes 0 (left), 1 (right).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

# LightGBM's kZeroThreshold, a float32 there
ZERO = float(np.float32(1e-35))


class NumericRow(NamedTuple):
    """The feature and the missing-value rules of a code row of a numeric feature.

    Attributes
    ----------
    feature : int
    missing_left : bool
        The side of missing values.
    zero_missing : bool
        Whether zero counts as missing.
    """

    feature: int
    missing_left: bool
    zero_missing: bool


class CategoryTable(NamedTuple):
    """The codes of a categorical feature.

    Attributes
    ----------
    feature : int
    first : int
        The first of its code rows.
    table : ndarray of shape (rows, categories + 2), uint8
        The last two columns are for values outside the table and for missing values.
    """

    feature: int
    first: int
    table: np.ndarray


@dataclass(frozen=True, eq=False)
class Codes:
    """How the nodes of an ensemble read a row, from `plan_codes`.

    Attributes
    ----------
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; -1 at a leaf.
    rank : ndarray of shape (n_nodes,), unsigned
        The node sends a row left where ``codes[row] <= rank``.
    n_rows : int
    thresholds : dict of int to ndarray
        The sorted distinct thresholds of each numeric feature; of a library that rounds its input
        those that `unrounded` gives.
    numeric_rows : tuple of NumericRow
        The first code rows.
    category_tables : tuple of CategoryTable
        The code rows after those.
    strict : bool
        As in `TreeEnsemble`.
    """

    row: np.ndarray
    rank: np.ndarray
    n_rows: int
    thresholds: dict[int, np.ndarray]
    numeric_rows: tuple[NumericRow, ...]
    category_tables: tuple[CategoryTable, ...]
    strict: bool

    def __call__(self, X) -> np.ndarray:
        """Return the codes of a float64 matrix.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        codes = np.empty((self.n_rows, len(X)), dtype=self.rank.dtype)
        side: Any = "right" if self.strict else "left"
        last = None
        for row, (feature, missing_left, zero_missing) in enumerate(self.numeric_rows):
            if feature != last:
                last, x, thresholds = feature, X[:, feature], self.thresholds[feature]
                found, missing = thresholds.searchsorted(x, side), np.isnan(x)
            codes[row] = found
            lost = missing | (np.abs(x) <= ZERO) if zero_missing else missing
            codes[row, lost] = 0 if missing_left else len(thresholds)
        for feature, first, table in self.category_tables:
            x, n = X[:, feature], table.shape[1] - 2
            missing = np.isnan(x)
            inside = (x >= 0) & (x < n)
            category = np.where(inside, x, n).astype(np.int64)
            category[missing] = n + 1
            codes[first : first + len(table)] = table[:, category]
        return codes


def plan_codes(trees) -> Codes:
    """Return how the nodes of an ensemble read a row.

    Parameters
    ----------
    trees : TreeEnsemble

    Returns
    -------
    codes : Codes
    """
    numeric = ~trees.is_leaf
    numeric[[split.node for split in trees.category_splits]] = False
    nodes = np.flatnonzero(numeric)
    thresholds, ranks = _rank_thresholds(trees, nodes)
    numeric_rows, row = _number_rows(trees, numeric)
    tables, n_rows = [], len(numeric_rows)
    rank = np.zeros(trees.n_nodes, dtype=np.int64)
    rank[nodes] = ranks
    by_feature: dict[int, list] = {}
    for split in trees.category_splits:
        by_feature.setdefault(int(trees.feature[split.node]), []).append(split)
    for feature, splits in by_feature.items():
        table, numbers = _tabulate_categories(trees, splits)
        row[[split.node for split in splits]] = n_rows + numbers
        tables.append(CategoryTable(feature, n_rows, table))
        n_rows += len(table)
    most = max((len(t) for t in thresholds.values()), default=1)
    return Codes(
        row=row,
        rank=rank.astype(np.min_scalar_type(max(most, 1))),
        n_rows=n_rows,
        thresholds=thresholds,
        numeric_rows=numeric_rows,
        category_tables=tuple(tables),
        strict=trees.strict,
    )


def _rank_thresholds(trees, nodes) -> tuple[dict[int, np.ndarray], NDArray[np.int64]]:
    """Return the sorted distinct thresholds of every feature, and each node's rank among them."""
    feature, threshold = trees.feature[nodes], trees.threshold[nodes]
    order = np.argsort(threshold)
    # Small integers are sorted by their digits.
    small = feature.astype(np.min_scalar_type(trees.n_features))
    order = order[np.argsort(small[order], kind="stable")]
    f, t = feature[order], threshold[order]
    new_feature = np.diff(f, prepend=-1) != 0
    new = new_feature | np.concatenate([[True], t[1:] != t[:-1]])[: len(t)]
    position = np.cumsum(new) - 1
    start = np.maximum.accumulate(np.where(new_feature, position, 0))
    ranks = np.empty(len(nodes), dtype=np.int64)
    ranks[order] = position - start
    distinct, bounds = t[new], np.flatnonzero(new_feature[new])
    if trees.single_precision:
        distinct = unrounded(distinct, trees.strict)
    names = f[new][bounds]
    pieces = np.split(distinct, bounds[1:]) if len(bounds) else []
    return dict(zip(names.tolist(), pieces, strict=True)), ranks


def _number_rows(trees, numeric) -> tuple[tuple[NumericRow, ...], NDArray[np.int64]]:
    """Return the code rows of numeric features, and the row of each node.

    Each row is one number: 4 times the feature, plus 1 where missing values go left, plus 2 where
    zero counts as missing. So feature 3 with missing values to the left is 13.

    Parameters
    ----------
    trees : TreeEnsemble
    numeric : ndarray of shape (n_nodes,), bool
        Which nodes compare a number.

    Returns
    -------
    rows : tuple of NumericRow
    row : ndarray of shape (n_nodes,), int64
        -1 at all other nodes.
    """
    key = trees.feature * 4
    key += trees.missing_left
    if trees.zero_missing.any():
        key += 2 * trees.zero_missing
    np.putmask(key, ~numeric, 4 * trees.n_features)
    used = np.bincount(key, minlength=4 * trees.n_features + 1) > 0
    keys, row = np.flatnonzero(used[:-1]), np.cumsum(used) - 1
    row[-1] = -1
    rows = (NumericRow(k // 4, bool(k % 2), bool(k % 4 // 2)) for k in keys.tolist())
    return tuple(rows), row.take(key)


def _tabulate_categories(trees, splits) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
    """Return the table of codes of one categorical feature, and the table's row of each split."""
    n = 1 + max((max(split.listed, default=-1) for split in splits), default=-1)
    table = np.empty((len(splits), n + 2), dtype=np.uint8)
    for right, split in zip(table, splits, strict=True):
        right[:] = split.listed_left
        right[list(split.listed)] = not split.listed_left
        right[n + 1] = not trees.missing_left[split.node]
    table, inverse = np.unique(table, axis=0, return_inverse=True)
    return table, inverse.ravel()


def unrounded(thresholds, strict) -> NDArray[np.float64]:
    """Return thresholds that values meet as their roundings to float32 meet the given ones.

    A value is rounded to at most s, a number in float32, up to the midpoint of s and the next one;
    the midpoint itself goes to the even one of both. So nothing needs to be rounded any more.

    Parameters
    ----------
    thresholds : ndarray of shape (n,), float64
        Ascending.
    strict : bool
        Whether only what is less than the threshold meets it.

    Returns
    -------
    thresholds : ndarray of shape (n,), float64
        Ascending.
    """
    with np.errstate(over="ignore"):
        last = thresholds.astype(np.float32)
        too_large = last >= thresholds if strict else last > thresholds
        last[too_large] = np.nextafter(last[too_large], np.float32(-np.inf))
        after = np.nextafter(last, np.float32(np.inf))
    is_even = last.view(np.uint32) % 2 == 0
    middle = _as_float64(last) / 2 + _as_float64(after) / 2
    most = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    most = np.where(last == np.inf, np.inf, most)
    return np.nextafter(most, np.inf) if strict else most


def _as_float64(values) -> NDArray[np.float64]:
    """Return values of float32, with the infinite ones where the next step would lead."""
    return np.clip(values.astype(np.float64), -(2.0**128), 2.0**128)


def predict(trees, codes, code_rows) -> NDArray[np.float64]:
    """Return the raw response of the ensemble, by walking every tree.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
    code_rows : ndarray of shape (n_rows, r)
        From `codes`.

    Returns
    -------
    response : ndarray of shape (r, n_outputs)
    """
    left, right, n_trees = trees.left, trees.right, trees.n_trees
    node = np.tile(trees.roots, code_rows.shape[1])
    walking = (left.take(node) >= 0).nonzero()[0]
    while len(walking):
        at = node.take(walking)
        goes_left = code_rows[codes.row.take(at), walking // n_trees] <= codes.rank.take(at)
        at = np.where(goes_left, left.take(at), right.take(at))
        node[walking] = at
        walking = walking[left.take(at) >= 0]
    return trees.base + trees.value[node.reshape(-1, n_trees)].sum(axis=1)
