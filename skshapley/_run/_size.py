"""How large a game is, and what its values cost."""

from dataclasses import dataclass
from typing import Self

from skshapley.rewards import Game


@dataclass(frozen=True)
class Size:
    """How large a game is.

    Attributes
    ----------
    n_players, n_references : int
    rows_per_value : int
        Model rows of one evaluation, against all references.
    """

    n_players: int
    n_references: int = 1
    rows_per_value: int = 1

    @classmethod
    def of(cls, game: Game) -> Self:
        """Return the size of a game."""
        return cls(game.n_players, game.n_references, game.rows_per_value)

    def rows(self, n_evals: int) -> int:
        """Return the model rows of so many evaluations, v(empty) and v(all) among them."""
        return (n_evals - 2) * self.rows_per_value + 1

    def values(self, max_rows: int) -> int:
        """Return how many coalitions, each against one reference, so many model rows pay for.

        The instance itself takes one of them.
        """
        return (max_rows - 1) * self.n_references // self.rows_per_value
