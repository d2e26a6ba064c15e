"""The odd part of a game as a Gaussian process: what the sampler "odd" and the solver "gp" share.

Shapley values depend only on the odd part of a game. With s in {-1, 1}^p for a coalition S,

    f(s) = (v(S) - v(complement of S))/2 = sum over odd |T| of c_T prod_{j in T} s_j,
    phi_i = 2 sum over odd T that contain i of c_T/|T|,

so that pairs of complementary coalitions are samples of f, and a Gaussian prior on the c_T makes
phi a linear functional of them. The derivation is in the documentation, "The odd-part Gaussian
process".
"""

from skshapley._odd._blocks import Blocks
from skshapley._odd._choice import choose_pairs
from skshapley._odd._design import OddDesign, RandomOddDesign
from skshapley._odd._evidence import Evidence
from skshapley._odd._fit import fit_hyper
from skshapley._odd._functional import functional, functional_variance
from skshapley._odd._hyper import Hyper
from skshapley._odd._index_process import IndexProcess, index_functional, index_variance
from skshapley._odd._kernel import gram
from skshapley._odd._lesson import Lesson
from skshapley._odd._pairs import Pairs
from skshapley._odd._posterior import Posterior, Process

__all__ = [
    "Blocks",
    "Evidence",
    "Hyper",
    "IndexProcess",
    "Lesson",
    "OddDesign",
    "Pairs",
    "Posterior",
    "Process",
    "RandomOddDesign",
    "choose_pairs",
    "fit_hyper",
    "functional",
    "functional_variance",
    "gram",
    "index_functional",
    "index_variance",
]
