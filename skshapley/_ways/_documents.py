"""Documents explained by their tokens; absent tokens are removed."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from skshapley._records._result import ShapleyResult
from skshapley._run._engine import run
from skshapley._run._plan import Request, Size
from skshapley._tools import progress
from skshapley._ways._base import Way
from skshapley.exceptions import PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.rewards._tokens import TokenGame, side_by_side


@dataclass(frozen=True, eq=False, kw_only=True)
class Documents(Way):
    """Tokens of documents, sampled document by document.

    Attributes
    ----------
    request : Request
        The budget depends on the number of tokens, so each document has its own plan.
    """

    request: Request
    merge = staticmethod(side_by_side)

    def explain(self, X: pd.Series, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of documents, with a column for each token of any."""
        finished: list[Explanation] = []
        with progress(len(X), verbose) as report:
            for index, text in X.items():
                try:
                    finished.append(self._single(text, index, n_jobs))
                except (Exception, KeyboardInterrupt) as error:
                    if not finished:
                        raise
                    raise PartialExplanationError(
                        f"Explaining stopped by {type(error).__name__} after "
                        f"{len(finished)} of {len(X)} documents; the finished rows are "
                        "in the .explanation of this error.",
                        _joined(finished, X.index),
                    ) from error
                report(len(finished))
        return _joined(finished, X.index)

    def _single(self, text: str, index: Any, n_jobs: int | None) -> Explanation:
        game = TokenGame(self.reward.of(text))
        plan = self.request.plan(Size(game.n_players))
        outcome = run(game, plan, self.entropy, n_jobs=n_jobs)
        settings = self.labels.settings.sampled(
            outcome,
            plan,
            self.entropy,
            self.labels.random_state,
        )
        return game.function.explained(
            ShapleyResult.from_outcome(outcome, game.one_output),
            settings,
            index,
        )

    def predictions(self, X: Any) -> np.ndarray:
        """Return the responses to documents, ``(r, k)``, as their games have them."""
        games = [TokenGame(self.reward.of(text)) for text in X]
        return np.concatenate([game.full(np.arange(1)) for game in games])

    def state(self) -> dict[str, Any]:
        """Return the response to an empty document; there is no background."""
        return {"responses": [self.predictions([""])]}


def _joined(explanations: list[Explanation], index: pd.Index) -> Explanation:
    """Return one explanation with the settings of the document that has the most tokens."""
    longest = max(explanations, key=lambda explanation: explanation.values.shape[1])
    whole = side_by_side(explanations)
    return replace(
        whole,
        data=whole.data.set_axis(index[: len(explanations)]),
        settings=longest.settings,
    )
