"""Base classes of estimators of tables: sampling, records and the transformer."""

from abc import abstractmethod
from collections.abc import Callable
from copy import copy
from functools import partial
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, MetaEstimatorMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from skshapley._records._outcome import Settings, label
from skshapley._run._plan import Request, Rule, nested_sampler
from skshapley._tables import Portable, is_frame, n_rows
from skshapley._tools import (
    Constraint,
    Count,
    Hinting,
    Maybe,
    Stream,
    check_parameters,
    entropy_from,
    generator,
    resolve,
)
from skshapley._ways._base import Background, Labels, Way
from skshapley.explanation import Explanation
from skshapley.indices import Index
from skshapley.rewards import REWARDS, Response, Reward

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
        ("global_explanation", "explain_global"),
        "explain(X).importance()",
    ),
    "score": "estimator.score(X, y)",
    "model": "estimator",
    **dict.fromkeys(("data", "masker"), "background_"),
    "feature_names": "get_feature_names_out()",
    "fit_explain": "fit(X_train).explain(X)",
}


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
    _decided_by: tuple[str, ...] = ()  # parameters

    players_ = property(
        attrgetter("_background.players"),
        doc="Names of the players and the columns of each.",
    )
    background_ = property(
        attrgetter("_background.rows"),
        doc="The background rows, an array or frame of shape (b, d), or None.",
    )
    background_weights_ = property(
        attrgetter("_background.weights"),
        doc="Their weights, ``(b,)``, with sum 1.",
    )

    def _checked_reward(self) -> Reward:
        """Return the reward that the user asked for, with checked parameters."""
        check_parameters(self, COUNTS)
        self._counts = {name: getattr(self, name) for name in COUNTS}
        self._decisions = {
            parameter: getattr(self, parameter) for parameter in self._decided_by
        }
        reward = resolve(self.reward, REWARDS, Reward, type(self).__name__, "reward")
        reward.check()
        return reward

    def _take_background(
        self,
        X: Any,
        sample_weight: Any,
        reward: Reward,
        target: Any = None,
    ) -> None:
        """Check and store the background, and draw the entropy until the next ``fit``.

        Raises
        ------
        ValueError
            Without a target that the reward needs.
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
        if reward.needs_target and target is None:
            raise ValueError(
                f"{name} requires y to be passed, but the target y is None: "
                f"reward={self.reward!r} fits the model again, so call "
                "fit(X_train, y_train)."
            )
        target = target if reward.needs_target else None
        self._entropy = entropy_from(self.random_state, name)
        self._background = Background.of(self, X, sample_weight, self.groups, target)

    @property
    def _n_background(self) -> int:
        """The number of background rows to keep."""
        b = len(self.background_weights_)
        most = self.max_background
        return b if most is None else min(b, most)

    def _fitted(self, reward: Reward, response: Response) -> Reward:
        """Return the reward, fitted to the background of at most `max_background` rows."""
        background = self._background
        n = self._n_background
        if n < len(background.weights):
            predictions = response.over(background.rows, "background rows")
            background = background.herded(
                n,
                predictions,
                generator(self._entropy, Stream.HERD),
            )
            self._background = background
        fit_data = (
            {"target": background.target, "fit_weights": background.fit_weights}
            if reward.needs_target
            else {}
        )
        reward = reward.for_table(background.rows)
        return reward.fit(
            response,
            background.rows,
            background.weights,
            background.players,
            **fit_data,
        )

    def _requested(self, rule: Rule | None = None) -> Request:
        """Return the request for a run; it raises for invalid parameters."""
        names = ("sampler", "solver", "max_rows", "stopping", "index", "interactions")
        parameters = {
            name: getattr(self, name) for name in names if hasattr(self, name)
        }
        owner = type(self).__name__
        levels = self.players_.levels
        if levels is not None:
            rule = partial(nested_sampler, levels=levels)
        request = Request.of(owner, **parameters, rule=rule)
        if levels is not None and not request.automatic:
            raise ValueError(
                f"{owner} got nested groups, which choose the permutations, and "
                f"sampler={self.sampler!r}, solver={self.solver!r}: leave both at "
                '"auto", or pass groups of one level.'
            )
        self._check_nested(request.index, request.pairs)
        return request

    def _check_nested(self, index: Index, pairs: Index | None) -> None:
        """Raise ValueError for other indices than Shapley's with nested groups."""
        if self.players_.levels is None or (index.adds_up and pairs is None):
            return
        what = "interactions" if index.adds_up else f'index="{index.name}"'
        raise ValueError(
            f"{type(self).__name__} got nested groups and {what}, but nested groups "
            "only have Owen and Winter values of players: pass groups of one level."
        )

    def _labels(
        self,
        output_names: list | None,
        pairs: Index | None = None,
        **facts: Any,
    ) -> Labels:
        """Return the names and settings of all explanations.

        Parameters
        ----------
        output_names : list or None
        pairs : Index or None, default=None
        **facts
            Of the settings.
        """
        rows = self.background_
        settings = Settings(
            model=label(self.estimator),
            n_background=None if rows is None else n_rows(rows),
            **facts,
        )
        return Labels(
            settings,
            self._background,
            output_names,
            pairs,
            vars(self).get("random_state"),
        )

    def _table(self, X: Any) -> Any:
        """Return rows to explain, checked against the background."""
        return self._background.table(self, X)

    def _check_decisions(self) -> None:
        """Raise an error if a parameter is invalid, or was changed after ``fit`` used it."""
        # Unchanged parameters were checked in `fit`.
        if any(getattr(self, name) is not old for name, old in self._counts.items()):
            check_parameters(self, COUNTS)
        for name, old in self._decisions.items():
            now = getattr(self, name)
            # Clones and pickles have equal parameters instead of the same ones, so
            # reprs are compared too.
            if now is not old and repr(now) != repr(old):
                owner = type(self).__name__
                raise ValueError(
                    f"{owner} was fitted with {name}={old!r}, and has {name}={now!r} "
                    "now: call fit(X_train) again."
                )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        reward = vars(self).get("reward", "interventional")
        reward = REWARDS.get(reward, Reward) if isinstance(reward, str) else reward
        tags.target_tags.required = getattr(reward, "needs_target", False)
        takes = getattr(reward, "takes", ())
        tags.input_tags.allow_nan = "gaps" in takes
        tags.input_tags.string = tags.input_tags.categorical = "text" in takes
        tags.input_tags.sparse = "sparse" in takes
        return tags


