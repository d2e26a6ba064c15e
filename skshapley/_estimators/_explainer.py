"""ShapleyExplainer: fit / explain / transform, the public face of the engine."""

from collections.abc import Callable
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor
from skshapley._estimators._documents import (
    explain_documents,
    fit_documents,
    takes_documents,
)
from skshapley._estimators._sampling import (
    COUNTS,
    given_background,
    herded_background,
    n_background,
    plan_of,
    run_plan,
)
from skshapley._records._outcome import Outcome
from skshapley._records._settings import label
from skshapley._run._engine import Plan
from skshapley._run._learn import learn
from skshapley._run._plan import is_auto
from skshapley._run._size import Size
from skshapley._tables._inputs import take_rows
from skshapley._tools._constraints import check_parameters
from skshapley._tools._params import resolve
from skshapley._tools._random import generator
from skshapley.closed_forms import ClosedForm
from skshapley.closed_forms._read import explained, fitted_form
from skshapley.exceptions import UnreadableModelError
from skshapley.explanation import Explanation
from skshapley.indices import Index, pair_index, player_index
from skshapley.rewards import REWARDS, InterventionalReward, Response, Reward
from skshapley.rewards._documents import DocumentReward
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule

SINGLE_ROWS = 64  # background rows that tell how single ones differ


