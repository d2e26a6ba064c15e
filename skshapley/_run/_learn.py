"""What a fit learns for all instances: from a few of them, and before any is explained."""

from dataclasses import replace
from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._run._cohort import N_DESIGNS
from skshapley._run._engine import Block, Plan, run
from skshapley._run._evaluate import Evaluator
from skshapley._run._rival import SHARE, walks_serve_better
from skshapley._tools._random import generator
from skshapley.rewards import Game


def learn(
    game: Game, plan: Plan, n_jobs: int | None = None, walks: Plan | None = None
) -> tuple[Any, bool]:
    """Return what the instances of a game teach about others, or None, and whether to walk.

    The designs that instances will share are made, and what solvers compute of a design alone, by
    a run with numbers in place of a model.

    Parameters
    ----------
    game : Game
        Of few instances.
    plan : Plan
    n_jobs : int or None
    walks : Plan or None
        Of walks that may serve better; a share of the model rows goes to their trial.
    """
    plan = replace(plan, stopping=None)
    _, solver = plan.components(game.n_players)
    outcome = Outcome.blank(game.n_rows, game.n_outputs, solver.entries(game.n_players))
    rows = plan.max_rows if walks is None else int((1 - SHARE) * plan.max_rows)
    with Evaluator(game, n_jobs) as evaluator:
        block = Block(game, replace(plan, max_rows=rows), np.arange(game.n_rows), None)
        cohorts = block.fill(outcome, evaluator)
    lesson = None
    for cohort in cohorts:
        lesson = cohort.solver.lesson(lesson)
    if lesson is None:  # nothing to learn: few coalitions, or a game that least squares solves
        return None, False
    if walks is not None and walks_serve_better(game, walks, outcome.standard_errors):
        return None, True
    run(_Rehearsal(game), plan, lesson=lesson)
    return lesson, False


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
