"""Interactions of all coalitions: shapiq's stored truths, definitions, least squares."""

import json
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest

from skshapley import shapley_values
from skshapley.indices import INDICES

STORED = json.loads(
    (Path(__file__).parent / "california_interactions.json").read_text()
)


def sets(p, order, least=1):
    return [s for size in range(least, order + 1) for s in combinations(range(p), size)]


def housing(coalitions):
    """The game of a regression of California housing, from dividends of sets."""
    added = dict(zip(sets(8, 8, 0), STORED["moebius"], strict=True))
    return np.array(
        [sum(v for s, v in added.items() if all(S[list(s)])) for S in coalitions]
    )


def pairs_of(game, p, index):
    """Return the interactions of all pairs from all coalitions, ``(pairs, ...)``."""
    result = shapley_values(game, n_players=p, sampler="exact", interactions=index)
    return result.interactions.values[0, *np.triu_indices(p, 1)]


@pytest.mark.parametrize(
    ("stored", "index"),
    [
        ("shapley 3", "shapley"),
        ("faithful-shapley 2", "faithful-shapley"),
        ("faithful-banzhaf 2", "faithful-banzhaf"),
    ],
)
def test_values_equal_those_stored_by_shapiq(stored, index):
    """To 1e-6, though the game is known to nine digits."""
    expected = STORED[stored][8:36]
    found = pairs_of(housing, 8, index)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


@pytest.fixture(scope="module")
def game():
    p = 5
    values = np.random.default_rng(0).normal(size=(2**p, 2))
    return lambda S: values[S @ (1 << np.arange(p))]


@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
def test_values_are_means_of_discrete_derivatives(index, game):
    values = pairs_of(game, 5, index)[:, 1]
    law = INDICES[index].size_law(3)
    for place, players in enumerate(sets(5, 2, 2)):
        others = [j for j in range(5) if j not in players]
        total = 0.0
        for around in sets(3, 3, 0):
            S = np.zeros((1, 5), dtype=bool)
            S[0, [others[j] for j in around]] = True
            for inner in sets(2, 2, 0):
                T = S.copy()
                T[0, [players[j] for j in inner]] = True
                weight = law[len(around)] / comb(3, len(around))
                total += weight * (-1) ** len(inner) * game(T)[0, 1]
        assert values[place] == pytest.approx(total, abs=1e-12)


def test_faithful_indices_solve_the_least_squares_problem(game):
    """Unweighted for Banzhaf's; against a solver that knows nothing of signs."""
    cube = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(bool)
    design = np.column_stack(
        [cube[:, list(s)].all(axis=1) for s in sets(5, 2, 0)]
    ).astype(float)
    expected, *_ = np.linalg.lstsq(design, game(cube), rcond=None)
    found = pairs_of(game, 5, "faithful-banzhaf")
    np.testing.assert_allclose(found, expected[6:], atol=1e-12)
