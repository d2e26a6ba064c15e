"""Pairs of coalitions for the odd part of a game, which determines Shapley values.

The first pairs are single players and Hadamard rows (each player against all others, from both ends
and in the middle), then pairs by leverage score. Later pairs are chosen one by one after the first
values. Each choice reduces the variance of the Shapley values most, under the Gaussian process of
the solver "gp". Rows with hyper-parameters from other rows share designs.
"""

from copy import copy, deepcopy
from typing import Any

import numpy as np

from skshapley._process import (
    Blocks,
    OddDesign,
    OddKernel,
    OddValues,
    Pairs,
    Process,
    choose_pairs,
    fit_odd,
)
from skshapley._tools._constraints import Flag, OneOf
from skshapley.samplers._base import Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._odd_designs import (
    LEAST_ROWS,
    dealt_pairs,
    dealt_rows,
    filled,
    first_pairs,
    hadamard_pairs,
    leverage_pairs,
    n_all_pairs,
    n_blocks,
    sizes_missing,
)

REFERENCES = ("blocks", "all")
MOST_PAIRS = 2000  # used by the Gaussian process; further ones are drawn at random
MOST_CHOSEN = 1100  # up to this number, pairs are chosen one by one
FIRST_SHARE, LEAST_FIRST = 0.5, 1.5  # of the pairs, and pairs per player, before a choice
LEAST_SHARE = 4  # with blocks, a quarter of a pair per player on each row is sufficient
# From 300 pairs on, half of the chosen pairs have sizes by leverage score; with fewer pairs,
# proportionally less. A Gaussian process prefers middle sizes. If a game varies more at other
# sizes, only pairs of these sizes can show it.
MOST_BY_SIZE, MANY = 0.5, 300
POOL = 600


