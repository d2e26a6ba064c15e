"""The Gaussian process on a game, one for its odd part and one for its even part.

With s in {-1, 1}^p for a coalition S,

    f(s) = (v(S) - v(complement of S))/2 = sum over odd |T| of c_T prod_{j in T} s_j,
    g(s) = (v(S) + v(complement of S))/2 = sum over even |T| of c_T prod_{j in T} s_j,
    phi_i = 2 sum over odd T that contain i of c_T/|T|,
    I_ij = 4 sum over even T that contain i and j of c_T/(|T| - 1),

Pairs of complementary coalitions are samples of f and of g. Under Gaussian priors on the c_T,
Shapley values phi and interactions I are linear functionals of f and g. The derivations are in the
documentation, "The odd-part Gaussian process" and "The even-part Gaussian process".
"""

from skshapley._process._case import Case, Tuned
from skshapley._process._choice import choose_pairs
from skshapley._process._errors import overlooked, standard_errors
from skshapley._process._even import EvenKernel
from skshapley._process._fit import fit_odd
from skshapley._process._functionals import SHAPLEY, EvenValues, Interactions, OddValues
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import Blocks, OddDesign, Pairs, RandomOddDesign, merged
from skshapley._process._process import Posterior, Process

__all__ = [
    "SHAPLEY",
    "Blocks",
    "Case",
    "EvenKernel",
    "EvenValues",
    "Interactions",
    "OddDesign",
    "OddKernel",
    "OddValues",
    "Pairs",
    "Posterior",
    "Process",
    "RandomOddDesign",
    "Tuned",
    "choose_pairs",
    "fit_odd",
    "merged",
    "overlooked",
    "standard_errors",
]
