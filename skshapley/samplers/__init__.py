"""Samplers: which coalitions to look at."""

from skshapley.samplers._base import Sampler
from skshapley.samplers._coalitions import CoalitionSampler, Kernel, Leverage
from skshapley.samplers._exact import Exact
from skshapley.samplers._permutations import Antithetic, MonteCarlo, Orthogonal, PermutationSampler

SAMPLERS: dict[str, type[Sampler]] = {
    "exact": Exact,
    "monte-carlo": MonteCarlo,
    "antithetic": Antithetic,
    "orthogonal": Orthogonal,
    "kernel": Kernel,
    "leverage": Leverage,
}

__all__ = [
    "SAMPLERS",
    "Antithetic",
    "CoalitionSampler",
    "Exact",
    "Kernel",
    "Leverage",
    "MonteCarlo",
    "Orthogonal",
    "PermutationSampler",
    "Sampler",
]
