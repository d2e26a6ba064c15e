"""The empirical conditional reward: weights of background rows by distance in the present columns.

Aas, Jullum & Loland (2021), section 3.4. In their notation x* is the instance, D_S(x*,
x_i) the distance in the present columns (Eq 10), and w_S(x*, x_i) = exp(-D_S^2 / (2
sigma^2)) the weight of row i (Eq 11).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley._tools._params import Constraint, Number
from skshapley.rewards._conditional import NumericReward
from skshapley.rewards._gaussian import squared_distances
from skshapley.rewards._linked import WeightedGame
from skshapley.rewards._reward import InterventionalGame
from skshapley.rewards._transport import NumericModel


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
            self.correlation, present, given[:, None] - self.scores
        )
        # constant columns do not separate rows, and are ignored
        varied = (self.scores != self.scores[0]).any(axis=0)
        squares /= np.maximum(present[:, varied].sum(axis=1), 1)[:, None]
        squares -= squares.min(
            axis=1, keepdims=True
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

    masked_: NearModel
    pooled = True
    mixed = "raw columns of near rows"
    _constraints = {
        "sigma": Number(above=0),
        "eta": Constraint(
            lambda eta: Number(above=0).allows(eta) and eta <= 1,
            "a number above 0, 1 at most",
        ),
    }

    def __init__(self, sigma: float = 0.1, eta: float = 0.95) -> None:
        self.sigma = sigma
        self.eta = eta

    def _model(self, **parts) -> NearModel:
        return NearModel(**parts, sigma=self.sigma, eta=self.eta)

    def game(self, X) -> "EmpiricalGame":
        """Return the game of the rows X; the model is called on them once."""
        standard = self.masked_.margins.standard(self.masked_.given(X))
        return EmpiricalGame(self._plain_game(X), standard)

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


class EmpiricalGame(WeightedGame):
    """The game of the empirical reward for given rows.

    Parameters
    ----------
    game : InterventionalGame
        The game of the same model with equal weights.
    given : ndarray of shape (r, d)
        The rows to explain in standard units.
    """

    by_row = ("_given",)

    def __init__(self, game: InterventionalGame, given: np.ndarray) -> None:
        super().__init__(game)
        self._given = given

    def _weights(self, coalitions, rows) -> NDArray[np.float64]:
        return self.shared.row_weights(self._given[rows], coalitions)
