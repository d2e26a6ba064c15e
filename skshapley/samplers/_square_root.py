"""The law of sizes that suits sample reuse best."""

import numpy as np

from skshapley.samplers._coalitions import CoalitionSampler


class SquareRoot(CoalitionSampler):
    """Coalitions of size s with probability proportional to 1/sqrt(s (p - s)).

    The variance of maximum sample reuse is sum_S p c_i(S)^2 v(S)^2/p_S, summed over players; where
    |v| is flat it is least for p_S proportional to the norm of c(S), which gives this law.

    Parameters
    ----------
    paired : bool, default=True
        Draw each coalition with its complement; the two are a unit.
    replacement : bool, default=False
        Whether a coalition may be drawn again; without, small sizes are enumerated.

    References
    ----------
    Witter, Liu & Musco (2025), Regression-adjusted Monte Carlo estimators for Shapley values and
    probabilistic values, NeurIPS, section 3 (the optimal law).

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
