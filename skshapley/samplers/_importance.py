"""Coalitions for projected stochastic gradient: the importance law, and the uniform law.

Grah & Thouvenot (2020), section 4.2. In their notation d is the number of players, l the size of
a coalition, C bounds abs(v) and D the norm of the Shapley values. The coalition i of size l is
drawn with p_i = L_i / sum L, where L_i = 2 n w_l sqrt(l) (sqrt(l) D + C) bounds its gradient. All
C(d, l) of them together have the probability q(l) proportional to (sqrt(l) D + C) / (sqrt(l) (d -
l)), in which the binomial is gone, so that any d will do.
"""

import numpy as np
from scipy.special import gammaln

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

    def __init__(self, ratio=None):
        self.ratio = ratio

    def size_law(self, n_players):
        """Return q(l), proportional to (sqrt(l) D + C) / (sqrt(l) (d - l))."""
        if self.ratio is not None and not self.ratio > 0:
            raise ValueError(
                f"Importance got ratio={self.ratio!r}: it takes a positive number, D/C, or None for"
                f" the square root of the number of players."
            )
        ratio = np.sqrt(n_players) if self.ratio is None else self.ratio
        root = np.sqrt(np.arange(1, n_players))
        law = (root * ratio + 1) / (root * (n_players - np.arange(1, n_players)))
        return law / law.sum()

    def least_evals(self, n_players, n_references):
        """Return 2 (p - 1), as for the other samplers of coalitions; the size law is checked."""
        self.size_law(n_players)
        return super().least_evals(n_players, n_references)


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

    def __init__(self):
        pass

    def size_law(self, n_players):
        """Return C(d, l)/(2^d - 2), through logarithms; 0 where it underflows."""
        size = np.arange(1, n_players)
        log_count = gammaln(n_players + 1) - gammaln(size + 1) - gammaln(n_players - size + 1)
        law = np.exp(log_count - log_count.max())
        return law / law.sum()
