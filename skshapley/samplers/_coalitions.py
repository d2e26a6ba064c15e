"""Samplers of all coalitions, and of coalitions by the distribution of their sizes.

The distribution of the sizes s = 1..p-1 is uniform for leverage scores (Musco & Witter
2025: the leverage score of S is 1/C(p, s)), and proportional to 1/(s (p - s)) for the
Shapley kernel (Lundberg & Lee 2017).

Grah & Thouvenot (2020), section 4.2. In their notation d is the number of players, l
the size of a coalition, C bounds abs(v) and D the norm of the Shapley values. The
coalition i of size l is drawn with p_i = L_i / sum L, where L_i = 2 n w_l sqrt(l)
(sqrt(l) D + C) bounds its gradient. All C(d, l) coalitions of size l together have the
probability q(l), proportional to (sqrt(l) D + C) / (sqrt(l) (d - l)), without
binomials, so any d works.

shap 0.51, `KernelExplainer.explain`: sizes 1 and p - 1, then 2 and p - 2, and so on,
are enumerated as long as their share of the remaining budget under the kernel
distribution covers them. The rest is drawn in pairs, with replacement, from the kernel
distribution of the remaining sizes.
"""

from abc import abstractmethod
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np

from skshapley._tools import (
    Flag,
    Maybe,
    Number,
    all_coalitions,
    log_binomial,
    rounded,
    shared_out,
    uniform_of_size,
)
from skshapley.designs import CoalitionDesign, FullDesign
from skshapley.samplers._base import (
    LEAST_REFERENCES,
    Price,
    Sampler,
    SamplerTask,
    SamplerTraits,
)

# A set that leaves two players together has no least-squares solution, and luck may
# need some tries
MOST_TRIES = 50
MOST_PLAYERS = 20  # players of whom all coalitions are evaluated


