"""Base class of samplers, and the price of their draws."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from skshapley._references import RowOrder
from skshapley._tools import Parametrised


@dataclass(frozen=True)
class Price:
    """The cost of draws, for a number of players and of background rows.

    A *draw* is the sampler's smallest request: a permutation or a coalition. Costs are
    in model rows, without the empty and the full coalition.

    Attributes
    ----------
    draw : int
        Model rows of one draw.
    coalitions : int
        Coalitions that one draw adds to a design.
    references : int
        Number of background rows, b: the model rows of one evaluation.
    least : int
        Draws of the smallest design.
    most : int or None
        Draws of the largest design; None if there is no limit.
    step : int
        Draws come in multiples of it.
    unit : int
        Draws of one independent unit, if a design is requested in parts.
    saved_rows : int
        Model rows saved by known values, for a design of any size.
    """

    draw: int
    coalitions: int
    references: int
    least: int
    most: int | None = None
    step: int = 1
    unit: int = 1
    saved_rows: int = 0

    @classmethod
    def of_coalitions(
        cls,
        n: int,
        n_references: int,
        least: int,
        most: int | None = None,
        step: int = 1,
    ) -> Self:
        """Return the price of draws of n coalitions, each against all background rows."""
        return cls(n * n_references, n, n_references, least, most, step, unit=step)

    @property
    def least_rows(self) -> int:
        """The smallest number of model rows that gives a design."""
        return self.least * self.draw - self.saved_rows

    @property
    def least_evals(self) -> int:
        """The smallest number of evaluations that gives a design."""
        return -(-self.least_rows // self.references)

    def n_draws(self, n_rows: int) -> int:
        """Return the number of draws that `n_rows` model rows buy; 0 below the smallest design."""
        n = max(0, n_rows + self.saved_rows) // self.draw
        # Whole steps only: a broken pair or block has no complement in the estimate.
        n = (n if self.most is None else min(n, self.most)) // self.step * self.step
        return n if n >= self.least else 0


@dataclass(frozen=True)
class Bought:
    """The draws that a budget buys for one row to explain.

    Attributes
    ----------
    price : Price
        Of draws against the background rows used.
    n_draws : int
        0 if the budget is too small for the least design.
    n_references : int
        Background rows used, or drawn from.
    samples : bool
        Whether some background rows are not used.
    to_stop : int
        Draws before a stopping rule is first checked.
    """

    price: Price
    n_draws: int
    n_references: int
    samples: bool
    to_stop: int


LEAST_REFERENCES = 100  # up to this number, all background rows are used
EVALS_A_PLAYER = 6  # evaluations against a sample of a larger background


@dataclass(frozen=True)
class SamplerTraits:
    """Abilities and needs of a sampler.

    Attributes
    ----------
    one_shot : bool
        True if the design for a budget is not the start of the design for a larger
        budget. The engine asks such a sampler once.
    goes_on : bool
        Whether it may be asked for more draws than `SamplerTask.n_draws`. Repeated
        coalitions cost nothing, and the saved budget buys further draws. False if all
        draws are planned together, as for a one-shot sampler.
    needs_all_players : bool
        True if players have positions (as in a graph), so that not even a player
        without effect can be left out.
    distinct : bool
        True if no coalition of a row repeats in its designs.
    """

    one_shot: bool = False
    goes_on: bool = True
    needs_all_players: bool = False
    distinct: bool = False


@dataclass(frozen=True, eq=False)
class BackgroundSample:
    """The background in balanced order, for samplers that use a part of it.

    Attributes
    ----------
    row_order : RowOrder
        All background rows in balanced order.
    share : float, default=1.0
        The share of the background in the references of the task.
    """

    row_order: RowOrder
    share: float = 1.0


@dataclass(frozen=True, eq=False)
class SamplerTask:
    """The rows to explain and the draws for which a sampler starts.

    Attributes
    ----------
    n_players : int
    rngs : list of numpy.random.Generator
        One per row to explain.
    n_draws : int
        The draws that the budget buys if no coalition is repeated. Otherwise, a sampler
        with ``goes_on`` is asked for more.
    reference_weights : ndarray of shape (b,)
        Weights of the background rows, with sum 1.
    background : BackgroundSample or None, default=None
        The background in balanced order, for samplers that use a part of it. None if
        all background rows are used.
    """

    n_players: int
    rngs: list[np.random.Generator]
    n_draws: int
    reference_weights: np.ndarray = field(default_factory=lambda: np.ones(1))
    background: BackgroundSample | None = None


class Sampler(Parametrised, ABC):
    """Base class of samplers.

    A sampler has parameters only. The engine calls `start` once for a block of rows,
    and then `ask` and `tell` in turn until the draws are spent or the rows are done.
    Subclasses implement the cost of draws (`price`) and the designs (`_ask`).

    Attributes
    ----------
    produces : type
        The design class that `ask` returns.
    traits : SamplerTraits
        Abilities and needs.
    """

    produces: type[Any]
    traits: SamplerTraits = SamplerTraits()

    @abstractmethod
    def price(self, n_players: int, n_references: int) -> Price:
        """Return the cost of draws.

        Parameters
        ----------
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b; 1 for a game without background.

        Raises
        ------
        ValueError
            If no design exists for this number of players.
        """

    def afford(self, n_rows: int, n_players: int, n_references: int) -> Bought:
        """Return the draws and the background rows that a budget buys.

        Parameters
        ----------
        n_rows : int
            Model rows per row to explain, without the empty and the full coalition.
        n_players : int
            Number of players, p.
        n_references : int
            Number of background rows, b.
        """
        looked_at = self._n_references(n_rows, n_players, n_references)
        price = self.price(n_players, looked_at)
        return Bought(
            price,
            price.n_draws(n_rows),
            looked_at,
            looked_at < n_references,
            price.least,
        )

    def _n_references(self, n_rows: int, n_players: int, n_references: int) -> int:
        """Return the number of background rows to use.

        All of them if they are few or affordable. Otherwise, the number that leaves six
        evaluations per player. The parameters are those of `afford`.
        """
        # A larger budget affords more background rows before players get fewer than six
        # evaluations each.
        enough = max(LEAST_REFERENCES, n_rows // (EVALS_A_PLAYER * n_players))
        if n_references <= enough:
            return n_references
        return max(
            1,
            min(
                enough,
                n_rows // max(1, self.price(n_players, n_references).least_evals),
            ),
        )

    def start(self, task: SamplerTask) -> Self:
        """Prepare a run.

        Parameters
        ----------
        task : SamplerTask

        Returns
        -------
        self
        """
        self.n_players_ = task.n_players
        self.n_draws_ = task.n_draws
        self.rngs_ = task.rngs
        self.reference_weights_ = task.reference_weights
        self._awaits_tell = False
        self._start(task)
        return self

    def draws_now(self, asked: int) -> int:
        """Return the largest number of draws to ask for before `tell` may change the next ones.

        Parameters
        ----------
        asked : int
            Draws so far.
        """
        return self.n_draws_ - asked

    def ask(self, rows: np.ndarray, n: int) -> Any:
        """Return a design of `n` draws for the given `rows`.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the rows passed to `start`.
        n : int
            Number of draws.

        Returns
        -------
        design : instance of `produces`

        Raises
        ------
        RuntimeError
            If `tell` was not called with the values of the previous design.
        """
        if self._awaits_tell:
            raise RuntimeError(
                f"{type(self).__name__}.ask was called twice: call tell with the first "
                "values before the next ask."
            )
        design = self._ask(rows, n)
        self._awaits_tell = True
        return design

    def tell(self, rows: np.ndarray, design: Any, values: np.ndarray) -> None:
        """Process the values of the last design.

        Parameters
        ----------
        rows : ndarray of shape (r,), int
            Positions among the rows passed to `start`.
        design : instance of `produces`
            The design that `ask` returned for these rows.
        values : ndarray of shape (r, m, k)
            Values of its coalitions.
        """
        self._awaits_tell = False
        self._tell(rows, design, values)

    def _start(self, task: SamplerTask) -> None:
        """Set up the state of a run."""

    @abstractmethod
    def _ask(self, rows: np.ndarray, n: int) -> Any:
        """Return a design of `n` draws for the given `rows`."""

    def _tell(self, rows: np.ndarray, design: Any, values: np.ndarray) -> None:
        """Learn from the values of a design (adaptive samplers only)."""
