"""Sizes of noisy numbers: |phi| from v = phi + e, without the upward bias of |v|.

With e normal of deviation s, and in units of s,

    |t| = (2 / pi) int_0^inf (1 - cos(w t)) / w^2 dw

and E cos(w (t + e)) = exp(-w^2 / 2) cos(w t). So the part of it up to a frequency W is freed of
noise where its cosines are multiplied by exp(w^2 / 2); those above W, of which next to nothing is
left but noise, stay as they are. Their mean over attributions that spread out over more than s is
nothing, and 2 / (pi W) s at most, reached where all of them are zero. There is no unbiased
estimate of |phi|, which has a kink (Cai & Low 2011); means of its smoothed forms are those of
Whitehouse, Sawarni & Syrgkanis (2026), here with a kernel of limited band.

References
----------
Whitehouse, Sawarni & Syrgkanis (2026), Statistical inference and learning for Shapley additive
explanations, arXiv:2602.10532 (debiased means of powers of attributions, smoothed below the second
power). Cai & Low (2011), Testing composite hypotheses, Hermite polynomials and optimal estimation
of a nonsmooth functional, Annals of Statistics 39.
"""

from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np

BAND = 2.5  # W: 3 would make single sizes 1.7 times as noisy, 2 leave a fourth more of the bias
MEAN_SIZE = np.sqrt(2 / np.pi)  # the mean size of a standard normal variable
MEDIAN_SIZE = 0.6744897501960817  # and its median
LEFT = 2 / (np.pi * BAND)  # most bias that is left, in standard errors

KNOTS, FREQUENCIES = 4000, 512
WIDEST = 1.5  # medians of the errors of a player: those beyond are bounds rather than errors
BOUNDS = 0.5  # of the median error: values less wide than that say that it is none
FARTHEST = 40.0  # where what is taken off is less than a thousandth of the error


@cache
def _taken_off() -> tuple[np.ndarray, np.ndarray]:
    """Return sizes and their bias corrections, both in standard errors."""
    sizes = np.linspace(0.0, FARTHEST, KNOTS)
    step = BAND / FREQUENCIES
    w = (np.arange(FREQUENCIES) + 0.5) * step
    share = 2 / np.pi * np.expm1(w**2 / 2) / w**2 * step
    return sizes, np.cos(np.outer(sizes, w)) @ share


def debiased_sizes(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Return numbers with the mean of |phi|, up to a small bias near 0.

    Parameters
    ----------
    values : ndarray
        Estimates of phi with independent normal noise.
    errors : ndarray of the same shape
        The deviations of the noise. Where they are 0 or NaN, nothing is taken off.

    Returns
    -------
    sizes : ndarray
        A single one may be negative.
    """
    size = np.abs(values)
    noisy = errors > 0
    known = np.where(noisy, errors, 1.0)
    taken = np.interp(np.where(noisy, size / known, FARTHEST), *_taken_off(), right=0.0)
    return size - np.where(noisy, known * taken, 0.0)


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise in the attributions of m players.

    Errors that rest on few units are widened, some by a factor of 6, and those of players on which
    all draws agree are upper bounds. An interval may be too wide; a bias that is not there should
    not be taken off. So an error counts up to 1.5 medians over the rows, and up to what the values
    allow: the median size of normal numbers of deviation s is at least .67 s. Where the values
    allow less than half of the median error, errors are bounds and no noise: nothing is taken off.

    Attributes
    ----------
    limits : ndarray of shape (m,)
        The largest errors; NaN where none is known.
    kept : ndarray of shape (m,), bool
        Whether sizes stay as they are.
    """

    limits: np.ndarray
    kept: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, errors: np.ndarray) -> Self:
        """Return the noise that values and errors ``(n, m)`` of some rows agree with."""
        limits, kept = np.full(values.shape[1], np.nan), np.zeros(values.shape[1], dtype=bool)
        some = np.isfinite(errors).any(axis=0) if len(values) else kept
        if some.any():
            allowed = np.median(np.abs(values[:, some]), axis=0) / MEDIAN_SIZE
            middle = np.nanmedian(errors[:, some], axis=0)
            limits[some] = np.minimum(WIDEST * middle, allowed)
            kept[some] = allowed < BOUNDS * middle
        return cls(limits, kept)

    def sizes(self, values: np.ndarray, errors: np.ndarray) -> np.ndarray:
        """Return the sizes of values ``(n, m)``, freed of noise."""
        return debiased_sizes(values, np.where(self.kept, 0.0, np.fmin(errors, self.limits)))

    def most_bias(self, errors: np.ndarray) -> np.ndarray:
        """Return the most bias that is left in the sizes, ``(n, m)``."""
        return np.where(self.kept, MEAN_SIZE, LEFT) * np.fmin(errors, self.limits)
