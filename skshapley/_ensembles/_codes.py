"""Small integers instead of floats: an instance answers a node's question by one comparison.

Every numeric feature is replaced by its rank among the thresholds that the trees compare it with,
and ``x <= t`` (or ``x < t``) becomes ``code <= rank of t``. A missing value is coded below or above
every threshold, so a feature has up to two code rows, one for each side that its nodes send
missing values to. A split on categories has a row of its own with the codes 0 (left), 1 (right).
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._precision import unrounded

# LightGBM's kZeroThreshold, a float32 there
ZERO = float(np.float32(1e-35))
# Rows that are searched all at once; of more of them, each feature is searched for itself
FEW_ROWS = 128


class NumericRow(NamedTuple):
    """What a code row of a numeric feature stands for.

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


class _Flat(NamedTuple):
    """The thresholds of all features, one after another.

    Attributes
    ----------
    feature, starts : ndarray of shape (n_asked,), int64
        The features that have thresholds, and where those of each begin.
    thresholds : ndarray of shape (n_thresholds,), complex128
        The feature in the real part and the threshold in the imaginary one: complex numbers are
        ordered by the former first, so that one search finds the place of any feature's value.
    position, code_of_missing, zero_missing : ndarray of shape (n_numeric_rows,)
        Of each code row the position in `feature`, and what `NumericRow` says of missing values.
    has_zero_missing : bool
        Whether zero is missing in any of them.
    """

    feature: np.ndarray
    starts: np.ndarray
    thresholds: np.ndarray
    position: np.ndarray
    code_of_missing: np.ndarray
    zero_missing: np.ndarray
    has_zero_missing: bool


@dataclass(frozen=True, eq=False)
class Codes:
    """How the nodes of an ensemble read an instance, from `plan_codes`.

    Attributes
    ----------
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; -1 at a leaf.
    rank : ndarray of shape (n_nodes,), unsigned
        The node sends an instance left where ``codes[row] <= rank``.
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
        if len(X) <= FEW_ROWS:
            self._fill_few(codes, X)
        else:
            self._fill_many(codes, X)
        for feature, first, table in self.category_tables:
            x, n = X[:, feature], table.shape[1] - 2
            missing = np.isnan(x)
            inside = (x >= 0) & (x < n)
            category = np.where(inside, x, n).astype(np.int64)
            category[missing] = n + 1
            codes[first : first + len(table)] = table[:, category]
        return codes

    def _fill_many(self, codes, X) -> None:
        """Write the codes of numeric features, one feature after the other."""
        side: Any = "right" if self.strict else "left"
        last, last_codes = None, None
        for row, (feature, missing_left, zero_missing) in enumerate(self.numeric_rows):
            thresholds = self.thresholds[feature]
            if feature != last:
                x = np.ascontiguousarray(X[:, feature])
                last, last_codes = feature, np.searchsorted(thresholds, x, side=side)
                missing, zero = np.isnan(x), None
            codes[row] = last_codes
            codes[row, missing] = 0 if missing_left else len(thresholds)
            if zero_missing:
                zero = np.abs(x) <= ZERO if zero is None else zero
                codes[row, zero] = 0 if missing_left else len(thresholds)

    def _fill_few(self, codes, X) -> None:
        """Write the codes of numeric features, by one search for all of them."""
        flat = self._flat
        if not len(flat.starts):
            return
        x = X if len(flat.feature) == X.shape[1] else X[:, flat.feature]
        value = np.empty(x.shape, dtype=np.complex128)
        value.real, value.imag = flat.feature, x
        rank = flat.thresholds.searchsorted(value, "right" if self.strict else "left")
        rank -= flat.starts
        missing = np.isnan(x)
        if len(flat.position) > len(flat.starts) or flat.has_zero_missing:
            rank, missing = (part.take(flat.position, axis=1) for part in (rank, missing))
        if flat.has_zero_missing:
            zero = np.abs(x).take(flat.position, axis=1) <= ZERO
            missing |= zero & flat.zero_missing
        if missing.any():
            rank = np.where(missing, flat.code_of_missing, rank)
        codes[: len(flat.position)] = rank.T

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many codes each row has, ``(n_rows,)``."""
        numeric = [len(self.thresholds[row.feature]) + 1 for row in self.numeric_rows]
        tables = [2] * (self.n_rows - len(numeric))
        return np.array([*numeric, *tables], dtype=np.int64)

    @cached_property
    def _flat(self) -> "_Flat":
        features = sorted(self.thresholds)
        parts = [self.thresholds[feature] for feature in features]
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        position = np.searchsorted(features, [row.feature for row in self.numeric_rows])
        left = np.array([row.missing_left for row in self.numeric_rows], dtype=bool)
        thresholds = np.empty(sizes.sum(), dtype=np.complex128)
        thresholds.real = np.repeat(features, sizes)
        thresholds.imag = np.concatenate([*parts, np.empty(0)])
        zero_missing = np.array([row.zero_missing for row in self.numeric_rows], dtype=bool)
        return _Flat(
            feature=np.array(features, dtype=np.int64),
            thresholds=thresholds,
            starts=np.cumsum(sizes) - sizes,
            position=position,
            code_of_missing=np.where(left, 0, sizes[position]) if len(left) else sizes,
            zero_missing=zero_missing,
            has_zero_missing=bool(zero_missing.any()),
        )


def plan_codes(trees) -> Codes:
    """Return how the nodes of an ensemble read an instance.

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
    numeric_rows, row = number_rows(trees, numeric)
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
    order = np.lexsort((threshold, feature))
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


def number_rows(trees, numeric) -> tuple[tuple[NumericRow, ...], NDArray[np.int64]]:
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


def predict(trees, codes, code_rows) -> NDArray[np.float64]:
    """Return the raw response of the ensemble, by walking every tree.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes or PlainCodes
    code_rows : ndarray of shape (n_rows, r)
        What `codes` returned for the instances.

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
