"""Games with known Shapley values, and the contracts of all parts, for anyone's tests."""

from skshapley.testing._instances import HybridGame, as_instances, explain_game
from skshapley.testing._parametrize import parametrize_contract
from skshapley.testing.contracts import (
    check_consistent,
    check_game,
    check_pair,
    check_reward,
    check_sampler,
    check_solver,
    check_standard_errors,
    check_unbiased,
)
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
    "check_consistent",
    "check_game",
    "check_pair",
    "check_reward",
    "check_sampler",
    "check_solver",
    "check_standard_errors",
    "check_unbiased",
    "explain_game",
    "parametrize_contract",
]
