"""Thresholds for values that are not rounded, against rounding."""

import numpy as np
import pytest

from skshapley._trees._ensemble import unrounded

SINGLE = np.float32
LARGEST = float(np.finfo(SINGLE).max)


def step(values, to) -> np.ndarray:
    """Return the neighbours of values in their own precision."""
    with np.errstate(over="ignore"):
        return np.nextafter(values, values.dtype.type(to))


@pytest.mark.parametrize("strict", [False, True])
def test_values_meet_thresholds_as_their_roundings_do(strict):
    rng = np.random.default_rng(0)
    special = [0.0, 1e-45, -1e-45, 1e-40, 2.0**-126, LARGEST, -LARGEST, 1e39, -1e39, np.inf]
    single = np.concatenate([rng.normal(size=300), rng.integers(-9, 9, 30) / 8]).astype(SINGLE)
    middle = (single + step(single, np.inf).astype(float)) / 2
    given = np.sort(np.concatenate([single, middle, rng.normal(size=300), special]))
    found = unrounded(given, strict)
    assert (np.diff(found) >= 0).all()
    with np.errstate(over="ignore"):
        near = given.astype(SINGLE)
    values = [given, found, given + 1e-9]
    for other in (step(near, np.inf), step(near, -np.inf)):
        values += [other.astype(float), near.astype(float) / 2 + other.astype(float) / 2]
    for value in values:
        for x in (value, step(value, np.inf), step(value, -np.inf)):
            with np.errstate(over="ignore"):
                rounded = x.astype(SINGLE).astype(float)
            expected = rounded < given if strict else rounded <= given
            np.testing.assert_array_equal(x < found if strict else x <= found, expected)
