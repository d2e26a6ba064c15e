"""The trees of any library as one record, and the integer codes that their nodes compare.

Every numeric feature is replaced by its rank among the thresholds that the trees
compare it with, and ``x <= t`` (or ``x < t``) becomes ``code <= rank of t``. A missing
value is coded below or above every threshold. A feature therefore has up to two code
rows, one for each side that receives missing values. A split on categories has its own
code row, with the codes 0 (left) and 1 (right).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from skshapley._tables import is_frame

# LightGBM's kZeroThreshold, a float32 there
ZERO = float(np.float32(1e-35))
# The arrays over nodes, without the arrays of positions
NODES = "feature", "threshold", "missing_left", "zero_missing", "value", "cover"


@dataclass(frozen=True)
class CategorySplit:
    """One node that tests membership in a set of categories.

    Attributes
    ----------
    node : int
        Row of the node in the ensemble's arrays.
    categories : frozenset of int
        The categories named by the split.
    goes_left : bool
        Whether the named categories go to the left child. All other values, categories
        or not, go to the other child.
    """

    node: int
    categories: frozenset[int]
    goes_left: bool


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """A fitted sum of decision trees, as flat arrays over all nodes of all trees.

    The raw response is ``base`` plus the ``value`` of the leaf reached in each tree.

    Attributes
    ----------
    left, right : ndarray of shape (n_nodes,), int64
        Children, as positions in these same arrays; -1 at a leaf.
    feature : ndarray of shape (n_nodes,), int64
        The column that a node compares; -1 at a leaf.
    threshold : ndarray of shape (n_nodes,), float64
        A row goes left where ``x <= threshold`` (``x < threshold`` if `strict`).
    missing_left : ndarray of shape (n_nodes,), bool
        Whether a missing value goes left.
    zero_missing : ndarray of shape (n_nodes,), bool
        Whether the node treats zero as missing.
    value : ndarray of shape (n_nodes, n_outputs), float64
        Value of a leaf in the response; zero at the other nodes.
    cover : ndarray of shape (n_nodes,), float64
        The training weight that passed through a node, for path-dependent values.
    roots : ndarray of shape (n_trees,), int64
        The first node of each tree. The nodes of a tree are contiguous.
    base : ndarray of shape (n_outputs,), float64
        The constant part of the response, outside all trees.
    n_features : int
        Number of columns of the model's input.
    strict : bool
        Whether equality with the threshold goes right.
    single_precision : bool
        Whether the library rounds its input to float32 before comparing.
    category_splits : tuple of CategorySplit
    absent : float
        The value of entries that are not stored in a sparse matrix.
    encode : callable or None
        Converts the model's input, such as a DataFrame with categories, to the float64
        matrix ``(r, n_features)`` of the thresholds. None: a plain cast, with the codes
        of categories.
    methods : tuple of str
        The methods of the model that return the raw response: "predict",
        "predict_proba", "decision_function".
    raw_response : callable or None
        The library's own raw response ``X -> (r, n_outputs)``, to verify the trees.
    several_targets : bool
        Whether each output belongs to a target of its own, instead of a class.
    """

    left: np.ndarray
    right: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    zero_missing: np.ndarray
    value: np.ndarray
    cover: np.ndarray
    roots: np.ndarray
    base: np.ndarray
    n_features: int
    strict: bool
    single_precision: bool
    category_splits: tuple[CategorySplit, ...] = ()
    absent: float = 0.0
    encode: Callable | None = None
    methods: tuple[str, ...] = ()
    raw_response: Callable | None = None
    several_targets: bool = False

    @property
    def n_trees(self) -> int:
        """Return the number of trees over all outputs."""
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        """Return the number of nodes of all trees, leaves included."""
        return len(self.left)

    @property
    def n_outputs(self) -> int:
        """Return the number of outputs, k."""
        return self.value.shape[1]

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Return which nodes are leaves, ``(n_nodes,)`` bool."""
        return self.left < 0

    @property
    def largest_sum(self) -> float:
        """Return the sum over the trees of their largest leaf in absolute value."""
        largest = np.abs(self.value).max(axis=1)
        return float(np.maximum.reduceat(largest, self.roots).sum())

    def to_matrix(self, X) -> NDArray[np.float64]:
        """Return the input as the matrix that the nodes compare with their thresholds.

        Parameters
        ----------
        X : array or frame of shape (r, n_features)
            Rows in a container that the model accepts.

        Returns
        -------
        matrix : ndarray of shape (r, n_features), float64

        Raises
        ------
        ValueError
            For another number of columns.
        """
        if self.encode is not None:
            matrix = self.encode(X)
        else:
            matrix = frame_to_matrix(X, {}) if is_frame(X) else X
        matrix = np.asarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != self.n_features:
            raise ValueError(
                f"TreeEnsemble takes a table of {self.n_features} columns; got shape"
                f" {matrix.shape}: pass the columns that the model was fitted on."
            )
        return matrix

    def take_trees(self, numbers) -> "TreeEnsemble":
        """Return some trees as an ensemble with base zero.

        Parameters
        ----------
        numbers : array-like of int, ascending
            Positions of the trees.

        Returns
        -------
        trees : TreeEnsemble
        """
        sizes = np.diff(self.roots, append=self.n_nodes)[numbers]
        roots = np.cumsum(sizes) - sizes
        shift = np.repeat(roots - self.roots[numbers], sizes)
        nodes = np.arange(len(shift)) - shift
        splits = {split.node: split for split in self.category_splits}
        places = np.flatnonzero(np.isin(nodes, list(splits))).tolist()
        return replace(
            self,
            left=_shifted(self.left[nodes], shift),
            right=_shifted(self.right[nodes], shift),
            roots=roots,
            base=np.zeros_like(self.base),
            category_splits=tuple(
                replace(splits[int(nodes[place])], node=place) for place in places
            ),
            **{name: getattr(self, name)[nodes] for name in NODES},
        )

    def take_output(self, output) -> "TreeEnsemble":
        """Return the ensemble of one output, without the trees of other outputs.

        Parameters
        ----------
        output : int
            Position of the output.

        Returns
        -------
        trees : TreeEnsemble
        """
        return self.combined(np.eye(self.n_outputs)[:, [output]])

    def combined(self, matrix, constant=0.0) -> "TreeEnsemble":
        """Return linear combinations of the outputs, without the trees that do not add to any.

        Parameters
        ----------
        matrix : array-like of shape (n_outputs, n)
        constant : array-like of shape (n,), default=0.0

        Returns
        -------
        trees : TreeEnsemble
            With the outputs ``outputs @ matrix + constant``.
        """
        matrix = np.asarray(matrix, dtype=np.float64)
        value = self.value @ matrix
        base = self.base @ matrix + constant
        # A tree of another class would only cost time, but one tree stays: no array may
        # be empty.
        touched = np.logical_or.reduceat((value != 0).any(axis=1), self.roots)
        keep = np.flatnonzero(touched) if touched.any() else np.arange(1)
        response = self.raw_response
        combined_response = (
            None if response is None else partial(_combine, response, matrix, constant)
        )
        ensemble = replace(self, value=value, base=base, raw_response=combined_response)
        if len(keep) == self.n_trees:
            return ensemble
        return replace(ensemble.take_trees(keep), base=base)


