import numpy as np
import pytest

from skshapley import ShapleyExplainer
from skshapley._tools._random import RowStream, entropy_from, generator, row_generators


def test_an_int_is_its_own_entropy():
    assert entropy_from(7, "Owner") == entropy_from(np.int64(7), "Owner") == 7


def test_none_draws_fresh_entropy():
    assert entropy_from(None, "Owner") != entropy_from(None, "Owner")


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_advanced(make):
    state = make(3)
    first, second = entropy_from(state, "Owner"), entropy_from(state, "Owner")
    assert first != second
    assert entropy_from(make(3), "Owner") == first
    assert min(first, second) >= 0


@pytest.mark.parametrize("state", ["7", 1.5, [1, 2]])
def test_other_states_are_refused(state):
    with pytest.raises(ValueError, match=r"^Owner takes random_state .* got ('7'|1\.5|\[1, 2\])"):
        entropy_from(state, "Owner")


def test_negative_ints_are_refused():
    with pytest.raises(ValueError, match="-1"):
        entropy_from(-1, "Owner")


def test_row_generators_are_the_spawned_children():
    """numpy's own recipe for independent streams, without spawning those before."""
    children = np.random.SeedSequence(11).spawn(6)
    for row, rng in zip((5, 0, 2), row_generators(11, [5, 0, 2]), strict=True):
        expected = np.random.default_rng(children[row]).random(4)
        np.testing.assert_array_equal(rng.random(4), expected)


def test_streams_of_purposes_and_rows_are_all_different():
    streams = [*row_generators(3, range(5)), *(generator(3, key) for key in range(5))]
    streams += [generator(3, 1, 1), generator(4, 1)]
    firsts = [rng.integers(2**63) for rng in streams]
    assert len(set(firsts)) == len(firsts)
    assert generator(3, 1).random() == generator(3, 1).random()


def test_rows_of_a_larger_table_draw_as_they_would_in_it():
    def model(X):
        return np.where(X[:, :4].sum(axis=1) > X[:, 4:].prod(axis=1), X[:, 0], X[:, 8])

    rng = np.random.default_rng(5)
    X, background = rng.normal(size=(9, 9)), rng.normal(size=(7, 9))

    def values(rows, state):
        explainer = ShapleyExplainer(model, max_evals=60, random_state=state, sampler="antithetic")
        return explainer.fit(background).explain(rows).values

    whole = values(X, 3)
    np.testing.assert_array_equal(values(X, RowStream.of(3, "Owner")), whole)
    np.testing.assert_array_equal(values(X[4:], RowStream(3, 4)), whole[4:])
    assert (values(X[4:], 3) != whole[4:]).any()
