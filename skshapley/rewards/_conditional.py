"""Conditional rewards: absent columns follow the present ones.

They follow them by a normal distribution, a Gaussian copula, or the causes of a graph,
or as in similar background rows.

Causal values are those of Heskes, Sijben, Bucur & Claassen (2020), Eq 3 and Corollary
1: columns form components, causes before effects. Given do(x_S), the absent columns of
a component follow all columns of earlier components. They also follow the present
columns of their own component, unless their dependence comes from a common cause
(confounding).

The empirical reward is that of Aas, Jullum & Loland (2021), section 3.4. In their
notation x* is the instance, D_S(x*, x_i) the distance in the present columns (Eq 10),
and w_S(x*, x_i) = exp(-D_S^2 / (2 sigma^2)) the weight of row i (Eq 11).
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from skshapley._tables import column_names
from skshapley._tools import Constraint, Number, Stream, generator
from skshapley.rewards._game import LINK, Known, WeightedGame
from skshapley.rewards._gaussian import (
    LEAST_SHRINKAGE,
    NormalMargins,
    chosen_factors,
    factor_correlation,
    learned_correlation,
    sample_correlation,
    shrunk_correlation,
    squared_distances,
)
from skshapley.rewards._masked import Players
from skshapley.rewards._quadratic import KnownPart, fitted_quadratic, known_part
from skshapley.rewards._reward import BackgroundReward, InterventionalGame, Reward
from skshapley.rewards._surrogate import ForestReward
from skshapley.rewards._transport import (
    CausalModel,
    Margins,
    NumericModel,
    RankMargins,
    TransportModel,
    TransportPool,
    numbers,
)


class NumericReward(BackgroundReward):
    """Base class of rewards that learn the joint distribution of numeric columns.

    Subclasses define the margins (`_margins`) and the model (`_model`).
    """

    takes: ClassVar[tuple[str, ...]] = ()

    def _prepared(self, raw) -> NumericModel:
        owner = type(self).__name__
        rows = numbers(raw.background, owner, "background")
        margins = self._margins(rows, raw.weights)
        scores = margins.standard(rows)
        self.correlation_, self.shrinkage_ = self._learned(
            margins,
            scores,
            raw.weights,
        )
        return self._model(
            **vars(raw),
            correlation=self.correlation_,
            margins=margins,
            owner=owner,
            rows=rows,
            scores=scores,
        )

    def _margins(self, table, weights) -> Margins:
        """Return the margins of a table of numbers ``(b, d)``."""
        return NormalMargins(table, weights)

    def _learned(
        self,
        margins: Margins,
        standard,
        weights,
    ) -> tuple[NDArray[np.float64], float]:
        """Return the correlation of a table in standard units, and its shrinkage."""
        return learned_correlation(standard, weights)

    @abstractmethod
    def _model(self, **parts: Any) -> NumericModel:
        """Return the model with these attributes."""


class TransportGame(InterventionalGame):
    """The mean response over moved rows, for given rows to explain."""

    shared: TransportModel
    _pool: TransportPool
    parted_by_instance = True  # one factor serves a permutation

    def remainder(self) -> "RemainderGame | None":
        """Return the game of the response minus its quadratic part, or None."""
        part = self.shared.part
        if part is None:
            return None
        full = part.left(self.instances.full, part.function(self._pool.given))
        model = replace(
            self.shared,
            empty=part.left(self.shared.empty, part.function(self.shared.scores)),
            v_empty=part.left(self.shared.v_empty, part.mean),
        )
        return RemainderGame(model, self.instances._replace(full=full), self.row_order)


class RemainderGame(TransportGame):
    """The remainder of a game after its quadratic part is subtracted."""

    def remainder(self) -> None:
        """Return None: nothing more is known."""

    def _responses(self, coalitions, rows, references, where) -> NDArray[np.float64]:
        pool = self._pool
        known_part = cast(KnownPart, self.shared.part)
        moves = pool.moves(coalitions, rows, references)
        raw = self.shared.response(
            pool.hybrid(coalitions, rows, references, moves),
            where=where,
        )
        # In place: the moves are the largest array of a batch, and are not used again.
        moves += self.shared.scores[references]
        part = known_part.function(moves.reshape(-1, moves.shape[2]))
        return known_part.left(raw, part).reshape(*references.shape, -1)

    def known(self, rows) -> Known:
        """Return the Shapley values of the quadratic part."""
        part = cast(KnownPart, self.shared.part)
        shapley_values = part.values(self._pool.given[rows])
        response = self.response
        if not response.predicted:  # the part has the explained outputs
            return shapley_values
        winners = self.instances.winners[rows][:, None]
        return Known(*(response.choose(values, winners) for values in shapley_values))


class _TransportReward(NumericReward):
    """Base class of rewards that move background rows towards the present columns."""

    _game_class = TransportGame
    mixed = "raw columns, which move together"

    def _model(self, **parts) -> TransportModel:
        return TransportModel(**parts)

    def split(self, entropy) -> None:
        """Fit the quadratic part of the response, and compute its Shapley values.

        This is omitted if a player is constant, because players without effect are left
        out of games.
        """
        active = self.players_.of_columns(self.varies_ | self._linked)
        if self.link is not None or not active.all():
            return
        column = self.response_.column
        columns = slice(None) if column is None else slice(column, column + 1)
        model = self.masked_
        rng = generator(entropy, Stream.SPLIT)
        function = fitted_quadratic(
            model.scores,
            model.empty[:, columns],
            model.weights,
            rng,
        )
        if function is None:
            return
        self.masked_ = replace(
            model,
            part=known_part(
                function,
                columns,
                model.scores,
                model.weights,
                self.correlation_,
                model.column_player,
                rng,
            ),
        )

    def _learned(
        self,
        margins,
        standard,
        weights,
    ) -> tuple[NDArray[np.float64], float]:
        # One row has no correlation, and zero correlations would look like independent
        # columns.
        if len(standard) == 1:
            raise ValueError(
                f"{type(self).__name__} learns correlations from the background, and "
                "got 1 sample: pass the training table, or choose another reward."
            )
        self.n_factors_, shrinkage = chosen_factors(standard, weights)
        if self.n_factors_ == 0:
            return super()._learned(margins, standard, weights)
        correlation = sample_correlation(standard, weights)
        return shrunk_correlation(
            correlation,
            shrinkage,
            factor_correlation(correlation, self.n_factors_),
        ), shrinkage

    def _active(self, X) -> NDArray[np.bool_]:
        """Return the players with a possible effect, including constant ones that others move."""
        self.masked_.given(X)  # refused before the model is called
        return super()._active(X) | self.players_.of_columns(self._linked)

    @property
    def _linked(self) -> NDArray[np.bool_]:
        """The columns that are correlated with others, ``(d,)``."""
        return (self.correlation_ != np.eye(len(self.correlation_))).any(axis=1)


def _is_covariance(value) -> bool:
    """Return True for None or a symmetric matrix of numbers with no negative eigenvalue."""
    if value is None:
        return True
    try:
        matrix = check_array(value, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    # Relative, since covariances have the squared units of the columns.
    slack = 1e-9 * np.abs(matrix).max()
    if matrix.shape[0] != matrix.shape[1] or not np.allclose(
        matrix,
        matrix.T,
        0,
        slack,
    ):
        return False
    return bool(np.linalg.eigvalsh(matrix).min() >= -slack)


@dataclass(eq=False, repr=False)
class ConditionalReward(_TransportReward):
    """The model's mean response if absent columns follow the present ones, as for normal columns.

    v(S) is the mean over background rows r of f(z). The row z has the present columns
    of the row to explain. Its absent columns have the values of r, moved by their
    regression on the present ones:

        z = r + Sigma[:, S] Sigma[S, S]^-1 (x_S - r_S).

    This is E[f(X) | X_S = x_S] for normal columns, and keeps the residuals of the rows.
    Values show the information of the columns about the response, also through other
    columns: an unused column may have a large value.

    Columns must be numbers without missing values. Fit the reward to many rows, such as
    the training table, because it learns the correlations from them. With samplers of
    permutations, a coalition costs one update of rank one.

    Parameters
    ----------
    covariance : None or array of shape (d, d), default=None
        Sigma, if it is known or was estimated from other rows. None: the covariance of
        the background, shrunk as Ledoit & Wolf propose, which matters for few rows. It
        is shrunk towards a model of one to three common factors instead if held-out
        rows are clearly likelier. Factors are tried for 128 rows or more, and 3 to 128
        columns.
    link : None, "log", "logit" or callable, default=None
        A function of the mean, as in `InterventionalReward`.

    Attributes
    ----------
    correlation_ : ndarray of shape (d, d)
        The correlation of Sigma.
    shrinkage_ : float
        The weight of the identity in it, or of the factors' correlation. A given matrix
        has 0, or a millionth if it is singular up to this precision.
    n_factors_ : int
        The number of common factors; 0 if it is shrunk towards the identity.

    See Also
    --------
    CopulaReward : The same on ranks, for columns with any distribution.
    InterventionalReward : Absent columns keep the values of background rows.

    Notes
    -----
    With permutations, a quadratic function of the columns is fitted to the response in
    ``fit``. Its values are not sampled; they are known up to a small error, which is in
    the standard errors. Only the rest of the response is sampled.

    Standard errors describe the sampling of coalitions and rows. They do not include
    the error of the normal model or of the estimated Sigma.
    `skshapley.diagnostics.conditional_error` compares rewards on held-out rows.

    References
    ----------
    Aas, Jullum & Loland (2021), Explaining individual predictions when features are
    dependent: more accurate approximations to Shapley values, Artificial Intelligence
    298, section 3.2 (there by draws from the normal distribution). Ledoit & Wolf
    (2004), A well-conditioned estimator for large-dimensional covariance matrices,
    Journal of Multivariate Analysis 88. Fan, Fan & Lv (2008), High dimensional
    covariance matrix estimation using a factor model, Journal of Econometrics 147.

    Examples
    --------
    Two correlated columns, and a model that uses the first:

    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.rewards import ConditionalReward
    >>> X = np.random.default_rng(0).multivariate_normal(
    ...     [0, 0], [[1, 0.8], [0.8, 1]], size=500
    ... )
    >>> reward = ConditionalReward(covariance=[[1, 0.8], [0.8, 1]])
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0], reward=reward).fit(
    ...     X - X.mean(axis=0)
    ... )
    >>> explainer.explain(np.array([[1.0, 2.0]])).values.round(2)
    array([[0.2, 0.8]])
    """

    covariance: Any = None
    link: Any = None

    takes = ("gaps", "text")
    _constraints = {
        "covariance": Constraint(
            _is_covariance,
            "None or a symmetric matrix without negative eigenvalues",
        ),
        "link": LINK,
    }

    def for_table(self, background) -> Reward:
        """Return a forest reward for a table with categories or missing values."""
        if self.covariance is not None or self.link is not None:
            return self
        try:
            numbers(background, "ConditionalReward", "background")
        except (TypeError, ValueError):
            return ForestReward()
        return self

    def _margins(self, table, weights) -> Margins:
        if self.covariance is None:
            return super()._margins(table, weights)
        d = table.shape[1]
        if np.shape(self.covariance) != (d, d):
            raise ValueError(
                "ConditionalReward got a covariance of shape "
                f"{np.shape(self.covariance)} for {d} columns: pass one of shape "
                f"({d}, {d}), in the order of the columns."
            )
        # The scale of the given matrix, which may come from other rows than the
        # background.
        return NormalMargins(table, weights, np.sqrt(np.diagonal(self.covariance)))

    def _learned(
        self,
        margins,
        standard,
        weights,
    ) -> tuple[NDArray[np.float64], float]:
        if self.covariance is None:
            return super()._learned(margins, standard, weights)
        self.n_factors_ = 0
        correlation = self.covariance / np.outer(margins.spread, margins.spread)
        np.fill_diagonal(correlation, 1.0)  # constant columns have no variance
        if np.linalg.eigvalsh(correlation).min() >= LEAST_SHRINKAGE:
            return correlation, 0.0
        return shrunk_correlation(correlation, LEAST_SHRINKAGE), LEAST_SHRINKAGE


@dataclass(eq=False, repr=False)
class CopulaReward(_TransportReward):
    """A `ConditionalReward` on the normal scores of ranks: a normal copula with free margins.

    Each column is replaced by the normal quantiles of its ranks among the background
    rows. Rows are moved on this scale, and converted back by the quantiles of the
    column. Moved values stay in the range of the column, and monotone transforms of a
    column do not change the reward. Between different numbers the conversion is linear.
    Repeated numbers (counts, codes) are returned as such.

    Columns must be numbers without missing values. Fit the reward to many rows, because
    it learns margins and correlations from them.

    Parameters
    ----------
    link : None, "log", "logit" or callable, default=None
        A function of the mean, as in `InterventionalReward`.

    Attributes
    ----------
    correlation_ : ndarray of shape (d, d)
        Correlation of the normal scores.
    shrinkage_ : float
        The weight of the identity in it, or of the factors' correlation.
    n_factors_ : int
        The number of common factors; 0 if it is shrunk towards the identity.

    See Also
    --------
    ConditionalReward : The same on the numbers themselves.

    References
    ----------
    Aas, Jullum & Loland (2021), Explaining individual predictions when features are
    dependent: more accurate approximations to Shapley values, Artificial Intelligence
    298, section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> X = np.random.default_rng(0).multivariate_normal(
    ...     [0, 0], [[1, 0.8], [0.8, 1]], size=500
    ... )
    >>> skewed = np.exp(X)
    >>> explainer = ShapleyExplainer(lambda X: np.log(X[:, 0]), reward="copula").fit(
    ...     skewed
    ... )
    >>> explainer.explain(np.exp([[1.0, 2.0]])).values.round(1)
    array([[0.2, 0.7]])
    """

    link: Any = None

    _constraints = {"link": LINK}

    def _margins(self, table, weights) -> Margins:
        return RankMargins(table, weights)


class CausalReward(ConditionalReward):
    """The model's mean response under an intervention that sets the present columns.

    v(S) = E[f(X) | do(X_S = x_S)] for normal columns with a causal chain graph of
    components. Causes come before effects. Setting a column moves its effects but not
    its causes. In contrast, `ConditionalReward` also infers causes from effects. With
    ``confounded=False``, the columns of a component act on each other, so the present
    columns move the others. With ``confounded=True``, they share an unmeasured cause,
    so setting one does not move the others.

    A single component without confounding gives `ConditionalReward`. A single
    confounded component gives `InterventionalReward`. The graph is not tested; the
    values are correct only if the graph is. Columns must be numbers without missing
    values. A coalition costs one matrix per component.

    Parameters
    ----------
    components : list of list of columns
        Columns by name or position, each once; causes before effects.
    confounded : bool or list of bool, default=False
        For all components, or for each.
    covariance : None or array of shape (d, d), default=None
        As in `ConditionalReward`.

    See Also
    --------
    skshapley.samplers.Ordered : Values over orders in which causes come first.

    References
    ----------
    Heskes, Sijben, Bucur & Claassen (2020), Causal Shapley values: exploiting causal
    knowledge to explain individual predictions of complex models, NeurIPS, Eq 3 and
    Corollary 1.

    Examples
    --------
    The model uses the effect, but not its cause:

    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.rewards import CausalReward
    >>> covariance, rows = [[1, 0.8], [0.8, 1]], np.array([[1.0, 1.0], [-1.0, -1.0]])
    >>> for components in ([["x0"], ["x1"]], [["x1"], ["x0"]]):
    ...     reward = CausalReward(components, covariance=covariance)
    ...     explainer = ShapleyExplainer(lambda X: X[:, 1], reward=reward).fit(rows)
    ...     print(explainer.explain(np.array([[1.0, 2.0]])).values.round(2) + 0.0)
    [[0.4 1.6]]
    [[0. 2.]]
    """

    _constraints = {
        **ConditionalReward._constraints,
        "components": Constraint(
            lambda components: (
                isinstance(components, list | tuple)
                and len(components) > 0
                and all(
                    isinstance(part, list | tuple | np.ndarray) for part in components
                )
                and all(map(len, components))
            ),
            "a list of lists of columns, causes first",
        ),
        "confounded": Constraint(
            lambda value: np.asarray(value).dtype == bool,
            "True or False, or a list of them",
        ),
    }

    def __init__(
        self,
        components: Any,
        confounded: Any = False,
        covariance: Any = None,
    ) -> None:
        super().__init__(covariance)
        self.components = components
        self.confounded = confounded

    def _model(self, **parts) -> CausalModel:
        names = column_names(self.background_)
        groups = {f"component {i}": part for i, part in enumerate(self.components)}
        players = Players.from_groups(groups, names, "CausalReward")
        # Columns outside the groups would become players of their own, without a place
        # among the causes.
        if players.n_players > len(groups):
            raise ValueError(
                f"CausalReward got components {self.components!r}: name each of the "
                f"columns {names} once."
            )
        components = tuple(
            (players.names == name)[players.column_player] for name in groups
        )
        flags = np.asarray(self.confounded)
        if flags.shape not in ((), (len(groups),)):
            raise ValueError(
                f"CausalReward got confounded={self.confounded!r} for {len(groups)} "
                "components: pass one flag for each, or a single one."
            )
        return CausalModel(
            **parts,
            components=components,
            confounded=tuple(np.broadcast_to(flags, len(groups)).tolist()),
        )

    def split(self, entropy) -> None:
        """Do nothing: rows that follow causes have no known part."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NearModel(NumericModel):
    """A response with background rows weighted by their distance to the row to explain.

    Attributes
    ----------
    sigma, eta : float
    """

    sigma: float
    eta: float

    def row_weights(self, given, coalitions) -> NDArray[np.float64]:
        """Return the weights of background rows, with sum 1, ``(n, b)``.

        Parameters
        ----------
        given : ndarray of shape (n, d) or (1, d)
            The rows to explain in standard units.
        coalitions : ndarray of shape (n, p), bool
        """
        present = coalitions.take(self.column_player, axis=1)
        squares = squared_distances(
            self.correlation,
            present,
            given[:, None] - self.scores,
        )
        # constant columns do not separate rows, and are ignored
        varied = (self.scores != self.scores[0]).any(axis=0)
        squares /= np.maximum(present[:, varied].sum(axis=1), 1)[:, None]
        squares -= squares.min(
            axis=1,
            keepdims=True,
        )  # the weights of distant rows would be 0
        weights = self.weights * np.exp(squares / (-2 * self.sigma**2))
        weights /= weights.sum(axis=1, keepdims=True)
        nobody = ~present.any(axis=1, keepdims=True)  # v(empty) uses all rows
        return np.where(nobody, self.weights, _largest(weights, self.eta))


