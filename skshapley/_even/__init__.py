"""The even part of a game as a Gaussian process: interactions of pairs from the odd part's pairs.

With s in {-1, 1}^p for a coalition S, and the reaches of the process on the odd part,

    g(s) = (v(S) + v(complement of S))/2 = sum over even |T| of c_T prod_{j in T} s_j,
    I_ij = 4 sum over even T that contain i and j of c_T/(|T| - 1),

so that the pairs of complements that tell the Shapley values tell the Shapley interaction indices
too. The derivation is in the documentation, "The even-part Gaussian process".
"""

from skshapley._even._evidence import fit_scalars
from skshapley._even._fit import fit_even
from skshapley._even._functional import functional, functional_variance, interactions
from skshapley._even._hyper import EvenHyper
from skshapley._even._kernel import cross, gram
from skshapley._even._lesson import EvenLesson
from skshapley._even._players import EvenPlayerProcess, player_functional, player_variance
from skshapley._even._points import even_pairs, relative
from skshapley._even._posterior import EvenPosterior, EvenProcess
from skshapley._even._quadratic import quadratic
from skshapley._even._relevance import relevant

__all__ = [
    "EvenHyper",
    "EvenLesson",
    "EvenPlayerProcess",
    "EvenPosterior",
    "EvenProcess",
    "cross",
    "even_pairs",
    "fit_even",
    "fit_scalars",
    "functional",
    "functional_variance",
    "gram",
    "interactions",
    "player_functional",
    "player_variance",
    "quadratic",
    "relative",
    "relevant",
]
