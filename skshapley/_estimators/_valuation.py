"""DataShapley: the value of each training point, also exact for nearest neighbours.

The utility of S is the mean over validation points of

    u(S) = min(K, |S|)/K times the share of the right label in the weights of the min(K,
    |S|) nearest points of S.

With uniform weights, this is 1/K times the number of right labels among them (Jia et
al. 2019).
"""

from itertools import combinations
from math import comb
from typing import Any, ClassVar, NamedTuple, Self

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
    progress,
)
from skshapley.indices import Index, player_index
from skshapley.rewards import DataGame, FunctionGame
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule

MOST_SETS = 5 * 10**7  # sets of neighbours times validation points: about ten seconds
# Flags of present points in one step: 4 MB, and 32 MB for their running counts.
CHUNK_NUMBERS = 2**22


class Neighbours(NamedTuple):
    """Training points, sorted by their distance from each of v validation points.

    Attributes
    ----------
    order : ndarray of shape (v, n), int
        Positions of the training points, the nearest first.
    right : ndarray of shape (v, n), float
        1 if the label, in that order, equals the label of the validation point.
    distance : ndarray of shape (v, n)
        In that order.
    k : int
    weights : "uniform", "distance" or callable
        As in scikit-learn.
    """

    order: NDArray[np.intp]
    right: NDArray[np.float64]
    distance: NDArray[np.float64]
    k: int
    weights: object

    @classmethod
    def of(cls, estimator: KNeighborsClassifier, X, y, X_val, y_val) -> Self:
        """Return the neighbours for the metric and the K of an estimator; ties keep its order."""
        model = clone(estimator).fit(X, y)
        distance, order = model.kneighbors(X_val, n_neighbors=len(y))
        right = (np.asarray(y)[order] == np.asarray(y_val)[:, None]).astype(np.float64)
        return cls(order, right, distance, model.n_neighbors, model.weights)

    @property
    def n_players(self) -> int:
        """The number of training points."""
        return self.order.shape[1]

    @property
    def sizes(self) -> range:
        """The possible numbers of neighbours, without 0."""
        return range(1, min(self.k, self.n_players) + 1)

    def __call__(self, coalitions) -> NDArray[np.float64]:
        """Return the utility of coalitions ``(m, n)``, ``(m,)``."""
        out = np.zeros(len(coalitions))
        step = max(1, CHUNK_NUMBERS // self.n_players)
        for start in range(0, len(coalitions), step):
            part = coalitions[start : start + step]
            for point in range(len(self.order)):
                present = part[:, self.order[point]]
                # Points are sorted by distance, so the first K present ones are the
                # neighbours.
                near = present & (present.cumsum(axis=1) <= self.k)
                for size in self.sizes:
                    is_full = near.sum(axis=1) == size
                    ranks = np.nonzero(near[is_full])[1].reshape(-1, size)
                    out[start : start + step][is_full] += self.shares(point, ranks)
        return out / len(self.order)

    def shares(self, point: int, ranks: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the utility of sets of neighbours ``(t, size)``, by rank, for one point."""
        size = ranks.shape[1]
        right = self.right[point][ranks]
        if self.weights == "uniform":
            return right.sum(axis=1) / self.k
        weights = self._weights(self.distance[point][ranks])
        total = weights.sum(axis=1)
        share = np.divide((right * weights).sum(axis=1), total, out=np.zeros(len(ranks)),
                          where=total > 0)  # fmt: skip
        return share * (size / self.k)

    def _weights(self, distance: NDArray[np.float64]) -> NDArray[np.float64]:
        if callable(self.weights):
            return np.asarray(self.weights(distance), dtype=np.float64)
        same = distance == 0  # points at distance 0 have all the weight
        with np.errstate(divide="ignore"):
            return np.where(same.any(axis=1, keepdims=True), same, 1 / distance)

    @property
    def exact(self) -> bool:
        """Whether `values` is feasible: whether there are few sets of at most K neighbours."""
        n_sets = len(self.order) * sum(
            comb(self.n_players, size) for size in self.sizes
        )
        return self.weights == "uniform" or n_sets <= MOST_SETS

    def values(self, index: Index) -> NDArray[np.float64]:
        """Return the values of the training points by an index, ``(n,)``."""
        ranked = (
            self._uniform(index) if self.weights == "uniform" else self._weighted(index)
        )
        values = np.empty_like(ranked)
        np.put_along_axis(values, self.order, ranked, axis=1)
        return values.mean(axis=0)

    def _uniform(self, index: Index) -> NDArray[np.float64]:
        """Return values in order of distance, ``(v, n)``.

        Consecutive points have different values if fewer than K nearer points are
        present (Jia et al. 2019, Theorem 1, for Shapley's uniform distribution).
        """
        k = self.k
        room = np.array(
            [index.size_law(nearer)[:k].sum() for nearer in range(self.n_players)]
        )
        steps = (self.right[:, :-1] - self.right[:, 1:]) * room[:-1]
        last = self.right[:, -1:] * room[-1]
        return (
            np.concatenate([steps, last], axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1] / k
        )

    def _weighted(self, index: Index) -> NDArray[np.float64]:
        """Return values in order of distance, ``(v, n)``, by a sum over all sets of K neighbours.

        Let the other points be present with probability t. The K nearest are the set T
        with probability t^K (1 - t)^(m - K), if the farthest point of T has rank m. The
        value of a point is the mean of the derivative with respect to its own
        probability. For sets of fewer than K points, m is n.
        """
        n = self.n_players
        out = np.zeros((len(self.order), n))
        for size in self.sizes:
            ranks = np.array(list(combinations(range(n), size)), dtype=np.intp).reshape(
                -1, size
            )
            last = ranks[:, -1] if size == self.k else np.full(len(ranks), n - 1)
            with_it = _chances(index, n, size - 1)[last]
            without = _chances(index, n, size)[last]
            for point in range(len(self.order)):
                worth = self.shares(point, ranks)
                absent = np.bincount(last, worth * without, minlength=n)
                out[point] -= absent[::-1].cumsum()[::-1]
                shares = np.repeat(worth * (with_it + without), size)
                out[point] += np.bincount(ranks.ravel(), shares, minlength=n)
        return out


def _chances(index: Index, n: int, present: int) -> NDArray[np.float64]:
    """Return E[t^present (1 - t)^(m - present)] for m = 0..n - 1 others; 0 for m < present."""
    out = np.zeros(n)
    for n_others in range(present, n):
        out[n_others] = index.size_law(n_others)[present] / comb(n_others, present)
    return out


def _is_error_score(value: Any) -> bool:
    return (isinstance(value, str) and value in ("empty", "raise")) or Number().allows(
        value
    )


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
        a `KNeighborsClassifier` is valued exactly for the utility of Jia et al. (2019):
        the share of the right label in the weights of the K nearest points. This needs
        uniform weights, or at most 50 million sets of K neighbours, times validation
        points.
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
    error_score : "empty", "raise" or float, default="empty"
        The value of a set of points on which fitting or scoring fails, for example with
        fewer points than neighbours. "empty": the score without points, with a warning.
        A number: this number, with a warning. "raise": the error ends the valuation. An
        error with all points is always raised.
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
        Number of evaluations with the `error_score`.
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
        "error_score": Constraint(
            _is_error_score, '"empty", "raise" or a finite number'
        ),
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
        error_score: str | float = "empty",
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
        self.error_score = error_score
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
        index_of_values = player_index(self.index, type(self).__name__)
        near = None
        plain = self._auto and self.scoring is None and self.groups is None
        # Subclasses may predict differently, so only the class itself has the closed
        # form.
        if plain and type(self.estimator) is KNeighborsClassifier:
            near = Neighbours.of(self.estimator, X, y, X_val, y_val)
            if near.exact:
                self.n_unfitted_ = 0
                values = near.values(index_of_values)
                full = float(near(np.ones((1, near.n_players), dtype=bool))[0])
                return self._keep(
                    ShapleyResult(values, np.zeros_like(values), 0.0, full, 1, True)
                )
        request = Request.of(
            type(self).__name__,
            # truncated values need permutations
            sampler="antithetic"
            if self._auto and self.truncation is not None
            else self.sampler,
            solver=self.solver,
            max_evals=self.max_evals,
            stopping=self.stopping,
            random_state=self.random_state,
            index=self.index,
        )
        plan = request.plan(Size(len(self.players_)))
        if near is not None:
            game: Any = FunctionGame(near, near.n_players)
        else:
            game = DataGame(
                self.estimator,
                X,
                y,
                X_val,
                y_val,
                scorer=check_scoring(self.estimator, scoring=self.scoring),
                members=members,
                truncation=self.truncation,
                error_score=self.error_score,
            )
        with progress(
            plan.max_rows, self.verbose, "evaluating", unit="coalitions"
        ) as report:
            outcome = run(game, plan, n_jobs=self.n_jobs, evaluations=report)
        self.n_unfitted_ = game.count_unfitted() if isinstance(game, DataGame) else 0
        return self._keep(ShapleyResult.from_outcome(outcome, one_output=True))

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

    @property
    def _auto(self) -> bool:
        return is_auto(self.sampler) and is_auto(self.solver)

    def _keep(self, result: ShapleyResult) -> Self:
        self.values_ = result.values
        self.standard_errors_ = result.standard_errors
        self.base_value_ = result.base_value
        self.full_value_ = result.full_value
        self.n_evaluations_ = result.n_evaluations
        self.converged_ = result.converged
        return self
