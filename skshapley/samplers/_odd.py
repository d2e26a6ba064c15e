"""Pairs of coalitions for the odd part of a game, which determines Shapley values.

The first pairs are single players and Hadamard rows (each player against all others,
from both ends and in the middle), then pairs by leverage score. Later pairs are chosen
one by one after the first values. Each choice reduces the variance of the Shapley
values most, under the Gaussian process of the solver "gp".
"""

from dataclasses import dataclass

import numpy as np

from skshapley._process._fit import fit_odd
from skshapley._process._kernel import OddKernel
from skshapley._process._pairs import (
    Blocks,
    OddDesign,
    RandomOddDesign,
    Seen,
    observed,
)
from skshapley._tools import OneOf
from skshapley.samplers._base import Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._coalitions import with_complements
from skshapley.samplers._odd_designs import (
    LEAST_ROWS,
    completed_pairs,
    first_pairs,
    leverage_pairs,
    n_all_pairs,
    n_blocks,
    next_pairs,
    pairs_of_blocks,
    rows_of_blocks,
)

REFERENCES = ("blocks", "all")
MOST_PAIRS = 2000  # used by the Gaussian process; further ones are drawn at random
MOST_CHOSEN = 1100  # up to this number, pairs are chosen one by one
# Share of the pairs, and pairs per player, that are placed before a choice.
FIRST_SHARE = 0.5
LEAST_FIRST = 1.5
LEAST_SHARE = 4  # with blocks, a quarter of a pair per player on each row is sufficient
# From 300 pairs on, half of the chosen pairs have sizes by leverage score; with fewer
# pairs, proportionally less. A Gaussian process prefers middle sizes. If a game varies
# more at other sizes, only pairs of these sizes can show it.
MOST_BY_SIZE = 0.5
MANY = 300


