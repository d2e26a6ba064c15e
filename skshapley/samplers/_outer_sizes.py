"""Coalitions as shap's KernelExplainer takes them: outer sizes whole, the others at random.

shap 0.51, `KernelExplainer.explain`: sizes 1 and p - 1, then 2 and p - 2, and so on, are enumerated
as long as their share of the remaining budget under the kernel law covers them; what is left is
drawn with replacement from the kernel law of the remaining sizes, in pairs.
"""

from itertools import combinations
from math import comb

import numpy as np

from skshapley._tools._counting import uniform_of_size
from skshapley.designs import CoalitionDesign
from skshapley.samplers._base import SamplerTraits
from skshapley.samplers._coalitions import Kernel, with_complements


class OuterSizes(Kernel):
    """The coalitions of shap's KernelExplainer, for comparison.

    It differs from the sampler "kernel" in what it does with the rest of the budget, where
    coalitions may come twice. Here a repeated coalition counts against the budget, as if it were
    evaluated; shap draws until the budget is full of different ones.

    References
    ----------
    Lundberg & Lee (2017), A unified approach to interpreting model predictions, NeurIPS; the shap
    package, version 0.51, explainers/_kernel.py.

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

    traits = SamplerTraits(one_shot=True)
    _constraints = {}

    def __init__(self) -> None:
        super().__init__(paired=True, replacement=False)

    def _ask(self, rows: np.ndarray, n: int) -> CoalitionDesign:
        p = self.n_players_
        law, left, whole = self._law.copy(), n, []
        for size in range(1, p // 2 + 1):
            sizes = sorted({size, p - size})
            count = sum(comb(p, s) for s in sizes)
            if left * law[sizes].sum() / law.sum() < count - 1e-8 * count:
                break
            whole.append(_all_of_size(p, size))
            left -= count
            law[sizes] = 0.0
        expected = np.array([comb(p, s) if law[s] == 0 else 0.0 for s in range(p + 1)])
        if left:
            expected += left * law / law.sum()
        draws = [np.concatenate([*whole, self._random(row, law, left)]) for row in rows]
        coalitions = np.stack(draws)
        return CoalitionDesign(
            coalitions,
            expected_draws=expected[coalitions.sum(axis=2)],
            unit=2,
            whole=law == 0,
            exact=left == 0 and n == 2**p - 2,
        )

    def _random(self, row: int, law: np.ndarray, n: int) -> np.ndarray:
        p, rng = self.n_players_, self.rngs_[row]
        if not n:
            return np.empty((0, p), dtype=bool)
        sizes = rng.choice(p + 1, size=n // 2, p=law / law.sum())
        return with_complements(uniform_of_size(rng, sizes, p))


def _all_of_size(p: int, size: int) -> np.ndarray:
    """Return all coalitions of that size, each followed by its complement."""
    chosen = np.array(list(combinations(range(p), size)), dtype=np.intp)
    if 2 * size == p:
        chosen = chosen[chosen[:, 0] == 0]
    coalitions = np.zeros((len(chosen), p), dtype=bool)
    np.put_along_axis(coalitions, chosen, True, axis=1)
    return with_complements(coalitions)