@dataclass(eq=False, repr=False)
class CoalitionSampler(Sampler):
    """Base class of samplers of coalitions; subclasses define the distribution of the sizes.

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again. Without replacement, a size that the
        budget covers is enumerated, and the whole budget is drawn at once; needs
        ``paired=True``.
    """

    paired: bool = True
    replacement: bool = False

    produces = CoalitionDesign
    _constraints = {"paired": Flag(), "replacement": Flag()}

    @abstractmethod
    def size_law(self, n_players: int) -> np.ndarray:
        """Return the probabilities of the sizes 1..p-1, shape ``(p - 1,)``, symmetric.

        Parameters
        ----------
        n_players : int
            Number of players, p.
        """

    @property
    def traits(self) -> SamplerTraits:  # type: ignore[override]
        """The traits; one-shot without replacement, where no coalition is drawn twice."""
        return SamplerTraits(one_shot=not self.replacement)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions; fewer than 2 (p - 1) do not identify p players."""
        return Price.of_coalitions(
            1,
            n_references,
            2 * (n_players - 1),
            None if self.replacement else 2**n_players - 2,
            2 if self.paired else 1,
        )

    def _check_together(self) -> None:
        if not (self.paired or self.replacement):
            raise ValueError(
                f"{type(self).__name__} got paired=False with replacement=False: "
                "without replacement coalitions are drawn in pairs; set paired=True or "
                "replacement=True."
            )

    def _start(self, task: SamplerTask) -> None:
        # members have a separate stream, so the sizes of requests do not matter
        self._members = [rng.spawn(1)[0] for rng in self.rngs_]
        self._law = np.concatenate([[0.0], self.size_law(self.n_players_), [0.0]])

    def _ask(self, rows: np.ndarray, n: int) -> CoalitionDesign:
        if self.replacement:
            draws = [self._with_replacement(row, n, self._law) for row in rows]
            expected = n * self._law
        else:
            # The expected numbers, not the drawn ones: weights must not depend on the
            # random rounding.
            expected = 2 * pairs_by_size(self._law, n // 2)
            draws = [self._without_replacement(self.rngs_[row], n) for row in rows]
        coalitions = np.stack(draws)
        return CoalitionDesign(
            coalitions,
            expected_draws=expected[coalitions.sum(axis=2)],
            unit=2 if self.paired else 1,
            replacement=self.replacement,
            exact=not self.replacement and n == 2**self.n_players_ - 2,
        )

    def _with_replacement(self, row: int, n: int, law: np.ndarray) -> np.ndarray:
        p = self.n_players_
        coalitions = uniform_of_size(
            self._members[row],
            self.rngs_[row].choice(p + 1, size=n // 2 if self.paired else n, p=law),
            p,
        )
        return with_complements(coalitions) if self.paired else coalitions

    def _without_replacement(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw n/2 different pairs, until they separate all players.

        Each size has its expected number up to random rounding. Only the smallest
        budgets can fail to separate players. The decision depends on the coalitions
        alone, so no player is favoured.
        """
        p = self.n_players_
        half = pairs_by_size(self._law, n // 2)[: p // 2 + 1].copy()
        half[: (p + 1) // 2] *= 2  # a pair has the sizes s and p - s: count it once
        for _ in range(MOST_TRIES):
            # Rounded at random, so that the expected numbers hold exactly and the
            # estimate has no bias.
            pairs = distinct_by_size(rng, rounded(rng, half), p)
            coalitions = with_complements(pairs[rng.permutation(len(pairs))])
            # Least squares has a fixed sum, so only differences between players must be
            # separated.
            centred = coalitions - coalitions.mean(axis=1, keepdims=True)
            # With six coalitions per player, a missing rank is too unlikely to pay for
            # its test.
            if n >= 6 * p or np.linalg.matrix_rank(centred) == p - 1:
                break
        return coalitions


def with_complements(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(..., n, p)``, each followed by its complement: ``(..., 2 n, p)``."""
    *shape, n, p = coalitions.shape
    return np.stack([coalitions, ~coalitions], axis=-2).reshape(*shape, 2 * n, p)


def pairs_by_size(law: np.ndarray, n_pairs: int) -> np.ndarray:
    """Return the expected number of pairs for each size 0..p, symmetric, with sum n_pairs.

    The number is min(c law(s), C(p, s)/2), where c gives the required sum. A size with
    fewer coalitions than its share is enumerated, and the rest of its share goes to the
    other sizes.
    """
    p = len(law) - 1
    return shared_out(
        n_pairs,
        law,
        np.array([comb(p, s) / 2 for s in range(p + 1)], dtype=float),
    )


def all_of_size(size: int, p: int) -> np.ndarray:
    """Return all coalitions of one size, ``(m, p)``; of halves those with player 0."""
    halves = 2 * size == p
    members = np.array(
        list(combinations(range(halves, p), size - halves)),
        dtype=np.intp,
    )
    coalitions = np.zeros((len(members), p), dtype=bool)
    np.put_along_axis(coalitions, members, True, axis=1)
    # Exactly one of a half and its complement has player 0: each pair is listed once.
    coalitions[:, 0] |= halves
    return coalitions


def first_of_each(coalitions: np.ndarray) -> np.ndarray:
    """Return the positions of the first occurrence of each coalition of ``(n, p)``, in order."""
    # Eight players per byte: sorting compares rows that are eight times shorter.
    return np.sort(
        np.unique(np.packbits(coalitions, axis=1), axis=0, return_index=True)[1]
    )


def distinct_of_size(
    rng: np.random.Generator,
    size: int,
    count: int,
    p: int,
) -> np.ndarray:
    """Return `count` uniform coalitions of one size, without duplicates and complements."""
    halves = 2 * size == p
    # Nearly all or very few coalitions: enumeration is quicker than drawing until all
    # differ.
    available = comb(p, size) // (2 if halves else 1)
    if available <= max(64, 3 * count):
        return all_of_size(size, p)[rng.permutation(available)[:count]]
    coalitions = np.empty((0, p), dtype=bool)
    while len(coalitions) < count:
        draws = uniform_of_size(rng, np.full(count - len(coalitions), size), p)
        if halves:
            # A half without player 0 is replaced by its complement, so that duplicates
            # are recognised.
            draws ^= ~draws[:, :1]
        coalitions = np.concatenate([coalitions, draws])
        coalitions = coalitions[first_of_each(coalitions)]
    return coalitions


def distinct_by_size(
    rng: np.random.Generator,
    counts: np.ndarray,
    p: int,
) -> np.ndarray:
    """Return ``counts[s]`` different coalitions of each size s, sorted by size."""
    return np.concatenate(
        [
            distinct_of_size(rng, s, counts[s], p)
            for s in np.flatnonzero(counts).tolist()
        ]
    )


class Leverage(CoalitionSampler):
    """Coalitions by leverage score: uniform size, then uniform of that size (Musco & Witter 2025).

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again; without, small sizes are enumerated.

    Notes
    -----
    Each coalition is evaluated against all background rows. This suits games, and
    backgrounds with one or few rows. Against thousands of rows, "antithetic" has 1/6 to
    1/440 of the squared error at equal model rows, because it draws a background row
    for each pair of permutations.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score
    sampling, ICLR: the leverage score of S is 1/C(p, s), section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Leverage
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler=Leverage(),
    ...     max_evals=8,
    ...     random_state=0,
    ... )
    >>> np.round(result.values, 9)
    array([1., 2., 4.])
    """

    def size_law(self, n_players: int) -> np.ndarray:
        """Return 1/(p - 1) for every size."""
        return np.full(n_players - 1, 1 / (n_players - 1))


class Kernel(CoalitionSampler):
    """Coalitions by the Shapley kernel 1/(s (p - s)) of the sizes (Lundberg & Lee 2017, Theorem 2).

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again; without, small sizes are enumerated.

    Notes
    -----
    Each coalition is evaluated against all background rows. This suits games, and
    backgrounds with one or few rows. Against thousands of rows, "antithetic" has 1/6 to
    1/440 of the squared error at equal model rows, because it draws a background row
    for each pair of permutations.

    References
    ----------
    Lundberg & Lee (2017), A unified approach to interpreting model predictions,
    NeurIPS; Covert & Lee (2021), Improving KernelSHAP, AISTATS (pairs).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Kernel
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler=Kernel(),
    ...     max_evals=8,
    ...     random_state=0,
    ... )
    >>> np.round(result.values, 9)
    array([1., 2., 4.])
    """

    def size_law(self, n_players: int) -> np.ndarray:
        """Return 1/(s (p - s)), normalised."""
        size = np.arange(1, n_players)
        weight = 1 / (size * (n_players - size))
        return weight / weight.sum()


@dataclass(eq=False, repr=False)
class Importance(CoalitionSampler):
    """Coalitions drawn one by one from the importance distribution of Grah & Thouvenot (2020).

    The probability of a coalition is proportional to the bound on its stochastic
    gradient, p(S) ~ (sqrt(s) D + C) / (C(p, s) sqrt(s) (p - s)). Large coalitions are
    more frequent.

    Parameters
    ----------
    ratio : float or None, default=None
        D/C, the bound on the norm of the attributions over the bound on the absolute
        values of the game; only their ratio matters. None: sqrt(p), the choice of the
        authors' code.

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating
    Shapley value applied in attribute importance, CD-MAKE, section 4.2.

    Examples
    --------
    >>> from skshapley.samplers import Importance
    >>> Importance().size_law(4).round(3)
    array([0.203, 0.275, 0.523])
    """

    paired: bool = field(default=False, init=False)
    replacement: bool = field(default=True, init=False)
    ratio: float | None = None

    _constraints = {
        "ratio": Maybe(
            Number(above=0),
            hint="it is D/C, and None is the square root of the number of players",
        ),
    }

    def size_law(self, n_players: int) -> np.ndarray:
        """Return q(l), proportional to (sqrt(l) D + C) / (sqrt(l) (d - l))."""
        ratio = np.sqrt(n_players) if self.ratio is None else self.ratio
        root = np.sqrt(np.arange(1, n_players))
        law = (root * ratio + 1) / (root * (n_players - np.arange(1, n_players)))
        return law / law.sum()


@dataclass(eq=False, repr=False)
class Uniform(CoalitionSampler):
    """Coalitions drawn one by one, each with probability 1/(2^p - 2).

    This is the first distribution of Grah & Thouvenot (2020), for comparison. Nearly
    all its coalitions have about p/2 players, but the Shapley kernel favours the
    smallest and the largest. The variance of the estimate grows exponentially in p.

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating
    Shapley value applied in attribute importance, CD-MAKE, section 4.1.

    Examples
    --------
    >>> from skshapley.samplers import Uniform
    >>> Uniform().size_law(4).round(3)
    array([0.286, 0.429, 0.286])
    """

    paired: bool = field(default=False, init=False)
    replacement: bool = field(default=True, init=False)

    _constraints = {}

    def size_law(self, n_players: int) -> np.ndarray:
        """Return C(d, l)/(2^d - 2), through logarithms; 0 where it underflows."""
        log_count = log_binomial(n_players, np.arange(1, n_players))
        # Relative to the largest number: the binomials themselves overflow from about
        # 1,030 players on.
        law = np.exp(log_count - log_count.max())
        return law / law.sum()


class SquareRoot(CoalitionSampler):
    """Coalitions of size s with probability proportional to 1/sqrt(s (p - s)).

    The variance of maximum sample reuse is sum_S p c_i(S)^2 v(S)^2/p_S, summed over
    players. If |v| is constant, it is smallest for p_S proportional to the norm of
    c(S), which gives this distribution.

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again; without, small sizes are enumerated.

    References
    ----------
    Witter, Liu & Musco (2025), Regression-adjusted Monte Carlo estimators for Shapley
    values and probabilistic values, NeurIPS, section 3 (the optimal distribution).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import SquareRoot
    >>> result = shapley_values(
    ...     lambda S: S @ [1.0, 2.0, 4.0],
    ...     n_players=3,
    ...     sampler=SquareRoot(),
    ...     max_evals=8,
    ...     random_state=0,
    ... )
    >>> np.round(result.values, 9)
    array([1., 2., 4.])
    """

    def size_law(self, n_players: int) -> np.ndarray:
        """Return 1/sqrt(s (p - s)), normalised."""
        size = np.arange(1, n_players)
        law = 1 / np.sqrt(size * (n_players - size))
        return law / law.sum()


class OuterSizes(Kernel):
    """The coalitions of shap's KernelExplainer, for comparison.

    It differs from the sampler "kernel" in the rest of the budget, in which coalitions
    may be repeated. Here, a repeated coalition counts against the budget; shap draws
    until the budget is used by different coalitions.

    References
    ----------
    Lundberg & Lee (2017), A unified approach to interpreting model predictions,
    NeurIPS; the shap package, version 0.51, explainers/_kernel.py.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import OuterSizes
    >>> result = shapley_values(
    ...     lambda S: S @ np.arange(8.0),
    ...     n_players=8,
    ...     sampler=OuterSizes(),
    ...     max_evals=60,
    ...     random_state=0,
    ... )
    >>> bool(np.abs(result.values - np.arange(8)).max() < 1e-9)
    True
    """

    _constraints = {}

    def __init__(self) -> None:
        super().__init__(paired=True, replacement=False)

    def _ask(self, rows: np.ndarray, n: int) -> CoalitionDesign:
        p = self.n_players_
        law = self._law.copy()
        left = n
        whole = []
        for size in range(1, p // 2 + 1):
            sizes = sorted({size, p - size})
            count = sum(comb(p, s) for s in sizes)
            # shap's rule, with the same tolerance for rounding.
            if left * law[sizes].sum() / law.sum() < count - 1e-8 * count:
                break
            whole.append(with_complements(all_of_size(size, p)))
            left -= count
            law[sizes] = 0.0
        expected = np.array([comb(p, s) if law[s] == 0 else 0.0 for s in range(p + 1)])
        draws = [np.empty((0, p), dtype=bool) for _ in rows]
        if left:
            probabilities = law / law.sum()
            expected += left * probabilities
            draws = [self._with_replacement(row, left, probabilities) for row in rows]
        coalitions = np.stack([np.concatenate([*whole, drawn]) for drawn in draws])
        return CoalitionDesign(
            coalitions,
            expected_draws=expected[coalitions.sum(axis=2)],
            unit=2,
            whole=law == 0,
            exact=left == 0 and n == 2**p - 2,
        )


class Exact(Sampler):
    """Every coalition once: exact values with 2^p - 2 evaluations, for p up to 20.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games II.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Exact
    >>> shapley_values(
    ...     lambda S: S.all(axis=1) * 6.0, n_players=3, sampler=Exact(), max_evals=8
    ... ).values
    array([2., 2., 2.])
    """

    produces = FullDesign
    traits = SamplerTraits(one_shot=True, distinct=True)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of exactly the enumerated coalitions."""
        n = self._n_evals(n_players)
        return Price.of_coalitions(1, n_references, least=n, most=n)

    def _n_evals(self, n_players: int) -> int:
        """Return the number of coalitions, without the empty and the full one."""
        if n_players > MOST_PLAYERS:
            raise ValueError(
                f"Exact enumerates 2^p coalitions of at most {MOST_PLAYERS} players; "
                f"got {n_players}. Put features into groups, or choose a sampler such "
                'as "antithetic" or "leverage".'
            )
        return 2**n_players - 2

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        # Few background rows are all used, so that values are exact and not only a
        # sample's.
        if n_references <= LEAST_REFERENCES:
            return n_references
        return max(1, min(n_references, n_rows // max(self._n_evals(n_players), 1)))

    def _ask(self, rows: np.ndarray, n: int) -> FullDesign:
        # one design for all rows
        coalitions = all_coalitions(self.n_players_)
        return FullDesign(
            coalitions[None],
            weights=shapley_weights(coalitions),
            exact=True,
        )


def shapley_weights(coalitions: np.ndarray) -> np.ndarray:
    """Return the exact weights ``(p, m)`` of all 2^p coalitions ``(m, p)``.

    For a coalition S of size s, the weight is (s-1)!(p-s)!/p! if player i is in S, else
    -s!(p-s-1)!/p!.
    """
    p = coalitions.shape[1]
    # (s-1)!(p-s)!/p! = 1/(s C(p, s)), and likewise with p - s for the players outside
    joins = np.array([0.0] + [1 / (s * comb(p, s)) for s in range(1, p + 1)])
    leaves = np.array([1 / ((p - s) * comb(p, s)) for s in range(p)] + [0.0])
    sizes = coalitions.sum(axis=1)
    return np.where(coalitions.T, joins[sizes], -leaves[sizes])
