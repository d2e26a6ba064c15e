"""Pairs of coalitions for the odd part of a game, which determines Shapley values.

The first pairs are single players and Hadamard rows (each player against all others,
from both ends and in the middle), then pairs by leverage score. Later pairs are chosen
one by one after the first values. Each choice reduces the variance of the Shapley
values most, under the Gaussian process of the solver "gp". Rows with hyper-parameters
from other rows share designs.
"""

from typing import Any, NamedTuple

import numpy as np

from skshapley._process._choice import choose_pairs
from skshapley._process._fit import fit_odd
from skshapley._process._functionals import OddValues
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import (
    Blocks,
    OddDesign,
    Pairs,
    RandomOddDesign,
    Seen,
    observed,
)
from skshapley._process._process import Process
from skshapley._tools._constraints import OneOf
from skshapley.samplers._base import Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._odd_designs import (
    LEAST_ROWS,
    filled,
    first_pairs,
    hadamard_pairs,
    leverage_pairs,
    n_all_pairs,
    n_blocks,
    pairs_of_blocks,
    rows_of_blocks,
    sizes_missing,
)

REFERENCES = ("blocks", "all")
MOST_PAIRS = 2000  # used by the Gaussian process; further ones are drawn at random
MOST_CHOSEN = 1100  # up to this number, pairs are chosen one by one
# Share of the pairs, and pairs per player, that are placed before a choice.
FIRST_SHARE, LEAST_FIRST = 0.5, 1.5
LEAST_SHARE = 4  # with blocks, a quarter of a pair per player on each row is sufficient
# From 300 pairs on, half of the chosen pairs have sizes by leverage score; with fewer
# pairs, proportionally less. A Gaussian process prefers middle sizes. If a game varies
# more at other sizes, only pairs of these sizes can show it.
MOST_BY_SIZE, MANY = 0.5, 300
POOL = 600


# pairs ``(m, p)``, their blocks, and the expected number of each size of those drawn at
# random
_Asked = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]


