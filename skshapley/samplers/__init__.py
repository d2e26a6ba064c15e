"""Samplers: which coalitions to look at."""

from skshapley.samplers._base import Sampler
from skshapley.samplers._coalitions import CoalitionSampler, Kernel, Leverage
from skshapley.samplers._connected import ConnectedShapley
from skshapley.samplers._connected_regression import ConnectedRegression
from skshapley.samplers._exact import Exact
from skshapley.samplers._local import LocalShapley
from skshapley.samplers._local_permutations import LocalPermutations
from skshapley.samplers._myerson import Myerson
from skshapley.samplers._permutations import Antithetic, MonteCarlo, Orthogonal, PermutationSampler

SAMPLERS: dict[str, type[Sampler]] = {
    "exact": Exact,
    "monte-carlo": MonteCarlo,
    "antithetic": Antithetic,
    "orthogonal": Orthogonal,
    "kernel": Kernel,
    "leverage": Leverage,
    "local": LocalShapley,
    "local-permutations": LocalPermutations,
    "connected": ConnectedShapley,
    "connected-regression": ConnectedRegression,
    "myerson": Myerson,
}

__all__ = [
    "SAMPLERS",
    "Antithetic",
    "CoalitionSampler",
    "ConnectedRegression",
    "ConnectedShapley",
    "Exact",
    "Kernel",
    "Leverage",
    "LocalPermutations",
    "LocalShapley",
    "MonteCarlo",
    "Myerson",
    "Orthogonal",
    "PermutationSampler",
    "Sampler",
]
