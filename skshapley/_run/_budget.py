"""The budget for one row to explain, in model rows or in evaluations of a game."""

from dataclasses import dataclass
from math import ceil, sqrt
from typing import Any, Self

from skshapley._tools._constraints import Count
from skshapley._tools._memory import working_bytes
from skshapley.rewards import Game
from skshapley.samplers import Sampler

# Draws that repeat cost no evaluation, so that a budget of more coalitions than there are would
# never be spent: it is cut to all of them, or to this many, with which no error is left to speak of
ENOUGH_EVALS = 2**18
MOST_EVALS = 2**26  # of an instance, without a rule that stops: hours of most models
SMALL_BYTES = 2**27  # a single design may take as much, however little the working memory is
USUAL_REFERENCES = 100  # with more background rows than these "auto" asks for no more model rows


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


@dataclass(frozen=True)
class Budget:
    """The requested budget and its size.

    Attributes
    ----------
    owner : str
    given : int or "auto"
        In model rows, or in evaluations.
    size : Size
    in_evals : bool
        Whether evaluations are counted: of a game, not of a model.
    """

    owner: str
    given: Any
    size: Size
    in_evals: bool

    @property
    def asked(self) -> str:
        """The owner and value of the budget, for errors."""
        return f"{self.owner} got {self._parameter}={self.given!r}"

    @property
    def _parameter(self) -> str:
        return "max_evals" if self.in_evals else "max_rows"

    def told(self, n_values: int) -> str:
        """Return a phrase for the cost of so many coalitions against one background row."""
        size = self.size
        n_rows = -(-n_values * size.rows_per_value // size.n_references) + 1
        if not self.in_evals:
            return f"{n_rows} model rows"
        return f"{-(-(n_rows - 1) // size.rows_per_value) + 2} evaluations"

    def rows(self, times: int) -> int:
        """Return the model rows of an instance; `times` the usual where it is left to us."""
        p, size = self.size.n_players, self.size
        if isinstance(self.given, str) and self.given == "auto":
            return auto_rows(size) * times
        if not Count().allows(self.given):
            what = "evaluations" if self.in_evals else "model rows"
            raise ValueError(
                f'{self.owner} takes {self._parameter} as "auto" or a positive int, {what} per'
                f" instance; got {self.given!r}."
            )
        if self.in_evals and p == 1 and self.given < 2:
            raise ValueError(
                f"{self.asked}, which is too small: a game of one player has 2 evaluations, those"
                f" of nobody and of everybody."
            )
        given = size.rows(int(self.given)) if self.in_evals else int(self.given)
        return min(given, size.rows(max(2**p, ENOUGH_EVALS)))

    def check(self, n_rows: int, sampler: Sampler, name: str, stops: bool) -> None:
        """Refuse a budget that is too small for any design, or too large for memory or time."""
        p, values = self.size.n_players, self.size.values(n_rows)
        bought = sampler.afford(values, p, self.size.n_references)
        price, n_draws = bought.price, bought.n_draws
        if not n_draws:
            raise ValueError(
                f"{self.asked}, which is too small {name}with {p} players: it needs at least"
                f" {self.told(price.least_rows)} per instance{self._remedy(sampler)}."
            )
        room = max(working_bytes(), SMALL_BYTES)
        most = int(room // design_bytes(price.coalitions, p))
        if sampler.traits.one_shot and n_draws > max(most, price.least):
            raise ValueError(
                f"{self.asked}, but {type(sampler).__name__} makes a single design, and the"
                f" working memory holds one of {self.told(most * price.draw - price.given)} with"
                f" {p} players: pass fewer, raise sklearn.set_config(working_memory=), or choose a"
                f' sampler that is asked in parts, such as "antithetic".'
            )
        if not stops and n_draws * price.draw > MOST_EVALS * price.references:
            raise ValueError(
                f"{self.asked}, more than the {self.told(MOST_EVALS * price.references)} that an"
                f" instance can have without a stopping rule: pass fewer, or"
                f" stopping=skshapley.stopping.StandardError(rtol=0.05)."
            )

    def _remedy(self, sampler: Sampler) -> str:
        """Return a further remedy if an evaluation needs many background rows."""
        if self.in_evals or self.size.rows_per_value < 2 or self.size.n_references > 1:
            return ""
        return "; or keep fewer of the background rows, such as max_background=100"


def auto_rows(size: Size) -> int:
    """Return the model rows per instance that "auto" stands for.

    ``b (max(256, 4 p) + 768 / sqrt(b))`` for b references, 100 of them at most: up to 8 players
    against 100 rows are enumerated; every one of so many rows gets at least two pairs of walks; and
    since an evaluation against b rows is b walks' steps, small backgrounds need more evaluations
    for the same error. A larger table costs no more: its rows are sampled. On XGBoost models of 10
    to 100 features this stays below the errors of shap's PermutationExplainer with its default of
    500 evaluations, at b = 100 with a quarter of them too (``benchmarks/budget.py``).
    """
    b = min(size.n_references, USUAL_REFERENCES)
    n_evals = max(256, 4 * size.n_players) + ceil(768 / sqrt(b))
    return Size(size.n_players, b, size.rows_per_value * b // size.n_references).rows(n_evals)


def design_bytes(coalitions: int, n_players: int, n_outputs: int = 1) -> int:
    """Return the approximate memory of a row's coalitions and values, in bytes."""
    return coalitions * (4 * n_players + 48 * n_outputs + 64)
