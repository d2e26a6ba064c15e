"""Base class of estimators for tables: the record of attributions and the transformer."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skshapley._estimators._background import Background
from skshapley._records._interactions import Interactions
from skshapley._records._outcome import Outcome
from skshapley._records._settings import Settings, label
from skshapley._run._plan import Plan
from skshapley._tables._inputs import is_frame, n_rows
from skshapley.explanation import Explanation
from skshapley.indices import pair_index
from skshapley.rewards import REWARDS, Players, Reward


class TableEstimator(MetaEstimatorMixin, BaseEstimator):
    """Base class of estimators that explain a table's rows; fitted, they hold a background."""

    estimator: Any
    random_state: Any
    _background: Background
    _model: str
    _of_what_is_read: Settings | None = None

    @property
    def players_(self) -> Players:
        """Names of the players and the columns of each."""
        return self._background.players

    @property
    def background_(self) -> Any:
        """The background rows, an array or frame of shape (b, d), or None."""
        return self._background.rows

    @property
    def background_weights_(self) -> np.ndarray:
        """Their weights, ``(b,)``, with sum 1."""
        return self._background.weights

    @property
    @abstractmethod
    def _output_names(self) -> list | None:
        """Labels of the explained outputs, or None for a single one."""

    @abstractmethod
    def _facts(self) -> dict[str, Any]:
        """Return the record's entries about the response and the reward."""

    def _take(self, background: Background) -> None:
        """Keep the background, and the model's name: its repr may take longer than a row."""
        self._background, self._model = background, label(self.estimator)
        self._of_what_is_read = None

    def _keep_settings(self) -> None:
        """Keep the settings of all that is read: to make them takes as long as to read a row."""
        self._of_what_is_read = self._settings(None, None)

    def _settings(self, outcome: Outcome | None, plan: Plan | None) -> Settings:
        """Return how an outcome came about; None for a plan where nothing was sampled."""
        if plan is None and self._of_what_is_read is not None:
            return self._of_what_is_read
        rows, facts = self.background_, self._facts()
        if plan is not None:
            facts["random_state"] = label(self.random_state)
        n_background = None if rows is None else n_rows(rows)
        return Settings.of(outcome, plan, model=self._model, n_background=n_background, **facts)

    def _recorded(self, outcome: Outcome, X: Any, plan: Plan | None = None) -> Explanation:
        """Return an outcome of the engine as the record that users see."""
        names = self._output_names

        def shaped(array: np.ndarray) -> np.ndarray:
            return array[..., 0] if names is None else array

        values, errors = shaped(outcome.values), shaped(outcome.standard_errors)
        # Of what was read it is never known
        apart = None if plan is None else shaped(outcome.background_errors)
        pairs = pair_index(getattr(self, "interactions", False), type(self).__name__)
        outputs = None if names is None else np.array(names, dtype=object)
        interactions, data = None, self.players_.table(X)
        if pairs is not None:
            p = outcome.n_players
            interactions = Interactions.of_pairs(
                values[:, p:],
                _known(errors[:, p:]),
                attributions=values[:, :p],
                base_values=shaped(outcome.v_empty),
                feature_names=self.players_.names,
                index=pairs.name,
                rows=data.index,
                output_names=outputs,
            )
            values, errors = values[:, :p], errors[:, :p]
            apart = None if apart is None else apart[:, :p]
        return Explanation(
            values=values,
            standard_errors=_known(errors),
            base_values=shaped(outcome.v_empty),
            predictions=shaped(outcome.v_full),
            data=data,
            feature_names=self.players_.names,
            output_names=outputs,
            n_evaluations=outcome.n_evaluations,
            n_model_rows=outcome.n_model_rows,
            converged=outcome.converged,
            settings=self._settings(outcome, plan),
            background_errors=_known(apart),
            interactions=interactions,
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        takes = self._takes
        tags.input_tags.allow_nan = "gaps" in takes
        tags.input_tags.string = tags.input_tags.categorical = "text" in takes
        tags.input_tags.sparse = "sparse" in takes
        return tags

    @property
    def _takes(self) -> tuple[str, ...]:
        """The tables that the reward takes."""
        reward = getattr(self, "reward", "interventional")
        reward = REWARDS.get(reward, Reward) if isinstance(reward, str) else reward
        return getattr(reward, "takes", ())


def _known(errors: np.ndarray | None) -> np.ndarray | None:
    """Return errors, or None where not one is known."""
    if errors is None:
        return None
    if errors.size and errors.item(0) == errors.item(0):
        return errors
    return errors if np.count_nonzero(errors == errors) else None


class Attributor(TransformerMixin, TableEstimator):
    """Base class of explainers: attributions of the response, row by row."""

    @abstractmethod
    def explain(self, X) -> Explanation:
        """Return the explanation of the rows of X."""

    def _exact_outcome(self, X: Any) -> Outcome:
        """Return the outcome of the closed form `exact_` at a checked table."""
        raise NotImplementedError

    def values(self, X) -> np.ndarray:
        """Return the attributions alone, for services: a closed form makes no record of them.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d), or documents
            As for `explain`.

        Returns
        -------
        values : ndarray of shape (r, p) or (r, p, k)
            The `values` of the explanation.
        """
        if getattr(self, "exact_", None) is None:
            return self.explain(X).values
        outcome = self._exact_outcome(self._background.table(self, X))
        values = outcome.values[:, : self.players_.n_players]
        return values[..., 0] if self._output_names is None else values

    def transform(self, X) -> np.ndarray:
        """Return the attributions of X as a table, for pipelines.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's order of columns, as scikit-learn's transformers ask.

        Returns
        -------
        attributions : ndarray of shape (r, p), or (r, p k) with the outputs of a player side by
        side
        """
        check_is_fitted(self, "players_")
        if not self.players_.n_players:
            raise TypeError(
                f"{type(self).__name__} was fitted on documents, whose tokens make no table of the"
                f" same columns each time: use explain(X).to_frame()."
            )
        if is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        values = self.values(X)
        return np.array(values.reshape(len(values), -1))

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the names of the columns of `transform`: players, or player_output.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        names : ndarray of str
        """
        check_is_fitted(self, "players_")
        names = list(self.players_.names)
        if self._output_names is not None:
            names = [f"{name}_{output}" for name in names for output in self._output_names]
        return np.array(names, dtype=object)
