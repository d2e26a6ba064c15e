"""Rewards: the worth v(S) of a coalition S of players."""

from skshapley.rewards._baseline import BaselineReward
from skshapley.rewards._conditional import (
    CausalReward,
    ConditionalReward,
    CopulaReward,
    EmpiricalReward,
)
from skshapley.rewards._data import DataGame
from skshapley.rewards._game import FunctionGame, Game
from skshapley.rewards._masked import Players
from skshapley.rewards._refit import RefitReward
from skshapley.rewards._response import Response
from skshapley.rewards._reward import InterventionalReward, Reward
from skshapley.rewards._surrogate import ForestReward, SurrogateReward
from skshapley.rewards._tiles import TileReward
from skshapley.rewards._tokens import TokenReward

REWARDS: dict[str, type[Reward]] = {
    "interventional": InterventionalReward,
    "baseline": BaselineReward,
    "conditional": ConditionalReward,
    "copula": CopulaReward,
    "empirical": EmpiricalReward,
    "surrogate": SurrogateReward,
    "forest": ForestReward,
    "refit": RefitReward,
}

__all__ = [
    "REWARDS",
    "BaselineReward",
    "CausalReward",
    "ConditionalReward",
    "CopulaReward",
    "DataGame",
    "EmpiricalReward",
    "ForestReward",
    "FunctionGame",
    "Game",
    "InterventionalReward",
    "Players",
    "RefitReward",
    "Response",
    "Reward",
    "SurrogateReward",
    "TileReward",
    "TokenReward",
]