def frame_to_matrix(frame, known_categories, refuses=True) -> NDArray[np.float64]:
    """Return a DataFrame as a float64 matrix, with categories replaced by their codes.

    Parameters
    ----------
    frame : DataFrame of shape (r, n)
    known_categories : dict
        The categories of a column, by its position, in the order of their codes in the
        model. A categorical column that is not in there keeps the frame's own codes.
    refuses : bool, default=True
        Whether categories that the model has not seen are refused, instead of missing.

    Returns
    -------
    matrix : ndarray of shape (r, n), float64

    Raises
    ------
    ValueError
        For a category that the model has not seen, if it `refuses` them.
    """
    if all(
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes
    ):
        return frame.to_numpy(dtype=np.float64)
    matrix = np.empty(frame.shape)
    for position, (_, column) in enumerate(frame.items()):
        if not hasattr(column, "cat"):
            matrix[:, position] = column.to_numpy(dtype=np.float64, na_value=np.nan)
            continue
        codes = column.cat.codes.to_numpy()
        if position in known_categories:
            code_of = {
                name: code for code, name in enumerate(known_categories[position])
            }
            recode = [code_of.get(name, -1) for name in column.cat.categories]
            # pandas codes a missing category as -1, which picks the -1 at the end.
            recoded = np.array([*recode, -1])[codes]
            unseen = (recoded < 0) & (codes >= 0)
            if refuses and unseen.any():
                raise ValueError(
                    f"TreeEnsemble got category {column[unseen].iloc[0]!r} in column"
                    f" {column.name!r}, which XGBoost did not see in training and"
                    f" refuses: choose one of {list(code_of)}."
                )
            codes = recoded
        matrix[:, position] = np.where(codes < 0, np.nan, codes)
    return matrix


def _combine(response, matrix, constant, X) -> NDArray[np.float64]:
    return response(X) @ matrix + constant


