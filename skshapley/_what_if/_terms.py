"""The terms of a closed form for a page: sums, curves, pairs of columns, and trees."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._trees import TreeEnsemble
from skshapley._trees._ensemble import Codes, tree_outputs
from skshapley.closed_forms import ClosedForm, LinearTerms, Logistic, Sum, Tables, Trees
from skshapley.closed_forms._base import as_dense
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import INDICES


@dataclass(frozen=True, eq=False)
class Leaf:
    """A closed form without parts, and the matrix that it takes.

    Attributes
    ----------
    form : ClosedForm
    matrix : ndarray of shape (n, D)
    """

    form: ClosedForm
    matrix: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Term:
    """A term on the page, and the numbers that it takes.

    Attributes
    ----------
    record : dict
        As the script reads it.
    source : ndarray of shape (n,), int
        The raw column of each number.
    inputs : callable
        From the matrix of the leaf ``(r, D)`` to the numbers ``(r, n)``.
    leaf : int, default=0
        The position of the leaf among those of the closed form.
    encoders : list of Encoder, default=()
        The numbers as functions of the raw columns.
    """

    record: dict[str, Any]
    source: NDArray[np.intp]
    inputs: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    leaf: int = 0
    encoders: Any = ()


def leaves(form: ClosedForm, X: Any) -> list[Leaf]:
    """Return the parts of a closed form, each with its own columns of a table.

    Raises
    ------
    UnreadableModelError
        For a closed form that the page cannot compute.
    """
    if isinstance(form, Sum):
        return [leaf for part in form.parts for leaf in leaves(part.form, part(X))]
    if isinstance(form, Trees):
        return [Leaf(form, form.trees.to_matrix(form.in_its_container(X)))]
    if type(form) not in WRITERS:
        raise UnreadableModelError(f"{form.label} are not computed in a page")
    return [Leaf(form, as_dense(X))]


def base64_bytes(numbers: Any, dtype: str) -> str:
    """Return numbers as the bytes of a typed array, in base 64."""
    return b64encode(np.ascontiguousarray(numbers, dtype=dtype).tobytes()).decode()


def _linear(
    form: LinearTerms,
    source: NDArray[np.intp],
    base: Any,
    **record: Any,
) -> Iterator[Term]:
    """Yield a sum with one number for each raw column and output."""
    columns = np.unique(source[source >= 0])
    k = form.n_outputs
    fixed = source < 0

    def inputs(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = [matrix[:, source == j] @ form.coef[source == j] for j in columns]
        return np.concatenate([np.zeros((len(matrix), 0)), *shares], axis=1)

    constant = form.intercept + base[fixed] @ form.coef[fixed]
    record = {
        "kind": "sum",
        "constant": constant.tolist(),
        "outputs": np.tile(np.arange(k), len(columns)).tolist(),
        **record,
    }
    yield Term(record, np.repeat(columns, k), inputs)


def n_nodes(p: int) -> int:
    """Return the number of Gauss-Legendre nodes below 1/2 for p columns.

    With as many nodes above 1/2, the values are exact up to 28 columns. With more
    columns, they err by at most 1e-9.
    """
    return ceil(min(p / 4, 5 + p / 16))


def _logistic(form: Logistic, source: NDArray[np.intp], base: Any) -> Iterator[Term]:
    """Yield the logistic function of a sum."""
    nodes, weights = INDICES["shapley"].law(4 * n_nodes(len(np.unique(source))) - 2)
    below = np.ravel(nodes) < 0.5
    yield from _linear(
        form.terms,
        source,
        base,
        kind="logistic",
        factors=form.outputs[0].tolist(),
        offsets=form.constant.tolist(),
        nodes=np.ravel(nodes)[below].tolist(),
        weights=np.ravel(weights)[below].tolist(),
    )


def _tables(form: Tables, source: NDArray[np.intp], base: Any) -> Iterator[Term]:
    """Yield a sum for tables of one raw column, and the tables of two."""
    k = form.n_outputs
    alone: list = []
    pairs: list = []
    for columns, table in form.tables:
        sources = np.unique(np.maximum(source[list(columns)], 0))
        (alone if len(sources) == 1 else pairs).append((columns, table))

    def inputs(matrix: NDArray[np.float64]) -> NDArray[np.float64]:
        codes = matrix.astype(np.intp)
        looked_up = [
            table[tuple(codes[:, column] for column in columns)]
            for columns, table in alone
        ]
        return np.concatenate([np.zeros((len(codes), 0)), *looked_up], axis=1)

    record = {
        "kind": "sum",
        "constant": form.constant.tolist(),
        "outputs": np.tile(np.arange(k), len(alone)).tolist(),
    }
    yield Term(
        record,
        np.repeat(
            np.array([source[columns[0]] for columns, _ in alone], dtype=np.intp),
            k,
        ),
        inputs,
    )
    if pairs:
        used = np.unique([column for columns, _ in pairs for column in columns])
        tables = [
            {
                "columns": np.searchsorted(used, columns).tolist(),
                "size": table.shape[1],
                "values": base64_bytes(table, "<f8"),
            }
            for columns, table in pairs
        ]
        record = {"kind": "pairs", "tables": tables}
        yield Term(record, source[used], lambda matrix: matrix[:, used])


def _trees(form: Trees, source: NDArray[np.intp], base: Any) -> Iterator[Term]:
    """Yield the trees in preorder, with the codes that their nodes compare."""
    trees = form.trees
    used = np.unique(trees.feature[~trees.is_leaf])
    codes = Codes(trees)
    order = _preorder(trees)
    outputs = tree_outputs(trees)
    inner = order[~trees.is_leaf[order]]
    tree = np.searchsorted(trees.roots, order, "right") - 1
    # Trees of one output have one number a leaf.
    values = [
        trees.value[node] if outputs[t] < 0 else trees.value[node, [outputs[t]]]
        for node, t in zip(order, tree, strict=True)
        if trees.left[node] < 0
    ]
    place = {int(feature): number for number, feature in enumerate(used)}
    record = {
        "kind": "trees",
        "strict": bool(trees.strict),
        "single": bool(trees.single_precision),
        "base": trees.base.tolist(),
        "outputs": outputs.tolist(),
        "rows": base64_bytes(
            codes.row[order],
            "<i4" if codes.n_rows > 32_767 else "<i2",
        ),
        "wide": codes.n_rows > 32_767,
        "ranks": base64_bytes(
            codes.rank[inner],
            "<u4" if codes.rank.itemsize > 2 else "<u2",
        ),
        "deep": codes.rank.itemsize > 2,
        "values": base64_bytes(np.concatenate(values), "<f8"),
        "thresholds": {
            place[feature]: base64_bytes(numbers, "<f8")
            for feature, numbers in codes.thresholds.items()
        },
        "numbers": [
            [place[row.feature], int(row.missing_left), int(row.zero_missing)]
            for row in codes.numeric_rows
        ],
        "categories": [
            [place[table.feature], table.table.tolist()]
            for table in codes.category_tables
        ],
    }
    yield Term(record, source[used], lambda matrix: matrix[:, used])


def _preorder(trees: TreeEnsemble) -> NDArray[np.intp]:
    """Return the nodes of all trees, each before its left and then its right subtree."""
    order = []
    waiting = trees.roots[::-1].tolist()
    while waiting:
        node = waiting.pop()
        order.append(node)
        if trees.left[node] >= 0:
            waiting += [int(trees.right[node]), int(trees.left[node])]
    return np.array(order)


# The writers take a closed form, the raw column of each column of its matrix (-1 for
# constant ones), and a row of the matrix, for the constant columns.
WRITERS: dict[type, Callable[..., Iterator[Term]]] = {
    LinearTerms: _linear,
    Logistic: _logistic,
    Tables: _tables,
    Trees: _trees,
}