def _largest(weights, share) -> NDArray[np.float64]:
    """Return the largest weights that reach a share of their sum, scaled to sum 1."""
    # Partial sums over the sorted weights give the fewest rows that reach the share.
    ranked = -np.sort(-weights, axis=1)
    before = np.cumsum(ranked, axis=1) - ranked
    # equal weights are all kept or all dropped, for any order of the rows
    last = np.where(before < share, ranked, np.inf).min(axis=1, keepdims=True)
    largest = np.where(weights >= last * (1 - 1e-9), weights, 0.0)
    return largest / largest.sum(axis=1, keepdims=True)


@dataclass(eq=False, repr=False)
class EmpiricalReward(NumericReward):
    """The model's mean response over background rows that are close in the present columns.

    v(S) = sum_i w_i f(x_S, background_i outside S), where w_i falls with the distance
    of row i from the row to explain in the present columns: exp(-D^2 / (2 sigma^2))
    with the squared Mahalanobis distance D^2, divided by the number of present columns.
    There is no assumption on the dependence of columns. The reward uses existing rows
    and needs many of them: if several columns are present, few rows are close.
    `effective_rows` counts them.

    Columns must be numbers without missing values. Every coalition uses all background
    rows. An evaluation therefore costs up to b model rows, and permutations cannot use
    single rows.

    Parameters
    ----------
    sigma : float, default=0.1
        Bandwidth, in standard deviations. A smaller bandwidth uses fewer rows.
    eta : float, default=0.95
        Share of the weights to keep, the largest first; other rows are not evaluated.

    Attributes
    ----------
    correlation_ : ndarray of shape (d, d)
        Correlation of the columns, shrunk as Ledoit & Wolf propose; it defines the
        distances.
    shrinkage_ : float
        The weight of the identity in it.

    See Also
    --------
    ConditionalReward : Moves rows by a normal model, which needs fewer rows.

    Notes
    -----
    Version 1.0 of the R package shapr divides squared distances by the square of the
    number of columns; the paper divides by the number. This equals a larger bandwidth,
    and changes values by up to 4 of 20 on its own example. At the limit of `eta`, shapr
    keeps some of the rows at equal distance. Here, all of them are kept.

    References
    ----------
    Aas, Jullum & Loland (2021), Explaining individual predictions when features are
    dependent: more accurate approximations to Shapley values, Artificial Intelligence
    298, Eq 10-12.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> X = np.random.default_rng(0).multivariate_normal(
    ...     [0, 0], [[1, 0.8], [0.8, 1]], size=500
    ... )
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0], reward="empirical").fit(X)
    >>> explainer.explain(np.array([[1.0, 1.0]])).values.round(1)
    array([[0.6, 0.3]])
    >>> alone = np.array([[True, False], [False, True]])
    >>> explainer.reward_.effective_rows(np.array([[1.0, 1.0]]), alone).round()
    array([[40., 47.]])
    """

    sigma: float = 0.1
    eta: float = 0.95

    pooled = True
    mixed = "raw columns of near rows"
    _constraints = {
        "sigma": Number(above=0),
        "eta": Constraint(
            lambda eta: Number(above=0).allows(eta) and eta <= 1,
            "a number above 0, 1 at most",
        ),
    }

    def _model(self, **parts) -> NearModel:
        return NearModel(**parts, sigma=self.sigma, eta=self.eta)

    def game(self, X) -> WeightedGame:
        """Return the game of the rows X; the model is called on them once."""
        return WeightedGame(
            self._plain_game(X),
            self.masked_.margins.standard(self.masked_.given(X)),
            self.rows_per_value_,
        )

    def effective_rows(self, X, coalitions) -> NDArray[np.float64]:
        """Return the effective number of background rows of each coalition.

        This is 1 / (sum of the squared weights): b for equal weights, 1 for a single
        row. If it is small, v(S) is close to the response at the nearest row.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        coalitions : array of shape (m, p), bool

        Returns
        -------
        effective : ndarray of shape (r, m)
        """
        standard = self.masked_.margins.standard(self.masked_.given(X))
        coalitions = np.asarray(coalitions, dtype=bool)
        # row by row, since the differences of all rows may exceed the memory
        weights = (self.masked_.row_weights(x[None], coalitions) for x in standard)
        return np.array([1 / (of_row**2).sum(axis=1) for of_row in weights])
