"""Designs list the coalitions to evaluate, and combine known and new values."""

import numpy as np
import pytest

from skshapley.designs import CoalitionDesign, Design, PermutationDesign
from skshapley.samplers import (
    Antithetic,
    Kernel,
    MonteCarlo,
    Odd,
    Orthogonal,
    SamplerTask,
)
from skshapley.samplers._permutations import _Rows

MANY = 10**6  # draws, more than any test asks for
P = 5


def walks(r=2, n=3, p=P, b=None, seed=0):
    rng = np.random.default_rng(seed)
    permutations = rng.permuted(np.tile(np.arange(p), (r, n, 1)), axis=2)
    references = None if b is None else rng.integers(b, size=(r, n))
    return PermutationDesign(permutations, references=references)


def one_by_one(design):
    """Return the coalitions of permutations, player after player."""
    r, n, p = design.permutations.shape
    coalitions = np.zeros((r, n, p + 1, p), dtype=bool)
    for i, j, k in np.ndindex(r, n, p):
        coalitions[i, j, k + 1 :, design.permutations[i, j, k]] = True
    return coalitions.reshape(r, n * (p + 1), p)


@pytest.mark.parametrize("p", [1, 2, 7, 130])
def test_permutations_add_one_player_at_a_time(p):
    design = walks(p=p)
    np.testing.assert_array_equal(design.coalitions, one_by_one(design))


@pytest.mark.parametrize("b", [None, 4])
def test_permutations_request_the_coalitions_between_the_ends(b):
    design = walks(b=b)
    coalitions, instances, references = design.requested(2)
    inner = np.tile([False] + [True] * (P - 1) + [False], 3)
    np.testing.assert_array_equal(
        coalitions, design.coalitions[:, inner].reshape(-1, P)
    )
    np.testing.assert_array_equal(instances, np.repeat([0, 1], 3 * (P - 1)))
    if b is None:
        assert references is design.coalition_references is None
    else:
        np.testing.assert_array_equal(
            references, design.coalition_references[:, inner].reshape(-1, 1)
        )


def test_pairs_on_blocks_of_background_rows_are_all_different():
    rngs = [np.random.default_rng(i) for i in range(2)]
    design = (
        Odd()
        .start(SamplerTask(10, rngs, 100, np.full(40, 1 / 40)))
        .ask(np.arange(2), 100)
    )
    coalitions, instances, references = design.requested(2)
    assert references.shape[1] < 40
    alike = np.column_stack([instances, references, coalitions])
    assert len(np.unique(alike, axis=0)) == len(alike)
    assert len(np.unique(np.column_stack([instances, coalitions]), axis=0)) < len(alike)


def ends(r=2, b=4, k=2):
    rng = np.random.default_rng(5)
    empty = rng.normal(size=(r, b, k))
    return empty, empty.mean(axis=1), rng.normal(size=(r, k))


def against(empty):
    return lambda instances, references: empty[instances[:, None], references]


@pytest.mark.parametrize("b", [None, 4])
def test_values_along_permutations_have_known_ends(b):
    design, (empty, v_empty, v_full) = walks(b=b), ends()
    new = np.random.default_rng(6).normal(size=(2 * 3 * (P - 1), 2))
    values = design.assemble(new, against(empty), v_empty, v_full).reshape(
        2, 3, P + 1, 2
    )
    np.testing.assert_array_equal(values[:, :, 1:-1].reshape(-1, 2), new)
    for i, j in np.ndindex(2, 3):
        start = v_empty[i] if b is None else empty[i, design.references[i, j]]
        np.testing.assert_array_equal(values[i, j, 0], start)
        np.testing.assert_array_equal(values[i, j, -1], v_full[i])


@pytest.mark.parametrize("shared", [True, False], ids=["one for all", "one each"])
@pytest.mark.parametrize("q", [None, 1, 3])
def test_known_values_are_inserted_into_any_list_of_coalitions(shared, q):
    """Empty and full coalitions are never requested, and are inserted at their places."""
    rng = np.random.default_rng(7)
    lines = 1 if shared else 2
    coalitions = rng.random((lines, 9, P)) < 0.5
    coalitions[:, [0, 4]], coalitions[:, [2, 8]] = False, True
    references = None if q is None else rng.integers(4, size=(lines, 9, q))
    design = Design(coalitions, coalition_references=references)
    empty, v_empty, v_full = ends()
    asked, instances, named = design.requested(2)
    assert not (asked.all(axis=1) | ~asked.any(axis=1)).any()

    def worth(coalition, instance, chosen):
        if coalition.all():
            return v_full[instance]
        if not coalition.any():
            return (
                v_empty[instance]
                if chosen is None
                else empty[instance, chosen].mean(axis=0)
            )
        code = coalition @ 2.0 ** np.arange(P) + 100 * instance
        return np.array([code, code + (0 if chosen is None else chosen.sum())])

    new = [
        worth(asked[i], instances[i], None if named is None else named[i])
        for i in range(len(asked))
    ]
    values = design.assemble(np.array(new), against(empty), v_empty, v_full)
    for i, j in np.ndindex(2, 9):
        line = 0 if shared else i
        chosen = None if q is None else references[line, j]
        np.testing.assert_allclose(
            values[i, j], worth(coalitions[line, j], i, chosen), rtol=1e-14
        )


