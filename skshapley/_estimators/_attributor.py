"""Base classes of estimators of tables: sampling, records and the transformer."""

from abc import abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skshapley._estimators._background import Background
from skshapley._records._interactions import Interactions
from skshapley._records._outcome import Outcome, Settings, label
from skshapley._run._engine import Interrupted, run
from skshapley._run._plan import Plan, Size, make_plan
from skshapley._tables._inputs import is_frame, n_rows
from skshapley._tools._constraints import Constraint, Count, Maybe, check_parameters
from skshapley._tools._params import resolve
from skshapley._tools._progress import progress, span
from skshapley._tools._random import Stream, entropy_from, generator
from skshapley._tools._texts import Hinting
from skshapley.exceptions import PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.indices import pair_index
from skshapley.rewards import REWARDS, Game, Players, Response, Reward

COUNTS = {
    "max_background": Maybe(Count()),
    "n_jobs": Maybe(
        Constraint(lambda n: Count(least=-(2**63)).allows(n) and n != 0, "an int but 0")
    ),
    "verbose": Constraint(
        lambda n: isinstance(n, bool) or n == "auto" or Count(least=0).allows(n),
        '"auto", a bool or an int >= 0',
    ),
}

NOT_FITTED = (
    "This %(name)s instance is not fitted yet. Fit it to background rows first, such "
    "as the training rows: %(name)s(model).fit(X_train)."
)
# Long work suggests a tenth of the model rows, but at least 300.
LESS, LEAST_MAX_ROWS = 10, 300
# Names in shap and elsewhere, and the equivalent calls here
INSTEAD = {
    "shap_values": "explain(X).values",
    "expected_value": "explain(X).base_values",
    "explain_instance": "explain(X[:1])",
    "explain_row": "explain(X[:1])",
    "predict": "explain(X).predictions",
    "plot": "explain(X).plot",
    "base_values": "explain(X).base_values",
    "save": "joblib.dump(explainer, path)",
    "shap_interaction_values": "ShapleyExplainer(model, interactions=True)",
    **dict.fromkeys(("importance", "feature_importances_"), "explain(X).importance()"),
    **dict.fromkeys(("load", "from_file"), "joblib.load(path)"),
    **dict.fromkeys(("local_explanation", "local", "explain_local"), "explain(X)"),
    **dict.fromkeys(
        ("global_explanation", "explain_global"), "explain(X).importance()"
    ),
    "score": "estimator.score(X, y)",
    "model": "estimator",
    **dict.fromkeys(("data", "masker"), "background_"),
    "feature_names": "get_feature_names_out()",
    "fit_explain": "fit(X_train).explain(X)",
}


def faster(estimator: Any, plan: Plan, seconds: float) -> str:
    """Return a text with the calls that would be faster than the given seconds."""
    calls = []
    unread = getattr(estimator, "_unread", None)
    if unread is not None and unread.instead is not None:
        calls.append(
            f"response_method={unread.instead!r} would be exact and take seconds"
        )
    fewer = int(float(f"{plan.max_rows / LESS:.0e}"))
    if fewer >= LEAST_MAX_ROWS:
        share = fewer / plan.max_rows
        # a row that stops early saves less
        price = "" if plan.stopping is None else " or more"
        calls.append(
            f"max_rows={fewer} would take {span(seconds * share)}{price}, with errors "
            f"up to {share**-0.5:.0f} times as large"
        )
    return "; ".join(calls)


