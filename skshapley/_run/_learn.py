"""What a fit learns for all instances: from a few of them, and before any is explained."""

from dataclasses import replace
from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._run._cohort import N_DESIGNS, Cohort
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
    last, lesson = game.n_rows - 1, None
    with Evaluator(game, n_jobs) as evaluator:
        for row in range(game.n_rows):
            own = plan
            if walks is not None and row == last > 0:  # it pays for the walks of the first
                own = replace(plan, max_rows=int((1 - SHARE) * plan.max_rows))
            pilot = _explained(game, own, row, evaluator)
            if pilot is None:
                continue
            lesson = pilot.solver.lesson(lesson)
            if row == 0 and lesson is not None and walks is not None:
                first = game.take(np.array([0]))
                if walks_serve_better(first, walks, pilot.seen_errors()):
                    return None, True  # walks need nothing of the other pilots
    if lesson is None:  # nothing to learn: few coalitions, or a game that least squares solves
        return None, False
    run(_Rehearsal(game), plan, lesson=lesson)
    return lesson, False


def _explained(game: Game, plan: Plan, row: int, evaluator: Evaluator) -> Cohort | None:
    """Explain one instance and return its cohort; None where at most one player matters."""
    _, solver = plan.components(game.n_players)
    outcome = Outcome.blank(game.n_rows, game.n_outputs, solver.entries(game.n_players))
    cohorts = Block(game, plan, np.array([row]), None).fill(outcome, evaluator)
    return cohorts[0] if cohorts else None


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
