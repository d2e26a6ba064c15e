"""Permutation samplers: Monte Carlo, antithetic pairs, orthogonal blocks, and pairs.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation",
JMLR 23 (2022): section 3 (Monte Carlo, Eq 4), section 3.1 (antithetic), section 4.2,
Algorithm 3 (orthogonal). In their notation d is the number of players. One permutation
needs d - 1 evaluations, since the values of its ends are known.

With the coalitions of interactions: Sundararajan, Dhamdhere & Agarwal (2020), "The
Shapley Taylor interaction index", ICML: for a permutation, the interaction of two
players is the discrete second derivative of the game at the set of the players before
both (section 2). One permutation needs p (p + 1)/2 - 1 evaluations, and has one such
derivative for each pair.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial

import numpy as np

from skshapley._references import RowOrder, systematic_rows
from skshapley._tools import OneOf, uniform_permutations
from skshapley.designs import ExtendedDesign, PermutationDesign
from skshapley.samplers._base import Bought, Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._kernels import (
    MallowsKernel,
    PermutationKernel,
    bayesian_weights,
)

FEW_REFERENCES = 32  # up to this number, all rows are used if there is a unit for each
MANY_REFERENCES = 256  # from this number on, a stopping rule does not wait for all rows
# Rounds over all rows before a stopping rule is checked: after one, no row has a second
# unit, so that errors are unknown.
LEAST_ROUNDS = 1.6
# One of this number of sampled background rows is used twice. The differences give the
# noise of the permutations, and without it the part of the background in the error.
# They cost budget: the squared error is .93 times as large without them, and 1.14 times
# with one row in four.
ONCE_AGAIN = 16
FIRST_ROUNDS = 2  # over all rows alike; later rounds repeat rows by their weights
DRAWN_TOGETHER = 256  # background rows of a row to explain, at least
ONE_SHOT = SamplerTraits(one_shot=True)


@dataclass(eq=False, repr=False, kw_only=True)
class PermutationSampler(Sampler):
    """Base class of the samplers of permutations.

    Subclasses define the size of an independent unit, and draw permutations. Except
    with "all", every unit uses a single background row.

    Parameters
    ----------
    references : {"stratified", "all", "random"}, default="stratified"
        The background rows of each permutation. "all": the whole background, b model
        rows per evaluation. "stratified": one row for each unit; the same model rows
        buy b times as many permutations. All rows are used if there are two units for
        each; rows of large weight have more. From a larger background, a balanced
        sample is used, with some rows twice. "random": one row for each unit, drawn
        with the weights of the background. With a single background row, all are equal.
    weights : {"equal", "bayesian"}, default="equal"
        "bayesian": the weights with the smallest discrepancy (Bayesian quadrature, the
        Mallows kernel with lam 4). All permutations of a row to explain, or all of them
        on the same background row, are then one unit and drawn at once. This helps for
        few players, where the permutations are a relevant share of all p! permutations.
    """

    references: str = "stratified"
    weights: str = "equal"

    produces = PermutationDesign
    replicates = 1  # the fewest units on each background row, or on all of them
    _most_in_unit = 2**11  # permutations that are weighed together
    _constraints = {
        "references": OneOf(("all", "stratified", "random")),
        "weights": OneOf(("equal", "bayesian")),
    }

    @abstractmethod
    def _draw(self, rng: np.random.Generator, n_units: int, unit: int) -> np.ndarray:
        """Return units of permutations for one row, ``(n_units * unit, p)``."""

    def _least_unit(self, n_players: int) -> int:
        """Return the smallest size of a unit; every unit is a multiple of it."""
        return 1

    def _whole_unit(self, n_players: int, n_references: int) -> int:
        """Return the size of a unit if requests may be small."""
        return self._least_unit(n_players)

    def _unit(self, n_draws: int, n_references: int) -> int:
        """Return the number of permutations in a unit when `n_draws` are asked for."""
        if not self.traits.one_shot:
            return self._whole_unit(self.n_players_, n_references)
        rows = n_references if self._single(n_references) else 1
        least = self._least_unit(self.n_players_)
        # All permutations on a background row form one unit, since they are weighed
        # together.
        return min(
            least * max(1, n_draws // (rows * self.replicates) // least),
            self._most_in_unit,
        )

    def _kernel(self) -> PermutationKernel:
        """Return the kernel of the Bayesian weights."""
        return MallowsKernel()

    def _weigh(self, permutations: np.ndarray, unit: int) -> np.ndarray:
        """Return the weights of permutations ``(r, n, p)`` within their units, ``(r, n)``."""
        units = permutations.reshape(-1, unit, permutations.shape[2])
        return np.reshape(
            [
                bayesian_weights(unit_permutations, self._kernel())
                for unit_permutations in units
            ],
            permutations.shape[:2],
        )

    def _single(self, n_references: int) -> bool:
        return self.references != "all" and n_references > 1

    @property
    def traits(self) -> SamplerTraits:  # type: ignore[override]
        """The traits; one-shot with Bayesian weights, which belong to a whole set."""
        return Sampler.traits if self.weights == "equal" else ONE_SHOT

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of permutations: at least one unit, or one on each background row.

        A permutation costs p - 1 evaluations, or p - 1 model rows against a single
        background row.
        """
        rows = n_references if self._single(n_references) else 1
        unit = self._least_unit(n_players)
        least = (
            1 if self.references == "stratified" and not self.traits.one_shot else rows
        )
        return Price(
            draw=max(1, n_players - 1) * n_references // rows,
            coalitions=n_players + 1,
            references=n_references,
            least=unit * least * self.replicates,
            step=unit,
            unit=self._whole_unit(n_players, n_references),
        )

    def afford(self, n_rows: int, n_players: int, n_references: int) -> Bought:
        """Return the draws that a budget buys, on all background rows or on a sample of them."""
        bought = super().afford(n_rows, n_players, n_references)
        if not self._single(n_references):
            return bought
        if self._samples_few(bought.n_draws, n_players, n_references):
            return replace(bought, samples=True)
        return replace(
            bought,
            to_stop=max(
                bought.to_stop,
                bought.price.step * int(LEAST_ROUNDS * n_references),
            ),
        )

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        """Return the number of background rows to sample from: all if each unit has its own row."""
        if self._single(n_references):
            return n_references
        return super()._n_references(n_rows, n_players, n_references)

    def _samples_few(self, n_draws: int, n_players: int, b: int) -> bool:
        if self.references != "stratified" or b == 1 or self.traits.one_shot:
            return False
        units = n_draws // self._whole_unit(n_players, b)
        sparse = units < 2 * b and b > FEW_REFERENCES
        # Two units per row show the spread within it; a sample is better if few rows
        # would have two.
        return units < b or sparse or b > MANY_REFERENCES

    def _start(self, task: SamplerTask) -> None:
        # background rows have a separate stream
        children = [rng.spawn(2) for rng in self.rngs_]
        self.rngs_ = [pair[0] for pair in children]
        self._samples = self._samples_few(
            task.n_draws,
            task.n_players,
            len(task.reference_weights),
        )
        background = task.background if self._samples else None
        order = None if background is None else background.row_order
        weights = self.reference_weights_
        # computed once for all rows to explain, if any of them needs it
        by_weight = cache(
            partial(systematic_rows, np.cumsum(weights), len(weights), 0.5)
        )
        self._sources = [
            _Rows(pair[1], weights, self.references, order, by_weight)
            for pair in children
        ]

    def _ask(self, rows: np.ndarray, n: int) -> PermutationDesign:
        # n permutations, or fewer, in equal units
        n_references = len(self.reference_weights_)
        unit = self._unit(n, n_references)
        n_units = n // unit
        permutations = np.stack(
            [self._draw(self.rngs_[row], n_units, unit) for row in rows]
        )
        weights = None if self.weights == "equal" else self._weigh(permutations, unit)
        if not self._single(n_references):
            return PermutationDesign(permutations, unit, weights=weights)
        references = np.stack([self._sources[row].take(n_units) for row in rows])
        all_used = self.references == "stratified" and not self._samples
        return PermutationDesign(
            permutations,
            unit,
            references=np.repeat(references, unit, axis=1),
            stratum_weights=self.reference_weights_ if all_used else None,
            weights=weights,
            sampled=self._samples,
        )


