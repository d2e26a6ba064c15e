"""What repeated coalitions leave of a budget, and the further draws that it buys."""

import numpy as np

from skshapley.samplers._price import Price

# Where most draws repeat, what is left of a budget is not worth the search. These are the most
# draws of an instance in all, by those planned, and its most further asks: at 16 players 24 of them
# spend budgets of 1,000 and 4,000 evaluations to the last, and 15,900 of 16,000
MOST_TIMES = 4
MOST_ASKS = 24


class Rest:
    """What is left of the budgets of instances that have made their planned draws.

    Each instance goes on by itself, so that nobody's draws depend on who else is in the block. Only
    coalitions that it has not asked for before count. How many draws it makes in the end depends
    on the coalitions drawn, never on their values; since no player is favoured, given that number
    each permutation is still uniform, and each coalition among those of its size.

    Parameters
    ----------
    price : Price
    n_players : int
    planned : int
        Draws that the budget buys if no coalition comes twice.
    budget : int
        Model rows of an instance, those of the empty and the full coalition left out.
    rows_per_value : int
        Model rows of one evaluation.
    n_instances : int
    """

    def __init__(
        self,
        price: Price,
        n_players: int,
        planned: int,
        budget: int,
        rows_per_value: int,
        n_instances: int,
    ) -> None:
        self._price, self._rows_per_value = price, rows_per_value
        self._budget, self._everything = budget, (2**n_players - 2) * rows_per_value
        self._left = np.full(n_instances, (MOST_TIMES - 1) * planned)
        self._asks = np.zeros(n_instances, dtype=np.int64)

    def draws(self, members: np.ndarray, charged: np.ndarray, most: int) -> np.ndarray:
        """Return how many further draws each instance is to make next; 0 for none, ``(r,)``.

        The largest power of two, in steps, of those that what is left surely buys: so few asks
        serve many instances.

        Parameters
        ----------
        members : ndarray of shape (r,), int
            Which instances.
        charged : ndarray of shape (r,), int
            Model rows of the coalitions that they have asked for.
        most : int
            Draws in one ask.
        """
        price = self._price
        rows = (self._budget - charged) * price.references // self._rows_per_value
        draws = np.minimum(np.minimum(rows // price.draw, self._left[members]), most)
        steps = np.maximum(draws // price.step, 0)
        over = (charged >= self._everything) | (self._asks[members] >= MOST_ASKS) | (steps == 0)
        exponents = np.frexp(np.maximum(steps, 1))[1] - 1
        return np.where(over, 0, 2**exponents) * price.step

    def add(self, members: np.ndarray, n: int) -> None:
        """Note that instances `members` have made `n` further draws each."""
        self._left[members] -= n
        self._asks[members] += 1
