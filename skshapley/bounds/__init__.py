"""The published bounds on the error of Shapley estimates, as functions of arrays.

- Of Monte Carlo over permutations (Maleki et al. 2013): `hoeffding_permutations`,
  `chebyshev_permutations`.
- Of least squares on coalitions drawn by leverage scores (Musco & Witter 2025):
  `leverage_error`, `leverage_samples`.
- Of any weighted set of permutations (Mitchell et al. 2022): `quadrature_error`, with
`function_variation`; and of the similarity of directions and their permutations,
`dot_product_bounds`.
- Of values from neighbours in a graph (Chen et al. 2018): `graph_error`, with
  `graph_dependence` and `absolute_information`.
- Of projected stochastic gradient (Grah & Thouvenot 2020), as printed and as corrected:
  all others.
There, epsilon is a threshold for the *squared* norm of the error.
"""

from skshapley.bounds._estimators import (
    chebyshev_permutations,
    dot_product_bounds,
    function_variation,
    hoeffding_permutations,
    leverage_error,
    leverage_samples,
    quadrature_error,
)
from skshapley.bounds._gradient import (
    condition_number,
    deviation_probability,
    expected_error,
    gradient_norm,
    least_evals,
    markov_probability,
    strong_convexity,
)
from skshapley.bounds._graphs import absolute_information, graph_dependence, graph_error

__all__ = [
    "absolute_information",
    "chebyshev_permutations",
    "condition_number",
    "deviation_probability",
    "dot_product_bounds",
    "expected_error",
    "function_variation",
    "gradient_norm",
    "graph_dependence",
    "graph_error",
    "hoeffding_permutations",
    "least_evals",
    "leverage_error",
    "leverage_samples",
    "markov_probability",
    "quadrature_error",
    "strong_convexity",
]