class _State(NamedTuple):
    """The pairs asked for one row against all background rows, or the blocks of these rows."""

    pairs: np.ndarray
    rows: Any = None
    blocks: Any = None


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

    produces = OddDesign
    # the blocks and the number of chosen pairs are planned for all draws
    traits = SamplerTraits(goes_on=False)
    _constraints = {"references": OneOf(REFERENCES)}

    def __init__(self, references: str = "blocks") -> None:
        self.references = references

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
        self._part, self._tuned, self._order = task.part, task.tuned, None
        self._states: list[Any] = [None] * r
        self._seen: list[list[Seen]] = [[] for _ in range(r)]
        self._thetas: list[np.ndarray | None] = [None] * r
        self._leaders, self._keys, self._n_blocks = np.arange(r), {}, 1
        if self.references == "blocks":
            weights = self.reference_weights_
            self._n_blocks = n_blocks(weights, self.n_players_, self.n_draws_ // 2)
        if task.tuned is None or task.players is None or task.shared_rngs is None:
            return
        if self._part == 1 and np.ptp(self.reference_weights_) == 0:
            # With equal weights, each row has its own background rows in the blocks:
            # the matrices are equal, and the rows' errors still differ.
            b = len(self.reference_weights_)
            self._order = np.stack([rng.permutation(b) for rng in self.rngs_])
        # Rows with the same number and the same active players share the design of
        # their leader.
        keys = np.column_stack([task.numbers, task.players])
        sets, first, place = np.unique(
            keys, axis=0, return_index=True, return_inverse=True
        )
        self._leaders, self.rngs_ = first[place.reshape(-1)], list(self.rngs_)
        for leader, key in zip(first, sets, strict=True):
            self._keys[leader] = *key, self.n_draws_
            self.rngs_[leader] = task.shared_rngs[leader]
            self._thetas[leader] = task.tuned.mean(key[1:], blocked=False)

    def _chooses(self, n_pairs: int) -> bool:
        p = self.n_players_
        return LEAST_FIRST * p < n_pairs <= MOST_CHOSEN and n_pairs < n_all_pairs(p) / 2

    def _ask(self, rows: np.ndarray, n: int) -> OddDesign:
        # n/2 pairs, and the full coalition with the first
        p, whose = self.n_players_, self._leaders[rows]
        leaders, place = np.unique(whose, return_inverse=True)
        requests = [self._ask_once(leader, n // 2) for leader in leaders]
        pairs, *optional_parts = zip(*requests, strict=True)
        signs = np.stack(pairs)[place]
        block, drawn = (
            None if x[0] is None else np.stack(x)[place] for x in optional_parts
        )
        states = [self._states[row] for row in whose]
        return OddDesign(
            np.stack([signs, ~signs], axis=2).reshape(len(rows), -1, p),
            coalition_references=self._references(rows, block),
            exact=block is None and len(states[0].pairs) == n_all_pairs(p),
            block=block,
            blocks=None if block is None else tuple(state.blocks for state in states),
            drawn=drawn,
            thetas=[] if self._keys else [self._thetas[row] for row in rows],
        )

    def _ask_once(self, row: int, n: int) -> _Asked:
        """Return n pairs of one row to explain; shared designs are made once."""
        if row not in self._keys:
            request, self._states[row] = self._ask_one(row, self.rngs_[row], n)
            return request
        key = self._keys[row] = *self._keys[row], n
        rng = self.rngs_[row].spawn(1)[0]  # independent of the numbers drawn before
        if key not in self._tuned.designs:
            self._tuned.designs[key] = self._ask_one(row, rng, n)
        request, self._states[row] = self._tuned.designs[key]
        return request

    def _ask_one(
        self, row: int, rng: np.random.Generator, n: int
    ) -> tuple[_Asked, _State]:
        """Return n pairs of one row, at first with the full coalition, and its next state."""
        p, state, first = self.n_players_, self._states[row], self._states[row] is None
        if state is None:
            state = self._open(rng)
        if state.blocks is not None:
            count = len(state.rows)
            pairs, block = pairs_of_blocks(rng, state.blocks.share, p, count * n)
            ends = np.arange(count if first else 0)
            full = np.ones((len(ends), p), dtype=bool)
            return (
                np.concatenate([full, pairs]),
                np.concatenate([ends, block]),
                None,
            ), state
        # the cost of a Cholesky factorisation grows with the cube of the pairs
        placed = max(0, min(n, MOST_PAIRS - len(state.pairs)))
        pairs = first_pairs(rng, p, placed) if first else self._choose(row, rng, placed)
        state = _State(np.concatenate([state.pairs, pairs]))
        pairs = np.concatenate([np.ones((int(first), p), dtype=bool), pairs])
        if placed == n:
            return (pairs, None, None), state
        # Pairs beyond the capacity are drawn at random, so that their errors can be
        # estimated.
        random_pairs, expected = leverage_pairs(rng, p, n - placed)
        drawn = np.concatenate([np.full(len(pairs), np.nan), expected])
        return (np.concatenate([pairs, random_pairs]), None, drawn), state

    def _open(self, rng: np.random.Generator) -> _State:
        none, count = np.empty((0, self.n_players_), dtype=bool), self._n_blocks
        if count == 1:
            return _State(none)
        if self._part < 1:  # balanced by construction
            block_size = len(self.reference_weights_) // count
            rows = np.arange(block_size * count).reshape(count, block_size)
        else:
            rows = rows_of_blocks(rng, self.reference_weights_, count)
        blocks = Blocks.of(rows, self.reference_weights_)
        return _State(
            none, rows, Blocks(blocks.share * self._part, blocks.whole * self._part)
        )

    def _choose(self, row: int, rng: np.random.Generator, n: int) -> np.ndarray:
        """Return n new pairs."""
        pairs, p = self._states[row].pairs, self.n_players_
        n_evaluated = len(pairs)
        theta = self._fitted(row) if n and self._chooses(n_evaluated + n) else None
        # Without values to learn from, or with too many pairs to choose, leverage
        # scores decide.
        if theta is None:
            return filled(rng, pairs[:0], n, seen=pairs)
        evaluated = np.concatenate([np.ones((1, p), dtype=bool), pairs])
        points = Pairs(np.where(evaluated, 1.0, -1.0), np.empty((n_evaluated + 1, 0)))
        process = Process(points, OddKernel.from_vector(theta, p), OddValues())
        # at least three candidates for each choice
        half = max(POOL, 3 * n) // 2
        # Hadamard rows have middle sizes, and leverage scores all sizes.
        pool = np.concatenate(
            [leverage_pairs(rng, p, half)[0], hadamard_pairs(rng, p, half)]
        )
        pool = filled(
            rng, pool, min(2 * half, n_all_pairs(p) - n_evaluated), seen=pairs
        )
        share = MOST_BY_SIZE * min(1.0, (n_evaluated + n) / MANY)
        sizes = sizes_missing(rng, pairs, n, int(share * n))
        new_pairs = pool[choose_pairs(process, np.where(pool, 1.0, -1.0), n, sizes)]
        return filled(rng, new_pairs, n, seen=pairs)

    def _fitted(self, row: int) -> np.ndarray | None:
        """Return the hyper-parameters for the choice, tuned or fitted to the values seen."""
        if self._seen[row]:
            values, *_ = observed(self._seen[row])
            if values.values.any():
                self._thetas[row] = fit_odd(values, self._thetas[row])
        return self._thetas[row]

    def _tell(self, rows: np.ndarray, design: OddDesign, values: np.ndarray) -> None:
        if (
            not self._keys
        ):  # kept for the next choice, for which no hyper-parameters are known
            for i, row in enumerate(rows):
                self._seen[row].append((design, i, values[i]))

    def _references(
        self, rows: np.ndarray, block: np.ndarray | None
    ) -> np.ndarray | None:
        """Return the background rows of each coalition, ``(r, m, q)``."""
        if block is None:
            return None
        blocks = np.stack([self._states[row].rows for row in self._leaders[rows]])
        if self._order is not None:
            blocks = self._order[rows[:, None, None], blocks]
        references = np.take_along_axis(blocks, block[:, :, None], axis=1)
        return np.repeat(references, 2, axis=1)


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
            np.stack([pairs, ~pairs], axis=2).reshape(len(rows), -1, p),
            exact=n // 2 == n_all_pairs(p),
        )
