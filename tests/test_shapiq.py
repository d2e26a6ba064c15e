"""shapiq's own exact computer judges the approximator that joins its benchmarks."""

import numpy as np
import pytest

shapiq = pytest.importorskip("shapiq")

from skshapley.shapiq import INDICES, ShapleyApproximator  # noqa: E402 - needs shapiq


@pytest.fixture(scope="module")
def game():
    """A game of nine players with interactions of up to three of them."""
    rng = np.random.default_rng(0)
    single, pairs = rng.standard_normal(9), np.triu(rng.standard_normal((9, 9)), 1)

    def worth(S):
        S = np.asarray(S, dtype=float)
        return (
            3
            + S @ single
            + np.einsum("ni,ij,nj->n", S, pairs, S)
            + 2 * S[:, :3].prod(axis=1)
        )

    return worth


CASES = [
    (index, order)
    for index, (_, pairs) in INDICES.items()
    for order in (1, 2)[: 1 + bool(pairs)]
]


@pytest.mark.parametrize(("index", "order"), CASES)
def test_all_coalitions_agree_with_shapiq(game, index, order):
    exact = shapiq.ExactComputer(game=game, n_players=9)
    name = "SII" if index == "k-SII" and order == 1 else index
    wanted = exact(index=name, order=order)
    found = ShapleyApproximator(9, order, index).approximate(2**9, game)
    np.testing.assert_allclose(
        found.get_n_order_values(order), wanted.get_n_order_values(order), atol=1e-9
    )
    if order == 2 and index != "BII":
        np.testing.assert_allclose(
            found.get_n_order_values(1), wanted.get_n_order_values(1), atol=1e-9
        )


def test_the_budget_is_respected_and_reported(game):
    asked = []

    def counted(S):
        asked.append(len(S))
        return game(S)

    found = ShapleyApproximator(9, random_state=0).approximate(60, counted)
    assert sum(asked) <= 60
    assert found.estimated
    assert found.estimation_budget <= 60
    exact = shapiq.ExactComputer(game=game, n_players=9)(index="SV", order=1)
    apart = found.get_n_order_values(1) - exact.get_n_order_values(1)
    assert (apart**2).sum() < 1e-2 * (exact.get_n_order_values(1) ** 2).sum()


def test_equal_seeds_give_equal_values(game):
    one, other = (
        ShapleyApproximator(9, random_state=3).approximate(40, game) for _ in range(2)
    )
    np.testing.assert_array_equal(one.values, other.values)


def test_unsupported_orders_are_refused():
    with pytest.raises(
        ValueError, match='max_order=1 with index="SV"; got max_order=2'
    ):
        ShapleyApproximator(9, 2, "SV")
