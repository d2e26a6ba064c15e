"""Random pairs of coalitions for the Gaussian process on the odd part of a game."""

import numpy as np

from skshapley._process import RandomOddDesign
from skshapley.samplers._base import Price, Sampler, SamplerTraits
from skshapley.samplers._odd import MOST_PAIRS
from skshapley.samplers._odd_designs import leverage_pairs, n_all_pairs


class OddLeverage(Sampler):
    """Complementary pairs by leverage score, without replacement, for "gp-leave-one-out".

    All sizes have the same probability, and the pairs of a size are a simple random sample. Errors
    of prediction can therefore be estimated without bias. A size is enumerated if the budget covers
    it. Every coalition is evaluated against the whole background. The whole budget is drawn at
    once, and at most 2000 pairs, the limit of the Gaussian process.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling,
    ICLR: the leverage score of S is 1/C(p, s), section 3.

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
        draws = np.stack([leverage_pairs(self.rngs_[row], p, n // 2)[0] for row in rows])
        pairs = np.concatenate([np.ones((len(rows), 1, p), dtype=bool), draws], axis=1)
        return RandomOddDesign(
            np.stack([pairs, ~pairs], axis=2).reshape(len(rows), -1, p),
            exact=n // 2 == n_all_pairs(p),
        )
