"""Thresholds for float64 values, from those that a library compares with values in float32."""

import numpy as np
from numpy.typing import NDArray


def greatest(thresholds, strict, single_precision) -> NDArray[np.floating]:
    """Return the greatest numbers that meet thresholds.

    Parameters
    ----------
    thresholds : ndarray of shape (n,), float64
    strict : bool
        Whether only what is less than the threshold meets it.
    single_precision : bool
        Whether numbers are in float32.

    Returns
    -------
    numbers : ndarray of shape (n,), float32 or float64
    """
    if not single_precision:
        return np.nextafter(thresholds, -np.inf) if strict else thresholds
    with np.errstate(over="ignore"):
        numbers = thresholds.astype(np.float32)
        too_large = numbers >= thresholds if strict else numbers > thresholds
        numbers[too_large] = np.nextafter(numbers[too_large], np.float32(-np.inf))
    return numbers


def unrounded(thresholds, strict) -> NDArray[np.float64]:
    """Return thresholds that values meet as their roundings to float32 meet the given ones.

    A value is rounded to at most s, a number in float32, up to the midpoint of s and the next one;
    the midpoint itself goes to the even one of both. So nothing needs to be rounded any more.

    Parameters
    ----------
    thresholds : ndarray of shape (n,), float64
        Ascending.
    strict : bool
        Whether only what is less than the threshold meets it.

    Returns
    -------
    thresholds : ndarray of shape (n,), float64
        Ascending.
    """
    last = greatest(thresholds, strict, single_precision=True)
    with np.errstate(over="ignore"):
        after = np.nextafter(last, np.float32(np.inf))
    is_even = last.view(np.uint32) % 2 == 0
    middle = _as_float64(last) / 2 + _as_float64(after) / 2
    most = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    most = np.where(last == np.inf, np.inf, most)
    return np.nextafter(most, np.inf) if strict else most


def _as_float64(values) -> NDArray[np.float64]:
    """Return values of float32, with the infinite ones where the next step would lead."""
    return np.clip(values.astype(np.float64), -(2.0**128), 2.0**128)
