"""The budget of the rows of a cohort: their next draws, and the looks of a stopping rule."""

from math import sqrt

import numpy as np

from skshapley._run._plan import Plan, Size
from skshapley.designs import StepwiseDesign
from skshapley.samplers import Sampler
from skshapley.samplers._base import Bought
from skshapley.solvers import Estimate, Solver

ASK_BYTES = 2**22  # coalitions of one row per design
# Draws and evaluations before the first look at a row. Rows of single trees that stop
# after 64 evaluations are the lucky ones: 1 % of their values were off by more than
# four standard errors, and none after 128.
FIRST_DRAWS = 64
FIRST_EVALUATIONS = 128
GROWTH = 1.6  # growth of the number of draws between two possible looks
# The same if a stop needs two looks: a row that passes the first look costs 1.25 times
# as much, and other rows 1.1 times as much on average
CONFIRMED_GROWTH = 1.25
# Errors may shrink faster than with the root of the number of draws, as a regression
# improves. A look is skipped if the rule would fail even with errors smaller by this
# factor. On perceptrons of 8 to 32 columns, 4.8 looks a row become 3.4, and no row needs
# more draws. With .7, they become 2.3, for 8 to 17 % more draws.
OPTIMISM = 0.5
# If most draws repeat, the rest of a budget is not worth the search. These constants
# limit the draws of a row, relative to the draws that the budget surely buys, and its
# further designs. At 16 players, 24 designs spend budgets of 1,000 and 4,000
# evaluations completely, and 15,900 of 16,000
MOST_TIMES = 6
MOST_ASKS = 24
# Permutations against background rows have spent a budget from this share on. Players
# that agree with a row save model rows, and the last designs that they buy are small:
# on adult and bank, single rows take 1.2 to 1.6 times as long if 98 % is spent, with
# equal errors.
ENOUGH = 7 / 8
MOST_ROWS = 2**40  # larger than any practical budget, and safe in int64


