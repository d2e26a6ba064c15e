"""Base class of solvers that store all coalitions, and solve each row at the end."""

from abc import abstractmethod

import numpy as np

from skshapley.designs import CoalitionDesign
from skshapley.solvers._base import Estimate, Solver, SolverTask


class CoalitionSolver(Solver):
    """Store the coalitions and the values of each row; subclasses implement `_solve`."""

    accepts: tuple[type, ...] = (CoalitionDesign,)
    default_sampler = "leverage"

    def _start(self, task: SolverTask) -> None:
        self._kept: list[list[tuple]] = [[] for _ in self.v_empty_]

    def update(
        self, rows: np.ndarray, design: CoalitionDesign, values: np.ndarray
    ) -> None:
        """Store the coalitions, the expected draws of their sizes, and their values."""
        self._design, m = design, design.coalitions.shape[1]
        for i, row in enumerate(rows):
            sample = design.coalitions[i], design.expected_draws[i] / m, values[i]
            self._kept[row].append(sample)

    def result(self) -> Estimate:
        """Return the solution of each row, with standard errors."""
        solved = []
        for row, samples in enumerate(self._kept):
            coalitions, rates, values = (
                np.concatenate(part) for part in zip(*samples, strict=True)
            )
            solved.append(self._solve(row, coalitions, rates * len(rates), values))
        return Estimate(*(np.stack(part) for part in zip(*solved, strict=True)))

    @abstractmethod
    def _solve(
        self, row: int, coalitions: np.ndarray, expected: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the values and the standard errors of a row, ``(p, k)`` each.

        Parameters
        ----------
        row : int
        coalitions : ndarray of shape (m, p), bool
        expected : ndarray of shape (m,)
            Expected number of coalitions of that size.
        values : ndarray of shape (m, k)
        """
