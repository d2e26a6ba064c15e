"""The hyper-parameters beside the reaches, by maximum a posteriori."""

import numpy as np
from scipy.optimize import minimize

from skshapley._even._hyper import EvenHyper, scalars, scalars_start
from skshapley._even._kernel import (
    higher,
    order_two,
    products,
    single_covariance,
    size_covariance,
)
from skshapley._odd import Pairs
from skshapley._odd._evidence import misfit
from skshapley._odd._fit import thinned
from skshapley._odd._kernel import JITTER

MOST_POINTS = 300
ITERATIONS = 25


class EvenEvidence:
    """Minus the log posterior density of the logarithms of the hyper-parameters but the reaches.

    The scale of each output is profiled out; outputs count as one observation together.

    Parameters
    ----------
    pairs : Pairs
        Relative to the full coalition. Outputs that are zero at all of them do not count.
    reach : ndarray of shape (p,)
    each : ndarray of shape (p (p - 1)/2,) or None
        Variances of the coefficients of order two at variance 1; None where the reaches share it.
    """

    def __init__(self, pairs: Pairs, reach: np.ndarray, each: np.ndarray | None = None) -> None:
        self.blocked = pairs.block is not None
        self.priors = scalars(self.blocked)
        hyper = EvenHyper.from_vector(reach, self.priors[0])
        signs = pairs.signs
        self._roughness = pairs.roughness
        largest = np.abs(pairs.values).max(axis=0)
        self._values = pairs.values[:, largest > 0] / largest[largest > 0]
        two, more = order_two(signs, signs, hyper), higher(signs, signs, hyper)
        if each is not None:
            told = products(signs)
            two = (told * each) @ told.T
        size, single = size_covariance(signs, signs), single_covariance(signs, signs)
        self._parts = [two, more, size, single]
        same = pairs.same_block
        if same is not None:
            self._parts += [two * same, more * same]

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at the vector `theta`, ``(4,)`` or ``(6,)``."""
        pairs, noise, size, single, *spreads = np.exp(theta)
        own = (f * s for f, s in zip((pairs, 1.0), spreads, strict=False))
        factors = [pairs, 1.0, size, single, *own]
        total = sum(f * part for f, part in zip(factors, self._parts, strict=True))
        total[np.diag_indices_from(total)] += noise * self._roughness + JITTER * (1 + pairs)
        found = misfit(total, self._values)
        if found is None:
            return 1e10, np.zeros_like(theta)
        value, pull = found
        on = [f * np.vdot(pull, part) for f, part in zip(factors, self._parts, strict=True)]
        diagonal = np.diag(pull)
        order = on[0] + JITTER * pairs * diagonal.sum() + (on[4] if spreads else 0.0)
        slope = [order, noise * (diagonal @ self._roughness), *on[2:]]
        mean, variance = self.priors[:2]
        value += 0.5 * ((theta - mean) ** 2 / variance).sum()
        return float(value), (theta - mean) / variance - 0.5 * np.array(slope)


def fit_scalars(
    pairs: Pairs,
    reach: np.ndarray,
    start: np.ndarray | None = None,
    each: np.ndarray | None = None,
) -> np.ndarray:
    """Return the vector of the logarithms of all but the reaches, ``(4,)`` or ``(6,)``.

    Parameters
    ----------
    pairs : Pairs
        Relative to the full coalition, of which one output at least is not all zero.
    reach : ndarray of shape (p,)
    start : ndarray or None
        The vector of an earlier fit.
    each : ndarray or None
        As of `EvenEvidence`.
    """
    evidence = EvenEvidence(thinned(pairs, MOST_POINTS), reach, each)
    _, _, low, high = evidence.priors
    found = minimize(
        evidence,
        scalars_start(evidence.blocked) if start is None else start,
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low, high, strict=True)),
        options={"maxiter": ITERATIONS},
    )
    return found.x
