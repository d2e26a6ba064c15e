"""An explanation depends on the fitted explainer and the row only.

Bits are compared, so the model's prediction of a row must not depend on other rows.
"""

import pickle
from threading import Thread

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from skshapley import GlobalImportance, ShapleyExplainer
from skshapley._tables._rows import row_keys
from skshapley.batches import explain_batches
from skshapley.rewards import CausalReward, SurrogateReward
from skshapley.samplers import SAMPLERS, Ordered

RNG = np.random.default_rng(0)
P = 6
BACKGROUND = RNG.normal(size=(40, P)).round(1)
X = RNG.normal(size=(9, P)).round(1)
LARGE = RNG.normal(size=(400, P)).round(1)


def steps(Z):
    """A function of rows like a tree: sums of few numbers, independent of other rows."""
    inner = np.where(Z[:, 0] > Z[:, 1], Z[:, 2], np.floor(3 * Z[:, 3]))
    return inner + np.where(Z[:, 4] > 0, Z[:, 5], 1.0)


def fitted(background=BACKGROUND, **how):
    how = {"random_state": 0, "max_rows": 3001} | how
    return ShapleyExplainer(steps, **how).fit(background)


def assert_same(ours, theirs):
    np.testing.assert_array_equal(ours.values, theirs.values)
    np.testing.assert_array_equal(ours.n_model_rows, theirs.n_model_rows)
    if theirs.standard_errors is not None:
        np.testing.assert_array_equal(ours.standard_errors, theirs.standard_errors)


def everywhere(explainer, X=X):
    whole = explainer.explain(X)
    order = np.random.default_rng(1).permutation(len(X))
    assert_same(explainer.explain(X[order]), whole[order])
    assert_same(explainer.explain(X[3:4]), whole[3])
    assert_same(explainer.explain(np.concatenate([X, X[:4]]))[len(X) :], whole[:4])
    return whole


@pytest.mark.parametrize("sampler", sorted(SAMPLERS))
def test_values_do_not_depend_on_order_other_rows_or_repetition(sampler):
    rows = 4501 if sampler == "stratified" else 3001  # two draws of each stratum
    everywhere(fitted(sampler=sampler, max_rows=rows))


@pytest.mark.parametrize("how", [{}, {"sampler": "leverage"}, {"max_rows": 900}])
@pytest.mark.parametrize("background", [BACKGROUND, LARGE], ids=["few", "many"])
def test_values_do_not_depend_on_other_rows_with_sampled_backgrounds(background, how):
    everywhere(fitted(background, **how))


CAUSAL = CausalReward([[0, 1, 2], [3, 4, 5]])


@pytest.mark.parametrize(
    ("reward", "sampler", "max_rows"),
    [
        ("conditional", "antithetic", 9001),  # of one instance, more than a call takes
        ("conditional", Ordered("antithetic", [(0, 1)]), 9001),
        ("conditional", "odd", 3001),
        (CAUSAL, "antithetic", 1501),
        pytest.param("copula", "antithetic", 1501, marks=pytest.mark.slow),
        pytest.param(CAUSAL, "leverage", 2001, marks=pytest.mark.slow),
        pytest.param("empirical", "leverage", 8001, marks=pytest.mark.slow),
        (SurrogateReward(n_masks=1), "odd", 301),
    ],
)
def test_conditional_values_do_not_depend_on_other_rows(reward, sampler, max_rows):
    """One factor per permutation, or one matrix per set with many references; few rows or many."""
    explainer = fitted(LARGE, reward=reward, sampler=sampler, max_rows=max_rows)
    whole = explainer.explain(X)
    assert_same(explainer.explain(X[2:4]), whole[2:4])
    assert_same(explainer.explain(X[8:]), whole[8:])


def test_values_do_not_depend_on_the_batch_size():
    explainer = fitted()
    whole = explainer.explain(X)
    for batch_rows in (1, 4, 100):
        parts = list(explain_batches(explainer, X, batch_rows=batch_rows))
        np.testing.assert_array_equal(
            np.concatenate([e.values for e in parts]), whole.values
        )


