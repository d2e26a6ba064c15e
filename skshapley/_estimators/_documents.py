"""Explain documents by their tokens; absent tokens are removed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import pandas as pd

from skshapley._records._outcome import Settings, label
from skshapley._records._result import ShapleyResult
from skshapley._run._engine import run
from skshapley._run._plan import Plan, Size
from skshapley._tables._documents import as_documents, container_for
from skshapley.exceptions import PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.rewards import Response
from skshapley.rewards._tokens import (
    CHUNK_TEXTS,
    DocumentReward,
    TokenGame,
    side_by_side,
)

WHY_SAMPLED = "The model must be called on documents with some tokens removed"


@dataclass(frozen=True, eq=False)
class DocumentExplainer:
    """The explainer of documents, made by `ShapleyExplainer.fit`.

    Attributes
    ----------
    reward : DocumentReward
    plan : Plan
        The plan of a document with one token; other documents adapt it.
    settings : Settings
        The settings shared by all documents.
    random_state : object
        The passed parameter.
    """

    reward: DocumentReward
    plan: Plan
    settings: Settings
    random_state: Any

    @classmethod
    def fitted(
        cls, explainer: Any, X: Any, response: Response, sample_weight: Any
    ) -> Self:
        """Call the model on documents once to learn its outputs.

        Parameters
        ----------
        explainer : ShapleyExplainer
            With the parameters.
        X : list, Series, array or frame of one column
        response : Response
        sample_weight : object
            Refused unless None.
        """
        name = type(explainer).__name__
        texts = as_documents(X, name).tolist()
        for parameter, given, usual in (
            ("reward", explainer.reward, "interventional"),
            ("groups", explainer.groups, None),
            ("interactions", explainer.interactions, False),
            ("sample_weight", sample_weight, None),
        ):
            if not (given is usual or (isinstance(given, str) and given == usual)):
                raise ValueError(
                    f"{name} got {parameter}={given!r} for documents, but players are "
                    f"their tokens: choose {parameter}={usual!r}, or pass one document "
                    "to shapley_values as a TokenReward."
                )
        plan = explainer._planned(Size(1))  # raises for invalid parameters
        reward = DocumentReward(response, container_for(explainer.estimator, X))
        response.probe(reward.container_(texts[:CHUNK_TEXTS]), " on documents")
        settings = Settings(
            model=label(explainer.estimator),
            response_method=label(response.method),
            output=explainer.output,
            reward="tokens left out",
            masked="tokens of the documents",
            index=None if plan.index.adds_up else plan.index.name,
            why_sampled=WHY_SAMPLED,
        )
        return cls(reward, plan, settings, explainer.random_state)

    def redrawn(self, entropy: int) -> Self:
        """Return this explainer with other entropy."""
        return replace(self, plan=replace(self.plan, entropy=entropy))

    def explain(
        self, documents: pd.Series, n_jobs: int | None, report: Callable[[int], object]
    ) -> Explanation:
        """Explain documents one by one; the budget depends on the number of tokens.

        Parameters
        ----------
        documents : Series of str
        n_jobs : int or None
        report : callable
            Called with the number of finished documents.
        """
        done: list[Explanation] = []
        n = len(documents)
        for index, text in documents.items():
            try:
                done.append(self._one(text, index, n_jobs))
            except (Exception, KeyboardInterrupt) as error:
                if not done:
                    raise
                raise PartialExplanationError(
                    f"Explaining stopped by {type(error).__name__} after {len(done)} "
                    f"of {n} documents; the finished rows are in the .explanation of "
                    "this error.",
                    _joined(done, documents.index),
                ) from error
            report(len(done))
        return _joined(done, documents.index)

    def _one(self, text: str, index: Any, n_jobs: int | None) -> Explanation:
        game = TokenGame(self.reward.of(text))
        plan = self.plan.sized(Size(game.n_players))
        outcome = run(game, plan, n_jobs=n_jobs)
        result = ShapleyResult.from_outcome(outcome, game.one_output)
        settings = self.settings.sampled(outcome, plan, self.random_state)
        return game.function.explained(result, settings, index)


def _joined(explanations: list[Explanation], index: pd.Index) -> Explanation:
    """Return one explanation with the settings of the document that has the most tokens."""
    longest = max(explanations, key=lambda explanation: explanation.values.shape[1])
    whole = side_by_side(explanations)
    data = whole.data.set_axis(index[: len(explanations)])
    return replace(whole, data=data, settings=longest.settings)
