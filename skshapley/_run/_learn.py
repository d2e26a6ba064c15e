"""What a fit learns for all instances from a few of them."""

from dataclasses import replace
from typing import Any

import numpy as np

from skshapley._run._engine import Plan, run
from skshapley.rewards import Game


def learn(game: Game, plan: Plan, n_jobs: int | None = None) -> Any:
    """Return the lesson that the instances of a game teach about others, or None.

    Parameters
    ----------
    game : Game
        Of few instances.
    plan : Plan
    n_jobs : int or None
    """
    plan, lesson = replace(plan, stopping=None), None
    for row in range(game.n_rows):
        solver = run(game.take(np.array([row])), plan, n_jobs=n_jobs).solver
        lesson = lesson if solver is None else solver.lesson(lesson)
    return lesson
