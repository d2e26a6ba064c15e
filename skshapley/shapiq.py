"""An approximator of shapiq with the samplers and solvers of skshapley, for shapiq's benchmarks."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np
from shapiq import InteractionValues
from shapiq.approximator.base import Approximator

from skshapley._estimators._orders import shapley_values

__all__ = ["ShapleyApproximator"]

# The index of players and the index of pairs that belong to each index of shapiq
INDICES: dict[str, tuple[str, str | bool]] = {
    "SV": ("shapley", False),
    "BV": ("banzhaf", False),
    "SII": ("shapley", "shapley"),
    "k-SII": ("shapley", "shapley"),
    "BII": ("banzhaf", "banzhaf"),
}


class ShapleyApproximator(Approximator):
    """Estimate Shapley and Banzhaf values, and interactions of pairs, for shapiq.

    Parameters
    ----------
    n : int
        Number of players.
    max_order : int, default=1
        1 for values of players, 2 for interactions of pairs too.
    index : {"SV", "BV", "SII", "k-SII", "BII"}, default="SV"
        The index, by shapiq's name. "SV" and "BV" have order 1.
    sampler, solver : str, Sampler or Solver, default="auto"
        As for `skshapley.shapley_values`.
    random_state : int or None, default=None

    Raises
    ------
    ValueError
        For other indices, or an order that does not belong to the index.

    References
    ----------
    Muschalik et al. (2024), shapiq: Shapley interactions for machine learning, NeurIPS.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.shapiq import ShapleyApproximator
    >>> approximator = ShapleyApproximator(n=3, random_state=0)
    >>> found = approximator.approximate(8, lambda S: S @ np.array([1.0, 2.0, 3.0]))
    >>> found.get_n_order_values(1).round(6)
    array([1., 2., 3.])
    """

    valid_indices = tuple(INDICES)

    def __init__(
        self,
        n: int,
        max_order: int = 1,
        index: str = "SV",
        *,
        sampler: Any = "auto",
        solver: Any = "auto",
        random_state: int | None = None,
    ) -> None:
        super().__init__(n, max_order, index, random_state=random_state)
        self.sampler = sampler
        self.solver = solver
        orders = (1, 2) if INDICES[index][1] else (1,)
        if max_order not in orders:
            raise ValueError(
                f"{type(self).__name__} takes "
                f"max_order={' or '.join(map(str, orders))} with "
                f'index="{index}"; got max_order={max_order!r}. For interactions of '
                'pairs, pass index="SII", max_order=2.'
            )

    def approximate(
        self,
        budget: int,
        game: Callable[[np.ndarray], np.ndarray],
    ) -> InteractionValues:
        """Estimate the index from at most `budget` evaluations of a game.

        Parameters
        ----------
        budget : int
        game : callable
            From boolean coalitions ``(m, n)`` to their values ``(m,)``.

        Returns
        -------
        values : InteractionValues
        """
        of_players, of_pairs = INDICES[self.index]
        result = shapley_values(
            game,
            n_players=self.n,
            sampler=self.sampler,
            solver=self.solver,
            max_evals=budget,
            random_state=self._random_state,
            index=of_players,
            interactions=self.max_order == 2 and of_pairs,
        )
        estimates: dict[tuple[int, ...], float] = {(): float(result.base_value)}
        single = result.values
        if result.interactions is not None:
            matrix = result.interactions.values[0]
            estimates |= {
                (i, j): float(matrix[i, j]) for i, j in combinations(range(self.n), 2)
            }
            if self.index == "k-SII":  # the values of players and pairs then add up
                single = single - matrix.sum(axis=0) / 2
        estimates |= {(j,): float(value) for j, value in enumerate(single)}
        return InteractionValues(
            estimates,
            index=self.index,
            min_order=0,
            max_order=self.max_order,
            n_players=self.n,
            estimated=budget < 2**self.n,
            estimation_budget=int(result.n_evaluations),
            baseline_value=float(result.base_value),
        )