def test_values_do_not_depend_on_the_storage_of_rows():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    by_name = ShapleyExplainer(
        lambda Z: steps(Z.to_numpy()), random_state=0, max_rows=3001
    )
    by_name.fit(pd.DataFrame(BACKGROUND, columns=list("abcdef")))
    np.testing.assert_array_equal(
        by_name.explain(frame).values, fitted().explain(X).values
    )
    whole = np.round(X)
    ours = fitted().explain(whole.astype(np.int64))
    np.testing.assert_array_equal(
        ours.values, fitted().explain(np.asfortranarray(whole)).values
    )


def test_a_second_fit_and_a_pickled_explainer_agree():
    explainer = fitted(sampler="odd")
    whole = explainer.explain(X)
    assert_same(fitted(sampler="odd").explain(X), whole)
    assert_same(pickle.loads(pickle.dumps(explainer)).explain(X), whole)


def test_threads_agree():
    explainer = pickle.loads(pickle.dumps(fitted(sampler="odd")))
    whole, found = fitted(sampler="odd").explain(X), {}

    def work(i):
        found[i] = explainer.explain(X[i : i + 1])

    threads = [Thread(target=work, args=(i,)) for i in range(len(X))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(len(X)):
        assert_same(found[i], whole[i])


def test_without_a_random_state_two_calls_agree_and_two_fits_do_not():
    explainer = fitted(random_state=None, sampler="antithetic")
    assert_same(explainer.explain(X), explainer.explain(X))
    assert (fitted(random_state=None, sampler="antithetic").explain(X).values
            != explainer.explain(X).values).any()  # fmt: skip


def test_losses_of_a_row_do_not_depend_on_the_others():
    y = steps(X) + 1.0
    importance = GlobalImportance(
        steps, loss="squared_error", random_state=0, max_rows=1001
    )
    importance.fit(LARGE)
    whole = importance.explain(X, y).rows
    np.testing.assert_array_equal(
        importance.explain(X[::-1], y[::-1]).rows.values, whole.values[::-1]
    )


def test_fit_costs_at_most_two_rows():
    rows = []

    def counting(Z):
        rows.append(len(Z))
        return steps(Z)

    explainer = ShapleyExplainer(counting, sampler="odd", random_state=0, max_rows=3001)
    explainer.fit(BACKGROUND)
    assert sum(rows) <= 2 * 3001 + len(BACKGROUND) + 2


class TestKeys:
    def test_keys_depend_on_values_and_not_on_types(self):
        numbers = np.array([[1, 2], [0, 3]])
        expected = row_keys(numbers)
        for other in (
            numbers.astype(np.float32),
            numbers.astype(object),
            pd.DataFrame(numbers).astype("Int64"),
            pd.DataFrame({"a": [1, 0], "b": [2.0, 3.0]}),
            np.array([[1.0, 2.0], [-0.0, 3.0]]),
            sparse.csr_array(numbers),
        ):
            np.testing.assert_array_equal(row_keys(other), expected)

    def test_different_values_or_positions_have_different_keys(self):
        rows = np.array(
            [[1.0, 2.0], [2.0, 1.0], [np.nan, 1.0], [1.0, np.nan], [1.0, 2.0 + 1e-15]]
        )
        assert len(set(row_keys(rows).tolist())) == 5
        text = pd.DataFrame(
            {"a": ["x", "y", None, "x"], "b": pd.Categorical(["u", "u", "u", "v"])}
        )
        assert len(set(row_keys(text).tolist())) == 4

    def test_missing_values_have_equal_keys(self):
        pieces = pd.DataFrame({"a": [None, np.nan, pd.NA]}, dtype=object)
        assert len(set(row_keys(pieces).tolist())) == 1

    def test_keys_do_not_depend_on_other_rows(self):
        """Few rows are hashed one by one, many together; one key is written here for all times."""
        rows = np.random.default_rng(0).standard_normal((40, 3))
        rows[5] = [1.0, np.nan, -0.0]
        keys = row_keys(rows)
        for n in (1, 7, 16, 17):
            np.testing.assert_array_equal(row_keys(rows[:n]), keys[:n])
        assert (
            keys[5]
            == row_keys(np.array([[1.0, -np.nan, 0.0]]))[0]
            == 589968657128107975
        )
