"""Solvers: estimate attributions from the values of coalitions."""

from skshapley._process._pairs import OddDesign, RandomOddDesign
from skshapley.designs import (
    CoalitionDesign,
    ExtendedDesign,
    FullDesign,
    LinearDesign,
    MarginalDesign,
    OrderedDesign,
    PairDesign,
    PermutationDesign,
)
from skshapley.solvers._base import Estimate, Solver, SolverTask, SolverTraits
from skshapley.solvers._gp import GaussianProcess, LeaveOneOutProcess
from skshapley.solvers._least_squares import LeastSquares, ProjectedSGD
from skshapley.solvers._linear import (
    InteractionMean,
    Linear,
    MarginalMean,
    StratifiedMean,
)
from skshapley.solvers._permutation_mean import PermutationMean
from skshapley.solvers._sample_reuse import RegressionAdjustment, SampleReuse

SOLVERS: dict[str, type[Solver]] = {
    "permutation-mean": PermutationMean,
    "stratified-mean": StratifiedMean,
    "least-squares": LeastSquares,
    "sample-reuse": SampleReuse,
    "regression-adjustment": RegressionAdjustment,
    "gp": GaussianProcess,
    "gp-leave-one-out": LeaveOneOutProcess,
    "linear": Linear,
    "marginal-mean": MarginalMean,
    "sgd": ProjectedSGD,
    "interaction-mean": InteractionMean,
}

DEFAULT_SOLVERS: dict[type, str] = {
    PermutationDesign: "permutation-mean",
    OrderedDesign: "permutation-mean",
    CoalitionDesign: "least-squares",
    FullDesign: "linear",
    LinearDesign: "linear",
    OddDesign: "gp",
    RandomOddDesign: "gp-leave-one-out",
    MarginalDesign: "marginal-mean",
    PairDesign: "stratified-mean",
    ExtendedDesign: "interaction-mean",
}

__all__ = [
    "DEFAULT_SOLVERS",
    "SOLVERS",
    "Estimate",
    "GaussianProcess",
    "InteractionMean",
    "LeastSquares",
    "LeaveOneOutProcess",
    "Linear",
    "MarginalMean",
    "PermutationMean",
    "ProjectedSGD",
    "RegressionAdjustment",
    "SampleReuse",
    "Solver",
    "SolverTask",
    "SolverTraits",
    "StratifiedMean",
]