def concatenate(ensembles) -> TreeEnsemble:
    """Return the sum of ensembles that were read from one model, as one ensemble.

    Parameters
    ----------
    ensembles : sequence of TreeEnsemble

    Returns
    -------
    trees : TreeEnsemble
    """
    sizes = [ensemble.n_nodes for ensemble in ensembles]
    starts = (np.cumsum(sizes) - sizes).tolist()
    shift = np.repeat(starts, sizes)
    pairs = list(zip(ensembles, starts, strict=True))
    left, right = (
        np.concatenate([getattr(ensemble, side) for ensemble in ensembles])
        for side in ("left", "right")
    )
    return replace(
        ensembles[0],
        left=_shifted(left, shift),
        right=_shifted(right, shift),
        base=np.sum([ensemble.base for ensemble in ensembles], axis=0),
        roots=np.concatenate([ensemble.roots + start for ensemble, start in pairs]),
        category_splits=tuple(
            replace(split, node=split.node + start)
            for ensemble, start in pairs
            for split in ensemble.category_splits
        ),
        **{
            name: np.concatenate([getattr(ensemble, name) for ensemble in ensembles])
            for name in NODES
        },
    )


def _shifted(children, shift) -> NDArray[np.int64]:
    return np.where(children < 0, -1, children + shift)


def tree_outputs(trees) -> NDArray[np.int64]:
    """Return the output of each tree, or -1 if it adds to several outputs."""
    touched = np.logical_or.reduceat(trees.value != 0, trees.roots, axis=0)
    return np.where(touched.sum(axis=1) > 1, -1, touched.argmax(axis=1))


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


