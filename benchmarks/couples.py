"""Simulated games of the papers.

Grah & Thouvenot (2020), section 5.1, take two functions f from Hastie, Tibshirani &
Friedman (2009), The elements of statistical learning (pages 339 and 401). They explain
a row x* in contrast to a reference r, and average over 50 such couples. v(S) evaluates
f at the row z with the values of x* in S and the values of r elsewhere.
"""

from abc import abstractmethod
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from skshapley._tools import entropy_from, generator
from skshapley.rewards import Game
from skshapley.testing.games import brute_force_rows


class Couples(Game):
    """Base class of games that explain each row against its own reference.

    Both functions of the paper depend on a row only through a sum over its features, so
    a game is stored as the summands of x* and of r.

    Parameters
    ----------
    instances, references : array-like of shape (r, p)
        The rows x* and r, couple by couple.

    Attributes
    ----------
    X, references : ndarray of shape (r, p)
    """

    n_outputs = 1

    def __init__(self, instances, references) -> None:
        self.X = np.asarray(instances, dtype=np.float64)
        self.references = np.asarray(references, dtype=np.float64)
        if self.X.ndim != 2 or self.X.shape != self.references.shape:
            raise ValueError(
                f"{type(self).__name__} got rows to explain of shape {self.X.shape} "
                f"and references of shape {self.references.shape}: pass two arrays of "
                "one shape (r, p)."
            )
        self.n_rows, self.n_players = self.X.shape
        self.bytes_per_row = 8 * self.n_players
        self._present = self._summands(self.X)
        self._absent = self._summands(self.references)

    @staticmethod
    @abstractmethod
    def _summands(X) -> NDArray[np.float64]:
        """Return the summand of each entry of ``(n, p)``."""

    @abstractmethod
    def _value(self, total, rows) -> NDArray[np.float64]:
        """Return v of coalitions with these sums, ``(r, m)``."""

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the values, ``(r, m, 1)``."""
        present = self._present[rows, None]
        absent = self._absent[rows, None]
        total = np.where(coalitions, present, absent).sum(axis=2)
        return self._value(total, rows)[..., None]

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty), ``(r, 1, 1)``."""
        return self(np.zeros((len(rows), 1, self.n_players), dtype=bool), rows)

    def full(self, rows) -> NDArray[np.float64]:
        """Return v(all), ``(r, 1)``."""
        return self(np.ones((len(rows), 1, self.n_players), dtype=bool), rows)[:, 0]

    def active(self, rows) -> NDArray[np.bool_]:
        """Return True for players that differ from the reference, ``(r, p)`` bool."""
        return self.X[rows] != self.references[rows]

    def take(self, rows) -> Self:
        """Return the game of some couples."""
        return type(self)(self.X[rows], self.references[rows])

    @property
    def shapley_values(self) -> np.ndarray:
        """Return the exact values, ``(r, p, 1)``, by enumeration of all 2^p coalitions.

        It is feasible up to about 20 players.
        """
        return brute_force_rows(self)


class ChiSquareCouples(Couples):
    """The classification of Grah & Thouvenot (2020): 1 if z is in the class of x*, else 0.

    A row is in the first class if the sum of its squares is above the median of the
    chi-square distribution with p degrees of freedom, else in the second. v(S) is 1 if
    z and x* are in the same class, else 0. If x* and r are in different classes, the
    attributions sum to 1.

    Parameters
    ----------
    instances, references : array-like of shape (r, p)
        The rows x* and r, couple by couple.

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating
    Shapley value applied in attribute importance, CD-MAKE, section 5.1.

    Examples
    --------
    >>> from benchmarks.couples import ChiSquareCouples
    >>> ChiSquareCouples([[2.0, 0.0]], [[0.0, 0.1]]).shapley_values[0, :, 0]
    array([1., 0.])
    """

    @staticmethod
    def _summands(X) -> NDArray[np.float64]:
        return X**2

    def _value(self, total, rows) -> NDArray[np.float64]:
        median = chi_square_median(self.n_players)
        instance_total = self._present[rows].sum(axis=1, keepdims=True)
        return ((total > median) == (instance_total > median)).astype(np.float64)


class RadialCouples(Couples):
    """The regression of Grah & Thouvenot (2020): the difference of f(z) and f(r).

    v(S) = f(z) - f(r) with f(z) = prod_j sqrt(pi/2) exp(-z_j^2/2).

    Parameters
    ----------
    instances, references : array-like of shape (r, p)
        The rows x* and r, couple by couple.

    References
    ----------
    Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating
    Shapley value applied in attribute importance, CD-MAKE, section 5.1.

    Examples
    --------
    >>> from benchmarks.couples import RadialCouples
    >>> RadialCouples([[0.0, 1.0]], [[0.0, 2.0]]).shapley_values[0, :, 0].round(4)
    array([0.    , 0.7402])
    """

    @staticmethod
    def _summands(X) -> NDArray[np.float64]:
        # Logarithms of the factors, so that the product is a sum over features too.
        return 0.5 * (np.log(np.pi / 2) - X**2)

    def _value(self, total, rows) -> NDArray[np.float64]:
        base = self._absent[rows].sum(axis=1, keepdims=True)
        return np.exp(total) - np.exp(base)


def chi_square_median(p: int) -> float:
    """Return the median of the chi-square distribution with p degrees of freedom.

    Parameters
    ----------
    p : int
        Degrees of freedom.
    """
    return 2 * float(gammaincinv(p / 2, 0.5))


def make_couples(
    kind="chi-square", n_couples=50, n_players=16, n_samples=1000, random_state=None
) -> Couples:
    """Draw the couples of the experiments of Grah & Thouvenot (2020), section 5.

    Parameters
    ----------
    kind : {"chi-square", "radial"}, default="chi-square"
        "chi-square": the classification, `ChiSquareCouples`. "radial": the regression,
        `RadialCouples`.
    n_couples : int, default=50
        Number of rows, each with its own reference.
    n_players : int, default=16
        Number of features. The paper has 16 and, for the classification, 300.
    n_samples : int, default=1000
        Number of rows, of independent standard normal features, from which couples are
        drawn. The two rows of a couple differ. In a classification, they are in
        different classes.
    random_state : None, int, Generator or RandomState, default=None

    Returns
    -------
    game : Couples
        A game of ``n_couples`` rows, for `skshapley.testing.explain_game`.

    Examples
    --------
    >>> from benchmarks.couples import make_couples
    >>> from skshapley.testing import explain_game
    >>> game = make_couples(n_couples=2, n_players=4, random_state=0)
    >>> explain_game(game, sampler="exact", max_evals=16).values.sum(axis=1).ravel()
    array([1., 1.])
    """
    kinds = {"chi-square": ChiSquareCouples, "radial": RadialCouples}
    if kind not in kinds:
        raise ValueError(
            f"make_couples got kind={kind!r}: choose one of {list(kinds)}."
        )
    rng = generator(entropy_from(random_state, "make_couples"), 0)
    X = rng.standard_normal((n_samples, n_players))
    couples: list[np.ndarray] = []
    positive = (X**2).sum(axis=1) > chi_square_median(n_players)
    # In a classification, about half of the drawn pairs are kept.
    while len(couples) < n_couples:
        pair = rng.choice(n_samples, size=2, replace=False)
        if kind == "radial" or positive[pair[0]] != positive[pair[1]]:
            couples.append(pair)
    instances, references = np.array(couples).T
    return kinds[kind](X[instances], X[references])