class Schedule:
    """The draws of rows that share designs, and the looks of a stopping rule at them.

    An estimate takes as long as thousands of model rows of a fast model. Rows are
    therefore not looked at while their errors are predicted to be too large. The
    prediction uses a row's own estimates only, so a row stops after the same draws in
    any company.

    Parameters
    ----------
    plan : Plan
    size : Size
        The size of the game without the players that do not matter.
    sampler, solver : Sampler and Solver
    bought : Bought
        The draws that the budget of a row buys.
    n_rows : int

    Attributes
    ----------
    open, asking : ndarray of int
        Open rows, and the rows of the next design.
    converged : ndarray of shape (n_rows,), bool
        Rows that the rule has stopped.
    """

    def __init__(
        self,
        plan: Plan,
        size: Size,
        sampler: Sampler,
        solver: Solver,
        bought: Bought,
        n_rows: int,
    ) -> None:
        self._rule = plan.stopping
        self._sampler = sampler
        self._price = bought.price
        self._size = size
        # all rows start open, and the first design is for all of them
        self.open = self.asking = np.arange(n_rows)
        self.converged = np.zeros(n_rows, dtype=bool)
        # draws so far, remaining planned draws, and draws of the next design beyond
        self._asked = 0
        self._left = bought.n_draws
        self._further = 0
        unit = self._price.unit
        first = max(FIRST_DRAWS, FIRST_EVALUATIONS // self._price.coalitions)
        # draws at the next look at any row, and at each row
        self._goal = max(bought.to_stop, -(-first // unit) * unit)
        self._next_look = np.zeros(n_rows)
        # rows that passed their last look, if a stop needs two
        self._confirms = solver.traits.confirms
        self._passed = np.zeros(n_rows, dtype=bool)
        planned = issubclass(sampler.produces, solver.traits.planned)
        traits = sampler.traits
        self._goes_on = traits.goes_on and not planned and not traits.one_shot
        # further draws and designs of each row, model rows of its budget, and the part
        # of the budget to spend
        self._room = np.full(n_rows, (MOST_TIMES - 1) * bought.n_draws)
        self._asks = np.zeros(n_rows, dtype=np.int64)
        self._budget = min(plan.max_rows - 1, MOST_ROWS)
        walks = size.n_references > 1 and issubclass(sampler.produces, StepwiseDesign)
        enough = (ENOUGH if walks else 1.0) * self._budget
        self._enough = min(size.rows(2**size.n_players) - 1, enough)

    def next_draws(self) -> int:
        """Return the number of draws to request: as many as the rule and memory allow."""
        if not self._left:
            return self._further
        n = self._left
        if not self._sampler.traits.one_shot:
            # Samplers may want small first designs, from which they learn before they
            # draw more.
            n = min(n, self._most_draws(), self._sampler.draws_now(self._asked))
            if self._rule is not None:
                n = min(n, self._goal - self._asked)
        self._asked = self._asked + n
        self._left = self._left - n
        return n

    def _most_draws(self) -> int:
        """Return the largest number of draws per design that memory allows, in whole units."""
        unit = self._price.unit
        return (
            max(ASK_BYTES // (self._size.n_players * self._price.coalitions) // unit, 1)
            * unit
        )

    def due(self) -> np.ndarray:
        """Return the rows to look at, if any."""
        if self._rule is None or (self._left and self._asked < self._goal):
            return self.open[:0]
        self._goal = self._after(self._asked)
        due = self._next_look[self.open] <= self._asked
        return self.open[due] if self._left else self.open

    def stop(self, rows: np.ndarray, estimate: Estimate) -> None:
        """Close the rows that the rule stops, and plan the next look at the others.

        Parameters
        ----------
        rows : ndarray of shape (u,), int
        estimate : Estimate
            Of these rows, without interactions.
        """
        values = estimate.values
        errors = estimate.standard_errors
        if errors is None or self._rule is None:
            return
        done = self._rule.done(values, errors)
        if estimate.additive is not None and self._left:
            # Additive rows become exact with the last background row, so an early stop
            # would save little.
            done &= ~estimate.additive
        look = self._after(self._asked)
        waiting = np.isfinite(errors).all(axis=(1, 2))
        if self._confirms and self._left:
            confirmed = done & self._passed[rows]
            self._passed[rows] = done
            done = confirmed
        self.converged[rows[done]] = True
        self.open = self.open[~self.converged[self.open]]
        self._next_look[rows] = look
        while look < self._asked + self._left and waiting.any():
            shrinkage = OPTIMISM * sqrt(self._asked / look)
            waiting &= ~self._rule.done(values, errors * shrinkage)
            look = self._after(look)
            self._next_look[rows[waiting]] = look

    def _after(self, draws: int) -> int:
        """Return the draws at the next possible look: geometric growth keeps looks few."""
        growth = CONFIRMED_GROWTH if self._confirms else GROWTH
        n_units = int(draws * (growth - 1)) // self._price.unit
        return draws + max(n_units, 1) * self._price.unit

    def go_on(self, spent: np.ndarray) -> None:
        """Choose the open rows with the most draws to make, and close rows without.

        Rows with fewer draws to make beyond the plan wait for their turn.

        Parameters
        ----------
        spent : ndarray of shape (n_rows,), int
            Model rows charged to each row.
        """
        self.asking = self.open
        if self._left:
            return
        draws = (
            self._further_draws(spent[self.open])
            if self._goes_on
            else np.zeros(len(self.open), dtype=np.int64)
        )
        self._further = int(draws.max(initial=0))
        self.asking = self.open[draws == self._further]
        self.open = self.open[draws > 0]
        self._room[self.asking] -= self._further
        self._asks[self.asking] += 1

    def _further_draws(self, spent: np.ndarray) -> np.ndarray:
        """Return the number of draws beyond the plan that each open row makes next, ``(r,)``.

        It is the largest power of two, in steps, that the remaining budget surely buys.
        Few different numbers let many rows share a design.

        Each row continues alone, so its draws do not depend on the other rows of the
        block. Only new model rows count: repeated coalitions are free, and so are
        players that agree with a background row. The final number of draws depends on
        the coalitions drawn but never on their values. It favours no player among those
        that differ from a background row. Given that number, each order of these
        players is therefore still uniform, and without ties so is each coalition of a
        size.

        Parameters
        ----------
        spent : ndarray of shape (r,), int
            Model rows charged to the open rows.
        """
        left = np.maximum(self._budget - spent, 0)
        rows = left * self._size.n_references // self._size.rows_per_value
        draws = np.minimum(rows // self._price.draw, self._room[self.open])
        sets = np.minimum(draws, self._most_draws()) // self._price.step
        over = (spent >= self._enough) | (self._asks[self.open] >= MOST_ASKS)
        over |= sets <= 0
        # frexp returns a mantissa in [1/2, 1), so this is floor(log2) without rounding
        # errors
        exponents = np.frexp(np.maximum(sets, 1))[1] - 1
        return np.where(over, 0, 2**exponents) * self._price.step
