import numpy as np
import pytest

from skshapley._tools._random import entropy_from, generator, row_generators


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
    with pytest.raises(
        ValueError, match=r"^Owner takes random_state .* got ('7'|1\.5|\[1, 2\])"
    ):
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


def test_streams_of_purposes_and_rows_are_distinct():
    streams = [*row_generators(3, range(5)), *(generator(3, key) for key in range(5))]
    streams += [generator(3, 1, 1), generator(4, 1)]
    firsts = [rng.integers(2**63) for rng in streams]
    assert len(set(firsts)) == len(firsts)
    assert generator(3, 1).random() == generator(3, 1).random()