def test_a_list_without_known_values_is_passed_on():
    coalitions = np.array([[[True, False], [False, True]]])
    design = CoalitionDesign(coalitions, expected_draws=np.ones((1, 2)))
    empty, v_empty, v_full = ends(r=3)
    new = np.arange(12.0).reshape(6, 2)
    values = design.assemble(new, against(empty), v_empty, v_full)
    np.testing.assert_array_equal(values, new.reshape(3, 2, 2))


# --- background rows in rounds --------------------------------------------------------


def source(references="stratified", weights=None, seed=1):
    weights = np.full(7, 1 / 7) if weights is None else weights
    rng = np.random.default_rng(seed)
    # rounds of equal weights
    return _Rows(rng, weights, references, None, lambda: np.arange(len(weights)))


@pytest.mark.parametrize("n", [1, 7, 10, 21, 50])
def test_every_reference_is_used_equally_often(n):
    """For any number of places: counts differ by at most one, and are equal after a round."""
    places = source().take(n)
    counts = np.bincount(places, minlength=7)
    assert counts.max() - counts.min() <= (n % 7 > 0)
    for start in range(0, n - 6, 7):
        assert sorted(places[start : start + 7]) == list(range(7))


@pytest.mark.parametrize("references", ["stratified", "random"])
def test_two_draws_of_references_equal_one_of_the_sum(references):
    whole = source(references).take(40)
    piecewise = source(references)
    parts = [piecewise.take(n) for n in (3, 0, 11, 7, 19)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_rounds_are_in_random_order():
    places = source().take(700).reshape(100, 7)
    assert len(np.unique(places, axis=0)) > 90


def test_random_references_follow_the_weights():
    """Shares of 20000 draws have standard deviations below 0.0036: z = 5, false alarm 2e-6."""
    weights = np.array([0.5, 0.3, 0.2, 0.0])
    places = source("random", weights).take(20_000)
    shares = np.bincount(places, minlength=4) / 20_000
    assert np.abs(shares - weights).max() < 0.018
    assert shares[3] == 0


def started(sampler, b, n_rows=3, p=P):
    rngs = [np.random.default_rng([9, row]) for row in range(n_rows)]
    return sampler.start(SamplerTask(p, rngs, MANY, np.full(b, 1 / b)))


@pytest.mark.parametrize("sampler", [MonteCarlo, Antithetic, Orthogonal])
def test_each_unit_uses_one_reference(sampler):
    sampler = started(sampler(), b=4)
    design = sampler.ask(np.arange(3), 16)
    by_unit = design.references.reshape(3, -1, design.unit)
    assert (by_unit == by_unit[:, :, :1]).all()
    units = [np.bincount(row[:, 0], minlength=4) for row in by_unit]
    assert np.ptp(units) == 0
    assert (design.stratum_weights == 0.25).all()


@pytest.mark.parametrize("references", ["stratified", "random"])
@pytest.mark.parametrize("sampler", [MonteCarlo, Antithetic])
def test_two_asks_with_references_equal_one_of_the_sum(sampler, references):
    rows = np.arange(3)
    whole = started(sampler(references=references), b=4).ask(rows, 16)
    twice = started(sampler(references=references), b=4)
    parts = [twice.ask(rows, 6)]
    twice.tell(rows, parts[0], np.zeros((3, parts[0].coalitions.shape[1], 1)))
    parts.append(twice.ask(rows, 10))
    for name in ("permutations", "references"):
        joined = np.concatenate([getattr(part, name) for part in parts], axis=1)
        np.testing.assert_array_equal(joined, getattr(whole, name))


def test_a_second_ask_needs_the_values_of_the_first():
    sampler = started(MonteCarlo(), b=4)
    sampler.ask(np.arange(3), 6)
    with pytest.raises(
        RuntimeError, match=r"MonteCarlo\.ask was called twice: call tell"
    ):
        sampler.ask(np.arange(3), 6)


def test_each_row_has_its_own_order_of_references():
    design = started(MonteCarlo(), b=8).ask(np.arange(3), 8)
    assert len(np.unique(design.references, axis=0)) == 3


@pytest.mark.parametrize("sampler", [MonteCarlo(references="all"), Kernel()])
def test_the_whole_background_needs_no_references(sampler):
    design = started(sampler, b=4).ask(np.arange(3), 8)
    assert design.coalition_references is None


def test_one_background_row_needs_no_references():
    assert started(MonteCarlo(), b=1).ask(np.arange(3), 8).references is None
