"""Games with known Shapley values, and the contracts of all components."""

from skshapley.testing._game_contract import check_game
from skshapley.testing._pair_contract import (
    check_consistent,
    check_pair,
    check_standard_errors,
    check_unbiased,
)
from skshapley.testing._result_contracts import check_display, check_way
from skshapley.testing._reward_contract import check_reward
from skshapley.testing._role_contracts import check_sampler, check_solver
from skshapley.testing.contracts import parametrize_contract
from skshapley.testing.games import (
    AdditiveGame,
    AirportGame,
    CooperativeGame,
    DividendGame,
    FourierGame,
    GloveGame,
    HybridGame,
    RandomGame,
    StackedGame,
    WeightedVotingGame,
    as_instances,
    brute_force,
    explain_game,
)

__all__ = [
    "AdditiveGame",
    "AirportGame",
    "CooperativeGame",
    "DividendGame",
    "FourierGame",
    "GloveGame",
    "HybridGame",
    "RandomGame",
    "StackedGame",
    "WeightedVotingGame",
    "as_instances",
    "brute_force",
    "check_consistent",
    "check_display",
    "check_game",
    "check_pair",
    "check_reward",
    "check_sampler",
    "check_solver",
    "check_standard_errors",
    "check_unbiased",
    "check_way",
    "explain_game",
    "parametrize_contract",
]