class Codes:
    """The encoding of rows for the nodes of an ensemble.

    Parameters
    ----------
    trees : TreeEnsemble

    Attributes
    ----------
    row : ndarray of shape (n_nodes,), int64
        The code row that a node compares; -1 at a leaf.
    rank : ndarray of shape (n_nodes,), unsigned
        The node sends a row left where ``codes[row] <= rank``.
    n_rows : int
    thresholds : dict of int to ndarray
        The sorted distinct thresholds of each numeric feature.
    numeric_rows : tuple of NumericRow
        The first code rows.
    category_tables : list of CategoryTable
        The remaining code rows.
    """

    def __init__(self, trees) -> None:
        self.trees = trees
        numeric = ~trees.is_leaf
        numeric[[split.node for split in trees.category_splits]] = False
        nodes = np.flatnonzero(numeric)
        # numpy sorts small integers by radix sort.
        features = trees.feature[nodes].astype(np.min_scalar_type(trees.n_features))
        order = np.argsort(features, kind="stable")
        features = features[order].astype(np.int64)
        starts = np.flatnonzero(np.diff(features, prepend=-1))
        self.thresholds: dict[int, np.ndarray] = {}
        ranks = np.empty(len(nodes), dtype=np.int64)
        for feature, positions in zip(
            features[starts].tolist(),
            np.split(order, starts)[1:],
            strict=True,
        ):
            self.thresholds[feature], ranks[positions] = np.unique(
                trees.threshold[nodes[positions]],
                return_inverse=True,
            )
        # A code row is one number: 4 times the feature, plus 1 where missing values go
        # left, plus 2 where zero counts as missing. So feature 3 with missing values to
        # the left is 13.
        key = trees.feature * 4
        key += trees.missing_left
        if trees.zero_missing.any():
            key += 2 * trees.zero_missing
        # Nodes without numeric comparison share one key beyond all features, dropped
        # again below.
        np.putmask(key, ~numeric, 4 * trees.n_features)
        used = np.bincount(key, minlength=4 * trees.n_features + 1) > 0
        self.numeric_rows = tuple(
            NumericRow(k // 4, bool(k % 2), bool(k % 4 // 2))
            for k in np.flatnonzero(used[:-1]).tolist()
        )
        # The running count of used keys numbers the rows without a sort of all nodes.
        row = np.cumsum(used) - 1
        row[-1] = -1
        self.row = row.take(key)
        self.n_rows = len(self.numeric_rows)
        self.category_tables = []
        by_feature: dict[int, list] = {}
        for split in trees.category_splits:
            by_feature.setdefault(int(trees.feature[split.node]), []).append(split)
        for feature, splits in by_feature.items():
            n = 1 + max(max(split.categories, default=-1) for split in splits)
            table = np.empty((len(splits), n + 2), dtype=np.uint8)
            for right, split in zip(table, splits, strict=True):
                right[:] = split.goes_left
                right[list(split.categories)] = not split.goes_left
                right[n + 1] = not trees.missing_left[split.node]
            # Boosted trees repeat splits on the same set of categories; equal splits
            # share a code row.
            table, numbers = np.unique(table, axis=0, return_inverse=True)
            self.row[[split.node for split in splits]] = self.n_rows + numbers.ravel()
            self.category_tables.append(CategoryTable(feature, self.n_rows, table))
            self.n_rows += len(table)
        most = max((len(t) for t in self.thresholds.values()), default=1)
        # Rank 0 suits the splits on categories: of their codes, 0 goes left and 1 goes
        # right. The largest number of the type is reserved: it is never a code.
        self.rank = np.zeros(trees.n_nodes, dtype=np.min_scalar_type(most + 1))
        self.rank[nodes] = ranks

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
        # For x equal to a threshold, "left" gives its rank (goes left) and "right" the
        # next rank (goes right).
        side: Any = "right" if self.trees.strict else "left"
        # Each search reads one column; contiguous columns keep it within the cache.
        columns = np.ascontiguousarray(X.T)
        if self.trees.single_precision:
            # Values beyond the float32 range become infinite, as in the library, and
            # still compare correctly.
            with np.errstate(over="ignore"):
                columns = columns.astype(np.float32).astype(np.float64)
        missing = np.isnan(columns)
        last = None
        some_missing = missing.any()
        for row, (feature, missing_left, zero_missing) in enumerate(self.numeric_rows):
            # Rows of one feature are neighbours and differ only in missing values: one
            # search serves both.
            if feature != last:
                last = feature
                x = columns[feature]
                thresholds = self.thresholds[feature]
                column_codes = thresholds.searchsorted(x, side)
            codes[row] = column_codes
            if some_missing or zero_missing:
                lost = missing[feature] | (zero_missing & (np.abs(x) <= ZERO))
                # Code 0 is at most every rank and goes left; one past the last rank is
                # above every rank.
                codes[row, lost] = 0 if missing_left else len(thresholds)
        for feature, first, table in self.category_tables:
            x = columns[feature]
            n = table.shape[1] - 2
            # NaN fails both comparisons, so the cast below never sees it.
            inside = (x >= 0) & (x < n)
            category = np.where(inside, x, n).astype(np.int64)
            category[missing[feature]] = n + 1
            codes[first : first + len(table)] = table[:, category]
        return codes


def assemble(trees, *, n_outputs, base, raw_response=None, **how) -> TreeEnsemble:
    """Return the `TreeEnsemble` of the dicts, one per tree, that a reader has collected.

    Parameters
    ----------
    trees : list of dict
        With ``left``, ``right`` (positions in the tree, negative at a leaf),
        ``feature``, ``threshold``, ``missing_left``, ``value`` (for each node one
        number, or `n_outputs` of them) and ``cover``. Optional, in all trees or none:
        ``zero_missing``, ``output`` (the output that a tree of single values adds to)
        and ``categories`` (dict from a node to its categories, and whether they go left).
    n_outputs : int
    base : array-like of shape (n_outputs,)
    raw_response : callable or None, default=None
        The library's own response ``X -> (r,) or (r, n_outputs)``.
    **how
        The remaining fields of `TreeEnsemble`.

    Returns
    -------
    trees : TreeEnsemble
    """
    sizes = np.array([len(tree["left"]) for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def column(name, dtype) -> np.ndarray:
        return np.concatenate(
            [tree[name] for tree in trees],
            dtype=dtype,
            casting="unsafe",
        )

    # Libraries mark leaves differently: -1, -2, or 0.
    leaf = column("left", np.int64) < 0
    # Libraries number nodes within each tree, and the ensemble numbers them over all
    # trees.
    shift = np.repeat(roots, sizes)
    left, right = (
        np.where(leaf, -1, column(side, np.int64) + shift) for side in ("left", "right")
    )
    if "output" in trees[0] and n_outputs > 1:
        value = np.zeros((len(left), n_outputs))
        output = np.repeat([tree["output"] for tree in trees], sizes)
        value[np.arange(len(left)), output] = column("value", np.float64)
    else:
        value = column("value", np.float64).reshape(len(left), n_outputs)
    # Some libraries store means at inner nodes too. Sums over all nodes may count only
    # the leaves.
    value[~leaf] = 0.0
    zero_missing = "zero_missing" in trees[0]
    splits = [
        CategorySplit(int(root + node), frozenset(categories), goes_left)
        for root, tree in zip(roots, trees, strict=True)
        for node, (categories, goes_left) in tree.get("categories", {}).items()
    ]
    return TreeEnsemble(
        left=left,
        right=right,
        feature=np.where(leaf, -1, column("feature", np.int64)),
        threshold=column("threshold", np.float64),
        missing_left=column("missing_left", bool),
        zero_missing=column("zero_missing", bool)
        if zero_missing
        else np.zeros(len(left), bool),
        value=value,
        cover=column("cover", np.float64),
        roots=roots,
        base=np.array(base, dtype=np.float64).reshape(n_outputs),
        category_splits=tuple(splits),
        raw_response=None if raw_response is None else partial(_two_axes, raw_response),
        **how,
    )


def _two_axes(response, X) -> np.ndarray:
    raw = response(X)
    return np.reshape(raw, (len(raw), -1))
