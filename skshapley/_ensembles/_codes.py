"""Small integers instead of floats: an instance answers a node's question by one comparison.

Every numeric feature is replaced by its rank among the thresholds that the trees ask about, and
``x <= t`` (or ``x < t``) becomes ``code <= rank of t``.  A missing value is coded below or above
every threshold, so a feature has up to two code rows, one for each side that its nodes send
missing values to.  A split on categories has a row of its own with the codes 0 (left), 1 (right).
"""

from typing import Any

import numpy as np

# LightGBM's kZeroThreshold, a float32 there
ZERO = float(np.float32(1e-35))


class Codes:
    """How the nodes of an ensemble read an instance.

    Parameters
    ----------
    trees : TreeEnsemble

    Attributes
    ----------
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; -1 at a leaf.
    rank : ndarray of shape (n_nodes,), unsigned
        The node sends an instance left where ``codes[row] <= rank``.
    n_rows : int
    """

    def __init__(self, trees):
        self._strict, self._single = trees.strict, trees.single_precision
        self.row = np.full(trees.n_nodes, -1, dtype=np.int64)
        rank = np.zeros(trees.n_nodes, dtype=np.int64)
        numeric = ~trees.is_leaf
        numeric[[split.node for split in trees.category_splits]] = False
        nodes = np.flatnonzero(numeric)
        self._rank_thresholds(trees, nodes, rank)
        self._number_rows(trees, nodes)
        self._tabulate_categories(trees)
        most = max((len(t) for t in self._thresholds.values()), default=1)
        self._dtype = np.min_scalar_type(max(most, 1))
        self.rank = rank.astype(self._dtype)

    def _rank_thresholds(self, trees, nodes, rank):
        """Sorted distinct thresholds of every feature, and each node's rank among them."""
        feature, threshold = trees.feature[nodes], trees.threshold[nodes]
        order = np.lexsort((threshold, feature))
        f, t = feature[order], threshold[order]
        new_feature = np.diff(f, prepend=-1) != 0
        new = new_feature | np.concatenate([[True], t[1:] != t[:-1]])[: len(t)]
        position = np.cumsum(new) - 1
        start = np.maximum.accumulate(np.where(new_feature, position, 0))
        rank[nodes[order]] = position - start
        distinct, bounds = t[new], np.flatnonzero(new_feature[new])
        names = f[new][bounds]
        pieces = np.split(distinct, bounds[1:]) if len(bounds) else []
        self._thresholds = dict(zip(names.tolist(), pieces, strict=True))

    def _number_rows(self, trees, nodes):
        """One code row for each (feature, side of missing values, zero counts as missing)."""
        key = trees.feature[nodes] * 4 + trees.missing_left[nodes] + 2 * trees.zero_missing[nodes]
        keys, self.row[nodes] = np.unique(key, return_inverse=True)
        self._numeric_rows = [(k // 4, bool(k % 2), bool(k % 4 // 2)) for k in keys.tolist()]
        self.n_rows = len(keys)

    def _tabulate_categories(self, trees):
        """For each categorical feature the table ``(rows, categories + 2)`` of codes.

        The last two columns are for values outside the table and for missing values.
        """
        by_feature: dict[int, list] = {}
        for split in trees.category_splits:
            by_feature.setdefault(int(trees.feature[split.node]), []).append(split)
        self._category_tables = []
        for feature, splits in by_feature.items():
            n = 1 + max((max(split.listed, default=-1) for split in splits), default=-1)
            table = np.empty((len(splits), n + 2), dtype=np.uint8)
            for right, split in zip(table, splits, strict=True):
                right[:] = split.listed_left
                right[list(split.listed)] = not split.listed_left
                right[n + 1] = not trees.missing_left[split.node]
            first = self.n_rows
            table, inverse = np.unique(table, axis=0, return_inverse=True)
            self.row[[split.node for split in splits]] = first + inverse.ravel()
            self._category_tables.append((feature, first, table))
            self.n_rows += len(table)

    def __call__(self, X):
        """Codes of a float64 matrix.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        codes : ndarray of shape (n_rows, r), unsigned
        """
        codes = np.empty((self.n_rows, len(X)), dtype=self._dtype)
        side: Any = "right" if self._strict else "left"
        last, last_codes = None, None
        for row, (feature, missing_left, zero_missing) in enumerate(self._numeric_rows):
            thresholds = self._thresholds[feature]
            if feature != last:
                x = self._rounded(X[:, feature])
                last, last_codes = feature, np.searchsorted(thresholds, x, side=side)
                missing, zero = np.isnan(x), None
            codes[row] = last_codes
            codes[row, missing] = 0 if missing_left else len(thresholds)
            if zero_missing:
                zero = np.abs(x) <= ZERO if zero is None else zero
                codes[row, zero] = 0 if missing_left else len(thresholds)
        for feature, first, table in self._category_tables:
            x, n = X[:, feature], table.shape[1] - 2
            missing = np.isnan(x)
            inside = (x >= 0) & (x < n)
            category = np.where(inside, x, n).astype(np.int64)
            category[missing] = n + 1
            codes[first : first + len(table)] = table[:, category]
        return codes

    def _rounded(self, x):
        if not self._single:
            return np.ascontiguousarray(x)
        with np.errstate(over="ignore"):
            return x.astype(np.float32).astype(np.float64)


def predict(trees, codes, code_rows):
    """Raw response of the ensemble, by walking every tree.

    Parameters
    ----------
    trees : TreeEnsemble
    codes : Codes
    code_rows : ndarray of shape (n_rows, r)
        What `codes` returned for the instances.

    Returns
    -------
    ndarray of shape (r, n_outputs)
    """
    r = code_rows.shape[1]
    instance = np.arange(r)[:, None]
    node = np.repeat(trees.roots[None], r, axis=0)
    while True:
        inner = trees.left[node] >= 0
        if not inner.any():
            break
        goes_left = code_rows[codes.row[node], instance] <= codes.rank[node]
        node = np.where(inner, np.where(goes_left, trees.left[node], trees.right[node]), node)
    return trees.base + trees.value[node].sum(axis=1)