class TableEstimator(Hinting, MetaEstimatorMixin, BaseEstimator):
    """Base class of estimators that explain the rows of a table against a background."""

    estimator: Any
    reward: Any
    groups: Any
    max_background: Any
    n_jobs: Any
    random_state: Any
    verbose: Any
    _background: Background
    _common: Settings
    _decided_by: tuple[str, ...] = ()  # parameters

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

    def _checked_reward(self) -> Reward:
        """Return the reward that the user asked for, with checked parameters."""
        check_parameters(self, COUNTS)
        self._given = {
            parameter: getattr(self, parameter) for parameter in self._decided_by
        }
        reward = resolve(self.reward, REWARDS, Reward, type(self).__name__, "reward")
        reward.check()
        return reward

    def _take_background(self, X: Any, sample_weight: Any, reward: Reward) -> None:
        """Check and store the background, and draw the entropy until the next ``fit``.

        Raises
        ------
        TypeError
            For a sparse matrix, if the reward does not accept one.
        """
        name = type(self).__name__
        if sparse.issparse(X) and "sparse" not in reward.takes:
            raise TypeError(
                f"{name} got a sparse matrix with reward={self.reward!r}, which takes "
                'only dense tables: choose reward="interventional" or "baseline", or '
                "pass X.toarray()."
            )
        self._entropy = entropy_from(self.random_state, name)
        self._background = Background.of(self, X, sample_weight, self.groups)

    @property
    def _n_background(self) -> int:
        """The number of background rows to keep."""
        b, most = len(self.background_weights_), self.max_background
        return b if most is None else min(b, most)

    def _fit_reward(self, reward: Reward, response: Response) -> None:
        """Fit the reward to the background, reduced to `max_background` rows."""
        background, n = self._background, self._n_background
        if n < len(background.weights):
            predictions = response.over(background.rows, "background rows")
            rng = generator(self._entropy, Stream.HERD)
            self._background = background.herded(n, predictions, rng)
        self.reward_ = reward.fit(
            response, self.background_, self.background_weights_, self.players_
        )

    def _planned(self, size: Size, **rules: bool) -> Plan:
        """Return the plan for a game of some size, with `process` and `read` of `make_plan`."""
        names = ("sampler", "solver", "max_rows", "stopping", "index", "interactions")
        given = {name: getattr(self, name) for name in names if hasattr(self, name)}
        owner = type(self).__name__
        return make_plan(
            **given, random_state=self._entropy, size=size, owner=owner, **rules
        )

    def _run(self, game: Game, plan: Plan, record: Callable[[Outcome], Any]) -> Any:
        """Spend a plan on the game's rows, with progress, and return the user's result.

        Parameters
        ----------
        game : Game
        plan : Plan
        record : callable
            Makes the result from the outcome, of the first rows only if the run breaks
            off.

        Raises
        ------
        PartialExplanationError
            If an error or an interruption comes after some rows were finished.
        """
        try:
            with progress(
                game.n_rows, self.verbose, advice=partial(faster, self, plan)
            ) as bar:
                outcome = run(game, plan, n_jobs=self.n_jobs, progress=bar)
        except Interrupted as error:
            raise PartialExplanationError(
                f"Explaining stopped by {type(error.__cause__).__name__} after "
                f"{len(error.outcome.values)} of {game.n_rows} rows; the finished ones "
                "are in this error's .explanation.",
                record(error.outcome),
            ) from error.__cause__
        return record(outcome)

    def _check_decisions(self) -> None:
        """Raise an error if a parameter was changed after ``fit`` used it."""
        for name, given in self._given.items():
            now = getattr(self, name)
            # Clones and pickles have equal parameters instead of the same ones, so
            # reprs are compared too.
            if now is not given and repr(now) != repr(given):
                owner = type(self).__name__
                raise ValueError(
                    f"{owner} was fitted with {name}={given!r}, and has {name}={now!r} "
                    "now: call fit(X_train) again."
                )

    def _keep_settings(self, **facts: Any) -> None:
        """Store the settings that all explanations share; making them takes as long as a row."""
        rows = self.background_
        n_background = None if rows is None else n_rows(rows)
        self._common = Settings(
            model=label(self.estimator), n_background=n_background, **facts
        )

    def _settings(self, outcome: Outcome, plan: Plan | None) -> Settings:
        """Return the settings of an outcome, without a plan if nothing was sampled."""
        return (
            self._common
            if plan is None
            else self._common.sampled(outcome, plan, self.random_state)
        )

    def _recorded(
        self, outcome: Outcome, X: Any, plan: Plan | None = None
    ) -> Explanation:
        """Return the public record of an outcome of the engine, for the first rows of X or all."""
        names = self._output_names

        def shaped(array: np.ndarray) -> np.ndarray:
            return array[..., 0] if names is None else array

        values, errors = shaped(outcome.values), shaped(outcome.standard_errors)
        # Never known for exact values
        apart = None if plan is None else shaped(outcome.background_errors)
        outputs = None if names is None else np.array(names, dtype=object)
        interactions, data = None, self.players_.table(X)
        if len(values) < len(data):
            data = data[: len(values)]
        if outcome.entries.shape[1] > 1 and getattr(self, "interactions", False):
            pairs: Any = pair_index(self.interactions, type(self).__name__)
            p = outcome.n_players
            interactions = Interactions.of_outcome(
                outcome,
                names is None,
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
        reward = vars(self).get("reward", "interventional")
        reward = REWARDS.get(reward, Reward) if isinstance(reward, str) else reward
        takes = getattr(reward, "takes", ())
        tags.input_tags.allow_nan = "gaps" in takes
        tags.input_tags.string = tags.input_tags.categorical = "text" in takes
        tags.input_tags.sparse = "sparse" in takes
        return tags


def _known(errors: np.ndarray | None) -> np.ndarray | None:
    """Return errors, or None if all are unknown."""
    return None if errors is None or np.isnan(errors).all() else errors


class Attributor(TransformerMixin, TableEstimator):
    """Base class of explainers: attributions of the response, row by row."""

    _instead = INSTEAD

    @abstractmethod
    def explain(self, X) -> Explanation:
        """Return the explanation of the rows of X."""

    def __call__(self, *args: Any, **kwargs: Any) -> Explanation:
        """Explain the predictions for the rows of X, as ``explain(X)`` does."""
        return self.explain(*args, **kwargs)

    def _exact_outcome(self, X: Any) -> Outcome:
        """Return the outcome of the closed form `exact_` at a checked table."""
        raise NotImplementedError

    def _exactly(self, X: Any) -> Explanation:
        """Return the explanation by the closed form `exact_`."""
        X = self._background.table(self, X)
        return self._recorded(self._exact_outcome(X), X)

    def values(self, X) -> np.ndarray:
        """Return the attributions without a record, for services.

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
            With the columns in the order of the background, as scikit-learn's
            transformers require.

        Returns
        -------
        attributions : ndarray of shape (r, p) or (r, p k)
            The outputs of a player are adjacent.
        """
        check_is_fitted(self, "players_")
        if not self.players_.n_players:
            raise TypeError(
                f"{type(self).__name__} was fitted on documents, and their tokens make "
                "no table of fixed columns: use explain(X).to_frame()."
            )
        if is_frame(X):
            validate_data(self, X, reset=False, skip_check_array=True)
        values = self.values(X)
        return np.array(values.reshape(len(values), -1))

    def get_feature_names_out(self, input_features=None) -> np.ndarray:
        """Return the column names of `transform`: players, or player_output.

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
            names = [
                f"{name}_{output}" for name in names for output in self._output_names
            ]
        return np.array(names, dtype=object)
