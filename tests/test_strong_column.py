"""Errors beside a column with a thousand times the effect of others.

Pairs of columns have known attributions against one background row: half of the sum of
a column's contributions without and with the other column.
"""

import numpy as np
import pytest

from skshapley import ShapleyExplainer

STRENGTHS = [10.0, 1000.0]


def model(strength):
    def predict(X):
        products = np.sin(2 * X[:, 1]) * X[:, 2] + np.tanh(X[:, 3] * X[:, 4]) / 2
        return strength * X[:, 0] + products

    return predict


def pair_values(function, x, background):
    """Return the attributions of two columns of a function, against all rows."""
    first, second = background.T
    both, none = function(*x), function(first, second)
    only_first, only_second = function(x[0], second), function(first, x[1])
    of_first = (both - only_second + only_first - none) / 2
    of_second = (both - only_first + only_second - none) / 2
    return of_first.mean(), of_second.mean()


def truth(X, background):
    values = np.zeros((len(X), 4))
    for row, x in zip(values, X, strict=True):
        sine = lambda a, b: np.sin(2 * a) * b  # noqa: E731
        tanh = lambda a, b: np.tanh(a * b) / 2  # noqa: E731
        row[:2] = pair_values(sine, x[1:3], background[:, 1:3])
        row[2:] = pair_values(tanh, x[3:5], background[:, 3:5])
    return values


def explained(strength, n_background, n_rows, **parameters):
    rng = np.random.default_rng(n_background)
    background = rng.normal(size=(n_background, 8))
    X = rng.normal(size=(n_rows, 8))
    explainer = ShapleyExplainer(model(strength), random_state=0, **parameters)
    explanation = explainer.fit(background).explain(X)
    off = explanation.values[:, 1:5] - truth(X, background)
    return off, explanation.standard_errors


@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize(
    ("sampler", "n_background"),
    [("auto", 500), ("auto", 1500), ("owen", 500), ("classical", 500)],
)
def test_other_columns_have_errors_of_their_own_size(sampler, n_background, strength):
    """Of 160 values, 136 or fewer are covered with probability 1e-5 at .95 each.

    The ratio of means was 1.2 to 3.4 on other seeds, and up to 1e5 before.
    """
    off, errors = explained(strength, n_background, 40, sampler=sampler)
    used, unused = errors[:, 1:5], errors[:, 5:]
    assert (used**2).mean() < 4 * (off**2).mean()
    assert (np.abs(off) <= 1.96 * used).mean() > 0.85
    assert (unused.mean(axis=0) <= used.mean(axis=0).min()).all()


@pytest.mark.slow
@pytest.mark.parametrize("strength", [1.0, 100.0, 1e5])
@pytest.mark.parametrize("n_background", [200, 500, 1500])
@pytest.mark.parametrize("sampler", ["auto", "monte-carlo"])
def test_other_columns_of_many_rows(sampler, n_background, strength):
    """The default is exact against 200 rows: only unused columns are compared there."""
    off, errors = explained(strength, n_background, 120, sampler=sampler)
    used, unused = errors[:, 1:5], errors[:, 5:]
    if np.abs(off).max() > 1e-9 * strength:
        assert (used**2).mean() < 4 * (off**2).mean()
    assert (unused.mean(axis=0) <= used.mean(axis=0).min()).all()


def test_nearly_additive_columns_have_errors_of_their_variations():
    """One of two columns is large, and only some background rows show its interaction.

    The size of an unseen contribution was the whole contribution. On four seeds, the
    ratio was 6 to 24. It is 1.6 to 2.9.
    """
    rng = np.random.default_rng(0)
    background, X = rng.normal(size=(60, 8)), rng.normal(size=(40, 8))
    background[:, 2] *= 4
    X[:, 1] = 12 + rng.random(40)

    def distance(first, second):
        return np.abs(first - second)

    def predict(X):
        return 3000 * X[:, 0] + distance(X[:, 1], X[:, 2])

    owen = ShapleyExplainer(predict, sampler="owen", max_rows=4_800, random_state=0)
    explanation = owen.fit(background).explain(X)
    values = [pair_values(distance, x[1:3], background[:, 1:3]) for x in X]
    off = explanation.values[:, 1:3] - values
    errors = explanation.standard_errors[:, 1:3]
    assert (errors**2).mean() < 6 * (off**2).mean()
    assert (np.abs(off) <= 1.96 * errors + 1e-9).mean() > 0.9


@pytest.mark.parametrize("triple", [0.0, 1.0])
def test_pairs_state_errors_of_the_size_of_their_column(triple):
    """Four of ten columns have small effects, and five none.

    Values repeat because of the unused columns. They passed for steps, of the size of
    the strong column: errors were .8 with the product of three columns, and 130
    without. They are .1 and .02.
    """
    rng = np.random.default_rng(0)
    background, X = rng.normal(size=(40, 10)), rng.normal(size=(10, 10))

    def predict(X):
        product = triple * np.tanh(X[:, 1] * X[:, 2] * X[:, 3])
        return model(3000.0)(X) + product

    odd = ShapleyExplainer(predict, sampler="odd", max_rows=2_480, random_state=0)
    errors = odd.fit(background).explain(X).standard_errors[:, 1:]
    assert np.sqrt((errors**2).mean()) < 0.3