class Attributor(TransformerMixin, TableEstimator):
    """Base class of explainers: attributions of the response, row by row."""

    _instead = INSTEAD
    _way: Way
    widget: ClassVar[
        Callable[..., Any]
    ]  # set in `skshapley/__init__.py`, as reports are

    @abstractmethod
    def explain(self, X) -> Explanation:
        """Return the explanation of the rows of X."""

    def __call__(self, *args: Any, **kwargs: Any) -> Explanation:
        """Explain the predictions for the rows of X, as ``explain(X)`` does."""
        return self.explain(*args, **kwargs)

    exact_ = property(
        attrgetter("_way.form"),
        doc="The closed form of the response, if the values are exact.",
    )

    @property
    def reward_(self) -> Any:
        """The fitted reward."""
        if self._way.reward is None:
            raise AttributeError(f"{type(self).__name__} has a formula, and no reward.")
        return self._way.reward

    def _redrawn(self, entropy: int) -> Self:
        """Return a copy of this explainer with other entropy, equal to one fitted with it."""
        redrawn = copy(self)
        if entropy != self._way.entropy:
            redrawn._way = self._way.with_entropy(entropy)
        return redrawn

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
        check_is_fitted(self, "_way", msg=NOT_FITTED)
        return self._way.values(
            self._table(X),
            self.n_jobs,
            getattr(self, "verbose", False),
        )

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
        outputs = self._way.labels.output_names
        if outputs is not None:
            names = [f"{name}_{output}" for name in names for output in outputs]
        return np.array(names, dtype=object)


class Delegating(Portable, Attributor):
    """Base class of explainers that use another one, `explainer_`, with its background."""

    explainer_: Attributor

    def _table(self, X: Any) -> Any:
        return self.explainer_._table(X)

    _background = property(attrgetter("explainer_._background"))
    n_features_in_ = property(
        attrgetter("explainer_.n_features_in_"),
        doc="Number of columns.",
    )
    feature_names_in_ = property(
        attrgetter("explainer_.feature_names_in_"),
        doc="Names of the columns, if the background has names.",
    )
