"""DataShapley: the value of each training point, also exact for nearest neighbours.

The utility of S for K nearest neighbours is the mean over validation points of 1/K times
the number of right labels among the min(K, |S|) nearest points of S (Jia et al. 2019).
"""

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.metrics import check_scoring
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_consistent_length

from skshapley._estimators._attributor import COUNTS
from skshapley._records._result import ShapleyResult
from skshapley._run._engine import run
from skshapley._run._plan import Request, Size, is_auto
from skshapley._tools import (
    Constraint,
    Hinting,
    Maybe,
    Number,
    check_parameters,
    corrected,
    entropy_from,
    progress,
)
from skshapley.indices import Index, player_index
from skshapley.rewards import DataGame
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule


def neighbour_values(
    estimator: KNeighborsClassifier,
    X,
    y,
    X_val,
    y_val,
    index: Index,
) -> tuple[NDArray[np.float64], float]:
    """Return the values of the training points, ``(n,)``, and the utility of all of them.

    A point of rank r changes the utility of a set only if fewer than K of its points are
    nearer. With u the utility, and labels y_r = 1 if right, v(r) - v(r + 1) = (y_r -
    y_{r+1}) / K times the probability of this event, by the law of the index for the
    sizes of sets of nearer points.

    Parameters
    ----------
    estimator : KNeighborsClassifier
        With uniform weights; ties of distances keep its order.
    X, y, X_val, y_val : as in `DataShapley.fit`
    index : Index
    """
    n = len(y)
    k = estimator.n_neighbors
    _, order = clone(estimator).fit(X, y).kneighbors(X_val, n_neighbors=n)
    right = (np.asarray(y)[order] == np.asarray(y_val)[:, None]).astype(np.float64)
    few_nearer = np.array([index.size_law(nearer)[:k].sum() for nearer in range(n)])
    following = np.pad(right[:, 1:], [(0, 0), (0, 1)])
    steps = (right - following) * few_nearer
    ranked = steps[:, ::-1].cumsum(axis=1)[:, ::-1] / k
    values = np.empty_like(ranked)
    np.put_along_axis(values, order, ranked, axis=1)
    return values.mean(axis=0), float(right[:, :k].sum(axis=1).mean() / k)


