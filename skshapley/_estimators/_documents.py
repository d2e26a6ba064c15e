"""How ShapleyExplainer explains documents: by the tokens of each, which it leaves out."""

from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from skshapley._estimators._background import Background
from skshapley._estimators._sampling import plan_of
from skshapley._records._outcome import Outcome
from skshapley._run._engine import Plan, run
from skshapley._run._size import Size
from skshapley._tables._documents import (
    Documents,
    Piece,
    as_documents,
    is_column_of_text,
    is_table_of_text,
)
from skshapley._tools._progress import progress
from skshapley._tools._random import entropy_from
from skshapley.exceptions import PartialExplanationError, UnreadableModelError
from skshapley.explanation import Explanation
from skshapley.rewards import Players, Response
from skshapley.rewards._documents import (
    Document,
    DocumentReward,
    begins_with_text,
    container_for,
)

UNREAD = UnreadableModelError(
    "What a document says without some of its tokens is asked of the model", "explain a table"
)


def takes_documents(estimator: Any, X: Any) -> bool:
    """Return whether X are documents to the model, and no table."""
    if is_column_of_text(X):
        return True
    return is_table_of_text(X) and begins_with_text(estimator, X)


def fit_documents(explainer: Any, X: Any, response: Response, sample_weight: Any) -> None:
    """Learn from documents what the model returns; nothing of them stands in for absent tokens."""
    name = type(explainer).__name__
    texts = as_documents(X, name).texts
    for parameter, given, usual in (
        ("reward", explainer.reward, "interventional"),
        ("groups", explainer.groups, None),
        ("interactions", explainer.interactions, False),
        ("sample_weight", sample_weight, None),
    ):
        if not (given is usual or (isinstance(given, str) and given == usual)):
            raise ValueError(
                f"{name} got {parameter}={given!r} for documents, whose tokens are its players and"
                f" are left out where absent: choose {parameter}={usual!r}, or give one document to"
                f" shapley_values as a TokenReward."
            )
    explainer._entropy = entropy_from(explainer.random_state, name)
    nobody = Players(np.empty(0, dtype=object), np.empty(0, dtype=np.intp))
    explainer._take(Background(None, np.empty(0), nobody))
    plan_of(explainer, Size(1))  # which refuses what is wrong
    reward = DocumentReward(response, container_for(explainer.estimator, X))
    reward.learn(texts)
    explainer.reward_ = reward
    explainer.exact_, explainer._unread, explainer._lesson = None, UNREAD, None


def explain_documents(explainer: Any, X: Any) -> Explanation:
    """Explain the documents one by one, each with a budget for its own number of tokens."""
    documents = as_documents(X, type(explainer).__name__)
    game = explainer.reward_.game(documents.texts)
    plans = [plan_of(explainer, Size(max(1, len(part.tokens)))) for part in game.documents]
    outcomes: list[Outcome] = []
    n = game.n_rows
    with progress(n, explainer.verbose) as report:
        for row, plan in enumerate(plans):
            try:
                outcomes.append(run(game.take([row]), plan, n_jobs=explainer.n_jobs))
            except (Exception, KeyboardInterrupt) as error:
                if not row:
                    raise
                raise PartialExplanationError(
                    f"Explaining stopped by {type(error).__name__} after {row} of {n} documents;"
                    f" the finished ones are in this error's .explanation.",
                    _recorded(explainer, documents, game.documents, outcomes, plans),
                ) from error
            if report is not None:
                report(row + 1)
    return _recorded(explainer, documents, game.documents, outcomes, plans)


def _recorded(
    explainer: Any,
    documents: Documents,
    cut: list[Document],
    outcomes: list[Outcome],
    plans: list[Plan],
) -> Explanation:
    """Return the outcomes side by side: a column for each token, 0 where a document has it not."""
    n, names = len(outcomes), explainer._output_names
    labels = [document.labels for document in cut[:n]]
    tokens = list(dict.fromkeys(chain.from_iterable(labels)))
    place = {token: column for column, token in enumerate(tokens)}
    values = np.zeros((n, len(tokens), outcomes[0].v_full.shape[1]))
    errors = np.zeros_like(values)
    data = np.full((n, len(tokens)), None, dtype=object)
    for row, outcome in enumerate(outcomes):
        at = [place[token] for token in labels[row]]
        values[row, at] = outcome.values[0, : len(at)]
        errors[row, at] = outcome.standard_errors[0, : len(at)]
        pieces = list(cut[row].pieces)
        pieces[:1] = [cut[row].head + piece for piece in pieces[:1]]
        for order, column in enumerate(at):
            data[row, column] = Piece.at(order, pieces[order])

    def shaped(array: np.ndarray) -> np.ndarray:
        return array[..., 0] if names is None else array

    def joined(name: str) -> np.ndarray:
        return np.concatenate([getattr(outcome, name) for outcome in outcomes])

    longest = int(np.argmax([len(own) for own in labels]))
    return Explanation(
        values=shaped(values),
        standard_errors=None if np.isnan(errors).all() else shaped(errors),
        base_values=shaped(joined("v_empty")),
        predictions=shaped(joined("v_full")),
        data=pd.DataFrame(data, columns=tokens, index=documents.index[:n], dtype=object),
        feature_names=np.array(tokens, dtype=object),
        output_names=None if names is None else np.array(names, dtype=object),
        n_evaluations=joined("n_evaluations"),
        n_model_rows=joined("n_model_rows"),
        converged=joined("converged"),
        settings=explainer._settings(outcomes[longest], plans[longest]),
    )
