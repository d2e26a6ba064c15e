"""Samplers of coalitions: draw a size, then a coalition uniformly among all of that size.

The law of the sizes s = 1..p-1 is uniform for leverage scores (Musco & Witter 2025: the leverage
score of S is 1/C(p, s)), and proportional to 1/(s (p - s)) for the Shapley kernel (Lundberg & Lee
2017).
"""

from abc import abstractmethod
from collections.abc import Callable
from itertools import combinations
from math import comb

import numpy as np

from skshapley._tools._constraints import Flag
from skshapley._tools._counting import rounded, uniform_of_size
from skshapley.designs import CoalitionDesign
from skshapley.samplers._base import Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._price import Price

MOST_TRIES = 50


class CoalitionSampler(Sampler):
    """Base class of the samplers of coalitions; subclasses give the law of the sizes.

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again. Without replacement, a size that the budget covers
        is enumerated, and the whole budget is drawn at once; needs ``paired=True``.
    """

    produces = CoalitionDesign
    _constraints = {"paired": Flag(), "replacement": Flag()}

    def __init__(self, paired: bool = True, replacement: bool = False) -> None:
        self.paired = paired
        self.replacement = replacement

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
        """One-shot without replacement: a coalition that was drawn cannot be drawn again."""
        return SamplerTraits(one_shot=not self.replacement)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions: 2 (p - 1) at least, since fewer cannot tell p apart."""
        unit = 2 if self.paired else 1
        return Price(
            draw=n_references,
            coalitions=1,
            references=n_references,
            least=2 * (n_players - 1),
            most=None if self.replacement else 2**n_players - 2,
            step=unit,
            unit=unit,
        )

    def _check_together(self) -> None:
        if not (self.paired or self.replacement):
            raise ValueError(
                f"{type(self).__name__} got paired=False with replacement=False: without"
                f" replacement coalitions are drawn in pairs; set paired=True or replacement=True."
            )

    def _start(self, task: SamplerTask) -> None:
        # members have a stream of their own, whatever the sizes of the asks
        self._members = [rng.spawn(1)[0] for rng in self.rngs_]
        self._law = np.concatenate([[0.0], self.size_law(self.n_players_), [0.0]])

    def _ask(self, rows: np.ndarray, n: int) -> CoalitionDesign:
        p = self.n_players_
        if self.replacement:
            draws = [self._with_replacement(self.rngs_[row], self._members[row], n) for row in rows]
            expected = n * self._law
        else:
            expected = 2 * pairs_by_size(self._law, n // 2)
            draws = [_full_rank(self._without_replacement, self.rngs_[row], n) for row in rows]
        coalitions = np.stack(draws)
        return CoalitionDesign(
            coalitions,
            expected_draws=expected[coalitions.sum(axis=2)],
            unit=2 if self.paired else 1,
            replacement=self.replacement,
            distinct=not self.replacement,
            exact=not self.replacement and n == 2**p - 2,
        )

    def _with_replacement(
        self, rng: np.random.Generator, members_rng: np.random.Generator, n: int
    ) -> np.ndarray:
        p = self.n_players_
        sizes = rng.choice(p + 1, size=n // 2 if self.paired else n, p=self._law)
        coalitions = uniform_of_size(members_rng, sizes, p)
        return with_complements(coalitions) if self.paired else coalitions

    def _without_replacement(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Draw n/2 different pairs; each size has its expected number up to random rounding."""
        p = self.n_players_
        half = pairs_by_size(self._law, n // 2)[: p // 2 + 1].copy()
        half[: (p + 1) // 2] *= 2  # a pair holds the sizes s and p - s: count it once
        counts = rounded(rng, half)
        pairs = [distinct_of_size(rng, s, count, p) for s, count in enumerate(counts) if count]
        coalitions = np.concatenate(pairs)
        return with_complements(coalitions[rng.permutation(len(coalitions))])


def with_complements(coalitions: np.ndarray) -> np.ndarray:
    """Return coalitions ``(n, p)``, each followed by its complement: ``(2 n, p)``."""
    return np.stack([coalitions, ~coalitions], axis=1).reshape(-1, coalitions.shape[1])


def pairs_by_size(law: np.ndarray, n_pairs: int) -> np.ndarray:
    """Return the expected number of pairs for each size 0..p, both halves alike, with sum n_pairs.

    min(c law(s), C(p, s)/2) with c such that the sum is right: a size whose coalitions are fewer
    than its share is enumerated, and the rest of its share goes to the others.
    """
    p = len(law) - 1
    room = np.array([comb(p, s) / 2 for s in range(p + 1)], dtype=float)
    share, free, left = np.zeros(p + 1), law > 0, float(n_pairs)
    while True:
        share[free] = left * law[free] / law[free].sum()
        over = free & (share > room)
        if not over.any():
            return share
        share[over] = room[over]
        free &= ~over
        left = n_pairs - share[~free].sum()
        if not free.any():
            return share


def distinct_of_size(rng: np.random.Generator, size: int, count: int, p: int) -> np.ndarray:
    """Return `count` different coalitions of one size, uniform, no two of them complements."""
    halves = 2 * size == p
    available = comb(p, size) // (2 if halves else 1)
    if available <= max(64, 3 * count):
        rest = range(1, p) if halves else range(p)  # a half is named by the side of player 0
        chosen = np.array(list(combinations(rest, size - 1 if halves else size)), dtype=np.intp)
        chosen = chosen[rng.permutation(available)[:count]]
        coalitions = np.zeros((count, p), dtype=bool)
        np.put_along_axis(coalitions, chosen, True, axis=1)
        coalitions[:, 0] |= halves
        return coalitions
    found = np.empty((0, p), dtype=bool)
    while len(found) < count:
        more = uniform_of_size(rng, np.full(count - len(found), size), p)
        if halves:
            more ^= ~more[:, :1]
        found = np.concatenate([found, more])
        packed = np.packbits(found, axis=1)
        found = found[np.sort(np.unique(packed, axis=0, return_index=True)[1])]
    return found


def _full_rank(
    draw: Callable[[np.random.Generator, int], np.ndarray], rng: np.random.Generator, n: int
) -> np.ndarray:
    """Draw until the coalitions tell all players apart, which only the smallest budgets ever miss.

    Whether a design is kept depends on its coalitions alone, so no player is favoured.
    """
    coalitions = draw(rng, n)
    p = coalitions.shape[1]
    tries = 0
    while n < 6 * p and tries < MOST_TRIES:
        centred = coalitions - coalitions.mean(axis=1, keepdims=True)
        if np.linalg.matrix_rank(centred) == p - 1:
            break
        coalitions, tries = draw(rng, n), tries + 1
    return coalitions


class Leverage(CoalitionSampler):
    """Coalitions by leverage score: uniform size, then uniform of that size (Musco & Witter 2025).

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again; without, small sizes are enumerated.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling,
    ICLR: the leverage score of S is 1/C(p, s), section 3.

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
    """Coalitions by the Shapley kernel: size law 1/(s (p - s)) (Lundberg & Lee 2017, Theorem 2).

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again; without, small sizes are enumerated.

    References
    ----------
    Lundberg & Lee (2017), A unified approach to interpreting model predictions, NeurIPS; Covert &
    Lee (2021), Improving KernelSHAP, AISTATS (pairs).

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
