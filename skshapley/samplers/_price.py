"""The cost of a sampler's designs."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Price:
    """The cost of draws, for a number of players and of background rows.

    A *draw* is the sampler's own smallest thing to ask for: a permutation, a coalition. Costs are
    in model rows and leave out the empty and the full coalition, whose values are known.

    Attributes
    ----------
    draw : int
        Model rows of one draw.
    coalitions : int
        Coalitions that one draw adds to a design.
    references : int
        Number of background rows, b: the model rows of one evaluation.
    least : int
        Draws of the least design.
    most : int or None
        Draws of the largest design; None for no end.
    step : int
        Draws come in multiples of it.
    unit : int
        Draws that make one independent unit, where a design is asked for in parts.
    given : int
        Model rows that known values save a design, whatever its size.
    """

    draw: int
    coalitions: int
    references: int
    least: int
    most: int | None = None
    step: int = 1
    unit: int = 1
    given: int = 0

    @property
    def least_rows(self) -> int:
        """The least number of model rows that give a design."""
        return self.least * self.draw - self.given

    @property
    def least_evals(self) -> int:
        """The least number of evaluations that give a design."""
        return -(-self.least_rows // self.references)

    def n_draws(self, n_rows: int) -> int:
        """Return how many draws `n_rows` model rows buy; 0 if not even the least design."""
        n = max(0, n_rows + self.given) // self.draw
        n = (n if self.most is None else min(n, self.most)) // self.step * self.step
        return n if n >= self.least else 0


@dataclass(frozen=True)
class Bought:
    """The draws that a budget buys for one row to explain.

    Attributes
    ----------
    price : Price
        Of draws against the background rows that are looked at.
    n_draws : int
        0 if the budget does not reach for the least design.
    n_references : int
        Background rows that are looked at, or dealt from.
    samples : bool
        Whether some background rows are not looked at.
    to_stop : int
        Draws before which a stopping rule need not look.
    """

    price: Price
    n_draws: int
    n_references: int
    samples: bool
    to_stop: int
