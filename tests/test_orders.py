"""Interactions of any order: shapiq's stored truths, definitions, and sums."""

import json
from itertools import combinations
from math import comb
from pathlib import Path

import numpy as np
import pytest

from skshapley import interaction_values, shapley_values
from skshapley.indices import INDICES, PAIR_INDICES

STORED = json.loads(
    (Path(__file__).parent / "california_interactions.json").read_text()
)
ADD_UP = ("k-shapley", "shapley-taylor", "faithful-shapley")


def sets(p, order, least=1):
    return [s for size in range(least, order + 1) for s in combinations(range(p), size)]


def housing(coalitions):
    """The game of a regression of California housing, from dividends of sets."""
    added = dict(zip(sets(8, 8, 0), STORED["moebius"], strict=True))
    return np.array(
        [sum(v for s, v in added.items() if all(S[list(s)])) for S in coalitions]
    )


@pytest.mark.parametrize("name", [name for name in STORED if name[-1].isdigit()])
def test_values_equal_those_stored_by_shapiq(name):
    """To 1e-6, though the game is known to nine digits; k-SII as far as it is not SII."""
    index, order = name.split()
    found = interaction_values(housing, n_players=8, order=int(order), index=index)
    expected = STORED[name]
    np.testing.assert_allclose(
        found["value"][: len(expected)], expected, rtol=0, atol=1e-6
    )
    assert found["players"].tolist() == sets(8, int(order))
    assert found["order"].tolist() == [len(s) for s in sets(8, int(order))]


@pytest.fixture(scope="module")
def game():
    p = 5
    values = np.random.default_rng(0).normal(size=(2**p, 2))
    return lambda S: values[S @ (1 << np.arange(p))]


@pytest.mark.parametrize("order", [1, 2, 3, 5])
@pytest.mark.parametrize("index", ["shapley", "banzhaf"])
def test_values_are_means_of_discrete_derivatives(index, order, game):
    found = interaction_values(game, n_players=5, order=order, index=index)
    assert found.columns.tolist() == ["players", "order", "output", "value"]
    lines = found[found["output"] == 1].set_index("players")["value"]
    for players in [s for s in sets(5, order) if len(s) == order][:3]:
        others = [j for j in range(5) if j not in players]
        law, total = INDICES[index].size_law(len(others)), 0.0
        for around in sets(len(others), len(others), 0):
            S = np.zeros((1, 5), dtype=bool)
            S[0, [others[j] for j in around]] = True
            for inner in sets(order, order, 0):
                T = S.copy()
                T[0, [players[j] for j in inner]] = True
                weight = law[len(around)] / comb(len(others), len(around))
                total += weight * (-1) ** (order - len(inner)) * game(T)[0, 1]
        assert lines[players] == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize(
    "index",
    [
        "shapley",
        "banzhaf",
        "k-shapley",
        "shapley-taylor",
        "faithful-shapley",
        "faithful-banzhaf",
    ],
)
def test_efficient_indices_add_up(index, order, game):
    ends = game(np.array([[False] * 5, [True] * 5]))
    found = interaction_values(game, n_players=5, order=order, index=index)
    total = found.groupby("output")["value"].sum()
    if index in ADD_UP:
        np.testing.assert_allclose(total, ends[1] - ends[0], atol=1e-12)
    elif 1 < order < 5:  # the faithful of all players is the game
        assert not np.allclose(total, ends[1] - ends[0])


@pytest.mark.parametrize("index", ["faithful-shapley", "faithful-banzhaf"])
def test_faithful_indices_recover_games_of_their_order(index):
    """A game of at most three players each, read back at orders of three and more."""
    rng = np.random.default_rng(1)
    added = {s: rng.normal() for s in sets(5, 3)}

    def reward(coalitions):
        return np.array(
            [sum(v for s, v in added.items() if all(S[list(s)])) for S in coalitions]
        )

    for order in (3, 4, 5):
        found = interaction_values(reward, n_players=5, order=order, index=index)
        expected = [added.get(s, 0.0) for s in sets(5, order)]
        np.testing.assert_allclose(found["value"], expected, atol=1e-12)


def test_faithful_indices_solve_the_least_squares_problem(game):
    """Unweighted for Banzhaf's; against a solver that knows nothing of signs."""
    cube = (np.arange(32)[:, None] >> np.arange(5) & 1).astype(bool)
    design = np.column_stack(
        [cube[:, list(s)].all(axis=1) for s in sets(5, 2, 0)]
    ).astype(float)
    expected, *_ = np.linalg.lstsq(design, game(cube), rcond=None)
    found = interaction_values(game, n_players=5, index="faithful-banzhaf")
    np.testing.assert_allclose(found["value"], expected[1:].ravel(), atol=1e-12)


@pytest.mark.parametrize("index", PAIR_INDICES)
def test_pairs_agree_with_shapley_interactions(index, game):
    found = interaction_values(game, n_players=5, order=2, index=index)
    pairs = found[(found["order"] == 2) & (found["output"] == 0)]["value"]
    other = shapley_values(
        game, n_players=5, sampler="exact", interactions=index
    ).interactions
    np.testing.assert_allclose(
        pairs, other.values[0, *np.triu_indices(5, 1), 0], atol=1e-12
    )


def test_one_output_has_no_column_of_outputs():
    found = interaction_values(lambda S: S.all(axis=1) * 1.0, n_players=13, order=1)
    assert found.columns.tolist() == ["players", "order", "value"]
    np.testing.assert_allclose(found["value"], 1 / 13)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"n_players": 21}, r"takes n_players as an int from 1 to 20; got 21\."),
        ({"order": 6}, r"takes order as an int from 1 to 5; got 6\."),
        ({"order": 0}, r"takes order as an int from 1 to 5; got 0\."),
        ({"index": "sii"}, r'takes index as one of "shapley", .*; got \'sii\'\.'),
    ],
)
def test_unsupported_orders_are_refused_before_any_call(how, message):
    with pytest.raises(ValueError, match=message):
        interaction_values(None, **{"n_players": 5} | how)