class DataShapley(Hinting, MetaEstimatorMixin, BaseEstimator):
    """Shapley values of training points, or of groups of them, for the score of a model.

    Parameters
    ----------
    estimator : estimator
        The model. It is cloned and fitted to many coalitions of training points; set
        its `random_state`.
    scoring : str, callable or None, default=None
        The reward, as in scikit-learn; None is the estimator's own score. If the
        training points lack a class, its probability is 0. "neg_log_loss" then loses 36
        per validation point. Bounded scores, such as "neg_brier_score", have less
        noise.
    sampler, solver : str or object, default="auto"
        As in `ShapleyExplainer`. If these, `scoring` and `groups` have their defaults,
        a `KNeighborsClassifier` with uniform weights is valued exactly for the utility
        of Jia et al. (2019): the share of the right label among the K nearest points.
    groups : array of shape (n,), default=None
        Points with the same label are one player.
    max_evals : int or "auto", default="auto"
        Largest number of coalitions to fit the model to, including no points and all
        points.
    stopping : StoppingRule, default=None
    index : str or Index, default="shapley"
        The kind of values: "shapley", "banzhaf", or an index such as
        `skshapley.indices.beta(16, 1)`, which gives small sets larger weights. Only
        Shapley values always add up.
    truncation : float, default=None
        Once the score in a permutation is this close to the score of all points, the
        rest of the permutation is not fitted and adds 0 (Ghorbani & Zou 2019). This
        saves fits, for a bias of that order.
    n_jobs : int, default=None
        Workers, through joblib; each fit is one task.
    random_state : None, int, Generator or RandomState, default=None
    verbose : bool, int or "auto", default="auto"
        "auto" shows progress if the work takes longer than 10 s. False is silent.

    Attributes
    ----------
    values_ : ndarray of shape (n_players,)
        In the units of the score; Shapley values add up to
        ``full_value_ - base_value_``.
    standard_errors_ : ndarray of shape (n_players,), or None
    players_ : ndarray of shape (n_players,)
        Labels of the groups, or positions of the points.
    base_value_, full_value_ : float
        Scores without any point (a constant prediction) and with all of them.
    n_evaluations_ : int
    n_unfitted_ : int
        Number of coalitions on which fitting or scoring fails, for example with fewer
        points than neighbours. They have the score without points, with a warning.
    converged_ : bool

    References
    ----------
    Ghorbani & Zou (2019), Data Shapley: equitable valuation of data for machine
    learning, ICML, Algorithm 1. Jia et al. (2019), Efficient task-specific data
    valuation for nearest neighbor algorithms, VLDB 12, Theorem 1. Kwon & Zou (2022),
    Beta Shapley, AISTATS. Wang & Jia (2023), Data Banzhaf, AISTATS.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skshapley import DataShapley
    >>> X, y = load_iris(return_X_y=True)
    >>> valued = DataShapley(LogisticRegression(), groups=y[::2], max_evals=8)
    >>> valued.fit(X[::2], y[::2], X[1::2], y[1::2]).values_.round(2)
    array([0.21, 0.21, 0.21])
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "truncation": Maybe(Number(least=0)),
        "n_jobs": COUNTS["n_jobs"],
        "verbose": COUNTS["verbose"],
    }

    @corrected
    def __init__(
        self,
        estimator,
        *,
        scoring=None,
        sampler: str | Sampler = "auto",
        solver: str | Solver = "auto",
        groups=None,
        max_evals: int | str = "auto",
        stopping: StoppingRule | None = None,
        index: str | Index = "shapley",
        truncation: float | None = None,
        n_jobs: int | None = None,
        random_state=None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.estimator = estimator
        self.scoring = scoring
        self.sampler = sampler
        self.solver = solver
        self.groups = groups
        self.max_evals = max_evals
        self.stopping = stopping
        self.index = index
        self.truncation = truncation
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    @corrected
    def fit(self, X, y, X_val, y_val) -> Self:
        """Value the training points.

        Parameters
        ----------
        X, y : array or frame of shape (n, d), and array of shape (n,)
        X_val, y_val : array or frame of shape (v, d), and array of shape (v,)

        Returns
        -------
        self

        Raises
        ------
        ValueError
            For inconsistent data, unknown names, or a budget that is too small.
        """
        check_parameters(self, self._constraints)
        check_consistent_length(X, y)
        check_consistent_length(X_val, y_val)
        self.players_, members = self._members(len(y))
        automatic = is_auto(self.sampler) and is_auto(self.solver)
        plain = automatic and self.scoring is None and self.groups is None
        # Subclasses may predict differently, so only the class itself has the closed
        # form.
        nearest = type(self.estimator) is KNeighborsClassifier
        if plain and nearest and self.estimator.weights == "uniform":
            self.n_unfitted_ = 0
            values, full = neighbour_values(
                self.estimator,
                X,
                y,
                X_val,
                y_val,
                player_index(self.index, type(self).__name__),
            )
            result = ShapleyResult(values, np.zeros_like(values), 0.0, full, 1, True)
        else:
            request = Request.of(
                type(self).__name__,
                # truncated values need permutations
                sampler="antithetic"
                if automatic and self.truncation is not None
                else self.sampler,
                solver=self.solver,
                max_evals=self.max_evals,
                stopping=self.stopping,
                index=self.index,
            )
            plan = request.plan(Size(len(self.players_)))
            entropy = entropy_from(self.random_state, type(self).__name__)
            game = DataGame(
                self.estimator,
                X,
                y,
                X_val,
                y_val,
                scorer=check_scoring(self.estimator, scoring=self.scoring),
                members=members,
                truncation=self.truncation,
            )
            with progress(
                plan.max_rows,
                self.verbose,
                "evaluating",
                unit="coalitions",
            ) as report:
                outcome = run(
                    game,
                    plan,
                    entropy,
                    n_jobs=self.n_jobs,
                    evaluations=report,
                )
            self.n_unfitted_ = game.count_unfitted()
            result = ShapleyResult.from_outcome(outcome, one_output=True)
        self.values_ = result.values
        self.standard_errors_ = result.standard_errors
        self.base_value_ = result.base_value
        self.full_value_ = result.full_value
        self.n_evaluations_ = result.n_evaluations
        self.converged_ = result.converged
        return self

    def _members(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels of the players, and the player of each point."""
        if self.groups is None:
            return np.arange(n), np.arange(n)
        groups = np.asarray(self.groups)
        if groups.shape != (n,):
            raise ValueError(
                "DataShapley needs groups as one label per training point, shape "
                f"({n},); got shape {groups.shape}."
            )
        return np.unique(groups, return_inverse=True)
