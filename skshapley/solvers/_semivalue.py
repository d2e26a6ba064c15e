"""Semivalues: Banzhaf and beta values, from the same walks as the Shapley value.

Dubey, Neyman & Weber (1981), Value theory without efficiency: phi_i is the mean marginal
contribution of player i to a random coalition of the others, with any law of its size; uniform
sizes give Shapley.
"""

import numpy as np
from scipy.special import betaln

from skshapley._tools._constraints import Number, OneOf
from skshapley._tools._counting import log_binomial
from skshapley.designs import PermutationDesign
from skshapley.solvers._base import SolverTraits
from skshapley.solvers._permutation_mean import PermutationMean


class Semivalue(PermutationMean):
    """Beta and Banzhaf values over permutations: the sizes of coalitions weighted otherwise.

    They need not add up to v(all) - v(empty): ``efficiency_gap`` says what is missing. The
    parameter `index` of explainers and `shapley_values` gives the same values by better methods.

    Parameters
    ----------
    law : {"beta", "banzhaf"}, default="beta"
        "banzhaf": every coalition of the others is as likely, so that sizes are binomial. "beta":
        sizes are beta-binomial.
    alpha, beta : float, default=1.0
        Of the beta law; (1, 1) is the Shapley value, a larger `alpha` puts weight on small
        coalitions of the others (Kwon & Zou's Beta(alpha, beta)).

    References
    ----------
    Kwon & Zou (2022), Beta Shapley: a unified and noise-reduced data valuation framework for
    machine learning, AISTATS, Eq 3. Wang & Jia (2023), Data Banzhaf, AISTATS, Definition 2.

    Examples
    --------
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import Semivalue
    >>> result = shapley_values(
    ...     lambda S: S.all(axis=1) * 4.0,
    ...     n_players=3,
    ...     sampler="antithetic",
    ...     solver=Semivalue("banzhaf"),
    ...     max_evals=100,
    ...     random_state=0,
    ... )
    >>> result.values.sum().round(9)  # a player's value is 4/4 wherever the two others are present
    np.float64(3.0)
    """

    accepts = (PermutationDesign,)
    traits = SolverTraits()
    _constraints = {
        "law": OneOf(("beta", "banzhaf")),
        "alpha": Number(above=0),
        "beta": Number(above=0),
    }

    def __init__(self, law: str = "beta", alpha: float = 1.0, beta: float = 1.0) -> None:
        self.law = law
        self.alpha = alpha
        self.beta = beta

    def _step_weights(self, p: int) -> np.ndarray:
        """Return p times the law of the number of players before, for each step, ``(p,)``."""
        before = np.arange(p)
        log_choose = log_binomial(p - 1, before)
        if self.law == "banzhaf":
            return p * np.exp(log_choose - (p - 1) * np.log(2))
        law = betaln(before + self.beta, p - 1 - before + self.alpha)
        return p * np.exp(log_choose + law - betaln(self.alpha, self.beta))
