"""Games with known Shapley values and the contracts of samplers and solvers, for anyone's tests."""

from skshapley.testing._instances import HybridGame, as_instances, explain_game
from skshapley.testing.games import (
    AdditiveGame,
    AirportGame,
    CooperativeGame,
    DividendGame,
    FourierGame,
    GloveGame,
    PairwiseGame,
    RandomGame,
    SizeGame,
    StackedGame,
    UnanimityGame,
    WeightedVotingGame,
    brute_force,
)

__all__ = [
    "AdditiveGame",
    "AirportGame",
    "CooperativeGame",
    "DividendGame",
    "FourierGame",
    "GloveGame",
    "HybridGame",
    "PairwiseGame",
    "RandomGame",
    "SizeGame",
    "StackedGame",
    "UnanimityGame",
    "WeightedVotingGame",
    "as_instances",
    "brute_force",
    "explain_game",
]
