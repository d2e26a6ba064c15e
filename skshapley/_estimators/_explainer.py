"""ShapleyExplainer: fit / explain / transform, the public face of the engine."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import COUNTS, NOT_FITTED, Attributor
from skshapley._estimators._background import Background
from skshapley._estimators._documents import DocumentExplainer
from skshapley._records._outcome import Outcome, label
from skshapley._run._engine import run
from skshapley._run._plan import Plan, Size, is_auto
from skshapley._tables._documents import as_documents, takes_documents
from skshapley._tables._inputs import take_rows
from skshapley._tools._constraints import check_parameters
from skshapley._tools._progress import progress
from skshapley._tools._random import Stream, entropy_from, generator
from skshapley._tools._texts import corrected
from skshapley._ways._exact import explained
from skshapley._ways._margins import LEAST_ROWS, Margins
from skshapley._ways._read import fitted_form
from skshapley._ways._sampled_trees import SampledTrees
from skshapley.closed_forms import ClosedForm
from skshapley.exceptions import UnreadableModelError
from skshapley.explanation import Explanation
from skshapley.indices import Index, pair_index, player_index
from skshapley.rewards import InterventionalReward, Response, Reward
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule

SINGLE_ROWS = 64  # background rows that estimate the spread over single ones


class ShapleyExplainer(Attributor):
    """Explain the predictions of a fitted model by Shapley values, with standard errors.

    Parameters
    ----------
    estimator : fitted estimator, or callable
        The model; it is never fitted here. Wrap it in `sklearn.frozen.FrozenEstimator`
        if the explainer is cloned (GridSearchCV, a cached Pipeline). A callable takes a
        table ``(n, d)`` and returns ``(n,)`` or ``(n, k)``.
    background : array, sparse matrix or frame of shape (b, d), default=None
        The background rows, if the first `explain` should call ``fit``.
    reward : str or Reward, default="interventional"
        The worth of a coalition: the mean response if absent features take the values
        of background rows ("interventional"), or the background's means and modes
        ("baseline"), or follow the present features ("conditional", "copula",
        "empirical", "surrogate").
    response_method : str or callable, default="auto"
        "predict", "predict_proba", "predict_log_proba", "decision_function",
        "score_samples", "log_odds" (an XGBoost classifier's margin, else the logit of
        the probability), or a function of (estimator, X). "auto": probabilities or else
        decision values of classifiers, scores of outlier detectors, predictions of all
        others.
    output : None, "predicted" or label, default=None
        None: the positive class of two, otherwise all outputs. A class label or a
        position: that output. "predicted": the predicted class of each row.
    sampler : str or Sampler, default="auto"
        The choice of coalitions: a name of `skshapley.samplers.SAMPLERS` or an
        instance. "auto": no sampling if the response has a closed form
        (`skshapley.closed_forms`); background rows for each tree, if exact values of
        trees cost too much; all coalitions if the budget covers them; the
        Gaussian-process estimator ("odd", "gp") for a single background row or for
        interactions; otherwise antithetic permutations, each pair against its own
        background row.
    solver : str or Solver, default="auto"
        The estimator of values from coalitions: a name of `skshapley.solvers.SOLVERS`
        or an instance.
    groups : dict, default=None
        ``{"name": [columns, ...]}``: each group is one player, the other columns are
        their own.
    max_rows : int or "auto", default="auto"
        The budget: model rows per row to explain. The cost is the same for a thousand
        background rows and a million. "auto": about 33,000 for 100 background rows or
        more and up to 64 players.
    stopping : "auto", StoppingRule or None, default="auto"
        Rule that stops a row when its standard errors are small enough, e.g.
        ``StandardError(rtol=0.05)``. "auto": permutations and sampled trees stop at a
        relative error of about 5 % (`skshapley.stopping.RelativeError`), unless
        `max_rows` is given. None: spend the budget. A sampler that draws its whole
        design at once (``traits.one_shot``) spends its budget first; ``converged`` then
        says whether it was enough.
    index : str or Index, default="shapley"
        The kind of values: "shapley", "banzhaf", or an index such as
        `skshapley.indices.beta(16, 1)`. Only Shapley values always add up;
        ``efficiency_gap`` is the difference.
    interactions : bool or str, default=False
        Estimate interactions of all pairs of players too, from the same evaluations.
        True: the Shapley interaction index; or a name of
        `skshapley.indices.PAIR_INDICES`. They cost no model row, but permutations do
        not have them: see `sampler`.
    max_background : int, default=None
        Keep this many rows of a larger background, chosen to resemble all of it
        (`skshapley.background.herd`). Rarely needed: the cost does not depend on the
        size of the background.
    n_jobs : int, default=None
        Workers, through joblib. The result is the same for any number and any backend.
    random_state : None, int, Generator or RandomState, default=None
    verbose : bool, int or "auto", default="auto"
        "auto" shows progress, and a hint at faster ways, if the work takes longer than
        10 s. False is silent.

    Attributes
    ----------
    reward_ : Reward
        The reward, fitted to the background.
    exact_ : ClosedForm or None
        The closed form of the response, if it has one (`skshapley.closed_forms`). If
        not, ``settings.why_sampled`` of an explanation gives the reason.
    players_ : Players
        Names of the players and the columns of each.
    background_ : array or frame of shape (b, d)
    background_weights_ : ndarray of shape (b,)
        With sum 1.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only if the background has names.

    See Also
    --------
    shapley_values : Shapley values of any cooperative game.

    References
    ----------
    Shapley (1953), A value for n-person games. Strumbelj & Kononenko (2014), Explaining
    prediction models and individual predictions with feature contributions, Knowledge
    and Information Systems 41.

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

    _decided_by = (
        *(
            "reward",
            "response_method",
            "output",
            "sampler",
            "solver",
            "max_rows",
            "stopping",
        ),
        *("index", "interactions"),
    )

    @corrected
    def __init__(
        self,
        estimator,
        background=None,
        *,
        reward: str | Reward = "interventional",
        response_method: str | Callable[..., Any] = "auto",
        output=None,
        sampler: str | Sampler = "auto",
        solver: str | Solver = "auto",
        groups: dict | None = None,
        max_rows: int | str = "auto",
        stopping: StoppingRule | str | None = "auto",
        index: str | Index = "shapley",
        interactions: bool | str = False,
        max_background: int | None = None,
        n_jobs: int | None = None,
        random_state=None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.estimator = estimator
        self.background = background
        self.reward = reward
        self.response_method = response_method
        self.output = output
        self.sampler = sampler
        self.solver = solver
        self.groups = groups
        self.max_rows = max_rows
        self.stopping = stopping
        self.index = index
        self.interactions = interactions
        self.max_background = max_background
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @corrected
    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Store the background, and prepare the explanation.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (b, d), or documents
            The background rows, in the container and with the columns that the model
            was fitted on. A list or Series of str, or a frame of one column for a model
            that begins with a vectoriser, are documents: they are explained by their
            tokens, and need no background.
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
            For wrong parameters, an empty background or wrong weights, before the model
            is called.
        """
        name = type(self).__name__
        reward = self._checked_reward()
        response = Response(
            self.estimator, self.response_method, self.output, owner=name
        )
        if takes_documents(self.estimator, X):
            self._entropy = entropy_from(self.random_state, name)
            self._background = Background.of_documents()
            self.documents_: DocumentExplainer | None = DocumentExplainer.fitted(
                self, X, response, sample_weight
            )
            self.reward_: Any = self.documents_.reward
            self.exact_, self._unread = None, None
            return self
        self.documents_ = None
        self._take_background(X, sample_weight, reward)
        self._wanted = self._indices  # raises for invalid parameters
        # other rewards know the cost of an evaluation after their fit
        plan, b = None, self._n_background
        if type(reward) is InterventionalReward and reward.link is None:
            plan = self._planned(Size(self.players_.n_players, b, b), read=self._auto)
        self._fit_reward(reward, response)
        if plan is None:
            r = self.reward_
            size = Size(self.players_.n_players, r.n_references_, r.rows_per_value_)
            plan = self._planned(size, read=self._auto)
        self.exact_, self._unread = self._short_cut(plan.max_rows)
        self._margins: Margins | None = None
        self._trees: SampledTrees | None = None
        self._plan = plan if self.exact_ is not None else self._prepared(plan)
        self._keep_settings(**self._facts())
        return self

    @property
    def _auto(self) -> bool:
        return is_auto(self.sampler) and is_auto(self.solver)

    @property
    def _indices(self) -> tuple[Index, Index | None]:
        """The index of the values, and the index of the interactions or None."""
        name = type(self).__name__
        return player_index(self.index, name), pair_index(self.interactions, name)

    def _prepared(self, plan: Plan) -> Plan:
        """Fit the plan to the background, and return it with its tuned parameters."""
        plan = replace(plan, read=False).sized(plan.size)  # without a closed form
        if plan.takes_parts:
            self.reward_.split(generator(plan.entropy, Stream.SPLIT))
        if plan.size.n_players > 1 and plan.bought().samples:
            if (
                plan.takes_parts
                and plan.max_rows >= LEAST_ROWS
                and self._margins is None
            ):
                self._margins = Margins.of(self.reward_)
            self.reward_.sort_background(generator(plan.entropy, Stream.ORDER))
            form = None if self._unread is None else self._unread.form
            self._trees = SampledTrees.of(form, self.reward_)
        return plan if self._auto else replace(plan, tuned=self._tuned(plan))

    def _tuned(self, plan: Plan) -> Any:
        """Return parameters tuned on a few background rows, or None."""
        _, solver = plan.usual
        likely = self.background_weights_
        n = min(solver.tuning_rows, len(likely))
        if not n:
            return None
        rng = generator(plan.entropy, Stream.TUNING)
        rows = rng.choice(len(likely), n, replace=False, p=likely)
        game = self.reward_.game(take_rows(self.background_, np.sort(rows)))
        # A rule would stop these rows early, with fewer pairs to fit hyper-parameters
        # to.
        plan, tuned = replace(plan, stopping=None), None
        for row in range(n):
            ran = run(game.take(np.array([row])), plan, n_jobs=self.n_jobs).solver
            tuned = tuned if ran is None else ran.tuned(tuned)
        return tuned

    def _with(self, **parameters: Any) -> Self:
        """Return an explainer of the same model with other parameters, and this background."""
        other = type(self)(**{**self.get_params(deep=False), **parameters})
        return other.fit(self.background_, sample_weight=self.background_weights_)

    def _redrawn(self, entropy: int) -> Self:
        """Return a copy of this explainer with other entropy, equal to one fitted with it."""
        other = copy(self)
        if entropy != self._entropy:
            other._entropy, other.reward_ = entropy, copy(self.reward_)
            if self.documents_ is not None:
                other.documents_ = self.documents_.redrawn(entropy)
            elif self.exact_ is None:
                other._plan = other._prepared(
                    replace(self._plan, entropy=entropy, tuned=None)
                )
        return other

    def _short_cut(
        self, rows: int
    ) -> tuple[ClosedForm | None, UnreadableModelError | None]:
        """Return the closed form of the response and None, or None and the reason for sampling.

        Exact values may cost as many model rows as sampling.
        """
        if not self._auto:
            return None, UnreadableModelError(
                "a sampler or solver was chosen", 'leave them "auto"'
            )
        try:
            return fitted_form(self.reward_, rows, self.n_jobs, *self._indices), None
        except UnreadableModelError as reason:
            return None, reason

    def _exact_outcome(self, X: Any) -> Outcome:
        response, rows = (
            self.reward_.masked_.response,
            self.reward_.masked_.transform(X),
        )
        form: Any = self.exact_
        return explained(form, response, rows, self._wanted[1])

    @corrected
    def explain(self, X) -> Explanation:
        """Explain the predictions for the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d), or documents
            In the background's container, with its columns; frames may have them in any
            order.

        Returns
        -------
        explanation : Explanation
            For documents, with a column for each token of any document, and 0 for
            missing tokens.

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers, before the model is called.
        ModelOutputError
            If the model returns NaN, or another shape.
        PartialExplanationError
            If an error or an interruption occurs after some rows were finished; it has
            their explanation.
        """
        if self.background is not None and not hasattr(self, "reward_"):
            self.fit(self.background)
        check_is_fitted(self, "reward_", msg=NOT_FITTED)
        self._check_decisions()
        if self.exact_ is not None:
            return self._exactly(X)
        check_parameters(self, COUNTS)
        if self.documents_ is not None:
            documents = as_documents(X, type(self).__name__)
            with progress(len(documents), self.verbose) as report:
                return self.documents_.explain(documents, self.n_jobs, report)
        X = self._background.table(self, X)
        game = self.reward_.game(X)
        if self._margins is not None:
            game.margins = self._margins(
                game.instances.X, game.full(np.arange(game.n_rows))
            )
        game.trees = self._trees
        return self._run(
            game, self._plan, lambda outcome: self._recorded(outcome, X, self._plan)
        )

    def background_errors(self, X) -> np.ndarray:
        """Return the standard errors due to the choice of background rows.

        This is the spread of the attributions against single background rows, divided
        by the root of their number. A sampled explanation already has it as
        ``background_errors``. With a closed form, rows are explained against 64 single
        background rows, which takes longer than the explanation itself.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            As for `explain`.

        Returns
        -------
        errors : ndarray of shape (r, p) or (r, p, k)
            Standard errors, in the units of the response; NaN if unknown.

        Raises
        ------
        ValueError, TypeError
            As for `explain`.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.linear_model import LinearRegression
        >>> from skshapley import ShapleyExplainer
        >>> X = np.arange(100.0)[:, None] * [1.0, 2.0]
        >>> explainer = ShapleyExplainer(LinearRegression().fit(X, X[:, 0])).fit(X)
        >>> explainer.background_errors(X[:1]).shape
        (1, 2)
        """
        check_is_fitted(self, "reward_")
        if getattr(self.reward_, "link", None) is not None:
            game = self.reward_.influences(self._background.table(self, X))
            values = run(
                game, replace(self._plan, tuned=None), n_jobs=self.n_jobs
            ).values
            errors = game.errors(values)
            return errors[..., 0] if self._output_names is None else errors
        form: Any = self.exact_ if self._trees is None else self._trees.form
        if form is None:
            explanation = self.explain(X)
            known = explanation.background_errors
            return np.full(explanation.values.shape, np.nan) if known is None else known
        X = self._background.table(self, X)
        weights = self.reward_.masked_.weights
        # With 64 rows, the standard deviation of normal numbers is known to 9 %.
        n = min(len(weights), SINGLE_ROWS)
        rng = generator(self._entropy, Stream.SINGLE_ROWS)
        rows = rng.choice(len(weights), n, replace=False, p=weights)
        response = self.reward_.masked_.response
        given = response.in_its_container(self.reward_.masked_.transform(X))
        single = form.references(given, np.sort(rows))
        if response.predicted:
            winners = response.winners(given, form.predict(given))
            single = response.choose(single, winners[:, None, None])
        spread = (
            single.std(axis=1, ddof=1) if n > 1 else np.full(single[:, 0].shape, np.nan)
        )
        errors = spread * np.linalg.norm(self.background_weights_)
        return errors[..., 0] if self._output_names is None else errors

    @property
    def _output_names(self) -> list | None:
        return self.reward_.response_.output_names

    def _facts(self) -> dict[str, Any]:
        """Return the settings about the response, the reward and the closed form."""
        index = self._wanted[0] if self.exact_ is None else self.exact_.index
        return {
            "response_method": label(self.reward_.response_.method),
            "output": self.output,
            "explained_class": self.reward_.response_.explained_class,
            "reward": label(self.reward_),
            "masked": self.reward_.masked_columns_,
            "index": None if index.adds_up else index.name,
            "closed_form": None if self.exact_ is None else self.exact_.label,
            "why_sampled": None if self._unread is None else self._unread.reason,
            "exact_response": None if self._unread is None else self._unread.instead,
        }
