"""Pairs of coalitions for the odd part of a game, which determines Shapley values.

The first pairs are single players. Other pairs are chosen one by one. Each choice
reduces the variance of the Shapley values most, under a Gaussian process like that of
the solver "gp". The choice is made once for p players, and each row to explain has
players in a random order.
"""

from dataclasses import dataclass

import numpy as np

from skshapley._process._pairs import Blocks, OddDesign, RandomOddDesign
from skshapley._process._process import ranked_players
from skshapley._tools import OneOf
from skshapley.samplers._base import Price, Sampler, SamplerTask, SamplerTraits
from skshapley.samplers._coalitions import with_complements
from skshapley.samplers._odd_designs import (
    LEAST_ROWS,
    chosen_pairs,
    first_pairs,
    leverage_pairs,
    n_all_pairs,
    n_blocks,
    pairs_of_blocks,
    rows_of_blocks,
)

MOST_PAIRS = 2000  # used by the Gaussian process; further ones are drawn at random
MOST_RANKED = 500  # players
LEAST_SHARE = 4  # with blocks, a quarter of a pair per player on each row is sufficient


@dataclass(eq=False, repr=False)
class Odd(Sampler):
    """Complementary pairs for the solver "gp", each chosen after the others.

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
    _constraints = {"references": OneOf(("blocks", "all"))}

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
            1,
            n_references,
            least,
            2 * n_all_pairs(n_players),
            step=2,
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

    def _start(self, task: SamplerTask) -> None:
        weights = self.reference_weights_
        n_pairs = self.n_draws_ // 2
        self._n_asked = np.zeros(len(self.rngs_), dtype=np.intp)  # pairs of each row
        self._n_blocks = 1
        if self.references == "blocks":
            self._n_blocks = n_blocks(weights, self.n_players_, n_pairs)
        if self._n_blocks == 1:
            # the cost of a Cholesky factorisation grows with the cube of the pairs
            n_chosen = min(n_pairs, MOST_PAIRS)
            self._pairs = [
                first_pairs(rng, self.n_players_, n_chosen) for rng in self.rngs_
            ]
            return
        share = 1.0 if task.background is None else task.background.share
        self._block_rows = np.stack(
            [
                rows_of_blocks(rng, weights, self._n_blocks, shuffled=share == 1)
                for rng in self.rngs_
            ]
        )
        self._blocks = [Blocks.of(rows, weights, share) for rows in self._block_rows]

    def _ask(self, rows: np.ndarray, n: int) -> OddDesign:
        # n/2 pairs, and the full coalition with the first
        ask = self._ask_blocks if self._n_blocks > 1 else self._ask_whole
        pairs, of_pairs = (
            np.stack(part)
            for part in zip(*[ask(row, n // 2) for row in rows.tolist()], strict=True)
        )
        self._n_asked[rows] += n // 2
        coalitions = with_complements(pairs)
        if self._n_blocks > 1:
            references = np.take_along_axis(
                self._block_rows[rows],
                of_pairs[:, :, None],
                axis=1,
            )
            return OddDesign(
                coalitions,
                coalition_references=np.repeat(references, 2, axis=1),
                block=of_pairs,
                blocks=tuple(self._blocks[row] for row in rows),
            )
        return OddDesign(
            coalitions,
            exact=min(self._n_asked[rows[0]], MOST_PAIRS)
            == n_all_pairs(self.n_players_),
            drawn=of_pairs,
        )

    def _ask_blocks(self, row: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n pairs for each block, at first with the full coalition, and their blocks."""
        p = self.n_players_
        count = self._n_blocks
        share = self._blocks[row].share
        pairs, block = pairs_of_blocks(self.rngs_[row], share, p, count * n)
        if self._n_asked[row]:
            return pairs, block
        full = np.ones((count, p), dtype=bool)
        return np.concatenate([full, pairs]), np.append(np.arange(count), block)

    def _ask_whole(self, row: int, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n pairs against all background rows, and their `OddDesign.drawn`."""
        start = self._n_asked[row]
        pairs = self._pairs[row][start : start + n]
        n_random = n - len(pairs)
        if start == 0:
            pairs = np.pad(pairs, ((1, 0), (0, 0)), constant_values=True)
        drawn = np.full(len(pairs), np.nan)
        if n_random == 0:
            return pairs, drawn
        # Pairs beyond the capacity are drawn at random, so that their errors can be
        # estimated.
        random_pairs, expected = leverage_pairs(
            self.rngs_[row],
            self.n_players_,
            n_random,
        )
        return np.concatenate([pairs, random_pairs]), np.append(drawn, expected)


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
        return Price.of_coalitions(
            1,
            n_references,
            2 * (n_players - 1),
            2 * min(MOST_PAIRS, n_all_pairs(n_players)),
            step=2,
        )

    def _ask(self, rows: np.ndarray, n: int) -> RandomOddDesign:
        # the full coalition and n/2 pairs
        p = self.n_players_
        draws = np.stack(
            [leverage_pairs(self.rngs_[row], p, n // 2)[0] for row in rows]
        )
        return RandomOddDesign(
            with_complements(
                np.concatenate([np.ones((len(rows), 1, p), dtype=bool), draws], axis=1)
            ),
            exact=n // 2 == n_all_pairs(p),
        )


class RankedOdd(Sampler):
    """Complementary pairs of a design that is made once for p players, for the solver "gp".

    The first pairs are the single players. Their effects rank the players. The other
    pairs are chosen for players whose strength falls with their rank, as those that
    reduce the variance of the Shapley values most. Pairs and matrices depend on the
    numbers of players and pairs alone, so all rows and games share them. A row takes
    milliseconds beside its evaluations, and its error is near the error with "odd" on
    models. On games with a strong structure, the squared error of "odd" is .3 to .8 of
    it from four evaluations per player on, and takes ten times as long.

    Every coalition is evaluated against the whole background. A design has at most 2000
    pairs and 500 players.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score
    sampling, ICLR. Hedayat & Wallis (1978), Hadamard matrices and their applications,
    Annals of Statistics 6.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.samplers import RankedOdd
    >>> result = shapley_values(
    ...     lambda S: S @ np.arange(12.0),
    ...     n_players=12,
    ...     sampler=RankedOdd(),
    ...     max_evals=50,
    ...     random_state=0,
    ... )
    >>> bool(np.abs(result.values - np.arange(12)).max() < 1e-9)
    True
    """

    produces = OddDesign
    # the design is planned for all draws
    traits = SamplerTraits(goes_on=False, distinct=True)

    def price(self, n_players: int, n_references: int) -> Price:
        """Return the price of coalitions: at least the single players and their complements."""
        if n_players > MOST_RANKED:
            raise ValueError(
                f"RankedOdd takes at most {MOST_RANKED} players; got {n_players}: "
                'choose sampler="antithetic".'
            )
        most = 2 * min(MOST_PAIRS, n_all_pairs(n_players))
        return Price.of_coalitions(
            1,
            n_references,
            min(2 * n_players, most),
            most,
            step=2,
        )

    def draws_now(self, asked: int) -> int:
        """Return the number of remaining draws before or after the players are ranked."""
        singles = min(2 * self.n_players_, self.n_draws_)
        return (singles if asked < singles else self.n_draws_) - asked

    def _start(self, task: SamplerTask) -> None:
        p = self.n_players_
        self._pairs = chosen_pairs(p, self.n_draws_ // 2)
        self._n_asked = np.zeros(len(self.rngs_), dtype=np.intp)  # pairs of each row
        self._ranked = np.stack([rng.permutation(p) for rng in self.rngs_])

    def _ask(self, rows: np.ndarray, n: int) -> OddDesign:
        # n/2 pairs, and the full coalition with the first
        p = self.n_players_
        ranked = self._ranked[rows]
        start = int(self._n_asked[rows[0]])
        pairs = self._pairs[start : start + n // 2]
        self._n_asked[rows] += len(pairs)
        coalitions = pairs[:, np.argsort(ranked, axis=1)].transpose(1, 0, 2)
        if start == 0:
            # the single players are in their order, because they have no ranks yet
            coalitions[:, :p] = pairs[:p]
            coalitions = np.concatenate(
                [np.ones((len(rows), 1, p), dtype=bool), coalitions],
                axis=1,
            )
        return OddDesign(
            with_complements(coalitions),
            exact=start + len(pairs) == n_all_pairs(p),
            ranked=ranked,
        )

    def _tell(self, rows: np.ndarray, design: OddDesign, values: np.ndarray) -> None:
        if self._n_asked[rows[0]] == self.n_players_:
            self._ranked[rows] = ranked_players(
                (values[:, ::2] - values[:, 1::2]) / 2,
                self._ranked[rows],
            )
