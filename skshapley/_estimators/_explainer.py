"""ShapleyExplainer: fit / explain / transform, the public face of the engine."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import NOT_FITTED, Attributor
from skshapley._records._outcome import label
from skshapley._run._plan import Size
from skshapley._tables import (
    as_documents,
    container_for,
    refuse_unusual_cells,
    takes_documents,
)
from skshapley._tools import corrected, entropy_from
from skshapley._ways._base import Tokens
from skshapley._ways._choose import choose
from skshapley._ways._documents import Documents
from skshapley.explanation import Explanation
from skshapley.indices import Index
from skshapley.rewards import InterventionalReward, Players, Response, Reward
from skshapley.rewards._tokens import CHUNK_TEXTS, DocumentReward
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule


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
        "empirical", "surrogate", "forest"), or the response of the model fitted to the present
        features ("refit").
    response_method : str or callable, default="auto"
        "predict", "predict_proba", "predict_log_proba", "decision_function",
        "score_samples", "log_odds" (an XGBoost classifier's margin, else the logit of
        the probability, sampled values of it within about ±36), "log" (the logarithm of
        the prediction), or a function of
        (estimator, X). "auto": probabilities or else
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
        their own. A dict of such groups in place of the columns makes nested groups:
        the innermost ones are the players, and have Owen or Winter values.
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
        y : array of shape (b,) or (b, k), optional
            The target, for ``reward="refit"``; other rewards ignore it.
        sample_weight : array of shape (b,), optional
            Shares of the rows in all means: weight 2 equals two such rows. Only ratios
            matter, except in the fits of ``reward="refit"``. Rewards that learn
            correlations, forests or surrogates weight the rows, but still learn from b
            rows: shrinkage, leaf sizes and masks follow this number.

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
            self.estimator,
            self.response_method,
            self.output,
            owner=name,
        )
        if takes_documents(self.estimator, X):
            self._fit_documents(X, response, sample_weight)
            return self
        self._take_background(X, sample_weight, reward, y)
        request = self._requested()
        # other rewards know the cost of an evaluation after their fit
        draft = None
        p = self.players_.n_players
        b = self._n_background
        if type(reward) is InterventionalReward and reward.link is None:
            draft = request.draft(Size(p, b, b))
        try:
            reward_: Any = self._fitted(reward, response)
        except (ValueError, TypeError, KeyError) as error:
            refuse_unusual_cells(self.background_, None, error, name)
            raise
        if draft is None:
            draft = request.draft(
                Size(
                    p,
                    reward_.n_references_,
                    reward_.rows_per_value_,
                    of_means=reward_.link is not None,
                )
            )
        labels = self._labels(
            response.output_names,
            request.pairs,
            **self._facts(response, request.index),
            reward=label(reward_),
            masked=reward_.masked_columns_,
        )
        self._way = choose(
            labels,
            reward_,
            request,
            draft,
            self._entropy,
            self.n_jobs,
        )
        return self

    def _fit_documents(self, X: Any, response: Response, sample_weight: Any) -> None:
        """Call the model on documents once to learn its outputs.

        Parameters
        ----------
        X : list, Series, array or frame of one column
        response : Response
        sample_weight : object
            Refused unless None.
        """
        name = type(self).__name__
        texts = as_documents(X, name).tolist()
        for parameter, value, default in (
            ("reward", self.reward, "interventional"),
            ("groups", self.groups, None),
            ("interactions", self.interactions, False),
            ("sample_weight", sample_weight, None),
        ):
            if not (value is default or (isinstance(value, str) and value == default)):
                raise ValueError(
                    f"{name} got {parameter}={value!r} for documents, but players are "
                    f"their tokens: choose {parameter}={default!r}, or pass one "
                    "document to shapley_values as a TokenReward."
                )
        self._entropy = entropy_from(self.random_state, name)
        players = Players(np.empty(0, dtype=object), np.empty(0, np.intp))
        self._background = Tokens(None, np.empty(0), players)
        request = self._requested()
        request.plan(Size(1))  # raises for invalid parameters
        reward = DocumentReward(response, container_for(self.estimator, X))
        response.probe(reward.container_(texts[:CHUNK_TEXTS]), " on documents")
        labels = self._labels(
            response.output_names,
            **self._facts(response, request.index),
            reward="tokens left out",
            masked="tokens of the documents",
            why_sampled="The model must be called on documents with some tokens removed",
        )
        self._way = Documents(
            labels,
            reward,
            self._entropy,
            container=reward.container_,
            request=request,
        )

    def _facts(self, response: Response, index: Index) -> dict[str, Any]:
        """Return the settings about the response and the index."""
        return {
            "response_method": label(response.method),
            "output": self.output,
            "explained_class": response.explained_class,
            "index": None if index.adds_up else index.name,
        }

    def _with(self, **parameters: Any) -> Self:
        """Return an explainer of the same model with other parameters, and this background."""
        background = self._background
        return type(self)(**{**self.get_params(deep=False), **parameters}).fit(
            background.rows,
            background.target,
            sample_weight=background.fit_weights,
        )

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
        if self.background is not None and not hasattr(self, "_way"):
            self.fit(self.background)
        check_is_fitted(self, "_way", msg=NOT_FITTED)
        self._check_decisions()
        rows = self._table(X)
        try:
            return self._way.explain(rows, self.n_jobs, self.verbose)
        except (ValueError, TypeError, KeyError) as error:
            if self.background_ is not None:
                refuse_unusual_cells(rows, self.background_, error, type(self).__name__)
            raise

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
        check_is_fitted(self, "_way", msg=NOT_FITTED)
        return self._way.background_errors(self._table(X), self.n_jobs)