class Odd(Sampler):
    """Complementary pairs for the solver "gp", chosen adaptively.

    Parameters
    ----------
    references : {"blocks", "all"}, default="blocks"
        Background rows of each pair. "all": the whole background. "blocks": the background is
        divided at random into blocks of equal size with separate pairs, so the same model rows buy
        many more pairs. If the rows are too few or too unequal to gain from this, "all" is used. A
        block has rows of about the same weight, and pairs in proportion to it.
    adaptive : bool, default=True
        Whether later pairs are chosen after the values of the earlier ones (without blocks).

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling,
    ICLR. Hedayat & Wallis (1978), Hadamard matrices and their applications, Annals of Statistics 6.

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
    _constraints = {"references": OneOf(REFERENCES), "adaptive": Flag()}

    def __init__(self, references: str = "blocks", adaptive: bool = True) -> None:
        self.references = references
        self.adaptive = adaptive

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions: at least a permutation and its reverse, or a share of it.

        If blocks of background rows share the pairs, less than one permutation is sufficient.
        """
        least = 2 * (n_players - 1)
        if self.references == "blocks" and n_references >= LEAST_ROWS:
            least = min(least, 2 * -(-n_players // LEAST_SHARE))
        return Price(
            draw=n_references,
            coalitions=1,
            references=n_references,
            least=least,
            most=2 * n_all_pairs(n_players),
            step=2,
            unit=2,
        )

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        """Return the number of background rows to use, with few pairs per block.

        Blocks of a large background have few pairs each, but many in total.
        """
        least = self.price(n_players, n_references).least
        if self.references == "all" or n_references * least <= n_rows:
            return super()._n_references(n_rows, n_players, n_references)
        return max(1, min(n_references, n_rows // least))

    def draws_now(self, asked: int) -> int:
        """Return the number of remaining draws before the next choice."""
        p, total = self.n_players_, self.n_draws_
        left = total - asked
        in_blocks = self._n_blocks(total // 2) > 1
        if in_blocks or not self._chooses(total // 2) or total <= 2 * LEAST_FIRST * p:
            return left
        first = int(max(LEAST_FIRST * p, FIRST_SHARE * total / 2)) * 2
        return min(first - asked, left) if asked < first else left

    def _start(self, task: SamplerTask) -> None:
        self._states: list[Any] = [None] * len(self.rngs_)
        self._leaders, self._given = np.arange(len(self.rngs_)), {}
        self._lesson, self._part = task.lesson, task.part
        self._asked: dict[int, tuple] = {}
        self._order: np.ndarray | None = None
        lesson = task.lesson
        if lesson is None or task.players is None or task.shared_rngs is None:
            return
        if self._part == 1 and np.ptp(self.reference_weights_) == 0:
            # with equal weights, each row may have its own blocks: their matrices are equal
            b = len(self.reference_weights_)
            self._order = np.stack([rng.permutation(b) for rng in self.rngs_])
        # rows with the same number share a design, chosen by the lesson
        alike = np.column_stack([task.numbers, task.players])
        sets, first, place = np.unique(alike, axis=0, return_index=True, return_inverse=True)
        self._leaders, self.rngs_ = first[place.reshape(-1)], list(self.rngs_)
        for leader, own in zip(first, sets, strict=True):
            members = own[1:]
            self._asked[leader] = own.tobytes(), self.n_draws_, self.references, self.adaptive
            self.rngs_[leader] = task.shared_rngs[leader]
            self._given[leader] = lesson.mean(members, False) if lesson.knows(members) else None

    def _chooses(self, n_pairs: int) -> bool:
        p = self.n_players_
        least = LEAST_FIRST * p
        return self.adaptive and least < n_pairs <= MOST_CHOSEN and n_pairs < n_all_pairs(p) / 2

    def _ask(self, rows: np.ndarray, n: int) -> OddDesign:
        # n/2 pairs, and the full coalition with the first
        whose = self._leaders[rows]
        leaders, place = np.unique(whose, return_inverse=True)
        asks = [self._ask_once(leader, n // 2) for leader in leaders]
        pairs, *others = zip(*asks, strict=True)
        signs = np.stack(pairs)[place]
        block, drawn, start = (None if x[0] is None else np.stack(x)[place] for x in others)
        state = self._states[leaders[0]]
        coalitions = np.stack([signs, ~signs], axis=2).reshape(len(rows), -1, self.n_players_)
        return OddDesign(
            coalitions,
            coalition_references=self._references(rows, block),
            exact=state.rows is None and len(state.pairs) == n_all_pairs(self.n_players_),
            block=block,
            blocks=None if block is None else tuple(self._states[row].blocks for row in whose),
            drawn=drawn,
            start=start,
        )

    def _ask_once(self, row: int, n: int) -> tuple[np.ndarray | None, ...]:
        """Return the result of `_ask_one`, computed once for a shared design."""
        if row not in self._asked:
            return self._ask_one(row, n)
        key = self._asked[row] = (*self._asked[row], n)
        if key not in self._lesson.designs:
            made = self._ask_one(row, n)
            self._lesson.designs[key] = made, copy(self._states[row]), deepcopy(self.rngs_[row])
        made, state, rng = self._lesson.designs[key]
        self._states[row], self.rngs_[row] = copy(state), deepcopy(rng)
        return made

    def _ask_one(self, row: int, n: int) -> tuple[np.ndarray | None, ...]:
        """Return pairs ``(m, p)``, their blocks, expected numbers, and the start, for one row."""
        state, rng = self._states[row], self.rngs_[row]
        p, full = self.n_players_, np.ones((1, self.n_players_), dtype=bool)
        if state is None:
            state = self._states[row] = self._open(rng, n)
            if state.rows is not None:
                return (*state.deal(rng, n, first=True), None, None)
            first = first_pairs(rng, p, min(n, MOST_PAIRS))
            state.pairs = first
            first = np.concatenate([full, first])
            rest = n + 1 - len(first)
            return (*self._with_drawn(state, rng, first, rest), None)
        if state.rows is not None:
            return (*state.deal(rng, n, first=False), None, None)
        placed = max(0, min(n, MOST_PAIRS - len(state.pairs)))
        chosen, theta = self._choose(row, placed)
        state.pairs = np.concatenate([state.pairs, chosen])
        return (*self._with_drawn(state, rng, chosen, n - placed), theta)

    def _with_drawn(
        self, state: "_State", rng: np.random.Generator, placed: np.ndarray, n: int
    ) -> tuple[np.ndarray, None, np.ndarray | None]:
        if n == 0:
            return placed, None, None
        more, expected = leverage_pairs(rng, self.n_players_, n)
        drawn = np.concatenate([np.full(len(placed), np.nan), expected])
        return np.concatenate([placed, more]), None, drawn

    def _choose(self, row: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n new pairs, and the hyper-parameters used to choose them or None."""
        state, rng = self._states[row], self.rngs_[row]
        p, held = self.n_players_, len(state.pairs)
        points = self._light(row) if n and self._chooses(held + n) else None
        if points is None:
            nothing = np.full(p + 3, np.nan)
            return filled(rng, [np.empty((0, p), dtype=bool)], n, seen=state.pairs), nothing
        process = Process(points, OddKernel.from_vector(state.theta, p), OddValues())
        half = max(POOL, 3 * n) // 2
        pool = filled(
            rng,
            [leverage_pairs(rng, p, half)[0], hadamard_pairs(rng, p, half)],
            min(2 * half, n_all_pairs(p) - held),
            seen=state.pairs,
        )
        share = MOST_BY_SIZE * min(1.0, (held + n) / MANY)
        sizes = sizes_missing(rng, state.pairs, n, int(share * n))
        chosen = pool[choose_pairs(process, np.where(pool, 1.0, -1.0), n, sizes)]
        known = np.concatenate([state.pairs, chosen])
        more = filled(rng, [np.empty((0, p), dtype=bool)], n - len(chosen), seen=known)
        return np.concatenate([chosen, more]), state.theta

    def _light(self, row: int) -> Pairs | None:
        """Return the points for the choice, with current hyper-parameters, or None."""
        state = self._states[row]
        if row not in self._given:
            told = state.told()
            state.theta = None if told is None else fit_odd(told, state.theta)
            return told
        state.theta = self._given[row]
        if state.theta is None:
            return None
        seen = np.concatenate([np.ones((1, self.n_players_), dtype=bool), state.pairs])
        return Pairs(np.where(seen, 1.0, -1.0), np.empty((len(seen), 0)))

    def _tell(self, rows: np.ndarray, design: OddDesign, values: np.ndarray) -> None:
        # kept for the next choice
        if not self.adaptive or design.block is not None or self._given:
            return
        for i, row in enumerate(rows):
            state = self._states[row]
            if len(state.pairs) < MOST_CHOSEN:
                state.seen.append(design.pairs(i, values[i])[0])

    def _open(self, rng: np.random.Generator, n: int) -> "_State":
        count = self._n_blocks(self.n_draws_ // 2)
        if count == 1:
            return _State()
        if self._part < 1:  # balanced by construction
            each = len(self.reference_weights_) // count
            dealt = np.arange(each * count).reshape(count, each)
        else:
            dealt = dealt_rows(rng, self.reference_weights_, count)
        blocks = Blocks.of(dealt, self.reference_weights_)
        blocks = Blocks(blocks.share * self._part, blocks.whole * self._part)
        return _State(dealt, blocks, self.n_players_)

    def _n_blocks(self, n: int) -> int:
        """Return the number of blocks of the background, for n pairs per row."""
        if self.references == "all":
            return 1
        return n_blocks(self.reference_weights_, self.n_players_, n)

    def _references(self, rows: np.ndarray, block: np.ndarray | None) -> np.ndarray | None:
        """Return the background rows of each coalition, ``(r, m, q)``."""
        if block is None:
            return None
        blocks = np.stack([self._states[row].rows for row in self._leaders[rows]])
        if self._order is not None:
            blocks = self._order[rows[:, None, None], blocks]
        each = np.take_along_axis(blocks, block[:, :, None], axis=1)
        return np.repeat(each, 2, axis=1)


class _State:
    """A sampler's state for one row to explain."""

    def __init__(self, rows=None, blocks=None, n_players: int = 0) -> None:
        self.pairs = np.empty((0, n_players), dtype=bool)
        self.rows, self.blocks = rows, blocks
        self.theta: np.ndarray | None = None
        self.seen: list[Pairs] = []

    def told(self) -> Pairs | None:
        """Return the known values of varying outputs, or None if there is no basis for a choice."""
        if not self.seen:
            return None
        values = np.concatenate([pairs.values for pairs in self.seen])
        varies = np.abs(values).max(axis=0) > 0
        if not varies.any():
            return None
        return Pairs(np.concatenate([pairs.signs for pairs in self.seen]), values[:, varies])

    def deal(self, rng: np.random.Generator, n: int, first: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return n pairs per block and their blocks; the first call includes the full coalition."""
        count, p = len(self.rows), self.pairs.shape[1]
        pairs, block = dealt_pairs(rng, self.blocks.share, p, count * n)
        if first:
            pairs = np.concatenate([np.ones((count, p), dtype=bool), pairs])
            block = np.concatenate([np.arange(count), block])
        return pairs, block
