"""Samplers: the choice of coalitions."""

from skshapley.samplers._base import (
    BackgroundSample,
    Sampler,
    SamplerTask,
    SamplerTraits,
)
from skshapley.samplers._coalitions import (
    CoalitionSampler,
    Exact,
    Importance,
    Kernel,
    Leverage,
    OuterSizes,
    SquareRoot,
    Uniform,
)
from skshapley.samplers._graph_methods import (
    ConnectedRegression,
    ConnectedShapley,
    LocalPermutations,
    LocalShapley,
    Myerson,
)
from skshapley.samplers._kernels import KendallKernel, MallowsKernel, SpearmanKernel
from skshapley.samplers._marginal import Classical, Owen, OwenHalved, Stratified
from skshapley.samplers._odd import Odd, OddLeverage, RankedOdd
from skshapley.samplers._ordered import ExactNested, Nested, Ordered
from skshapley.samplers._permutation_sets import (
    PERMUTATION_SAMPLERS,
    Herding,
    SequentialBayesianQuadrature,
    Sobol,
    draw_permutations,
)
from skshapley.samplers._permutations import (
    Antithetic,
    Extended,
    MonteCarlo,
    Orthogonal,
    PermutationSampler,
)

SAMPLERS: dict[str, type[Sampler]] = {
    "exact": Exact,
    **PERMUTATION_SAMPLERS,
    "classical": Classical,
    "owen": Owen,
    "owen-halved": OwenHalved,
    "stratified": Stratified,
    "kernel": Kernel,
    "importance": Importance,
    "uniform": Uniform,
    "leverage": Leverage,
    "square-root": SquareRoot,
    "outer-sizes": OuterSizes,
    "odd": Odd,
    "odd-leverage": OddLeverage,
    "odd-ranked": RankedOdd,
    "extended": Extended,
    "local": LocalShapley,
    "local-permutations": LocalPermutations,
    "connected": ConnectedShapley,
    "connected-regression": ConnectedRegression,
    "myerson": Myerson,
}

__all__ = [
    "SAMPLERS",
    "Antithetic",
    "BackgroundSample",
    "Classical",
    "CoalitionSampler",
    "ConnectedRegression",
    "ConnectedShapley",
    "Exact",
    "ExactNested",
    "Extended",
    "Herding",
    "Importance",
    "KendallKernel",
    "Kernel",
    "Leverage",
    "LocalPermutations",
    "LocalShapley",
    "MallowsKernel",
    "MonteCarlo",
    "Myerson",
    "Nested",
    "Odd",
    "OddLeverage",
    "Ordered",
    "Orthogonal",
    "OuterSizes",
    "Owen",
    "OwenHalved",
    "PermutationSampler",
    "RankedOdd",
    "Sampler",
    "SamplerTask",
    "SamplerTraits",
    "SequentialBayesianQuadrature",
    "Sobol",
    "SpearmanKernel",
    "SquareRoot",
    "Stratified",
    "Uniform",
    "draw_permutations",
]
