"""GlobalImportance: the contribution of each feature to a model's accuracy, by SAGE values."""

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from skshapley._estimators._attributor import TableEstimator
from skshapley._records._outcome import Outcome, label
from skshapley._records._result import GlobalExplanation
from skshapley._run._plan import Size, is_auto, sampler_by_steps
from skshapley._tables import checked_weights, n_rows
from skshapley._tools import Stream, corrected, generator
from skshapley._ways._coalitions import joint_request, recorded_run
from skshapley.rewards import Game, InterventionalReward, Response, Reward
from skshapley.rewards._loss import LossGame, resolve_loss
from skshapley.samplers import Sampler
from skshapley.solvers import Solver

# Evaluations of all rows together, at least: 164 for each of a hundred rows.
LEAST_EVALS = 2**14
REFERENCES_A_ROW = 100  # rows of a larger background that each explained row uses


class GlobalImportance(TableEstimator):
    """SAGE values: the part of a model's accuracy that each feature contributes, over many rows.

    A set of features is worth minus the mean loss of a model that knows only this set.
    The response is averaged over background rows for the other features *before* the
    loss is computed. The game is a mean over rows, so a small sample for each row is
    sufficient. The standard errors of the mean include the choice of rows.

    Parameters
    ----------
    estimator : fitted estimator, or callable
        The model; it is never fitted here.
    loss : {"auto", "log_loss", "squared_error"} or callable, default="auto"
        "auto": the log loss of a classifier, the squared error of a regressor. A
        callable takes ``(y, response)``, arrays of n rows, and returns ``(n,)`` losses.
    reward : str or Reward, default="interventional"
        The model's response when only some features are known, as in
        `ShapleyExplainer`. With a conditional reward, the values include information
        that a feature shares with others.
    response_method : str or callable, default="auto"
        As in `ShapleyExplainer`; "log_loss" needs probabilities.
    sampler, solver : str or object, default="auto"
        As in `ShapleyExplainer`, except for "auto": all coalitions if the budget covers
        them, else antithetic permutations. A mean over many rows removes noise but
        keeps bias. At small budgets, regressions and Gaussian processes are biased;
        permutations never are.
    groups : dict, default=None
        ``{"name": [columns, ...]}``: each group is one player, the other columns are
        their own.
    max_rows : int or "auto", default="auto"
        The largest number of model rows per explained row. One evaluation takes 100
        model rows, or the size of a smaller background. From a larger background, each
        explained row gets its own sample. "auto": one pair of permutations, 2 p
        evaluations, or an equal share of 16384 evaluations if that is more.
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
    loss_ : Loss
    reward_ : Reward
        The response, fitted to the background.
    players_ : Players
    background_ : array or frame of shape (b, d)
    background_weights_ : ndarray of shape (b,)
        With sum 1.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (d,)
        Only if the background has names.

    See Also
    --------
    Explanation.importance : Mean absolute attributions, which need no target.

    References
    ----------
    Covert, Lundberg & Lee (2020), Understanding global feature contributions with
    additive importance measures, NeurIPS. Lundberg et al. (2020), From local
    explanations to global understanding with explainable AI for trees, Nature Machine
    Intelligence 2 (attributions of the loss at single rows).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skshapley import GlobalImportance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X[::2], y[::2])
    >>> importance = GlobalImportance(model).fit(X[::10]).explain(X[1::2], y[1::2])
    >>> importance.to_frame()["importance"].round(2)
    feature
    petal length (cm)    0.75
    petal width (cm)     0.15
    sepal width (cm)     0.03
    sepal length (cm)    0.00
    Name: importance, dtype: float64
    """

    stopping = None
    _decided_by = "loss", "reward", "response_method", "sampler", "solver", "max_rows"

    _instead: ClassVar = {
        "plot": "skshapley.plots.ImportanceDisplay.from_importance(explanation)",
        **dict.fromkeys(
            ("importances_", "values_", "importance"),
            "explain(X, y).values",
        ),
    }

    @corrected
    def __init__(
        self,
        estimator,
        *,
        loss="auto",
        reward: str | Reward = "interventional",
        response_method: str | Callable[..., Any] = "auto",
        sampler: str | Sampler = "auto",
        solver: str | Solver = "auto",
        groups: dict | None = None,
        max_rows: int | str = "auto",
        max_background: int | None = None,
        n_jobs: int | None = None,
        random_state=None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.estimator = estimator
        self.loss = loss
        self.reward = reward
        self.response_method = response_method
        self.sampler = sampler
        self.solver = solver
        self.groups = groups
        self.max_rows = max_rows
        self.max_background = max_background
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None, sample_weight=None) -> Self:
        """Store the background; its rows replace absent features.

        Parameters
        ----------
        X : array or frame of shape (b, d)
            In the container and with the columns that the model was fitted on.
        y : array of shape (b,) or (b, k), optional
            The target, for ``reward="refit"``; other rewards ignore it.
        sample_weight : array of shape (b,), optional
            As in `ShapleyExplainer.fit`.

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
        owner = type(self).__name__
        reward = self._checked_reward()
        response = Response(
            self.estimator,
            self.response_method,
            owner=owner,
            whole=True,
        )
        self.loss_ = resolve_loss(self.loss, response, owner)
        self._take_background(X, sample_weight, reward, y)
        # other rewards know the cost of an evaluation after their fit: at least one
        # model row
        p = self.players_.n_players
        least = (
            min(self._n_background, REFERENCES_A_ROW)
            if type(reward) is InterventionalReward
            else 1
        )
        self._request = self._requested(sampler_by_steps)
        # raises for invalid values
        self._plan = self._request.plan(Size(p, rows_per_value=least))
        self.reward_: Any = self._fitted(reward, response)
        # Each row to explain has its own sample of a large background. The loss of a
        # mean counts all background rows as one.
        self._samples = self.reward_.n_references_ > REFERENCES_A_ROW
        cost = REFERENCES_A_ROW if self._samples else self.reward_.rows_per_value_
        self._size = Size(p, rows_per_value=cost)
        if self._samples:
            self.reward_.sort_background(generator(self._entropy, Stream.ORDER))
        self._named = self._labels(
            None,
            response_method=label(response.method),
            reward=label(self.reward_),
            loss=self.loss_.name,
        )
        return self

    @corrected
    def explain(self, X, y, sample_weight=None) -> GlobalExplanation:
        """Explain the model's loss on rows with known targets, preferably rows not used to fit it.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's container, with its columns in its order.
        y : array of shape (r,), or (r, k)
            Class labels, or numbers.
        sample_weight : array of shape (r,), optional
            Weights of the rows in the mean loss.

        Returns
        -------
        explanation : GlobalExplanation

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers, wrong targets, labels that the
            model does not know, or wrong weights, before the model is called on the
            rows.
        ModelOutputError
            If the model or the loss returns NaN, or another shape.
        PartialExplanationError
            If an error or an interruption occurs after some rows were finished; it has
            their explanation.
        """
        check_is_fitted(self, "reward_")
        self._check_decisions()
        X = self._background.table(self, X)
        check_consistent_length(X, y)
        targets = self.loss_.targets(y, n_rows(X))
        weights = checked_weights(
            sample_weight,
            n_rows(X),
            type(self).__name__,
            unit="row",
        )
        joint = self.reward_.joint
        request = (
            joint_request(self._request, self._size, self.reward_)
            if joint
            else replace(self._request, limit=self._max_rows(n_rows(X)))
        )
        plan = request.plan(self._size)
        game = self.reward_.game(X)
        game = LossGame(game, self.loss_, targets, self._references(game))

        def record(outcome: Outcome) -> GlobalExplanation:
            finished = weights[: len(outcome.values)]
            return GlobalExplanation(
                self._named.explanation(outcome, X, plan, self._entropy),
                finished / finished.sum(),
                joint,
            )

        return recorded_run(
            game,
            plan,
            self._named.settings,
            record,
            entropy=self._entropy,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
            joint=joint,
        )

    def _max_rows(self, n_rows: int) -> int | str:
        """Return the model rows per row. They are few, because rows vary more than estimates."""
        if not is_auto(self.max_rows):
            return self.max_rows
        p = self.players_.n_players
        evals = max(2 * p, ceil(LEAST_EVALS / n_rows))
        if not (is_auto(self.sampler) and is_auto(self.solver)):
            evals = max(evals, self._plan.sampler.price(p, 1).least_evals + 2)
        return self._size.rows(evals)

    def _references(self, game: Game) -> np.ndarray | None:
        """Return the background rows of each row to explain, or None for all of them."""
        if not self._samples or game.row_order is None:
            return None
        # By the content of a row: its background rows do not depend on the other rows
        # or their order.
        rngs = (
            generator(self._entropy, Stream.REFERENCES, int(key))
            for key in game.keys(np.arange(game.n_rows))
        )
        return np.stack(
            [game.row_order.shuffled(rng)[:REFERENCES_A_ROW] for rng in rngs]
        )
