"""The quadratic part of a response in standard units, fitted to the background.

A conditional reward by transport of a quadratic function of the rows is known without the model.
What is left of the response is sampled, and varies less: a control variate, learned in ``fit``.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from skshapley.rewards._gaussian import row_products

LEAST_ROWS = 64  # of the background, to fit to
MOST_ROWS = 4096
MOST_CROSSED = 32  # columns whose products are looked at: those of the largest own effects
LEAST_SHARE = 0.2  # of the variance of the response on rows left out, to be worth it
PENALTIES = (1.0, 10.0, 100.0, 1000.0)  # rows' worth of "no effect" on each coefficient


@dataclass(frozen=True, eq=False)
class Quadratic:
    """Quadratic functions of rows in standard units, one for each learned output.

    Attributes
    ----------
    centre : ndarray of shape (d,)
        The background's mean.
    constants : ndarray of shape (c,)
    slopes : ndarray of shape (c, d)
    curves : ndarray of shape (c, d, d)
        Symmetric.
    """

    centre: np.ndarray
    constants: np.ndarray
    slopes: np.ndarray
    curves: np.ndarray

    def __call__(self, rows) -> NDArray[np.float64]:
        """Return the values at rows ``(n, d)`` in standard units, ``(n, c)``."""
        apart = rows - self.centre
        functions = zip(self.constants, self.slopes, self.curves, strict=True)
        return np.column_stack(
            [
                constant + ((row_products(apart, curve) + slope) * apart).sum(axis=1)
                for constant, slope, curve in functions
            ]
        )


def fitted_quadratic(standard, targets, weights, rng) -> Quadratic | None:
    """Return the quadratic parts of responses; None where they say too little.

    Ridge regressions, of the penalty that predicts rows best that were left out.

    Parameters
    ----------
    standard : ndarray of shape (b, d)
        The background in standard units.
    targets : ndarray of shape (b, c)
    weights : ndarray of shape (b,)
        With sum 1.
    rng : numpy.random.Generator
        For the rows to fit to, of a large background.
    """
    centre = weights @ standard
    if len(standard) > MOST_ROWS:
        some = np.sort(rng.choice(len(standard), MOST_ROWS, replace=False))
        standard, targets, weights = standard[some], targets[some], weights[some]
    b, d = standard.shape
    if b < LEAST_ROWS:
        return None
    apart, mass = standard - centre, weights / weights.sum()
    squares = np.arange(d), np.arange(d)
    first = _Ridge(_terms(apart, squares), mass)
    fits = [first.fit(target) for target in targets.T]
    if d > 1:
        effect = np.max([_by_column(coefficients, d) for coefficients, _ in fits], axis=0)
        crossed = np.sort(np.argsort(-effect, kind="stable")[:MOST_CROSSED])
        i, j = np.triu_indices(len(crossed), k=1)
        pairs = crossed[i], crossed[j]
        squares = np.append(squares[0], pairs[0]), np.append(squares[1], pairs[1])
        second = _Ridge(_terms(apart, squares), mass)
        fits = [second.fit(target) for target in targets.T]
    if max(share for _, share in fits) < LEAST_SHARE:
        return None
    slopes, curves = np.zeros((len(fits), d)), np.zeros((len(fits), d, d))
    for output, (coefficients, share) in enumerate(fits):
        if share >= LEAST_SHARE:
            slopes[output] = coefficients[:d]
            curves[output][squares] = coefficients[d:]
    curves = (curves + np.swapaxes(curves, 1, 2)) / 2
    means = mass @ targets
    part = Quadratic(centre, np.zeros(len(fits)), slopes, curves)
    return Quadratic(centre, means - mass @ part(standard), slopes, curves)


def _terms(apart, squares) -> NDArray[np.float64]:
    """Return the columns and the products of pairs of them, ``(n, f)``."""
    first, second = squares
    return np.concatenate([apart, apart[:, first] * apart[:, second]], axis=1)


def _by_column(coefficients, d) -> NDArray[np.float64]:
    """Return how much each column does by itself, of coefficients of columns and their squares."""
    return np.abs(coefficients[:d]) + np.abs(coefficients[d:])


class _Ridge:
    """Ridge regressions on the same terms, with errors on rows left out.

    Parameters
    ----------
    terms : ndarray of shape (n, f)
    mass : ndarray of shape (n,)
        Weights of the rows, with sum 1.
    """

    def __init__(self, terms, mass) -> None:
        centred = terms - mass @ terms
        spread = np.sqrt(mass @ centred**2)
        self._unit = np.where(spread > 0, spread, np.inf)  # a constant term counts for nothing
        self._root = np.sqrt(len(mass) * mass)
        scaled = centred / self._unit * self._root[:, None]
        self._sizes, self._axes = np.linalg.eigh(scaled.T @ scaled)
        self._along = scaled @ self._axes
        self._mass = mass

    def fit(self, target) -> tuple[NDArray[np.float64], float]:
        """Return the coefficients of the terms, and the share explained of rows left out."""
        wanted = (target - self._mass @ target) * self._root
        variance = wanted @ wanted
        best, share = np.zeros(len(self._sizes)), 0.0
        for penalty in PENALTIES if variance > 0 else ():
            shrunk = 1 / (np.maximum(self._sizes, 0) + penalty)
            coefficients = shrunk * (self._along.T @ wanted)
            leverage = self._along**2 @ shrunk + self._mass
            missed = (wanted - self._along @ coefficients) / np.maximum(1 - leverage, 1e-3)
            explained = 1 - (missed @ missed) / variance
            if explained > share:
                best, share = coefficients, float(explained)
        return self._axes @ best / self._unit, share
