import numpy as np
import pytest
from scipy.stats import chi2

from benchmarks.couples import ChiSquareCouples, RadialCouples, make_couples
from skshapley.testing import explain_game


def hybrid(game, coalition, row):
    return np.where(coalition, game.X[row], game.references[row])


def all_coalitions(p):
    return (np.arange(2**p)[:, None] >> np.arange(p)) & 1 == 1


def in_class(z):
    return int((z**2).sum() > chi2.median(len(z)))


def radial(z):
    return np.prod(np.sqrt(0.5 * np.pi) * np.exp(-(z**2) / 2))


@pytest.mark.parametrize("kind", ["chi-square", "radial"])
def test_values_agree_with_the_definition(kind):
    """v(S) = 1[f(z) = f(x*)], and v(S) = f(z) - f(r), for each mixed row."""
    game = make_couples(kind, n_couples=3, n_players=5, random_state=0)
    coalitions = all_coalitions(5)
    values = game(np.broadcast_to(coalitions, (3, 32, 5)), np.arange(3))
    assert values.shape == (3, 32, 1)
    for row in range(3):
        for coalition, value in zip(coalitions, values[row, :, 0], strict=True):
            z = hybrid(game, coalition, row)
            if kind == "chi-square":
                expected = float(in_class(z) == in_class(game.X[row]))
            else:
                expected = radial(z) - radial(game.references[row])
            assert value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("kind", ["chi-square", "radial"])
def test_extreme_coalitions_agree_with_the_paper(kind):
    game = make_couples(kind, n_couples=20, n_players=6, random_state=0)
    rows = np.arange(20)
    assert (game.empty(rows) == 0).all()
    if kind == "chi-square":
        assert (game.full(rows) == 1).all()
        classes = [in_class(row) for row in game.X]
        assert [in_class(row) for row in game.references] == [1 - c for c in classes]
        assert 0 < sum(classes) < 20
    np.testing.assert_allclose(
        game.shapley_values.sum(axis=1), game.full(rows), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("kind", ["chi-square", "radial"])
def test_enumeration_by_the_engine_agrees(kind):
    game = make_couples(kind, n_couples=4, n_players=7, random_state=1)
    outcome = explain_game(game, sampler="exact", max_evals=2**7)
    np.testing.assert_allclose(outcome.values, game.shapley_values, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", ["chi-square", "radial"])
def test_workers_and_other_rows_change_nothing(kind):
    game = make_couples(kind, n_couples=5, n_players=12, random_state=2)
    outcome = explain_game(game, sampler="leverage", max_evals=100)
    other = explain_game(game, sampler="leverage", max_evals=100, n_jobs=2)
    np.testing.assert_array_equal(outcome.values, other.values)
    alone = explain_game(game.take(np.array([0])), sampler="leverage", max_evals=100)
    np.testing.assert_array_equal(outcome.values[:1], alone.values)


def test_equal_features_are_not_players():
    game = RadialCouples([[1.0, 2.0, 3.0]], [[0.0, 2.0, 1.0]])
    assert game.active(np.array([0])).tolist() == [[True, False, True]]
    assert game.shapley_values[0, 1, 0] == 0


def test_seeds():
    one, same, other = (make_couples(n_couples=3, random_state=s).X for s in (4, 4, 5))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_invalid_arguments_are_refused():
    with pytest.raises(
        ValueError, match="make_couples got kind='cubic': choose one of"
    ):
        make_couples("cubic")
    with pytest.raises(
        ValueError, match=r"ChiSquareCouples got .* \(1, 2\) and .* \(1, 3\): pass"
    ):
        ChiSquareCouples([[1.0, 2.0]], [[1.0, 2.0, 3.0]])