@dataclass(eq=False, repr=False)
class Odd(Sampler):
    """Complementary pairs for the solver "gp", chosen adaptively.

    Parameters
    ----------
    references : {"blocks", "all"}, default="blocks"
        Background rows of each pair. "all": the whole background. "blocks": the
        background is divided at random into blocks of equal size with separate pairs,
        so the same model rows buy many more pairs. If the rows are too few or too
        unequal to gain from this, "all" is used. A block has rows of about the same
        weight, and pairs in proportion to it.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score
    sampling, ICLR. Hedayat & Wallis (1978), Hadamard matrices and their applications,
    Annals of Statistics 6.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import Odd
    >>> result = shapley_values(
    ...     lambda S: S @ np.arange(12.0),
    ...     n_players=12,
    ...     sampler=Odd(),
    ...     solver="gp",
    ...     max_evals=50,
    ...     random_state=0,
    ... )
    >>> bool(np.abs(result.values - np.arange(12)).max() < 1e-9)
    True
    """

    references: str = "blocks"

    produces = OddDesign
    # the blocks and the number of chosen pairs are planned for all draws
    traits = SamplerTraits(goes_on=False)
    _constraints = {"references": OneOf(REFERENCES)}

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions: at least one permutation and its reverse.

        If blocks of background rows share the pairs, a part of one permutation is
        sufficient.
        """
        least = 2 * (n_players - 1)
        if self.references == "blocks" and n_references >= LEAST_ROWS:
            # Two coalitions per pair, hence the factor.
            least = min(least, 2 * -(-n_players // LEAST_SHARE))
        return Price.of_coalitions(
            1, n_references, least, 2 * n_all_pairs(n_players), step=2
        )

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        """Return the number of background rows to use, with few pairs per block.

        Blocks of a large background have few pairs each, but many in total.
        """
        least = self.price(n_players, n_references).least
        if self.references == "all" or n_references * least <= n_rows:
            return super()._n_references(n_rows, n_players, n_references)
        if n_rows < LEAST_ROWS * least:
            least = self.price(n_players, 1).least
        return max(1, min(n_references, n_rows // least))

    def draws_now(self, asked: int) -> int:
        """Return the number of remaining draws before the next choice."""
        n_pairs = self.n_draws_ // 2
        # Half of the pairs are evaluated before the choice; hyper-parameters from fewer
        # are too uncertain.
        first = int(max(LEAST_FIRST * self.n_players_, FIRST_SHARE * n_pairs)) * 2
        chooses = self._n_blocks == 1 and self._chooses(n_pairs) and asked < first
        return (first if chooses else self.n_draws_) - asked

    def _start(self, task: SamplerTask) -> None:
        r = len(self.rngs_)
        self._share = 1.0 if task.background is None else task.background.share
        # by row to explain: the pairs, the background rows of blocks, and their weights
        self._pairs: dict[int, np.ndarray] = {}
        self._block_rows: dict[int, np.ndarray] = {}
        self._blocks: dict[int, Blocks] = {}
        self._seen: list[list[Seen]] = [[] for _ in range(r)]
        self._thetas: list[np.ndarray | None] = [None] * r
        self._n_blocks = 1
        if self.references == "blocks":
            weights = self.reference_weights_
            self._n_blocks = n_blocks(weights, self.n_players_, self.n_draws_ // 2)

    def _chooses(self, n_pairs: int) -> bool:
        p = self.n_players_
        return LEAST_FIRST * p < n_pairs <= MOST_CHOSEN and n_pairs < n_all_pairs(p) / 2

    def _ask(self, rows: np.ndarray, n: int) -> OddDesign:
        # n/2 pairs, and the full coalition with the first
        ask = self._ask_blocks if self._n_blocks > 1 else self._ask_whole
        requests = [ask(row, n // 2) for row in rows.tolist()]
        pairs, of_pairs = (np.stack(part) for part in zip(*requests, strict=True))
        coalitions = with_complements(pairs)
        if self._n_blocks > 1:
            block_rows = np.stack([self._block_rows[row] for row in rows])
            references = np.take_along_axis(block_rows, of_pairs[:, :, None], axis=1)
            return OddDesign(
                coalitions,
                coalition_references=np.repeat(references, 2, axis=1),
                block=of_pairs,
                blocks=tuple(self._blocks[row] for row in rows),
            )
        return OddDesign(
            coalitions,
            exact=len(self._pairs[rows[0]]) == n_all_pairs(self.n_players_),
            drawn=of_pairs,
            thetas=[self._thetas[row] for row in rows],
        )

    def _ask_blocks(self, row: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n pairs for each block, at first with the full coalition, and their blocks."""
        rng = self.rngs_[row]
        p = self.n_players_
        count = self._n_blocks
        if row in self._blocks:
            return pairs_of_blocks(rng, self._blocks[row].share, p, count * n)
        weights = self.reference_weights_
        block_rows = rows_of_blocks(rng, weights, count, shuffled=self._share == 1)
        blocks = Blocks.of(block_rows, weights, self._share)
        self._block_rows[row] = block_rows
        self._blocks[row] = blocks
        pairs, block = pairs_of_blocks(rng, blocks.share, p, count * n)
        full = np.ones((count, p), dtype=bool)
        return np.concatenate([full, pairs]), np.append(np.arange(count), block)

    def _ask_whole(self, row: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n pairs against all background rows, and their `OddDesign.drawn`."""
        p = self.n_players_
        rng = self.rngs_[row]
        earlier = self._pairs.get(row, np.empty((0, p), dtype=bool))
        # the cost of a Cholesky factorisation grows with the cube of the pairs
        placed = max(0, min(n, MOST_PAIRS - len(earlier)))
        if row in self._pairs:
            pairs = self._choose(row, earlier, placed)
        else:
            pairs = first_pairs(rng, p, placed)
        self._pairs[row] = np.concatenate([earlier, pairs])
        if not len(earlier):
            pairs = np.pad(pairs, ((1, 0), (0, 0)), constant_values=True)
        drawn = np.full(len(pairs), np.nan)
        if placed == n:
            return pairs, drawn
        # Pairs beyond the capacity are drawn at random, so that their errors can be
        # estimated.
        random_pairs, expected = leverage_pairs(rng, p, n - placed)
        return np.concatenate([pairs, random_pairs]), np.append(drawn, expected)

    def _choose(self, row: int, pairs: np.ndarray, n: int) -> np.ndarray:
        """Return n new pairs."""
        rng = self.rngs_[row]
        n_pairs = len(pairs) + n
        if n and self._chooses(n_pairs):
            values, *_ = observed(self._seen[row])
            if values.values.any():
                self._thetas[row] = fit_odd(values, self._thetas[row])
            theta = self._thetas[row]
            if theta is not None:
                kernel = OddKernel.from_vector(theta, self.n_players_)
                share = MOST_BY_SIZE * min(1.0, n_pairs / MANY)
                return next_pairs(rng, kernel, pairs, n, n_by_size=int(share * n))
        # Without values to learn from, or with too many pairs to choose, leverage
        # scores decide.
        return completed_pairs(rng, pairs[:0], n, seen=pairs)

    def _tell(self, rows: np.ndarray, design: OddDesign, values: np.ndarray) -> None:
        for i, row in enumerate(rows):
            self._seen[row].append((design, i, values[i]))


class OddLeverage(Sampler):
    """Complementary pairs by leverage score, without replacement, for "gp-leave-one-out".

    All sizes have the same probability, and the pairs of a size are a simple random
    sample. Errors of prediction can therefore be estimated without bias. A size is
    enumerated if the budget covers it. Every coalition is evaluated against the whole
    background. The whole budget is drawn at once, and at most 2000 pairs, the limit of
    the Gaussian process.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score
    sampling, ICLR: the leverage score of S is 1/C(p, s), section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import OddLeverage
    >>> result = shapley_values(
    ...     lambda S: S @ np.arange(12.0),
    ...     n_players=12,
    ...     sampler=OddLeverage(),
    ...     max_evals=50,
    ...     random_state=0,
    ... )
    >>> bool(np.abs(result.values - np.arange(12)).max() < 1e-9)
    True
    """

    produces = RandomOddDesign
    traits = SamplerTraits(one_shot=True)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions: at least 2 (p - 1), so that every size occurs."""
        most = 2 * min(MOST_PAIRS, n_all_pairs(n_players))
        return Price.of_coalitions(1, n_references, 2 * (n_players - 1), most, step=2)

    def _ask(self, rows: np.ndarray, n: int) -> RandomOddDesign:
        # the full coalition and n/2 pairs
        p = self.n_players_
        draws = np.stack(
            [leverage_pairs(self.rngs_[row], p, n // 2)[0] for row in rows]
        )
        pairs = np.concatenate([np.ones((len(rows), 1, p), dtype=bool), draws], axis=1)
        return RandomOddDesign(
            with_complements(pairs),
            exact=n // 2 == n_all_pairs(p),
        )
