"""The base of ways: how the rows of a fitted explainer are explained.

A way is chosen once, in ``fit`` (`choose`). Nothing else asks which one it is. All ways
share the background and the labels of explanations.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length

from skshapley._records._interactions import Interactions
from skshapley._records._outcome import Outcome, Settings
from skshapley._records._selection import columns_of
from skshapley._references import herded
from skshapley._run._plan import Plan
from skshapley._tables import (
    Portable,
    as_documents,
    as_pandas,
    as_rows_of,
    check_columns,
    check_container,
    check_frame,
    check_model_columns,
    checked_weights,
    column_names,
    in_order_of,
    is_frame,
    is_like,
    model_columns,
    n_rows,
    refuse_no_table,
    take_rows,
    validated,
)
from skshapley._tools import generator
from skshapley.explanation import Explanation
from skshapley.indices import Index
from skshapley.rewards import Players
from skshapley.stopping import StoppingRule

# Few probes: they should cost less than the explanation of a row.
PROBE_ROWS = 32
PROBES_EACH = 8


@dataclass(frozen=True, eq=False)
class Background(Portable):
    """Background rows, their weights and their players.

    Attributes
    ----------
    rows : array or frame of shape (b, d), or None
        None if the model's own training data replace absent players.
    weights : ndarray of shape (b,)
        With sum 1; empty without rows.
    players : Players
    target : array of shape (b,) or (b, k), or None
        The target of the rows, if the reward needs it.
    fit_weights : ndarray of shape (b,), or None
        The weights as they were passed, for fits; None if all rows count once.
    """

    rows: Any
    weights: np.ndarray
    players: Players
    target: Any = None
    fit_weights: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        owner: BaseEstimator,
        X: Any,
        sample_weight: Any,
        groups: Any,
        target: Any = None,
    ) -> Self:
        """Return the background of an estimator, checked.

        Parameters
        ----------
        owner : estimator
            The estimator; it stores the number and the names of the columns.
        X : array or frame of shape (b, d)
        sample_weight : array of shape (b,) or None
        groups : dict or None
        target : array of shape (b,) or (b, k), or None, default=None

        Raises
        ------
        ValueError, TypeError
            For no rows, wrong weights or groups.
        """
        name = type(owner).__name__
        X = checked_table(owner, X, model=owner.estimator)
        weights = checked_weights(sample_weight, n_rows(X), name)
        players = Players.from_groups(groups, column_names(X), name)
        rows = np.flatnonzero(weights)
        # Rows of weight 0 cost predictions and change nothing, so they are left out.
        if target is not None:
            check_consistent_length(X, target)
            target = np.asarray(target)[rows]
        weights = weights[rows] / weights[rows].sum()
        fit_weights = (
            None
            if sample_weight is None
            else np.asarray(sample_weight, dtype=np.float64)[rows]
        )
        return cls(take_rows(X, rows), weights, players, target, fit_weights)

    def herded(self, n: int, predictions: np.ndarray, rng: np.random.Generator) -> Self:
        """Return a background of n of these rows that together resemble all rows.

        Parameters
        ----------
        n : int
        predictions : ndarray of shape (b, k)
        rng : numpy.random.Generator
        """
        rows = np.sort(herded(self.rows, n, predictions, self.weights, rng))
        return replace(
            self,
            rows=take_rows(self.rows, rows),
            weights=np.full(n, 1 / n),
            target=None if self.target is None else self.target[rows],
            fit_weights=None,
        )

    def table(self, owner: BaseEstimator, X: Any) -> Any:
        """Return rows to explain, checked against the background, in its container.

        Parameters
        ----------
        owner : estimator
        X : array or frame of shape (r, d)
            If the background is a frame, also a dict, a list of dicts, or a Series of
            one row.

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers.
        """
        # The checks take 90 us of CPU for a row of an array, and exact values of a
        # ridge regression 45 us. A table like the background needs no checks: the rows
        # of `fit` were checked too.
        like = self.rows
        state = vars(owner)
        if like is None and "feature_names_in_" not in state:
            like = np.empty((0, state["n_features_in_"]))
        if is_like(X, like):
            return X
        if is_frame(self.rows) and not is_frame(X):
            X = as_rows_of(X, self.rows, type(owner).__name__)
        return checked_table(owner, X, self.rows, owner.estimator)


class Tokens(Background):
    """The background of an explainer of documents: no rows, and no players."""

    def table(self, owner: BaseEstimator, X: Any) -> Any:
        """Return documents to explain as a Series of str."""
        return as_documents(X, type(owner).__name__)


def checked_table(
    owner: BaseEstimator,
    X: Any,
    like: Any = None,
    model: Any = None,
) -> Any:
    """Return X checked, in its own container.

    Parameters
    ----------
    owner : estimator
        It has the number and the names of the columns, or stores them without `like`.
    X : array, sparse matrix or frame
        The columns of a frame are sorted like `like`, or else like the model's.
    like : array, sparse matrix or frame, or None
        X must have its container, columns and dtypes.
    model : estimator or None
        Without `like`, X must have its columns; None if the model will be fitted to X.
    """
    name = type(owner).__name__
    refuse_no_table(X, name)
    if like is not None:
        check_container(X, like, name)
    if not is_frame(X):
        X = validated(owner, X, like is None)
        return X if like is None else check_columns(X, like, name)
    check_frame(X, name)
    if like is not None:
        return check_columns(X, like, name)
    columns = model_columns(model)
    X = X if columns is None else in_order_of(X, columns)
    check_model_columns(X, model, name)
    return validated(owner, X, reset=True)


@lru_cache(maxsize=16)
def _index(names: tuple[str, ...]) -> pd.Index:
    """Return the names of players as an index, which takes longer to make than a frame."""
    return pd.Index(names)


@dataclass(frozen=True, eq=False)
class Labels(Portable):
    """Names and settings of explanations.

    Attributes
    ----------
    settings : Settings
        Without the methods of a run.
    background : Background
    output_names : list or None
        Names of the outputs; None for a single one.
    pairs : Index or None
        Index of the interactions.
    random_state : object
        The passed parameter.
    """

    settings: Settings
    background: Background
    output_names: list | None = None
    pairs: Index | None = None
    random_state: Any = None

    def shaped(self, array: np.ndarray) -> np.ndarray:
        """Return an array ``(..., k)`` in the shape of the model's output."""
        return array[..., 0] if self.output_names is None else array

    def _data(self, X: Any) -> pd.DataFrame:
        """Return the rows with one column per player; groups and lists become text."""
        columns = _index(tuple(self.background.players.names.tolist())).view()
        # The usual case, without a copy for each column.
        if type(X) is np.ndarray and len(columns) == X.shape[1]:
            return pd.DataFrame(X.copy(), columns=columns, copy=False)
        frame = as_pandas(X).copy(deep=False)
        kinds = frame.dtypes
        for name in kinds.index[kinds.map(pd.api.types.is_object_dtype)]:
            # Lists, arrays and dicts have no hash: pandas cannot group, sort or compare
            # them, and they cannot be drawn or saved.
            if frame[name].map(lambda value: type(value).__hash__ is None).any():
                frame[name] = frame[name].map(str, na_action="ignore")
        if len(columns) == frame.shape[1]:  # no group: nothing to gather
            return frame.set_axis(columns, axis=1).copy()
        owners = self.background.players.column_player
        return columns_of(
            frame,
            columns,
            [np.flatnonzero(owners == player) for player in range(len(columns))],
        )

    def explanation(
        self,
        outcome: Outcome,
        X: Any,
        plan: Plan | None = None,
        entropy: int = 0,
    ) -> Explanation:
        """Return the public record of an outcome.

        Parameters
        ----------
        outcome : Outcome
            Of the first rows of X, or of all.
        X : array, sparse matrix or frame of shape (r, d)
        plan : Plan or None, default=None
            None if nothing was sampled.
        entropy : int, default=0
            Of the sampled values.
        """
        names = self.background.players.names
        p = len(names)
        values, errors, background_errors = (
            self.shaped(array[:, :p])
            for array in (
                outcome.values,
                outcome.standard_errors,
                outcome.background_errors,
            )
        )
        settings = self.settings
        if plan is not None:
            settings = settings.sampled(outcome, plan, entropy, self.random_state)
        outputs = (
            None
            if self.output_names is None
            else np.array(self.output_names, dtype=object)
        )
        data = self._data(X)
        if len(values) < len(data):
            data = data[: len(values)]
        interactions = (
            None
            if self.pairs is None
            else Interactions.of_outcome(
                outcome,
                outputs is None,
                feature_names=names,
                index=self.pairs.name,
                rows=data.index,
                output_names=outputs,
            )
        )
        return Explanation(
            values=values,
            standard_errors=_known(errors),
            base_values=self.shaped(outcome.v_empty),
            predictions=self.shaped(outcome.v_full),
            data=data,
            feature_names=names,
            output_names=outputs,
            n_evaluations=outcome.n_evaluations,
            n_model_rows=outcome.n_model_rows,
            converged=outcome.converged,
            settings=settings,
            # those of exact values are never known
            background_errors=None if plan is None else _known(background_errors),
            interactions=interactions,
        )