class _Rows:
    """Background rows of the units of one row to explain, in rounds over all of them.

    In a balanced order, one in 16 places is used twice in a row. This separates the
    spread of units on one row from the spread between rows.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        weights: np.ndarray,
        references: str,
        order: RowOrder | None,
        by_weight: Callable[[], np.ndarray],
    ) -> None:
        self._rng = rng
        self._weights = weights
        self._references = references
        self._row_order = order
        self._by_weight = by_weight  # the rows of a round after the first ones
        self._rest = np.empty(0, dtype=np.intp)
        self._first_rounds = FIRST_ROUNDS

    def take(self, n: int) -> np.ndarray:
        while len(self._rest) < n:
            self._rest = np.append(self._rest, self._next())
        rows, self._rest = np.split(self._rest, [n])
        return rows

    def _next(self) -> np.ndarray:
        """Return some of the next rows: a stream has the same rows in any parts."""
        b = len(self._weights)
        if self._references == "random":
            # Drawn with replacement, so rows follow the weights exactly and in
            # independent units.
            return self._rng.choice(b, size=DRAWN_TOGETHER, p=self._weights)
        if self._row_order is None:
            n_rounds = -(-DRAWN_TOGETHER // b)
            rounds = np.tile(self._by_weight(), (n_rounds, 1))
            rounds[: self._first_rounds] = np.arange(b)
            self._first_rounds = max(0, self._first_rounds - n_rounds)
            return self._rng.permuted(rounds, axis=1).ravel()
        places = self._row_order.shuffled(self._rng)
        n_sets = len(places) // ONCE_AGAIN
        n_in_sets = n_sets * ONCE_AGAIN
        sets = places[:n_in_sets].reshape(n_sets, ONCE_AGAIN)
        # A random place of each set, so that the repeated rows represent all others.
        again = self._rng.integers(ONCE_AGAIN, size=n_sets)
        used = np.column_stack([sets, sets[np.arange(n_sets), again]])
        return np.append(used, places[n_in_sets:])


def with_reverses(permutations: np.ndarray) -> np.ndarray:
    """Return permutations ``(n, p)``, each followed by its reverse: ``(2 n, p)``."""
    pairs = np.stack([permutations, permutations[:, ::-1]], axis=1)
    return pairs.reshape(-1, permutations.shape[1])


class MonteCarlo(PermutationSampler):
    """Independent uniform permutations (Mitchell et al. 2022, Eq 4).

    Each permutation is a unit: p(permutation) = 1/p!.

    Parameters
    ----------
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each permutation; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy, for few
        players.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Eq 4; Castro, Gomez & Tejada (2009), Computers & Operations
    Research 36.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import MonteCarlo
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0],
    ...     n_players=2,
    ...     sampler=MonteCarlo(),
    ...     max_evals=10,
    ...     random_state=0,
    ... )
    >>> result.values
    array([1., 2.])
    """

    def _draw(self, rng: np.random.Generator, n_units: int, unit: int) -> np.ndarray:
        return uniform_permutations(rng, n_units * unit, self.n_players_)


class Antithetic(PermutationSampler):
    """Uniform permutations, each followed by its reverse (Mitchell et al. 2022, section 3.1).

    A pair is a unit. Each permutation by itself is uniform. Games with interactions of
    at most two players are exact with one pair.

    Parameters
    ----------
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each pair; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy, for few
        players.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3.1.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Antithetic
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1],
    ...     n_players=2,
    ...     sampler=Antithetic(),
    ...     max_evals=10,
    ...     random_state=0,
    ... )
    >>> result.values
    array([0.5, 0.5])
    """

    def _least_unit(self, n_players: int) -> int:
        return 2

    def _draw(self, rng: np.random.Generator, n_units: int, unit: int) -> np.ndarray:
        return with_reverses(
            uniform_permutations(rng, n_units * unit // 2, self.n_players_)
        )


class Orthogonal(PermutationSampler):
    """Permutations from orthogonal directions and their reverses (Mitchell et al., Algorithm 3).

    A block has at most p - 1 directions, orthogonal to each other and uniform in the
    hyperplane of sum zero. Each direction is sorted into a permutation and followed by
    its reverse. A block is a unit, so a budget of a single block has no standard
    errors. If each unit has its own background row, blocks are as large as two blocks
    per row allow.

    Parameters
    ----------
    references : {"stratified", "all", "random"}, default="stratified"
        Background rows of each block; see `PermutationSampler`.
    weights : {"equal", "bayesian"}, default="equal"
        Weights of the permutations; "bayesian" gives the least discrepancy, for few
        players.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 4.2, Algorithm 3. The signs of the QR factors are
    fixed; otherwise a single direction would not be uniform.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Orthogonal
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1] * 6.0,
    ...     n_players=3,
    ...     sampler=Orthogonal(),
    ...     max_evals=20,
    ...     random_state=0,
    ... )
    >>> result.values
    array([3., 3., 0.])
    """

    def _whole_unit(self, n_players: int, n_references: int) -> int:
        # a full block, or a pair if each unit has its own row
        return 2 if self._single(n_references) else 2 * max(1, n_players - 1)

    def _least_unit(self, n_players: int) -> int:
        return 2

    def _unit(self, n_draws: int, n_references: int) -> int:
        if self.traits.one_shot:
            return super()._unit(n_draws, n_references)
        pairs = n_draws // 2
        dimension = max(1, self.n_players_ - 1)
        if not self._single(n_references):
            # Equal blocks: the fewest that hold all pairs, each with at most p - 1
            # directions.
            return 2 * (pairs // -(-pairs // dimension))
        pairs_per_row = pairs // n_references
        # at least two for the spread within a row, and about thirty in total for
        # degrees of freedom
        blocks_per_row = max(2, -(-30 // n_references), -(-pairs_per_row // dimension))
        return 2 * max(1, pairs_per_row // blocks_per_row)

    def _draw(self, rng: np.random.Generator, n_units: int, unit: int) -> np.ndarray:
        p = self.n_players_
        pairs = unit // 2
        size = min(pairs, max(1, p - 1))
        directions = orthogonal_directions(rng, n_units * -(-pairs // size), size, p)
        # The last block of a unit may be cut: any subset of a block is still
        # orthogonal.
        directions = directions.reshape(n_units, -1, p)[:, :pairs].reshape(-1, p)
        return with_reverses(np.argsort(directions, axis=1, kind="stable"))


def orthogonal_directions(
    rng: np.random.Generator,
    n_blocks: int,
    size: int,
    p: int,
) -> np.ndarray:
    """Return blocks of orthogonal directions of sum zero, ``(n_blocks, size, p)``, each uniform.

    QR makes Gaussian vectors orthogonal to each other and to the vector of ones. With
    the signs of the diagonal of R, the directions are Haar-distributed in the
    hyperplane.
    """
    if p == 1:
        return np.zeros((n_blocks, size, 1))
    frame = np.empty((n_blocks, p, size + 1))
    frame[:, :, 0] = 1.0
    frame[:, :, 1:] = rng.standard_normal((n_blocks, p, size))
    q, r = np.linalg.qr(frame)
    # LAPACK's signs are arbitrary but fixed, which would favour some directions.
    return np.swapaxes(
        q[:, :, 1:] * np.sign(np.diagonal(r, axis1=1, axis2=2)[:, None, 1:]),
        1,
        2,
    )


class Extended(Sampler):
    """Uniform permutations, with each of their prefixes coalitions by each later player.

    For interactions of pairs without bias, at p (p + 1)/2 - 1 evaluations per
    permutation. Errors need two permutations. With fewer evaluations, "odd" estimates
    interactions by a Gaussian process.

    References
    ----------
    Sundararajan, Dhamdhere & Agarwal (2020), The Shapley Taylor interaction index,
    ICML.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> result = shapley_values(
    ...     lambda S: S[:, 0] * S[:, 1] + 2.0 * S[:, 2],
    ...     n_players=4,
    ...     sampler="extended",
    ...     interactions="shapley-taylor",
    ...     max_evals=13,
    ...     random_state=0,
    ... )
    >>> result.values
    array([0.5, 0.5, 2. , 0. ])
    >>> result.interactions.matrix(0)
    array([[0. , 0.5, 0. , 0. ],
           [0.5, 0. , 0. , 0. ],
           [0. , 0. , 2. , 0. ],
           [0. , 0. , 0. , 0. ]])
    """

    produces = ExtendedDesign

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of permutations."""
        return Price(
            max(1, n_players * (n_players + 1) // 2 - 1) * n_references,
            n_players**2,
            references=n_references,
            least=1,
        )

    def _ask(self, rows: np.ndarray, n: int) -> ExtendedDesign:
        p = self.n_players_
        permutations = np.stack(
            [uniform_permutations(self.rngs_[row], n, p) for row in rows]
        )
        places = np.argsort(permutations, axis=2)[:, :, None, None]
        steps = np.arange(p)
        coalitions = (places < steps[:, None, None]) | (places == steps[:, None])
        return ExtendedDesign(coalitions.reshape(len(rows), -1, p), permutations)
