"""Extra draws, paid by the part of a budget that repeated coalitions leave."""

import numpy as np

from skshapley._run._budget import Size
from skshapley.samplers._price import Price

# Where most draws repeat, what is left of a budget is not worth the search. These are the most
# draws of an instance in all, by those that the budget surely buys, and its most further asks: at
# 16 players 24 of them spend budgets of 1,000 and 4,000 evaluations to the last, and 15,900 of
# 16,000
MOST_TIMES = 4
MOST_ASKS = 24
MOST_ROWS = 2**40  # more than anybody waits for, and a number that fits


class Rest:
    """The remaining budgets of rows after their planned draws.

    Each instance goes on by itself, so that nobody's draws depend on who else is in the block. Only
    hybrid rows that it has not asked for before count: what came twice cost nothing, nor did the
    players that agree with a background row. How many draws it makes in the end depends on the
    coalitions drawn, never on their values; since among the players that differ from a background
    row none is favoured, given that number each order of them is still uniform there, and without
    ties each coalition among those of its size.

    Parameters
    ----------
    price : Price
    size : Size
        Of the game, the players that do not matter left out.
    planned : int
        Draws that the budget buys if no coalition comes twice.
    max_rows : int
        Model rows that an instance may cost.
    n_instances : int
    """

    def __init__(
        self, price: Price, size: Size, planned: int, max_rows: int, n_instances: int
    ) -> None:
        self._price, self._size = price, size
        self._budget = min(max_rows - 1, MOST_ROWS)
        self._everything = min(size.rows(2**size.n_players) - 1, MOST_ROWS)
        self._made, self._planned = np.full(n_instances, planned), planned
        self._asks = np.zeros(n_instances, dtype=np.int64)

    def draws(
        self,
        members: np.ndarray,
        charged: np.ndarray,
        most: int,
        steps: np.ndarray | None = None,
        every: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return how many further draws each instance is to make next; 0 for none, ``(r,)``.

        The largest power of two, in steps, of those that what is left surely buys: so few asks
        serve many instances.

        Parameters
        ----------
        members : ndarray of shape (r,), int
            Which instances.
        charged : ndarray of shape (r,), int
            Model rows that count against their budgets.
        most : int
            Draws in one ask.
        steps : ndarray of shape (r,), int, or None
            What a draw costs each of them at most; None for its price.
        every : ndarray of shape (r,) or None
            How many rows there are to evaluate; None for all coalitions.
        """
        price = self._price
        left = np.maximum(self._budget - charged, 0)
        rows = left * self._size.n_references // self._size.rows_per_value
        cost = price.draw if steps is None else steps
        room = MOST_TIMES * self._planned * price.draw // cost - self._made[members]
        draws = np.minimum(np.minimum(rows // cost, room), most * price.draw // cost)
        sets = np.maximum(draws // price.step, 0)
        everything = self._everything if every is None else np.minimum(every, self._everything)
        over = (charged >= everything) | (self._asks[members] >= MOST_ASKS) | (sets == 0)
        exponents = np.frexp(np.maximum(sets, 1))[1] - 1
        return np.where(over, 0, 2**exponents) * price.step

    def add(self, members: np.ndarray, n: int) -> None:
        """Note that instances `members` have made `n` further draws each."""
        self._made[members] += n
        self._asks[members] += 1
