"""Rewards: what a coalition is worth."""

from skshapley.rewards._function import FunctionGame
from skshapley.rewards._game import Game

__all__ = ["FunctionGame", "Game"]
