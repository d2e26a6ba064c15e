"""Players that agree with a background row need no look there, and leave the budget to others."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder

from skshapley import ShapleyExplainer
from skshapley.designs import PermutationDesign
from skshapley.rewards import InterventionalReward

P, B = 12, 6
RNG = np.random.default_rng(0)
BACKGROUND = (RNG.random((B, P)) < 0.4).astype(float)
X = (RNG.random((4, P)) < 0.4).astype(float)
WALKS = [
    "antithetic",
    pytest.param("monte-carlo", marks=pytest.mark.slow),
    pytest.param("orthogonal", marks=pytest.mark.slow),
]


def bent(Z):
    """Sums by row, with rounding independent of the batch; a column without effect."""
    Z = np.asarray(Z)[:, :P]
    sums = (Z * np.linspace(-1, 1, P)).sum(axis=1)
    return np.tanh(sums) + Z[:, :4].prod(axis=1) + Z[:, 2] * Z[:, 7]


class Counted:
    """A model that remembers the rows that it was given."""

    def __init__(self):
        self.rows = []

    def __call__(self, Z):
        self.rows.append(np.array(Z))
        return bent(Z)


def explained(model=bent, rows=X, background=BACKGROUND, **how):
    how = {"sampler": "antithetic", "max_rows": 40 * B, "random_state": 0} | how
    return ShapleyExplainer(model, **how).fit(background).explain(rows)


def repetitions(n, apart=0.0, **how):
    """Return n independent explanations of X[0], which have a number that the model ignores."""
    rows = np.column_stack([X[[0]].repeat(n, axis=0), 1.0 + np.arange(n)])
    background = np.column_stack([BACKGROUND + apart, np.zeros(B)])
    return explained(rows=rows, background=background, **how)


# --- a walk skips what agrees ---------------------------------------------------------


@pytest.mark.parametrize("p", [1, 3, 9, 70])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_ties_skip_steps_without_changing_values(p, share):
    """Values equal the values of a request for every step, because ties change nothing."""
    rng = np.random.default_rng(1)
    permutations = rng.permuted(np.tile(np.arange(p), (2, 3, 1)), axis=2)
    references = rng.integers(4, size=(2, 3))
    table = rng.random((2, 4, p)) < share
    differing = table[np.arange(2)[:, None], references]
    weights = rng.normal(size=p)

    def worth(instance, reference, coalition):
        return np.sin(10 * instance + reference + coalition @ weights)

    design = PermutationDesign(permutations, 1, references, differing=differing)
    coalitions, instances, named = design.requested(2)
    inside = table[instances, named[:, 0]]
    assert not (coalitions & ~inside).any()
    assert coalitions.any(axis=1).all()
    assert (coalitions != inside).any(axis=1).all()
    counts = np.maximum(differing.sum(axis=2) - 1, 0)
    assert len(coalitions) == counts.sum()
    asked = zip(instances, named[:, 0], coalitions, strict=True)
    values = np.array([worth(*what) for what in asked])
    empty = np.sin(10 * np.arange(2)[:, None] + np.arange(4))
    # all differing players present is the instance, whatever the reference
    full = np.array([[100.0], [200.0]])
    walks = design.assemble(
        values[:, None],
        lambda i, j: empty[i[:, None], j][..., None],
        np.zeros((2, 1)),
        full,
    ).reshape(2, 3, p + 1)
    for i, j in np.ndindex(2, 3):
        present = np.zeros(p, dtype=bool)
        for step, player in enumerate(permutations[i, j]):
            before = present & differing[i, j]
            expected = full[i, 0] if (before == differing[i, j]).all() else None
            if step == 0:
                expected = empty[i, references[i, j]]
            elif expected is None:
                expected = worth(i, references[i, j], before)
            assert walks[i, j, step] == expected
            present[player] = True
        assert walks[i, j, p] == full[i, 0]


# --- what a budget counts -------------------------------------------------------------


@pytest.mark.parametrize("sampler", WALKS)
def test_the_budget_counts_evaluated_model_rows(sampler):
    """Each of them another one; ties leave it unspent only where the last rows are rare."""
    for max_rows, least in ((24 * B, 24 * B - 2 * P), (60 * B, 36 * B)):
        for row in X:
            model = Counted()
            found = explained(model, row[None], sampler=sampler, max_rows=max_rows)
            seen = np.concatenate(model.rows[1:])  # the background is given in fit
            assert len(seen) == found.n_model_rows[0] <= max_rows
            assert found.n_model_rows[0] >= least


def test_a_single_differing_column_needs_no_evaluation():
    """The only step leads from the background row to the explained row; both are known."""
    x = BACKGROUND[0]
    background = x + np.eye(P)
    found = explained(rows=x[None], background=background, max_rows=40 * P)
    assert found.n_model_rows[0] == 1
    assert_allclose(
        found.values[0], (bent(x[None]) - bent(background)) / P, rtol=0, atol=1e-15
    )


@pytest.mark.parametrize("sampler", WALKS)
def test_ties_lower_the_error(sampler):
    """Half of the columns agree: at most .7 of the squared error of 200 runs, at the same cost.

    The background rows nearly agree, and the model rounds.
    """
    exact = repetitions(1, sampler="exact", max_rows="auto").values

    def error(apart):
        found = repetitions(
            200, apart, model=lambda Z: bent(Z.round()), sampler=sampler
        )
        return np.mean((found.values - exact) ** 2)

    assert error(0.0) < 0.7 * error(0.1)


# --- what it may not change -----------------------------------------------------------


@pytest.mark.parametrize("sampler", WALKS)
def test_the_mean_over_many_seeds_is_the_value(sampler):
    """300 runs, 13 values: within 4.5 standard errors, a false alarm in 8,000 versions."""
    exact = repetitions(1, sampler="exact", max_rows="auto").values[0]
    values = repetitions(300, sampler=sampler, max_rows=26 * B).values
    spread = values.std(axis=0, ddof=1) / np.sqrt(300)
    assert (np.abs(values.mean(axis=0) - exact) <= 4.5 * spread + 1e-12).all()


MANY = (np.random.default_rng(6).random((300, P)) < 0.4).astype(float)


@pytest.mark.parametrize(
    ("background", "max_rows"),
    [(BACKGROUND, 40 * B), (MANY, 13 * 300)],
    ids=["few", "many"],
)
def test_values_do_not_depend_on_other_rows(background, max_rows):
    rng = np.random.default_rng(4)
    rows = np.concatenate([X, BACKGROUND[:1], rng.normal(size=(2, P))])
    run = partial(explained, background=background, max_rows=max_rows)
    together = run(rows=rows)
    order = rng.permutation(len(rows))
    turned, alone = run(rows=rows[order]), [run(rows=row[None]) for row in rows]
    with sklearn.config_context(working_memory=0.05):
        apart = run(rows=rows)
    for name in ("values", "standard_errors", "n_model_rows"):
        whole = getattr(together, name)
        assert_array_equal(getattr(turned, name), whole[order])
        assert_array_equal([getattr(one, name)[0] for one in alone], whole)
        assert_array_equal(getattr(apart, name), whole)


def test_many_background_rows_are_compared_lazily():
    """The budget is respected, although the number of differing columns is not known in advance."""
    found = explained(background=MANY, max_rows=40 * len(MANY))
    assert (found.n_model_rows <= 40 * len(MANY)).all()
    assert (found.n_model_rows >= 0.25 * 40 * len(MANY)).all()


# --- pipelines ------------------------------------------------------------------------


@pytest.mark.parametrize("container", ["frame", "array"])
def test_precomputed_steps_do_not_change_draws(container):
    """Ties depend on the raw columns, whichever columns the model receives."""
    rng = np.random.default_rng(5)
    n, numbers = 150, [f"n{i}" for i in range(5)]
    table = pd.DataFrame(rng.normal(size=(n, 5)), columns=numbers)
    kinds = [f"k{i}" for i in range(4)]
    table[kinds] = rng.integers(3, size=(n, 4))
    y = table["n0"] * (table["k0"] == 1) + (table["k1"] == table["k2"]) * table["n1"]
    if container == "array":
        table, numbers, kinds = table.to_numpy(), [0, 1, 2, 3, 4], [5, 6, 7, 8]
    bins = KBinsDiscretizer(2, encode="ordinal", strategy="uniform")
    steps = make_column_transformer((bins, numbers), (OneHotEncoder(), kinds))
    model = make_pipeline(steps, RandomForestRegressor(5, random_state=0)).fit(table, y)
    once, plain = (
        explained(
            model,
            table[20:23],
            table[:20],
            reward=InterventionalReward(flag),
            max_rows=400,
        )
        for flag in (True, False)
    )
    assert once.settings.masked.startswith("columns made once")
    assert_allclose(once.values, plain.values, rtol=0, atol=1e-12)
    assert_allclose(once.standard_errors, plain.standard_errors, rtol=0, atol=1e-12)
    assert_array_equal(once.n_model_rows, plain.n_model_rows)
    assert (plain.n_model_rows > 360).all()