def _known(errors: np.ndarray) -> np.ndarray | None:
    """Return errors, or None if all are unknown."""
    return None if np.isnan(errors).all() else errors


@dataclass(frozen=True, eq=False)
class Way(Portable, ABC):
    """A way to explain rows, with all that it needs.

    Attributes
    ----------
    labels : Labels
    reward : Reward or None
        The fitted reward; None if only a formula is known.
    entropy : int
        Source of all random numbers.
    form : ClosedForm or None
        The fitted closed form, if the values are exact.
    container : callable or None
        Makes the model's input from texts, if documents are explained.
    merge : callable
        From explanations of the parts of a table to one of all rows.
    """

    labels: Labels
    reward: Any
    entropy: int
    form: Any = None
    container: Callable[[list[str]], Any] | None = None
    merge: ClassVar[Callable[..., Explanation]] = staticmethod(Explanation.merge)

    @abstractmethod
    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of checked rows.

        Raises
        ------
        PartialExplanationError
            If an error or an interruption comes after some rows were finished.
        """

    def values(self, X: Any, n_jobs: int | None, verbose: Any) -> np.ndarray:
        """Return the values of the explanation, without a record if possible."""
        return self.explain(X, n_jobs, verbose).values

    def predictions(self, X: Any) -> np.ndarray:
        """Return the predictions of rows, ``(r, k)``, but not as sums of their values."""
        if self.reward is None:
            return self.form.predict(X)
        game = self.reward.game(X)
        return game.full(np.arange(game.n_rows))

    def background_errors(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return errors due to the choice of the background; NaN where unknown."""
        explanation = self.explain(X, n_jobs, False)
        errors = explanation.background_errors
        return np.full(explanation.values.shape, np.nan) if errors is None else errors

    def stopped_by(self, rule: StoppingRule) -> Self:
        """Return this way with a stopping rule, or itself if no rule would save draws."""
        return self

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return this way for the batches of a run, with bits that a resumed run repeats.

        Parameters
        ----------
        n_rows : int or None
            Number of all rows, if it is known.
        batch_rows : int
        """
        return self

    def with_entropy(self, entropy: int) -> Self:
        """Return this way, as if it were chosen with other entropy."""
        return replace(self, entropy=entropy)

    def state(self) -> dict[str, Any]:
        """Return arrays that differ if the values may; a resumed run compares them.

        By default, the responses to background rows and to mixtures of them.
        """
        if self.reward is None:
            return {"responses": []}
        background = self.labels.background.rows
        b = n_rows(background)
        probes = np.arange(min(b, PROBE_ROWS)) * b // min(b, PROBE_ROWS)
        game = self.reward.game(take_rows(background, probes))
        rng = generator(0, 2)
        present = rng.random((game.n_rows, PROBES_EACH, game.n_players)) < 0.5
        references = rng.integers(game.n_references, size=(game.n_rows, PROBES_EACH, 1))
        rows = np.arange(game.n_rows)
        responses = [game.empty(rows), game.full(rows), game(present, rows, references)]
        return {"responses": responses}
