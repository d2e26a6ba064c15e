"""Indices: weighted means of marginal contributions of players and of pairs.

Each index is a mean of differences: of a player's contribution v(S + i) - v(S), or of a
pair's v(S + i + j) - v(S + i) - v(S + j) + v(S). Every other player is present with
probability t, and the distribution of t defines the index. Uniform t gives the Shapley
value and the Shapley interaction index, and t = 1/2 the Banzhaf indices. With s in {-1,
1}^p for coalitions and v = sum_T c_T prod_{j in T} s_j,

    value of the set S = 2^|S| sum over T that contain S of c_T E[(2 t - 1)^(|T| -
    |S|)].

If the distribution is symmetric about 1/2, only even powers remain. Values of players
then depend on the odd part of v, and values of pairs on the even part.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import betaln, roots_jacobi

from skshapley._tools import Number, check_values, log_binomial

__all__ = ["INDICES", "PAIR_INDICES", "Index", "beta"]


@dataclass(frozen=True)
class Index:
    """An index, defined by the distribution of t, the probability that another player is present.

    Attributes
    ----------
    name : str
    a, b : float or None
        t has the distribution Beta(a, b); None for t = 1/2.
    adds_up : bool
        Whether the values of players add up to v(all) - v(empty).

    Examples
    --------
    >>> from skshapley.indices import INDICES, Index
    >>> INDICES["shapley"]
    Index(name='shapley', a=1.0, b=1.0, adds_up=True)
    >>> Index("beta(2, 2)", 2.0, 2.0).size_law(3).round(
    ...     2
    ... )  # of 3 others, so many are present
    array([0.2, 0.3, 0.3, 0.2])
    """

    name: str
    a: float | None = None
    b: float | None = None
    adds_up: bool = False

    @property
    def symmetric(self) -> bool:
        """Whether t and 1 - t have the same distribution."""
        return self.a == self.b

    def nodes(self, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return u = 2 t - 1 at nodes, and weights: exact for polynomials of degree 2 n - 1.

        Parameters
        ----------
        n : int
        """
        if self.a is None or self.b is None:
            return np.zeros(1), np.ones(1)
        return _jacobi(n, self.a, self.b)

    def law(self, degree: int) -> tuple[np.ndarray, np.ndarray]:
        """Return t at nodes, and weights: exact means of polynomials in t of a degree.

        Parameters
        ----------
        degree : int
        """
        u, weight = self.nodes(max(degree, 0) // 2 + 1)
        # Gauss-Jacobi nodes lie in (-1, 1), and the probability t in (0, 1).
        return (1 + u) / 2, weight

    def moments(self, n: int) -> np.ndarray:
        """Return E[(2 t - 1)^k] for k = 0..n - 1, ``(n,)``.

        Parameters
        ----------
        n : int
        """
        u, weight = self.nodes(n // 2 + 1)
        moments = u ** np.arange(n)[:, None] @ weight
        if self.symmetric:
            # Odd moments of a symmetric distribution are 0; the quadrature leaves
            # rounding errors.
            moments[1::2] = 0.0
        return moments

    def size_law(self, n: int) -> np.ndarray:
        """Return the probabilities that 0..n of n others are present, ``(n + 1,)``.

        Parameters
        ----------
        n : int
        """
        size = np.arange(n + 1)
        log_choose = log_binomial(n, size)
        if self.a is None or self.b is None:
            # Logarithms keep large binomials within the range of floats.
            return np.exp(log_choose - n * np.log(2))
        return np.exp(
            log_choose
            + betaln(size + self.a, n - size + self.b)
            - betaln(self.a, self.b)
        )


INDICES: dict[str, Index] = {
    "shapley": Index("shapley", 1.0, 1.0, adds_up=True),
    "banzhaf": Index("banzhaf"),
}

# The faithful indices (Tsai, Yeh & Ravikumar 2023) are least squares by a function of
# pairs. The weights correspond to t from Beta(2, 2), or t = 1/2; Shapley-Taylor
# (Sundararajan et al. 2020) has Beta(1, 2).
PAIR_INDICES: dict[str, Index] = {
    "shapley": INDICES["shapley"],
    "banzhaf": INDICES["banzhaf"],
    "faithful-shapley": Index("faithful-shapley", 2.0, 2.0),
    "faithful-banzhaf": Index("faithful-banzhaf"),
    "shapley-taylor": Index("shapley-taylor", 1.0, 2.0),
}


@cache
def _jacobi(
    n: int,
    a: float,
    b: float,
) -> tuple[np.ndarray, np.ndarray]:
    # weight (1 - u)^alpha (1 + u)^beta of the Jacobi polynomials: t^(a - 1) (1 - t)^(b
    # - 1)
    u, weight = roots_jacobi(n, b - 1, a - 1)
    return u, weight / weight.sum()


def player_index(index: Any, owner: str) -> Index:
    """Return the index of players for a parameter `index`.

    Parameters
    ----------
    index : str or Index
    owner : str
        Owner of the parameter, for the error.
    """
    if isinstance(index, Index):
        return index
    if isinstance(index, str) and index in INDICES:
        return INDICES[index]
    names = ", ".join(f'"{name}"' for name in INDICES)
    raise ValueError(
        f"{owner} takes index as one of {names} or an Index, such as "
        f"skshapley.indices.beta(16, 1); got {index!r}."
    )


def pair_index(interactions: Any, owner: str) -> Index | None:
    """Return the index of pairs for a parameter `interactions`, or None.

    Parameters
    ----------
    interactions : bool or str
        True for "shapley".
    owner : str
        Owner of the parameter, for the error.
    """
    if isinstance(interactions, bool | np.bool_):
        return PAIR_INDICES["shapley"] if interactions else None
    if isinstance(interactions, str) and interactions in PAIR_INDICES:
        return PAIR_INDICES[interactions]
    names = ", ".join(f'"{name}"' for name in PAIR_INDICES)
    raise ValueError(
        f'{owner} takes interactions as False, True (the same as "shapley") or one of '
        f"{names}; got {interactions!r}."
    )


def enumerated(values: np.ndarray, index: Index, order: int) -> np.ndarray:
    """Compute the index of all sets of `order` players, 1 or 2, from all coalitions.

    Parameters
    ----------
    values : ndarray of shape (2^p, k)
        In the order of `all_coalitions`.
    index : Index
    order : {1, 2}

    Returns
    -------
    found : ndarray of shape (p, k) or (p (p - 1)/2, k)
        Pairs in the order of ``np.triu_indices(p, 1)``.
    """
    p = len(values).bit_length() - 1
    moments = np.append(
        np.zeros(order),
        index.moments(p + 1 - order),
    )
    coefficients = walsh(values)
    # The coefficient of a set of size s takes the moment of order s minus `order`.
    coefficients *= moments[np.bitwise_count(np.arange(2**p))][:, None]
    first, second = np.diag_indices(p) if order == 1 else np.triu_indices(p, 1)
    sums = np.zeros((len(first), values.shape[1]))
    for start in range(0, 2**p, ROWS):
        part = coefficients[start : start + ROWS]
        number = np.arange(start, start + len(part))[:, None]
        # Bit j of a set's number says whether player j is in it.
        members = (number >> np.arange(p) & 1).astype(np.float64)
        for k in range(values.shape[1]):
            # Products of a player with itself, on the diagonal, are the sets that
            # contain it.
            sums[:, k] += ((members * part[:, k : k + 1]).T @ members)[first, second]
    return 2.0**order * sums


ROWS = 2**14  # sets per block


def walsh(values: np.ndarray) -> np.ndarray:
    """Return the coefficients c_T of all sets T from the values of all coalitions, ``(2^p, k)``."""
    out = np.array(values, dtype=np.float64)
    for player in range(len(out).bit_length() - 1):
        pairs = out.reshape(
            -1,
            2,
            2**player,
            out.shape[1],
        )
        without, present = np.moveaxis(pairs.copy(), 1, 0)
        pairs[:, 0] = (present + without) / 2
        pairs[:, 1] = (present - without) / 2
    return out


def beta(a: float, b: float) -> Index:
    """Return the index of Beta Shapley: t has the distribution Beta(b, a).

    Parameters
    ----------
    a, b : float
        Positive. A larger `a` gives more weight to small coalitions; (1, 1) is Shapley.

    References
    ----------
    Kwon & Zou (2022), Beta Shapley: a unified and noise-reduced data valuation
    framework for machine learning, AISTATS, Eq 3.

    Examples
    --------
    >>> from skshapley.indices import beta
    >>> beta(16, 1).size_law(2).round(2)
    array([0.89, 0.1 , 0.01])
    """
    check_values("beta", {"a": a, "b": b}, dict.fromkeys("ab", Number(above=0)))
    return Index(
        f"beta({a:g}, {b:g})",
        float(b),
        float(a),
        adds_up=a == b == 1,
    )
