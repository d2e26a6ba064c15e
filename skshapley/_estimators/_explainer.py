"""ShapleyExplainer: fit / explain / transform, the public face of the engine."""

from collections.abc import Callable
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor
from skshapley._estimators._sampling import (
    COUNTS,
    drawn_background,
    plan_of,
    run_plan,
)
from skshapley._records._outcome import Outcome
from skshapley._records._settings import label
from skshapley._run._plan import is_auto
from skshapley._tables._inputs import take_rows
from skshapley._tools._constraints import check_parameters
from skshapley._tools._params import resolve
from skshapley._tools._progress import CallbackSupportMixin, callbacks, with_callbacks
from skshapley.explanation import Explanation
from skshapley.indices import Index, pair_index, player_index
from skshapley.rewards import REWARDS, InterventionalReward, Response, Reward
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule
from skshapley.trees import ExactTrees, UnreadableModelError


class ShapleyExplainer(CallbackSupportMixin, Attributor):
    """Explain the predictions of a fitted model by Shapley values, with standard errors.

    Parameters
    ----------
    estimator : fitted estimator, or callable
        The model; it is never fitted here. Wrap it in `sklearn.frozen.FrozenEstimator` where the
        explainer is cloned (GridSearchCV, a cached Pipeline). A callable takes a table ``(n, d)``
        and returns ``(n,)`` or ``(n, k)``.
    reward : str or Reward, default="interventional"
        What a coalition is worth. "interventional": the mean response when absent features take the
        values of background rows. "baseline": when they take the background's means and modes.
    response_method : str or callable, default="auto"
        "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples",
        "log_odds" (an XGBoost classifier's margin, else the logit of the probability), or a
        function of (estimator, X). "auto": probabilities, else decision values, of a classifier;
        scores of an outlier detector; predictions of the rest.
    output : None, "predicted" or label, default=None
        None: the positive class of two, else all outputs at once. A class label or the position of
        an output: that one. "predicted": of each instance the class predicted for it.
    sampler : str or Sampler, default="auto"
        Which coalitions to look at: a name of `skshapley.samplers.SAMPLERS` or an instance.
        "auto": none at all for a tree ensemble whose response is the sum of its trees, be it at the
        end of a pipeline of column-wise steps, which is explained exactly from its tables; all of
        them where the budget covers them; pairs of complements for the solver "gp" where it covers
        four evaluations a player; else, and under a stopping rule, antithetic permutations, each
        pair against a background row of its own; single permutations below two a player.
    solver : str or Solver, default="auto"
        What to make of them: a name of `skshapley.solvers.SOLVERS` or an instance.
    groups : dict, default=None
        ``{"name": [columns, ...]}``: each group is one player, the other columns are their own.
    max_evals : int or "auto", default="auto"
        Most evaluations per instance. One evaluation is the value of one coalition over the whole
        background, hence as many model rows as the background has.
    stopping : StoppingRule, default=None
        Stop each instance when its standard errors are small enough, e.g.
        ``StandardError(rtol=0.05)``. A sampler that draws its whole design at once (its
        ``one_shot`` is True) spends its budget first; ``converged`` then says whether it was
        enough.
    index : str or Index, default="shapley"
        Which values: "shapley", "banzhaf", or an index such as `skshapley.indices.beta(16, 1)`.
        Values of others than Shapley's need not add up: ``efficiency_gap`` says what is missing.
    interactions : bool or str, default=False
        Whether the interactions of all pairs of players are wanted too, from the same evaluations:
        True for the Shapley interaction index, or a name of `skshapley.indices.PAIR_INDICES`. They
        cost no model row. Walks cannot give them: see `sampler`.
    max_background : int, default=None
        Draw so many rows of a larger background, without replacement.
    n_jobs : int, default=None
        Workers, through joblib. The result is the same for any number and any backend.
    random_state : None, int, Generator or RandomState, default=None
    verbose : int, default=0
        Shows progress where positive. With scikit-learn 1.9 or later, `set_callbacks` takes its
        callbacks too, such as `sklearn.callback.ProgressBar`.

    Attributes
    ----------
    reward_ : Reward
        The reward, fitted to the background.
    exact_ : ExactTrees or None
        The tables of a tree ensemble, where they serve; where not, an explanation's
        ``settings.why_sampled`` says why.
    players_ : Players
        Names of the players and the columns of each.
    background_ : array or frame of shape (b, d)
    background_weights_ : ndarray of shape (b,)
        With sum 1.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Where the background has names.

    See Also
    --------
    shapley_values : Shapley values of any cooperative game.

    References
    ----------
    Shapley (1953), A value for n-person games. Strumbelj & Kononenko (2014), Explaining prediction
    models and individual predictions with feature contributions, Knowledge and Information Systems
    41.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
    >>> from skshapley import ShapleyExplainer
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> explanation = ShapleyExplainer(model).fit(X[::10]).explain(X[:2])
    >>> explanation.output(0).to_frame().round(2)
       sepal length (cm)  sepal width (cm)  petal length (cm)  petal width (cm)
    0              -0.04              0.03                0.6              0.08
    1              -0.04             -0.01                0.6              0.12
    """

    def __init__(
        self,
        estimator,
        *,
        reward: str | Reward = "interventional",
        response_method: str | Callable[..., Any] = "auto",
        output=None,
        sampler: str | Sampler = "auto",
        solver: str | Solver = "auto",
        groups: dict | None = None,
        max_evals: int | str = "auto",
        stopping: StoppingRule | None = None,
        index: str | Index = "shapley",
        interactions: bool | str = False,
        max_background: int | None = None,
        n_jobs: int | None = None,
        random_state=None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.reward = reward
        self.response_method = response_method
        self.output = output
        self.sampler = sampler
        self.solver = solver
        self.groups = groups
        self.max_evals = max_evals
        self.stopping = stopping
        self.index = index
        self.interactions = interactions
        self.max_background = max_background
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Take the background.

        Parameters
        ----------
        X : array or frame of shape (b, d)
            The background rows, in the container and with the columns that the model was fitted on.
        y : ignored
        sample_weight : array of shape (b,), optional

        Returns
        -------
        self

        Raises
        ------
        NotFittedError
            If the model is not fitted.
        ValueError, TypeError
            For wrong parameters, an empty background or wrong weights, before the model is called.
        """
        name = type(self).__name__
        check_parameters(self, COUNTS)
        reward = resolve(self.reward, registry=REWARDS, base=Reward, owner=name, parameter="reward")
        reward.check()
        response = Response(self.estimator, self.response_method, self.output, owner=name)
        self._take(drawn_background(self, X, sample_weight))
        pair_index(self.interactions, name)
        player_index(self.index, name)
        # which refuses what is wrong; a closed form gives interactions that sampling may not
        plan_of(self, len(self.background_weights_), pairs=not self._auto)
        self.reward_ = reward.fit(
            response, self.background_, self.background_weights_, self.players_
        )
        self.exact_, self._why_sampled = self._short_cut()
        if self.exact_ is None:
            plan_of(self, len(self.background_weights_))
        return self

    @property
    def _auto(self) -> bool:
        return is_auto(self.sampler) and is_auto(self.solver)

    def _short_cut(self) -> tuple[ExactTrees | None, str | None]:
        """Return the tables of a tree ensemble and None, or None and why it is sampled."""
        if not self._auto:
            return None, "sampler or solver asked for"
        if not isinstance(self.reward_, InterventionalReward):
            return None, f"{type(self.reward_).__name__} has no exact values"
        model = self.reward_.masked_
        try:
            trees = ExactTrees.from_response(
                model.response,
                model.column_player,
                self.n_jobs,
                self.players_.n_players,
                player_index(self.index, type(self).__name__),
            )
            return trees.fit(model.background, model.weights), None
        except UnreadableModelError as reason:
            return None, reason.reason

    @with_callbacks
    def explain(self, X) -> Explanation:
        """Explain the predictions for the rows of X.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's container, with its columns in its order.

        Returns
        -------
        explanation : Explanation

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers, before the model is called.
        ModelOutputError
            If the model returns NaN, or another shape.
        PartialExplanationError
            If an error or an interruption comes after some instances were finished; it carries
            their explanation.
        """
        check_is_fitted(self, "reward_")
        check_parameters(self, COUNTS)
        X = self._background.table(self, X)
        if self.exact_ is not None:
            pairs = pair_index(self.interactions, type(self).__name__)
            outcome = self.exact_.explain(self.reward_.preparation_.transform(X), pairs)
            return self._recorded(outcome, X)
        plan = plan_of(self, self.reward_.n_references_)
        game = self.reward_.game(X)

        def partial(outcome: Outcome) -> Explanation:
            return self._recorded(outcome, take_rows(X, slice(0, len(outcome.values))), plan)

        with callbacks(self, len(X)) as tasks:
            outcome = run_plan(self, game, plan, partial, tasks)
        return self._recorded(outcome, X, plan)

    @property
    def _output_names(self) -> list | None:
        return self.reward_.response_.output_names

    def _facts(self) -> dict[str, Any]:
        index = player_index(self.index, type(self).__name__)
        return {
            "response_method": label(self.reward_.response_.method),
            "output": self.output,
            "reward": label(self.reward_),
            "masked": self.reward_.masked_columns_,
            "index": None if index.adds_up else index.name,
            "closed_form": None if self.exact_ is None else "trees",
            "why_sampled": self._why_sampled,
        }
