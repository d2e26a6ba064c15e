"""The trees of any library as one record: flat arrays over nodes, and how nodes compare."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class CategorySplit:
    """One node that asks for membership in a set of categories.

    Attributes
    ----------
    node : int
        Row of the node in the ensemble's arrays.
    listed : frozenset of int
        The categories named by the split.
    listed_left : bool
        Whether the named categories go to the left child. All other values, categories or not, go
        to the other child.
    """

    node: int
    listed: frozenset[int]
    listed_left: bool


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
        An instance goes left when ``x <= threshold`` (``x < threshold`` when `strict`).
    missing_left : ndarray of shape (n_nodes,), bool
        Where a missing value goes.
    zero_missing : ndarray of shape (n_nodes,), bool
        Whether the node treats zero as missing.
    value : ndarray of shape (n_nodes, n_outputs), float64
        What a leaf adds to the response; zero at the other nodes.
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
        The value of the entries that a sparse matrix does not store.
    encode : callable or None
        Turns the model's input (a DataFrame with categories, say) into the float64 matrix
        ``(r, n_features)`` that the thresholds refer to. None: a plain cast.
    methods : tuple of str
        The methods of the model that return the raw response: "predict", "predict_proba",
        "decision_function".
    raw_response : callable or None
        The library's own raw response ``X -> (r, n_outputs)``, to check the reading against.
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

    @property
    def n_trees(self) -> int:
        """Return the number of trees, of all outputs together."""
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

    def to_matrix(self, X) -> NDArray[np.float64]:
        """Return the input as the matrix that the thresholds refer to.

        Parameters
        ----------
        X : array or frame of shape (r, n_features)
            Rows as the model takes them.

        Returns
        -------
        matrix : ndarray of shape (r, n_features), float64

        Raises
        ------
        ValueError
            For another number of columns.
        """
        matrix = X if self.encode is None else self.encode(X)
        matrix = np.asarray(matrix, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[1] != self.n_features:
            raise ValueError(
                f"TreeEnsemble takes a table of {self.n_features} columns; got shape"
                f" {matrix.shape}: pass the columns that the model was fitted on."
            )
        return matrix

    def take_trees(self, first, last) -> "TreeEnsemble":
        """Return some consecutive trees as an ensemble with base zero.

        Parameters
        ----------
        first, last : int
            Position of the first of them, and one more than that of the last.

        Returns
        -------
        trees : TreeEnsemble
        """
        end = self.roots[last] if last < self.n_trees else self.n_nodes
        start = self.roots[first]
        cut = slice(start, end)
        shift = np.where(self.left[cut] < 0, 0, start)
        splits = tuple(
            replace(split, node=int(split.node - start))
            for split in self.category_splits
            if start <= split.node < end
        )
        return replace(
            self,
            left=self.left[cut] - shift,
            right=self.right[cut] - shift,
            roots=self.roots[first:last] - start,
            base=np.zeros_like(self.base),
            category_splits=splits,
            **{
                name: getattr(self, name)[cut]
                for name in (
                    "feature",
                    "threshold",
                    "missing_left",
                    "zero_missing",
                    "value",
                    "cover",
                )
            },
        )

    def take_output(self, output, sign=1) -> "TreeEnsemble":
        """Return the ensemble of one output, without the trees that do not add to it.

        Parameters
        ----------
        output : int
            Position of the output.
        sign : {1, -1}, default=1
            -1 for the negative of the output.

        Returns
        -------
        trees : TreeEnsemble
        """
        if self.n_outputs == 1 and sign == 1:
            return self
        matrix = np.zeros((self.n_outputs, 1))
        matrix[output] = sign
        return self.combined(matrix)

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
        value, base = self.value @ matrix, self.base @ matrix + constant
        touched = np.logical_or.reduceat((value != 0).any(axis=1), self.roots)
        keep = np.flatnonzero(touched) if touched.any() else np.arange(1)
        response = self.raw_response
        made = None if response is None else _Combined(response, matrix, constant)
        some = replace(self, value=value, base=base, raw_response=made)
        if len(keep) == self.n_trees:
            return some
        pieces = [some.take_trees(tree, tree + 1) for tree in keep]
        return replace(concatenate(pieces), base=base, raw_response=made)

    def state(self) -> list:
        """Return the arrays and numbers that the trees consist of, to tell them from others."""
        parts = [getattr(self, field.name) for field in fields(self)]
        kept = [part for part in parts if isinstance(part, (np.ndarray, int, bool))]
        splits = [(s.node, sorted(s.listed), s.listed_left) for s in self.category_splits]
        return [*kept, splits]


@dataclass(frozen=True)
class _Combined:
    """Combinations of the columns of a raw response: a class, as no closure can be pickled."""

    response: Callable
    matrix: np.ndarray
    constant: Any

    def __call__(self, X) -> np.ndarray:
        return self.response(X) @ self.matrix + self.constant


def concatenate(ensembles) -> TreeEnsemble:
    """Return the sum of ensembles that were read from one model, as one ensemble.

    Parameters
    ----------
    ensembles : sequence of TreeEnsemble

    Returns
    -------
    trees : TreeEnsemble
    """
    first = ensembles[0]
    offsets = np.cumsum([0] + [one.n_nodes for one in ensembles[:-1]])

    def shifted(name) -> NDArray[np.int64]:
        return np.concatenate(
            [
                np.where(getattr(one, name) < 0, -1, getattr(one, name) + offset)
                for one, offset in zip(ensembles, offsets, strict=True)
            ]
        )

    def joined(name) -> np.ndarray:
        return np.concatenate([getattr(one, name) for one in ensembles])

    return replace(
        first,
        left=shifted("left"),
        right=shifted("right"),
        roots=shifted("roots"),
        base=np.sum([one.base for one in ensembles], axis=0),
        category_splits=tuple(
            replace(split, node=split.node + int(offset))
            for one, offset in zip(ensembles, offsets, strict=True)
            for split in one.category_splits
        ),
        **{
            name: joined(name)
            for name in ("feature", "threshold", "missing_left", "zero_missing", "value", "cover")
        },
    )


def assemble(trees, *, n_outputs, base, **how) -> TreeEnsemble:
    """Return the `TreeEnsemble` of the dicts, one per tree, that a reader has collected.

    Parameters
    ----------
    trees : list of dict
        With ``left``, ``right`` (positions in the tree, negative at a leaf), ``feature``,
        ``threshold``, ``missing_left``, ``value`` (for each node one number, or `n_outputs` of
        them) and ``cover``. Optional: ``output`` (the output that a tree of single values adds to;
        all trees have one, or none has) and ``categories`` (dict from a node to its listed and
        listed_left).
    n_outputs : int
    base : array-like of shape (n_outputs,)
    **how
        The remaining fields of `TreeEnsemble`.

    Returns
    -------
    trees : TreeEnsemble
    """
    sizes = np.array([len(tree["left"]) for tree in trees])
    roots = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)

    def column(name, dtype) -> np.ndarray:
        parts = [tree[name] for tree in trees]
        return np.concatenate(parts, dtype=dtype, casting="unsafe")

    left, right, feature = (column(name, np.int64) for name in ("left", "right", "feature"))
    leaf = left < 0
    for root, size in zip(roots.tolist(), sizes.tolist(), strict=True):
        for child in (left, right):
            child[root : root + size] += root
    for array in (left, right, feature):
        np.putmask(array, leaf, -1)
    if "output" in trees[0] and n_outputs > 1:
        value = np.zeros((len(left), n_outputs))
        output = np.repeat([tree["output"] for tree in trees], sizes)
        value[np.arange(len(left)), output] = column("value", np.float64)
    else:
        value = column("value", np.float64).reshape(len(left), n_outputs)
    value[~leaf] = 0.0
    splits = [
        CategorySplit(int(root + node), frozenset(listed), listed_left)
        for root, tree in zip(roots, trees, strict=True)
        for node, (listed, listed_left) in tree.get("categories", {}).items()
    ]
    return TreeEnsemble(
        left=left,
        right=right,
        feature=feature,
        threshold=column("threshold", np.float64),
        missing_left=column("missing_left", bool),
        zero_missing=np.zeros(len(left), dtype=bool),
        value=value,
        cover=column("cover", np.float64),
        roots=roots,
        base=np.array(base, dtype=np.float64).reshape(n_outputs),
        category_splits=tuple(splits),
        **how,
    )


def join_leaves(n_leaves, inner, leaves, categories, **how) -> TreeEnsemble:
    """Return the ensemble of trees that are given by their inner nodes and their leaves.

    Parameters
    ----------
    n_leaves : array-like of shape (n_trees,), int
        Each tree has one inner node less.
    inner : dict of str to ndarray of shape (n_inner,)
        Of the inner nodes, tree by tree, first the root: ``left`` and ``right`` (in the tree: an
        inner node, or -1 for its first leaf, -2 for the second), ``feature``, ``threshold``,
        ``missing_left`` and ``cover``. Optional: ``zero_missing``.
    leaves : dict of str to ndarray
        Of the leaves, tree by tree: ``value (n, n_outputs)`` and ``cover (n,)``.
    categories : dict of int to tuple
        Of inner nodes, as they lie in `inner`: their listed and listed_left.
    **how
        The remaining fields of `TreeEnsemble`.

    Returns
    -------
    trees : TreeEnsemble
        Each tree has its inner nodes first.
    """
    n_leaves = np.asarray(n_leaves)
    roots = np.cumsum(2 * n_leaves - 1) - (2 * n_leaves - 1)
    place, leaf_place = (
        np.repeat(roots + before, sizes) + _numbers(sizes)
        for before, sizes in ((0, n_leaves - 1), (n_leaves - 1, n_leaves))
    )
    first_leaf = np.repeat(roots + n_leaves - 1, n_leaves - 1)
    root = np.repeat(roots, n_leaves - 1)

    def column(name, dtype, rest=0) -> np.ndarray:
        made = np.full(len(place) + len(leaf_place), rest, dtype=dtype)
        made[place] = inner.get(name, 0)
        return made

    def child(side) -> NDArray[np.int64]:
        made, to = np.full(len(place) + len(leaf_place), -1), inner[side]
        made[place] = np.where(to < 0, first_leaf - 1 - to, root + to)
        return made

    value = np.zeros((len(place) + len(leaf_place), leaves["value"].shape[1]))
    value[leaf_place] = leaves["value"]
    cover = column("cover", np.float64)
    cover[leaf_place] = leaves["cover"]
    return TreeEnsemble(
        left=child("left"),
        right=child("right"),
        feature=column("feature", np.int64, -1),
        threshold=column("threshold", np.float64),
        missing_left=column("missing_left", bool),
        zero_missing=column("zero_missing", bool),
        value=value,
        cover=cover,
        roots=roots,
        category_splits=tuple(
            CategorySplit(int(place[node]), frozenset(listed), listed_left)
            for node, (listed, listed_left) in categories.items()
        ),
        **how,
    )


def _numbers(sizes) -> NDArray[np.int64]:
    """Return 0, 1, ... for runs of these sizes: 0, 1, 0, 1, 2 for runs of 2 and 3."""
    starts = np.cumsum(sizes) - sizes
    return np.arange(int(np.sum(sizes))) - np.repeat(starts, sizes)