class ShapleyExplainer(Attributor):
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
        "conditional", "copula", "empirical", "surrogate": when they follow the present ones.
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
        "auto": none at all where the response can be read and is explained exactly: sums of trees,
        linear terms and products of kernels, be they at the end of a pipeline of column-wise steps
        (see `skshapley.closed_forms`); all of them where the budget covers them; pairs of
        complements for the solver "gp" where it covers four evaluations a player and two background
        rows, explained in ``fit``, do not show that permutations err less; else, and under a
        stopping rule, antithetic permutations, each pair against a background row of its own;
        single permutations below two a player. Where interactions are wanted, pairs of complements
        at any budget.
    solver : str or Solver, default="auto"
        What to make of them: a name of `skshapley.solvers.SOLVERS` or an instance.
    groups : dict, default=None
        ``{"name": [columns, ...]}``: each group is one player, the other columns are their own.
    max_rows : int or "auto", default="auto"
        Most rows that the model is given per instance, all different in their raw columns. It buys
        the same error against a background of a thousand rows or a million. "auto": some 33,000
        against 100 rows or more, for up to 64 players.
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
        cost no model row. Permutations cannot give them: see `sampler`.
    max_background : int, default=None
        Keep so many rows of a larger background, which together resemble all of it
        (`skshapley.background.herd`). Seldom of use: the price of an instance does not know how
        large the background is.
    n_jobs : int, default=None
        Workers, through joblib. The result is the same for any number and any backend.
    random_state : None, int, Generator or RandomState, default=None
    verbose : bool, int or "auto", default="auto"
        "auto" shows progress, and what would be faster, if the work takes longer than 10 s. False
        is silent.

    Attributes
    ----------
    reward_ : Reward
        The reward, fitted to the background.
    exact_ : ClosedForm or None
        The response as a formula, where it can be read (see `skshapley.closed_forms`); where not,
        an explanation's ``settings.why_sampled`` says why.
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
        max_rows: int | str = "auto",
        stopping: StoppingRule | None = None,
        index: str | Index = "shapley",
        interactions: bool | str = False,
        max_background: int | None = None,
        n_jobs: int | None = None,
        random_state=None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.estimator = estimator
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

    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Take the background.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (b, d), or documents
            The background rows, in the container and with the columns that the model was fitted on.
            A list or Series of str, or a frame of one column for a model that begins with a
            vectoriser, are documents: they are explained by their tokens, which are left out where
            absent, and no background is needed.
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
        if takes_documents(self.estimator, X):
            fit_documents(self, X, response, sample_weight)
            return self
        self._take(given_background(self, X, sample_weight, reward))
        _ = self._indices  # which refuses what is none
        # other rewards tell what an evaluation costs when they are fitted: a model row at the least
        b = n_background(self) if type(reward) is InterventionalReward else 1
        # which refuses what is wrong; a closed form gives interactions that sampling may not
        size = Size(self.players_.n_players, b, b)
        plan = plan_of(self, size, pairs=not self._auto)
        self._background = herded_background(self, response)
        self.reward_ = reward.fit(
            response, self.background_, self.background_weights_, self.players_
        )
        self._walks = False
        if size != self._size or not self._auto:
            plan = self._plan(pairs=False)
        self.exact_, self._unread = self._short_cut(plan.max_rows)
        self._learn()
        if self.exact_ is not None:
            self._keep_settings()
        return self

    @property
    def _auto(self) -> bool:
        return is_auto(self.sampler) and is_auto(self.solver)

    @property
    def _indices(self) -> tuple[Index, Index | None]:
        """The index of the players' values, and that of the interactions or None."""
        name = type(self).__name__
        return player_index(self.index, name), pair_index(self.interactions, name)

    def _learn(self) -> None:
        """Learn what all instances share, from the background alone."""
        self._lesson, self._walks = None, False
        if self.exact_ is None:
            if self._plan().takes_parts(self.players_.n_players):
                self.reward_.split(generator(self._entropy, 8))
            if self._samples_references:
                self.reward_.deal(generator(self._entropy, 4))
            self._lesson, self._walks = self._learned()

    def _redrawn(self, entropy: int) -> Self:
        """Return this explainer as its fit would have made it from other entropy."""
        other = copy(self)
        if entropy != self._entropy:
            other._entropy, other.reward_ = entropy, copy(self.reward_)
            other._learn()
        return other

    def _learned(self) -> tuple[Any, bool]:
        """Return what a few background rows teach about all, or None, and whether to walk."""
        plan = self._plan()
        _, solver = plan.components(self.players_.n_players)
        n = min(solver.pilots, len(self.background_weights_))
        if not n:
            return None, False
        rng = generator(self._entropy, 6)
        likely = self.background_weights_
        rows = rng.choice(len(likely), n, replace=False, p=likely)
        game = self.reward_.game(take_rows(self.background_, np.sort(rows)))
        index, pairs = self._indices
        walks = None
        if self._auto and pairs is None and index.adds_up:
            walks = plan_of(self, self._size, unbiased=True)
        return learn(game, plan, self.n_jobs, walks)

    @property
    def _size(self) -> Size:
        reward = self.reward_
        return Size(self.players_.n_players, reward.n_references_, reward.rows_per_value_)

    def _plan(self, pairs: bool = True) -> Plan:
        return plan_of(self, self._size, unbiased=self._walks, pairs=pairs)

    @property
    def _samples_references(self) -> bool:
        plan, size = self._plan(), self._size
        p, values = size.n_players, size.values(plan.max_rows)
        return p > 1 and plan.components(p)[0].samples_references(values, p, size.n_references)

    def _short_cut(self, rows: int) -> tuple[ClosedForm | None, UnreadableModelError | None]:
        """Return the closed form of the response and None, or None and why it is sampled.

        What sampling may spend on an instance, in model rows, is the most that exact values may.
        """
        if not self._auto:
            return None, UnreadableModelError("sampler or solver asked for", 'leave them "auto"')
        try:
            return fitted_form(self.reward_, rows, self.n_jobs, *self._indices), None
        except UnreadableModelError as reason:
            return None, reason

    def explain(self, X) -> Explanation:
        """Explain the predictions for the rows of X.

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (r, d), or documents
            In the background's container, with its columns; those of a frame in any order.

        Returns
        -------
        explanation : Explanation
            Of documents, with a column for each token in any of them, 0 where it is not.

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
        if isinstance(self.reward_, DocumentReward):
            return explain_documents(self, X)
        X = self._background.table(self, X)
        if self.exact_ is not None:
            rows = self.reward_.preparation_.transform(X)
            response, (_, pairs) = self.reward_.masked_.response, self._indices
            outcome = explained(self.exact_, response, rows, pairs)
            return self._recorded(outcome, X)
        plan = self._plan()
        game = self.reward_.game(X)

        def partial(outcome: Outcome) -> Explanation:
            return self._recorded(outcome, take_rows(X, slice(0, len(outcome.values))), plan)

        outcome = run_plan(self, game, plan, partial, self._lesson)
        return self._recorded(outcome, X, plan)

    def background_errors(self, X) -> np.ndarray:
        """Return what the background leaves to chance, as a sample of where it came from.

        The spread of the attributions against single background rows, over the root of their
        number. A sampled explanation has it already, as ``background_errors``. A response that is
        read is explained against 64 single rows, which takes longer than the explanation itself.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            As for `explain`.

        Returns
        -------
        errors : ndarray of shape (r, p) or (r, p, k)
            Standard errors, in the units of the response; NaN where not known.

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
        if self.exact_ is None:
            explanation = self.explain(X)
            known = explanation.background_errors
            return np.full(explanation.values.shape, np.nan) if known is None else known
        X = self._background.table(self, X)
        weights = self.background_weights_
        n = min(len(weights), SINGLE_ROWS)
        rows = generator(self._entropy, 7).choice(len(weights), n, replace=False, p=weights)
        given = self.reward_.preparation_.transform(X)
        single = self.exact_.references(
            self.reward_.masked_.response.in_its_container(given), np.sort(rows)
        )
        spread = single.std(axis=1, ddof=1) if n > 1 else np.full(single[:, 0].shape, np.nan)
        errors = spread * np.sqrt(weights @ weights)
        return errors[..., 0] if self._output_names is None else errors

    @property
    def _output_names(self) -> list | None:
        return self.reward_.response_.output_names

    def _facts(self) -> dict[str, Any]:
        index = self._indices[0] if self.exact_ is None else self.exact_.index
        return {
            "response_method": label(self.reward_.response_.method),
            "output": self.output,
            "reward": label(self.reward_),
            "masked": self.reward_.masked_columns_,
            "index": None if index.adds_up else index.name,
            "closed_form": None if self.exact_ is None else self.exact_.label,
            "why_sampled": None if self._unread is None else self._unread.reason,
            "exact_response": None if self._unread is None else self._unread.instead,
        }
