"""Exact values of tree ensembles: plain arrays in, plain arrays out."""

from copy import copy
from functools import cached_property, partial
from itertools import chain
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from skshapley._tools import working_bytes
from skshapley._trees._costs import MOST_BITS, MOST_NESTED_BITS, Costs, count_costs
from skshapley._trees._ensemble import Codes
from skshapley._trees._frontier import Frontier
from skshapley._trees._groups import GroupedTrees
from skshapley._trees._leaf_tables import nested_tables, pair_tables
from skshapley._trees._path_dependent import PathWalk
from skshapley._trees._paths import LEAVES, traced_runs
from skshapley._trees._tables import LeafSums, References, each, grid_of, value_tables
from skshapley._trees._walks import Layout
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import player_index

# Most rows of one step
ROWS = 8192
# Share of the working memory that the patterns of the background may take
PATTERN_SHARE = 0.2
# Most nodes of one step, one per row and tree
STANDING = 1 << 18


class TreeValues:
    """Exact values of rows under a tree ensemble.

    Parameters
    ----------
    trees : TreeEnsemble
    players : ndarray of shape (n_features,), int, or None, default=None
        The player of each feature, counted from 0. The features of one player enter
        together. None: each feature is a player of its own.
    index : str or Index, default="shapley"
    n_jobs : int or None, default=None
        Threads over blocks of rows and of trees. The results do not depend on it.
    n_players : int or None, default=None
        Number of players; the last ones may have no feature. None: players with a
        feature.
    levels : ndarray of shape (n_levels, n_players), int, or None, default=None
        The group of each player at each level of nested groups, the outermost first.
        Their values always come from tables.

    Attributes
    ----------
    n_players : int
    base_values : ndarray of shape (n_outputs,)
        Mean response over the background or the training data; known after a fit.

    Notes
    -----
    For trees of moderate depth, fit makes tables, and values are lookups. In trees that
    are too deep for tables, each row descends together with each background row. In the
    path-dependent game, it descends with probabilities instead. Tables that take long
    are made when all rows since `fit` cost less with them, and kept if they fit into
    memory. The choice depends only on the sizes of trees, background and rows
    (`Costs`), and is the same for all batches of a run (`for_run`). All methods agree
    to rounding.
    """

    def __init__(
        self,
        trees,
        players=None,
        index="shapley",
        n_jobs=None,
        n_players=None,
        levels=None,
    ) -> None:
        self.trees = trees
        self.index = player_index(index, "TreeValues")
        self.n_jobs = n_jobs
        self.players = (
            np.arange(trees.n_features) if players is None else np.asarray(players)
        )
        self.n_players = int(self.players.max()) + 1 if n_players is None else n_players
        self.levels = levels

    @cached_property
    def codes(self) -> Codes:
        """The encoding of rows for the nodes."""
        return Codes(self.trees)

    @cached_property
    def _costs(self) -> Costs:
        return count_costs(self.trees, self.players, self.levels is not None)

    @cached_property
    def frontier(self) -> Frontier:
        """The pairs of rows that descend the trees."""
        return Frontier(Layout(self.trees, self.codes, self.players), self.n_players)

    @cached_property
    def _path_walk(self) -> PathWalk:
        return PathWalk(self.trees, self.codes, self.players, self.n_players)

    def fit(self, background=None, weights=None) -> Self:
        """Take background rows, or the training data from the covers of the nodes.

        Parameters
        ----------
        background : ndarray of shape (b, n_features) or None, default=None
            Rows with the values of absent players (the interventional game). None:
            absent players follow the training data down the trees (the path-dependent
            game).
        weights : ndarray of shape (b,) or None, default=None
            Non-negative, with a positive sum. None: equal weights.

        Returns
        -------
        self
        """
        if background is None:
            self._references = References(None, np.ones(1))
        else:
            weights = np.ones(len(background)) if weights is None else weights
            shares = weights / np.sum(weights)
            self._references = References(self.codes(background), shares)
        self._blocks: list[GroupedTrees] | None = None
        self._tables: LeafSums | None = None  # until enough rows were explained
        self._n_descended = 0  # rows that were explained without tables
        self._run_rows: int | None = None  # all rows of a run, whose choice is fixed
        self._pair_tables: dict[Any, LeafSums] = {}  # by index
        if self.levels is not None and not self._divide():
            raise UnreadableModelError(
                f"Paths of the trees have more than {MOST_NESTED_BITS} players, too many"
                " for nested groups"
            )
        if self._costs.keeps_tables(self._n_references) and self._divide():
            self._tables = self._value_tables(self._references).keep()
            tables = chain.from_iterable(self._tables.kept or [])
            self.base_values = self._constant + sum(table.mean for table in tables)
        elif background is None:
            self.base_values = self._path_walk.base_values
        else:
            self.base_values = shares @ self._predict(self._references.codes)
        return self

    @cached_property
    def _constant(self) -> NDArray[np.float64]:
        """The response of the trees without splits, which are in no group."""
        trees = self.trees
        return trees.base + trees.value[trees.roots].sum(axis=0)

    @property
    def _n_references(self) -> int | None:
        """Return the number of background rows; None for the training data."""
        return None if self._references.codes is None else len(self._references.weights)

    def _divide(self) -> bool:
        """Divide the trees into groups, and return whether these can have tables."""
        if self._blocks is None:
            b = len(self._references.weights)
            # A leaf is in one group, and a pattern takes one byte or more: leaves bound
            # the groups.
            room = int(working_bytes(PATTERN_SHARE) / max(1, b))
            runs = traced_runs(self.trees, self.players, min(LEAVES, room))
            self._blocks = [
                GroupedTrees(part, paths, self.codes.row[nodes], self.codes.rank[nodes])
                for part, nodes, paths in runs
            ]
        most = MOST_BITS if self.levels is None else MOST_NESTED_BITS
        return all(c.n_bits <= most for block in self._blocks for c in block.chunks)

    def _value_tables(self, references) -> LeafSums:
        shape = self.trees.n_outputs, self.n_players + 1
        make: Any = partial(
            value_tables,
            shape=shape,
            index=self.index,
            grid=grid_of(self.trees),
        )
        if self.levels is not None:
            make = partial(nested_tables, shape=shape, levels=self.levels)
        return LeafSums(self._blocks, references, shape, make, self.n_jobs)

    def values(self, X) -> NDArray[np.float64]:
        """Return the values of the players, for each row and output.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        values : ndarray of shape (r, n_players, n_outputs)
        """
        return self.values_and_predictions(X)[0]

    def values_and_predictions(
        self,
        X,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `values`, and the leaves that the rows reach, ``(r, n_outputs)``.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        """
        codes = self.codes(X)
        tables = self._tables or self._tables_for(len(X))
        if tables is None:
            values = self._descended("values", codes, self.index).transpose(2, 1, 0)
            return np.ascontiguousarray(values), self._predict(codes)
        sums = tables.values(codes).transpose(2, 1, 0)
        # An own sum: the attributions are not added up to a prediction.
        predictions = sums[:, self.n_players] + self._constant
        return np.ascontiguousarray(sums[:, : self.n_players]), predictions

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return a copy that makes the same choice for all batches of a run.

        The choice does not depend on the rows explained before. A resumed run therefore
        continues with the same bits.

        Parameters
        ----------
        n_rows : int or None
            None: unknown, and the choice is that for one batch.
        batch_rows : int
        """
        run = copy(self)
        # Tables that do not fit into memory are made for each batch.
        once = n_rows is not None and (self._costs.tables_fit or n_rows < batch_rows)
        run._run_rows = n_rows if once else batch_rows
        # Tables of `fit` serve every run; those of earlier rows do not.
        if not self._costs.keeps_tables(self._n_references):
            run._tables = None
        return run

    def _tables_for(self, n_rows) -> LeafSums | None:
        """Return tables if all rows since `fit` cost less with them, else None."""
        n_descended = self._run_rows or self._n_descended + n_rows
        if (
            self._costs.prefers_pairs(n_descended, self._n_references)
            or not self._divide()
        ):
            self._n_descended = n_descended
            return None
        tables = self._value_tables(self._references)
        if self._costs.tables_fit:
            self._tables = tables.keep()
        return tables

    def _descended(self, kind, codes, index) -> NDArray[np.float64]:
        """Return the "values" or the "pairs" of rows that descend all trees, ``(..., r)``.

        Threads divide the rows. The rows are independent, so the parts do not change
        results.
        """
        references = self._references
        descent: Any = self._path_walk if references.codes is None else self.frontier
        r = codes.shape[1]
        width = min(ROWS, -(-r // effective_n_jobs(self.n_jobs)) or 1)
        tasks = [
            (codes[:, start : start + width], references, index)
            for start in range(0, max(1, r), width)
        ]
        return np.concatenate(each(getattr(descent, kind), tasks, self.n_jobs), axis=-1)

    def values_by_reference(self, X, references) -> NDArray[np.float64]:
        """Return the values of rows against each single background row; no fit is needed.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        references : ndarray of shape (b, n_features)

        Returns
        -------
        values : ndarray of shape (r, b, n_players, n_outputs)
        """
        rows = self.codes(X)
        codes = self.codes(references)
        if self.levels is None:
            return self.frontier.values_by_reference(rows, codes, self.index)
        tables = [
            self._value_tables(References(codes[:, [j]], np.ones(1)))
            for j in range(codes.shape[1])
        ]
        sums = np.stack([table.values(rows) for table in tables])
        return sums[:, :, :-1].transpose(3, 0, 2, 1)

    def pairs(self, X, index=None) -> NDArray[np.float64]:
        """Return the interaction index of all pairs of players.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        index : str, Index or None, default=None
            None: the index of the values.

        Returns
        -------
        pairs : ndarray of shape (r, n_players, n_players, n_outputs)
            Symmetric, with zeros on the diagonal.
        """
        return self._interactions(X, index)[1]

    def values_and_pairs(
        self,
        X,
        index=None,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `values` and `pairs`. Rows that descend the trees do so once for both.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        index : str, Index or None, default=None
            Of the pairs.
        """
        values, pairs = self._interactions(X, index)
        return self.values(X) if values is None else values, pairs

    def _interactions(self, X, index) -> tuple[Any, NDArray[np.float64]]:
        """Return the values, or None if they would need a second step, and the interactions."""
        index = self.index if index is None else player_index(index, "TreeValues")
        codes = self.codes(X)
        diagonal = np.arange(self.n_players)
        descends = (
            self._costs.interacts_in_pairs(self._run_rows or len(X), self._n_references)
            or not self._divide()
        )
        if descends:
            sums = self._descended("pairs", codes, index)
        else:
            if index not in self._pair_tables:
                p = self.n_players
                tables = LeafSums(
                    self._blocks,
                    self._references,
                    (self.trees.n_outputs, p, p),
                    partial(pair_tables, n_players=p, index=index),
                    self.n_jobs,
                )
                # Only the last index is kept: tables of pairs are the largest arrays of
                # a fit.
                self._pair_tables = {index: tables}
                if self._costs.keeps_pairs:
                    tables.keep()
            halves = self._pair_tables[index].values(codes)
            sums = halves + halves.swapaxes(1, 2)
        pairs = sums.transpose(3, 1, 2, 0)
        values = pairs[:, diagonal, diagonal]
        pairs[:, diagonal, diagonal] = 0.0
        return values if descends and index == self.index else None, pairs

    def predict(self, X) -> NDArray[np.float64]:
        """Return the response of the ensemble, ``(r, n_outputs)``, by descending its trees."""
        return self._predict(self.codes(X))

    def _predict(self, codes) -> NDArray[np.float64]:
        # Each row stands at one node per tree, so many trees mean few rows at a time.
        step = max(1, STANDING // self.trees.n_trees)
        parts = (
            codes[:, first : first + step] for first in range(0, codes.shape[1], step)
        )
        return np.concatenate([self._descend(part) for part in parts])

    def _descend(self, codes) -> NDArray[np.float64]:
        trees = self.trees
        nodes = self.codes
        node = np.tile(trees.roots, codes.shape[1])
        walking = (trees.left.take(node) >= 0).nonzero()[0]
        while len(walking):
            at = node.take(walking)
            goes_left = codes[
                nodes.row.take(at), walking // trees.n_trees
            ] <= nodes.rank.take(at)
            at = np.where(goes_left, trees.left.take(at), trees.right.take(at))
            node[walking] = at
            walking = walking[trees.left.take(at) >= 0]
        return trees.base + trees.value[node.reshape(-1, trees.n_trees)].sum(axis=1)
