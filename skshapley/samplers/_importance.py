"""Coalitions for projected stochastic gradient: the importance law, and the uniform law.

Grah & Thouvenot (2020), section 4.2. In their notation d is the number of players, l the size of
a coalition, C bounds abs(v) and D the norm of the Shapley values. The coalition i of size l is
drawn with p_i = L_i / sum L, where L_i = 2 n w_l sqrt(l) (sqrt(l) D + C) bounds its gradient. All
C(d, l) of them together have the probability q(l) proportional to (sqrt(l) D + C) / (sqrt(l) (d -
l)), in which the binomial is gone, so that any d will do.
"""

import numpy as np

from skshapley._tools._constraints import Maybe, Number
from skshapley._tools._counting import log_binomial
from skshapley.samplers._coalitions import CoalitionSampler


class Importance(CoalitionSampler):
    """Coalitions drawn one by one with the importance law of Grah & Thouvenot (2020).

    The probability of a coalition is proportional to the bound on its stochastic gradient,
    p(S) ~ (sqrt(s) D + C) / (C(p, s) sqrt(s) (p - s)): large coalitions come more often.

    Parameters
    ----------
    ratio : float or None, default=None
        D/C, the bound on the norm of the attributions over the bound on the absolute values of the
        game; only their ratio matters. None: sqrt(p), the choice of the authors' code.

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating Shapley value
    applied in attribute importance, CD-MAKE, section 4.2.

    Examples
    --------
    >>> from skshapley.samplers import Importance
    >>> Importance().size_law(4).round(3)
    array([0.203, 0.275, 0.523])
    """

    paired = False
    replacement = True
    _constraints = {
        "ratio": Maybe(
            Number(above=0), hint="it is D/C, and None is the square root of the number of players"
        )
    }

    def __init__(self, ratio: float | None = None) -> None:
        self.ratio = ratio

    def size_law(self, n_players: int) -> np.ndarray:
        """Return q(l), proportional to (sqrt(l) D + C) / (sqrt(l) (d - l))."""
        ratio = np.sqrt(n_players) if self.ratio is None else self.ratio
        root = np.sqrt(np.arange(1, n_players))
        law = (root * ratio + 1) / (root * (n_players - np.arange(1, n_players)))
        return law / law.sum()


class Uniform(CoalitionSampler):
    """Coalitions drawn one by one, all alike: each with probability 1/(2^p - 2).

    The law that Grah & Thouvenot (2020) start from. Nearly all its coalitions have about p/2
    players, while the weights of the Shapley kernel favour the smallest and the largest: an
    estimate made of it has a variance that grows exponentially in p. Kept to compare with.

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating Shapley value
    applied in attribute importance, CD-MAKE, section 4.1.

    Examples
    --------
    >>> from skshapley.samplers import Uniform
    >>> Uniform().size_law(4).round(3)
    array([0.286, 0.429, 0.286])
    """

    paired = False
    replacement = True
    _constraints = {}

    def __init__(self) -> None:
        pass

    def size_law(self, n_players: int) -> np.ndarray:
        """Return C(d, l)/(2^d - 2), through logarithms; 0 where it underflows."""
        log_count = log_binomial(n_players, np.arange(1, n_players))
        law = np.exp(log_count - log_count.max())
        return law / law.sum()
