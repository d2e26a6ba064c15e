"""Exact values of tree ensembles: plain arrays in, plain arrays out."""

from functools import cached_property
from typing import Any, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from skshapley._ensembles._codes import Codes, plan_codes, predict
from skshapley._ensembles._costs import Costs, count_costs
from skshapley._ensembles._first_walks import FirstWalks
from skshapley._ensembles._frontier import Frontier
from skshapley._ensembles._kept import CALL_ROWS, FEW_ROWS
from skshapley._ensembles._layout import WORD_PLAYERS
from skshapley._ensembles._leaf_games import INDICES
from skshapley._ensembles._leafwise import Block, Leafwise, make_blocks, surely_keeps_all
from skshapley._ensembles._plain_codes import PlainCodes, plan_plain_codes
from skshapley._ensembles._references import Background, TrainingData
from skshapley._ensembles._threads import each

# Most instances whose interactions are computed at once
ROWS = 8192
# Nodes at which rows stand at the same time, one in each tree
STANDING = 1 << 18
# Pairs that walk as long as it takes to lay the nodes out in levels
FEW_PAIRS = 64


class TreeValues:
    """Exact values of instances under a tree ensemble.

    Parameters
    ----------
    trees : TreeEnsemble
    players : ndarray of shape (n_features,), int, or None, default=None
        The player that each feature belongs to, counted from 0. The features of one player enter
        together. None: each feature is a player of its own.
    index : {"shapley", "banzhaf"}, default="shapley"
    n_jobs : int or None, default=None
        Threads over blocks of instances and of trees. The results do not depend on it.
    n_players : int or None, default=None
        Number of players, of whom the last may own no feature. None: those that own some.

    Attributes
    ----------
    n_players : int
    base_values : ndarray of shape (n_outputs,)
        Mean response over the background or the training data; known after a fit.

    Notes
    -----
    There are two ways, which agree to rounding: leaf by leaf, mostly by tables, and in pairs of an
    instance and a reference. Trees with small tables always go leaf by leaf, from tables made in
    fit. Of the others, a call takes the way that costs less, by the sizes of trees, instances and
    background alone (`Costs`).
    """

    base_values: NDArray[np.float64]
    _background: NDArray[np.float64]
    # None: the training data are the reference
    _weights: NDArray[np.float64] | None
    _walked_against: NDArray[Any] | None
    _leafwise: Leafwise | None
    # Whether calls of any size go leaf by leaf
    _always_at_leaves: bool

    def __init__(self, trees, players=None, index="shapley", n_jobs=None, n_players=None) -> None:
        if index not in INDICES:
            raise ValueError(f"TreeValues got index={index!r}: choose one of {INDICES}.")
        self.trees, self.index, self.n_jobs = trees, index, n_jobs
        self.players = np.arange(trees.n_features) if players is None else np.asarray(players)
        self._n_pairs = self._n_rows = 0
        self.n_players = int(self.players.max()) + 1 if n_players is None else n_players

    @cached_property
    def _codes(self) -> Codes:
        """How tables read a row."""
        return plan_codes(self.trees)

    @cached_property
    def _walking(self) -> Codes | PlainCodes:
        """How walks read a row."""
        return plan_plain_codes(self.trees) or self._codes

    @cached_property
    def _frontier(self) -> Frontier:
        return Frontier.of(self.trees, self._walking, self.players, self.n_players, self.index)

    @cached_property
    def _frontier_in_levels(self) -> Frontier:
        return self._frontier.in_levels()

    def _walks(self, n_pairs) -> Frontier:
        """Return the frontier for some more pairs."""
        self._n_pairs += n_pairs
        return self._frontier if self._n_pairs <= FEW_PAIRS else self._frontier_in_levels

    @cached_property
    def _costs(self) -> Costs:
        return count_costs(self.trees, self.players)

    @cached_property
    def _blocks(self) -> list[Block]:
        return list(make_blocks(self.trees, self._codes, self.players))

    def fit(self, background, weights=None) -> Self:
        """Let background rows stand in for absent players (the interventional game).

        Parameters
        ----------
        background : ndarray of shape (b, n_features)
        weights : ndarray of shape (b,) or None, default=None
            Non-negative, with a positive sum. None: equal weights.

        Returns
        -------
        self
        """
        b = len(background)
        weights = np.full(b, 1.0 / b) if weights is None else weights / np.sum(weights)
        self._background, self._weights, self._walked_against = background, weights, None
        self._leafwise, self._n_rows = None, 0
        if self._costs.makes_tables_first and not self._walks_first(1):
            self._leafwise = self._make_leafwise()
        if self._leafwise is None:
            self.base_values = weights @ self._predict(self._references())
            self._always_at_leaves = self._costs.makes_tables_first
        else:
            self.base_values = self._leafwise.base_values
            self._always_at_leaves = self._leafwise.is_complete
        return self

    def fit_path_dependent(self) -> Self:
        """Let absent players follow the training data down the trees.

        Returns
        -------
        self
        """
        self._weights = None
        self._leafwise = self._make_leafwise()
        self.base_values = self._leafwise.base_values
        self._always_at_leaves = True
        return self

    def _make_leafwise(self) -> Leafwise:
        return Leafwise(
            self.trees, self._codes, self._blocks, self._reference, self.n_players, self.index,
            self.n_jobs,
        )  # fmt: skip

    @property
    def _reference(self) -> Background | TrainingData:
        """What tables are made of."""
        if self._weights is None:
            return TrainingData()
        return Background(self._codes(self._background), self._weights)

    def _references(self) -> NDArray[Any]:
        """Return the background as walks read it."""
        if self._walked_against is None:
            self._walked_against = self._walking(self._background)
        return self._walked_against

    def _leaves(self) -> Leafwise:
        """Return the leaves with their tables; the first call makes those that fit did not.

        Two threads that come first at the same time both make them: the same tables.
        """
        if self._leafwise is None:
            leafwise = self._make_leafwise()
            leafwise.tables.n_rows = self._n_rows
            self._leafwise = leafwise
        return self._leafwise

    def _goes_in_pairs(self, r) -> bool:
        """Return whether r instances go in pairs with the references."""
        if self._weights is None or self._always_at_leaves:
            return False
        return self._costs.prefers_pairs(r, len(self._weights))

    def _interacts_in_pairs(self, r) -> bool:
        """Return whether r instances go in pairs with the references for their interactions."""
        if self._weights is None or self._always_at_leaves:
            return False
        return self._costs.interacts_in_pairs(r, len(self._weights))

    def _walks_first(self, r) -> bool:
        """Return whether r more rows are among the first, and walk as long as there are no tables.

        That is for trees all of whose tables would be kept: then no bit depends on it.
        """
        if self._leafwise is not None:
            return False
        costs, n_rows = self._costs, self._n_rows + max(CALL_ROWS, r)
        return (
            n_rows <= FEW_ROWS
            and costs.is_exact
            and costs.makes_tables_first
            and costs.walks_first(self._n_rows + r, len(self._background))
            and self.n_players <= WORD_PLAYERS
            and surely_keeps_all(costs.leaves, self.trees.n_outputs)
        )

    @cached_property
    def _first_walks(self) -> FirstWalks:
        return FirstWalks.of(self.trees, self.players, self.n_players, self.index)

    def values(self, X) -> NDArray[np.float64]:
        """Return the values of the players, for each instance and output.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        values : ndarray of shape (r, n_players, n_outputs)
        """
        if self._always_at_leaves and self._leafwise is not None:
            few = self._leafwise.values_of_few(X)
            if few is not None:
                return few
        if self._weights is not None and self._walks_first(len(X)):
            self._n_rows += max(CALL_ROWS, len(X))
            given = self._frontier, self._walking(X), self._references(), self._weights
            values = self._first_walks.values(*given)
        elif self._goes_in_pairs(len(X)):
            walk = self._walks(len(X) * len(self._background)).values
            values = np.concatenate(self._in_pairs(walk, X), axis=-1)
        else:
            values = self._leaves().values(X)
        return np.ascontiguousarray(values.transpose(2, 1, 0))

    def _in_pairs(self, walk, X, *more) -> list[NDArray[np.float64]]:
        """Return what a walk of the frontier gives for instances with the references, in parts."""
        codes, r = self._walking(X), len(X)
        width = -(-r // effective_n_jobs(self.n_jobs)) or 1
        parts = [
            (codes[:, first : first + width], self._references(), self._weights, *more)
            for first in range(0, r, width)
        ]
        return each(walk, parts, self.n_jobs)

    def values_by_reference(self, X, references=None) -> NDArray[np.float64]:
        """Return the values of instances against each of some references on its own.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        references : ndarray of shape (b, n_features), or None, default=None
            They need no fit, and no tables. None: the background of the fit.

        Returns
        -------
        values : ndarray of shape (r, b, n_players, n_outputs)
            Their weighted mean over the background is `values`, to rounding.
        """
        codes = self._references() if references is None else self._walking(references)
        walks = self._walks(len(X) * codes.shape[1])
        return walks.values_by_reference(self._walking(X), codes)

    def interactions(self, X, index=None) -> NDArray[np.float64]:
        """Return the interactions of all pairs of players.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        index : Index, "shapley", "banzhaf" or None, default=None
            Of the interactions; None for that of the values.

        Returns
        -------
        interactions : ndarray of shape (r, n_players, n_players, n_outputs)
            Half the interaction index off the diagonal; the rows sum to `values`.
        """
        values, result = self.values_and_pairs(X, index)
        result /= 2
        player = np.arange(self.n_players)
        result[:, player, player] = values - result.sum(axis=2)
        return result

    def values_and_pairs(self, X, index=None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return `values`, and the interaction index of all pairs of players.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        index : Index, "shapley", "banzhaf" or None, default=None
            Of the interactions; None for that of the values.

        Returns
        -------
        values : ndarray of shape (r, n_players, n_outputs)
        pairs : ndarray of shape (r, n_players, n_players, n_outputs)
            Symmetric, with zeros on the diagonal.
        """
        index, p = index or self.index, self.n_players
        values = np.empty((len(X), p, self.trees.n_outputs))
        pairs = np.empty((len(X), p, p, self.trees.n_outputs))
        in_pairs = self._interacts_in_pairs(min(len(X), ROWS))
        # Single values go their own way, so that no bit of them depends on the interactions.
        both = in_pairs and self._goes_in_pairs(len(X))
        for first in range(0, len(X), ROWS):
            part = slice(first, first + ROWS)
            if in_pairs:
                walk = self._walks(len(X[part]) * len(self._background)).values_and_pairs
                parts = self._in_pairs(walk, X[part], index)
                own, found = (np.concatenate(some, axis=-1) for some in zip(*parts, strict=True))
                values[part] = own.transpose(2, 1, 0)
            else:
                found = self._leaves().interactions(self._codes(X[part]), index)
            pairs[part] = found.transpose(3, 1, 2, 0)
        pairs += pairs.transpose(0, 2, 1, 3)
        return values if both else self.values(X), pairs

    def predict(self, X) -> NDArray[np.float64]:
        """Return the response of the ensemble, ``(r, n_outputs)``, by walking its trees."""
        return self._predict(self._walking(X))

    def _predict(self, codes) -> NDArray[np.float64]:
        step = max(1, STANDING // self.trees.n_trees)
        parts = (codes[:, first : first + step] for first in range(0, codes.shape[1], step))
        return np.concatenate([predict(self.trees, self._walking, part) for part in parts])
