"""Orders of the players with constraints: causes first, or members of groups together."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tools import (
    Constraint,
    count_nested,
    entry_probabilities,
    nested_coalitions,
    resolve,
)
from skshapley.designs import LinearDesign, OrderedDesign
from skshapley.samplers._base import Bought, Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._coalitions import Exact
from skshapley.samplers._orders import before_of, is_order, taken_apart
from skshapley.samplers._permutation_sets import Sobol
from skshapley.samplers._permutations import (
    Antithetic,
    MonteCarlo,
    Orthogonal,
    PermutationSampler,
    with_reverses,
)


def _is_levels(value) -> bool:
    """Return True for a sequence of levels, which name the group of each player by an int."""
    try:
        levels = np.asarray(value)
    except ValueError:
        return False
    return levels.size == 0 or (levels.ndim == 2 and levels.dtype.kind in "iu")


LEVELS = Constraint(
    _is_levels,
    "a group number for each player at each level, (n_levels, p)",
)


@dataclass(eq=False, repr=False)
class Nested(Antithetic):
    """Permutations in which the members of a group are adjacent, each with its reverse.

    At every level, the groups are in uniformly random order, and so are the members
    within each group. The mean contributions are Owen values for one level of groups,
    and Winter's values for more levels. The values of a group's members add up to the
    value that the group has as one player. Explainers choose this sampler for nested
    `groups`.

    Parameters
    ----------
    levels : array of int of shape (n_levels, p), default=()
        The group of each player at each level, the outermost first. Players in the same
        group have the same number. Groups of different groups above are different ones.
    references : {"stratified", "all", "random"}, default="stratified"
        As of `Antithetic`.
    weights : {"equal", "bayesian"}, default="equal"
        As of `Antithetic`.

    References
    ----------
    Owen (1977), Values of games with a priori unions, Essays in Mathematical Economics
    and Game Theory. Winter (1989), A value for cooperative games with levels structure
    of cooperation, International Journal of Game Theory 18.

    Examples
    --------
    Players 1 and 2 are a group. Together, they have the same value as player 0:

    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Nested
    >>> result = shapley_values(
    ...     lambda S: S.any(axis=1) * 1.0,
    ...     n_players=3,
    ...     sampler=Nested([[0, 1, 1]]),
    ...     max_evals=4000,
    ...     random_state=0,
    ... )
    >>> result.values.round(1) + 0.0
    array([0.5, 0.2, 0.2])
    """

    levels: Any = ()

    produces = OrderedDesign  # type: ignore[assignment]
    _constraints = {**Antithetic._constraints, "levels": LEVELS}

    @property
    def traits(self) -> SamplerTraits:  # type: ignore[override]
        """The traits; every player has a position among the groups."""
        return replace(super().traits, needs_all_players=True)

    def _start(self, task: SamplerTask) -> None:
        self._groups = _checked(self, task.n_players)
        super()._start(task)

    def _draw(self, rng: np.random.Generator, n_units: int, unit: int) -> np.ndarray:
        n = n_units * unit // 2
        p = self.n_players_
        # keys of the players first, and then of ever larger groups
        keys = np.stack(
            [
                rng.random((n, p))[:, unit]
                for unit in [np.arange(p), *self._groups[::-1]]
            ]
        )
        return with_reverses(np.lexsort(keys, axis=-1))

    def _ask(self, rows: np.ndarray, n: int) -> Any:
        return OrderedDesign(**vars(super()._ask(rows, n)))


@dataclass(eq=False, repr=False)
class ExactNested(Exact):
    """Every coalition that the orders of `Nested` pass: exact Owen and Winter values.

    Explainers choose this sampler for nested `groups` if the budget pays for all these
    coalitions. One group is divided in a coalition, and the others are whole: twenty
    players in five groups have 1,152 of a million coalitions.

    Parameters
    ----------
    levels : array of int of shape (n_levels, p), default=()
        As of `Nested`.

    References
    ----------
    Owen (1977) and Winter (1989), as of `Nested`.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import ExactNested
    >>> shapley_values(
    ...     lambda S: S.any(axis=1) * 1.0,
    ...     n_players=3,
    ...     sampler=ExactNested([[0, 1, 1]]),
    ...     max_evals=8,
    ... ).values
    array([0.5 , 0.25, 0.25])
    """

    levels: Any = ()

    produces = LinearDesign  # type: ignore[assignment]
    traits = replace(Exact.traits, needs_all_players=True)
    _constraints = {"levels": LEVELS}

    def _n_evals(self, n_players: int) -> int:
        return count_nested(_checked(self, n_players)) - 2

    def _ask(self, rows: np.ndarray, n: int) -> Any:
        levels = _checked(self, self.n_players_)
        coalitions = nested_coalitions(levels)
        probabilities = entry_probabilities(coalitions, ~coalitions, levels)
        return LinearDesign(
            coalitions[None],
            weights=np.where(coalitions, probabilities, -probabilities).T,
            exact=True,
        )


def _checked(sampler: Any, n_players: int) -> NDArray[np.intp]:
    """Return the levels of a sampler, or raise ValueError for another number of players."""
    levels = np.asarray(sampler.levels, dtype=np.intp)
    levels = levels.reshape(-1, levels.shape[-1] if levels.size else n_players)
    if levels.shape[1] != n_players:
        raise ValueError(
            f"{type(sampler).__name__} got levels of {levels.shape[1]} players for a "
            f"game of {n_players}: pass one group number for each player."
        )
    # a group is within one group of each level above, whatever its number is there
    return np.reshape(
        [
            np.unique(levels[: level + 1], axis=1, return_inverse=True)[1]
            for level in range(len(levels))
        ],
        levels.shape,
    ).astype(np.intp)


WALKS: dict[str, type[PermutationSampler]] = {
    "monte-carlo": MonteCarlo,
    "antithetic": Antithetic,
    "orthogonal": Orthogonal,
    "sobol": Sobol,
}


@dataclass(eq=False, repr=False)
class Ordered(Sampler):
    """Asymmetric Shapley values: permutations of another sampler, sorted by a partial order.

    The value of a player is its mean contribution over all orders in which causes come
    before effects, with equal probabilities. With a conditional reward, a cause then
    gets the credit for predicting its effects, and an effect gets the credit for its
    addition to its causes (Frye, Rowat & Feige 2020). Values add up to v(all) -
    v(empty). Players at different positions of the order are intentionally treated
    differently.

    Uniform permutations of `sampler` become exactly uniform orders for layers, forests,
    and all orders that consist of parallel and consecutive parts. Indivisible parts are
    drawn exactly, by counting, up to 16384 sets that are closed downward (always for up
    to 14 players). Larger parts are drawn by a Markov chain that exchanges neighbours.
    Its distribution is within 0.01 of the uniform one (Bubley & Dyer 1999). It takes
    (s^3 - s)/6 ln(50 s^2) steps for s players: some seconds per row for 30 players.

    Parameters
    ----------
    sampler : str or PermutationSampler, default="antithetic"
        Source of the permutations, with equal weights: "antithetic", "monte-carlo",
        "orthogonal", "sobol" or an instance.
    graph : list of pairs, list of layers or networkx.DiGraph, default=()
        The precedence of players, by their numbers in the order of columns or groups. A
        pair is a tuple ``(cause, effect)``. A layer is a list of players that come
        before the next layer: ``[[0, 1], [2]]``. The default allows all orders.

    See Also
    --------
    skshapley.rewards.CausalReward : Values of interventions, for any order of the
        players.

    Notes
    -----
    Asymmetric values of the R package shapr are not a mean over orders, but a weighted
    regression on the coalitions of the allowed orders. On its own example with three
    layers, it differs by up to 0.6 of a value of 14.

    References
    ----------
    Frye, Rowat & Feige (2020), Asymmetric Shapley values: incorporating causal
    knowledge into model-agnostic explainability, NeurIPS, Eq 6. Bubley & Dyer (1999),
    Faster random generation of linear extensions, Discrete Mathematics 201.

    Examples
    --------
    Each player alone is sufficient. The first one gets all credit:

    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Ordered
    >>> result = shapley_values(
    ...     lambda S: S.any(axis=1) * 1.0,
    ...     n_players=2,
    ...     sampler=Ordered("antithetic", [(1, 0)]),
    ...     random_state=0,
    ... )
    >>> result.values
    array([0., 1.])
    """

    sampler: str | PermutationSampler = "antithetic"
    graph: Any = ()

    produces = OrderedDesign
    _constraints = {
        "graph": Constraint(
            is_order,
            "a list of pairs (cause, effect), a list of layers such as [[0, 1], [2]], "
            "or a networkx.DiGraph, of players by number",
        ),
    }

    def _check_together(self) -> None:
        walks = self._walks()
        walks.check()
        if walks.weights != "equal":
            raise ValueError(
                "Ordered takes a sampler with equal weights of permutations; got "
                f"{walks!r}: choose weights='equal'."
            )

    def _walks(self) -> PermutationSampler:
        return resolve(self.sampler, WALKS, PermutationSampler, "Ordered", "sampler")

    @property
    def traits(self) -> SamplerTraits:  # type: ignore[override]
        """The traits of the permutation sampler; every player has a position in the order."""
        return replace(self._walks().traits, needs_all_players=True)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of the permutations; other players of the order raise ValueError."""
        before_of(self.graph, n_players, "Ordered")
        return self._walks().price(n_players, n_references)

    def afford(self, n_rows: int, n_players: int, n_references: int) -> Bought:
        """Return the permutations that a budget buys; raise ValueError as `price` does."""
        before_of(self.graph, n_players, "Ordered")
        return self._walks().afford(n_rows, n_players, n_references)

    def _start(self, task: SamplerTask) -> None:
        self._whole = taken_apart(before_of(self.graph, self.n_players_, "Ordered"))
        # The chain has its own stream, so the permutations are those of the plain
        # sampler.
        self._own = [rng.spawn(1)[0] for rng in self.rngs_]
        self._started = self._walks().start(task)

    def _ask(self, rows: np.ndarray, n: int) -> OrderedDesign:
        design = self._started._ask(rows, n)
        orders = [
            self._whole.extended(permutation, self._own[row])
            for permutation, row in zip(design.permutations, rows, strict=True)
        ]
        return OrderedDesign(**{**vars(design), "permutations": np.stack(orders)})
