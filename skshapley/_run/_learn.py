"""What a fit learns for all instances: from a few of them, and before any is explained."""

from dataclasses import replace
from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._run._cohort import N_DESIGNS
from skshapley._run._engine import Block, Plan, run
from skshapley._run._evaluate import Evaluator
from skshapley._tools._random import generator
from skshapley.rewards import Game


def learn(game: Game, plan: Plan, n_jobs: int | None = None) -> Any:
    """Return what the instances of a game teach about others, or None.

    The designs that instances will share are made, and what solvers compute of a design alone, by
    a run with numbers in place of a model.

    Parameters
    ----------
    game : Game
        Of few instances.
    plan : Plan
    n_jobs : int or None
    """
    plan = replace(plan, stopping=None)
    _, solver = plan.components(game.n_players)
    outcome = Outcome.blank(game.n_rows, game.n_outputs, solver.entries(game.n_players))
    with Evaluator(game, n_jobs) as evaluator:
        cohorts = Block(game, plan, np.arange(game.n_rows), None).fill(outcome, evaluator)
    lesson = None
    for cohort in cohorts:
        lesson = cohort.solver.lesson(lesson)
    if lesson is not None:
        run(_Rehearsal(game), plan, lesson=lesson)
    return lesson


class _Rehearsal(Game):
    """An instance for each design that is shared, with random numbers for values."""

    def __init__(self, game: Game) -> None:
        most = game.active(np.arange(game.n_rows)).sum(axis=1).argmax()
        self._active = game.active(np.full(N_DESIGNS, most))
        self.n_players, self.n_rows, self.n_outputs = game.n_players, N_DESIGNS, 1
        self.n_references, self.reference_weights = game.n_references, game.reference_weights
        self.deck, self.rows_per_value = game.deck, game.rows_per_value
        self._rng = generator(0, 1)

    def __call__(self, coalitions, rows, references=None) -> np.ndarray:
        return self._rng.standard_normal((*coalitions.shape[:2], 1))

    def empty(self, rows) -> np.ndarray:
        return np.zeros((len(rows), self.n_references, 1))

    def full(self, rows) -> np.ndarray:
        return np.ones((len(rows), 1))

    def active(self, rows) -> np.ndarray:
        return self._active[rows]
