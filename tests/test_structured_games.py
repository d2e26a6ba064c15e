"""Formulas of the structured games of the benchmark agree with all orders of the players."""

from itertools import permutations

import numpy as np
import pytest

from benchmarks.games import structured


@pytest.mark.parametrize("p", [6, 7])
@pytest.mark.parametrize("family", structured.FAMILIES)
def test_values_are_means_over_all_orders(family, p):
    worth, values = structured.game(family, p)
    orders = np.array(list(permutations(range(p))))
    positions = np.argsort(orders, axis=1)
    steps = [worth(positions < size) for size in range(p + 1)]
    gains = np.diff(np.array(steps, dtype=float), axis=0)
    expected = [gains[positions[:, player], range(len(orders))] for player in range(p)]
    expected = np.mean(expected, axis=1)
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert np.ptp(expected) > 0
