"""Formulas of the structured games of the benchmark agree with all coalitions."""

import numpy as np
import pytest

from benchmarks.games import structured
from skshapley._tools import all_coalitions
from skshapley.indices import INDICES, enumerated


@pytest.mark.parametrize("p", [7, 8])
@pytest.mark.parametrize("family", structured.FAMILIES)
def test_values_are_those_of_all_coalitions(family, p):
    worth, values = structured.game(family, p)
    table = worth(all_coalitions(p)).astype(float)
    expected = enumerated(table[:, None], INDICES["shapley"], 1)[:, 0]
    np.testing.assert_allclose(values, expected, atol=1e-12)
    assert np.ptp(expected) > 0
