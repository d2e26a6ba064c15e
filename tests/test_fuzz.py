"""Random inputs give a correct answer, or one sentence that names the problem.

Correct answers are those of models that add up a number for each column, with Shapley
values in closed form, ``t_j(x_j) - mean of t_j(background_j)``, and for trees those of
enumeration. The guide lists the kinds of input.
"""

import re
import tempfile
import warnings
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.tree import DecisionTreeRegressor

from skshapley import Explanation, ShapleyExplainer, TreeExplainer
from skshapley.batches import ExplanationDataset, explain_batches

from .conftest import enumerate_coalitions

REFUSALS = (ValueError, TypeError)
INTEGERS = [np.dtype(kind) for kind in ("int64", "int32", "uint8", "int8", "bool")]
FLOATS = [np.dtype(kind) for kind in ("float64", "float32")]


def explained(fit, explain, expected, scale):
    """Run it: True for the right answer, False for a refusal in words; anything else fails."""
    try:
        values = explain(fit()).values
    except REFUSALS as error:
        in_words(error)
        return False
    assert values.shape == expected.shape
    # what rounding may do to sums of terms of this size
    np.testing.assert_array_less(np.abs(values - expected), 1e-9 * scale + 1e-300)
    return True


def in_words(error):
    assert 10 < len(str(error)) < 3000


def additive(numbers, X, background, weights=None, **parameters):
    """Explain ``sum_j numbers(X)[:, j]`` and compare with its closed form."""

    def model(table):
        with np.errstate(all="ignore"):
            return numbers(table).sum(axis=1)

    with np.errstate(all="ignore"):
        mean = np.average(numbers(background), axis=0, weights=weights)
        expected = numbers(X) - mean
        scale = (
            np.abs(numbers(X)).sum(axis=1).max()
            + np.abs(numbers(background)).sum(axis=1).max()
        )
    return explained(
        lambda: ShapleyExplainer(model, random_state=0, **parameters).fit(
            background, sample_weight=weights
        ),
        lambda explainer: explainer.explain(X),
        expected,
        scale,
    )


def as_numbers(table):
    return np.asarray(table, dtype=float)


def finite_numbers(table):
    """NaN counts as 5, infinity as 7."""
    return np.nan_to_num(as_numbers(table), nan=5.0, posinf=7.0, neginf=-7.0)


# --- what is drawn --------------------------------------------------------------------


@st.composite
def pairs(draw, kinds, elements=None, least_columns=1, most_columns=6):
    """Rows and background of equal width, with different dtypes and constant columns."""
    p = draw(st.integers(least_columns, most_columns))
    arrays = []
    for most in (4, 5):
        shape = (draw(st.integers(1, most)), p)
        array = draw(hnp.arrays(draw(st.sampled_from(kinds)), shape, elements=elements))
        if draw(st.booleans()):
            array[:, draw(st.integers(0, p - 1))] = array[0, 0]
        arrays.append(array)
    return arrays


def floats(**limits):
    return st.floats(width=32, **limits)


def columns_of(kind, n):
    """A column of n values of a kind, and how it is made a number (missing: -1)."""
    letters = st.sampled_from(["", "a", "bb", "ü", "日本", "\N{ROCKET}", None])
    column = {
        "float": hnp.arrays(float, n, elements=floats(min_value=-99, max_value=99)),
        "gaps": hnp.arrays(float, n, elements=st.sampled_from([1.5, np.nan, -2.0])),
        "int": hnp.arrays(int, n, elements=st.integers(-99, 99)),
        "bool": hnp.arrays(bool, n),
        "text": st.lists(letters, min_size=n, max_size=n).map(
            lambda v: np.array(v, dtype=object)
        ),
        "category": st.lists(st.sampled_from("xyz"), min_size=n, max_size=n).map(
            lambda v: pd.Categorical(v, list("zyx"))
        ),
        "time": hnp.arrays("i8", n, elements=st.integers(0, 10**9)).map(
            lambda v: v.astype("datetime64[s]")
        ),
    }
    return column[kind]


def column_numbers(column):
    """A column of any kind as numbers."""
    column = pd.Series(np.asarray(column))
    if column.dtype.kind == "M":
        return (column - pd.Timestamp(0)).dt.total_seconds().to_numpy() / 1e6
    if column.dtype.kind in "biuf":
        return column.to_numpy(dtype=float, na_value=-1.0)
    return np.array(
        [-1.0 if pd.isna(v) else float(sum(map(ord, v)) % 97) for v in column]
    )


def frame_numbers(frame):
    if isinstance(frame, pl.DataFrame):
        return np.column_stack([column_numbers(column.to_numpy()) for column in frame])
    return np.column_stack(
        [column_numbers(frame.iloc[:, j]) for j in range(frame.shape[1])]
    )


@st.composite
def frames(draw, names):
    """Rows and background with columns of any kind, with random names."""
    labels = draw(st.lists(names, min_size=1, max_size=5))
    kinds = [draw(st.sampled_from(KINDS)) for _ in labels]
    tables = []
    for most in (4, 5):
        n = draw(st.integers(1, most))
        columns = [pd.Series(draw(columns_of(kind, n))) for kind in kinds]
        tables.append(pd.concat(columns, axis=1).set_axis(labels, axis=1))
    return tables


KINDS = ["float", "gaps", "int", "bool", "text", "category", "time"]
NAMES = st.text(max_size=6) | st.sampled_from(
    ["x0", "row", "value:x0", "é", "日本", " ", "\n"]
)
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 5),
    st.floats(),
    st.text(max_size=3),
    st.lists(st.integers(0, 2), max_size=2),
    st.builds(dict),
    st.builds(object),
)
TABLES = st.one_of(
    ANYTHING,
    st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=3),
    hnp.arrays(
        st.sampled_from(
            [np.dtype(k) for k in ("float64", "int8", "O", "U3", "complex128", "M8[s]")]
        ),
        hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
    ),
    st.builds(
        lambda n, p: pd.DataFrame(np.ones((n, p))), st.integers(0, 2), st.integers(0, 3)
    ),
    st.builds(
        lambda n: pl.DataFrame({"a": [1.0] * n, "b": [2.0] * n}), st.integers(0, 2)
    ),
    st.builds(lambda n: pd.Series(np.ones(n)), st.integers(0, 3)),
)


# --- what must hold -------------------------------------------------------------------


def dtypes(pair):
    X, background = pair
    assert additive(as_numbers, X, background)


def not_finite(pair):
    assert additive(finite_numbers, *pair)


def not_finite_for_a_model_that_minds(pair):
    finite = all(np.isfinite(as_numbers(part)).all() for part in pair)
    assert additive(as_numbers, *pair) == finite


def names(pair):
    """A name may be anything but a repetition."""
    labels = list(pair[0].columns)
    assert additive(frame_numbers, *pair) == (len(set(labels)) == len(labels))


def labels_of_any_type(pair):
    additive(frame_numbers, *pair)


def polars(pair):
    labels = [f"column {j}" for j in range(pair[0].shape[1])]
    X, background = (pl.from_pandas(part.set_axis(labels, axis=1)) for part in pair)
    assert additive(frame_numbers, X, background)


def weights(drawn):
    background, given_weights = drawn
    given_weights = np.array(given_weights)
    fits = given_weights.shape == (len(background),)
    good = fits and np.isfinite(given_weights).all() and (given_weights >= 0).all()
    good = good and given_weights.any()
    if good:
        # numpy's own average overflows where ours does not
        assume(given_weights.sum() < 1e300 and given_weights.max() > 1e-300)
        assert additive(as_numbers, background[:1], background, given_weights)
    else:
        with pytest.raises(REFUSALS, match="sample_weight"):
            ShapleyExplainer(lambda X: X.sum(axis=1)).fit(
                background, sample_weight=given_weights
            )


def groups(drawn):
    """The value of a group is the sum of the values of its columns."""
    (X, background), given_groups = drawn
    members = [column for group in given_groups.values() for column in group]
    p = X.shape[1]
    good = len(set(members)) == len(members) and all(0 <= c < p for c in members)
    good = good and all(given_groups.values()) and not set(given_groups) & {"x0", "x1"}

    def fit():
        explainer = ShapleyExplainer(
            lambda T: as_numbers(T).sum(axis=1), groups=given_groups
        )
        return explainer.fit(background)

    if not good:
        assume(not (good is False and set(given_groups) & {"x0", "x1"}))
        with pytest.raises(REFUSALS, match="group"):
            fit()
        return
    explanation = fit().explain(X)
    single = as_numbers(X) - as_numbers(background).mean(axis=0)
    for name, value in zip(
        explanation.feature_names, explanation.values.T, strict=True
    ):
        columns = given_groups[name] if name in given_groups else [int(name[1:])]
        np.testing.assert_allclose(value, single[:, columns].sum(axis=1), atol=1e-9)


def any_table(table):
    """Any object passed as rows is explained or refused in words."""
    for background in (
        np.zeros((2, 2)),
        pd.DataFrame(np.zeros((2, 2)), columns=["a", "b"]),
    ):
        explainer = ShapleyExplainer(lambda X: as_numbers(X).sum(axis=1)).fit(
            background
        )
        for use in (explainer.explain, explainer.fit):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter(
                        "ignore"
                    )  # numpy's, of casts that are refused next
                    use(table)
            except REFUSALS as error:
                in_words(error)
            else:
                # One row may come without its second axis, a background may not
                row = use == explainer.explain and np.shape(table) == (2,)
                assert row or (np.ndim(table) == 2 and len(table))


def any_parameter(drawn):
    """Any object passed as a parameter is used or refused, before the model is called."""
    name, value = drawn
    calls = []

    def model(X):
        calls.append(len(X))
        return X.sum(axis=1)

    background = np.arange(6.0).reshape(3, 2)
    try:
        explainer = ShapleyExplainer(model, **{name: value}).fit(background)
        made = explainer.explain(background)
    except REFUSALS as error:
        in_words(error)
        # only the model's answer tells which outputs there are
        assert not calls or name == "output"
    else:
        expected = background - explainer.background_.mean(axis=0)
        np.testing.assert_allclose(made.values, expected, atol=1e-9)


@cache
def grown(make):
    """A tree model of four columns with gaps."""
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0, -2.5, 1e-9, np.nan], size=(60, 4))
    return make().fit(X, np.nansum(X * [1.0, 2.0, -1.0, 0.5], axis=1) ** 2)


def trees(drawn):
    """Exact values of trees, for drawn tables with gaps and constant columns."""
    (X, background), make = drawn
    values = TreeExplainer(grown(make)).fit(background).explain(X).values
    expected = enumerate_coalitions(grown(make).predict, X, background)
    np.testing.assert_allclose(values, expected, atol=1e-6)


def batches(drawn):
    """Pieces, batches, bad rows and a folder: good rows have the values of a single call."""
    rows, pieces, batch_rows, kept = drawn

    def model(X):
        if np.isnan(X).any():
            raise ValueError("no NaN, please.")
        return np.where(X[:, 0] > 0, X[:, 1] * X[:, 2], X[:, 3])

    background = np.array([[1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 2.0, 1.0]])
    explainer = ShapleyExplainer(
        model, sampler="antithetic", max_rows=17, random_state=1
    )
    explainer.fit(background)
    good = np.flatnonzero(~np.isnan(rows).any(axis=1))
    source = np.split(rows, sorted(pieces)) if pieces else rows
    arguments = dict(batch_rows=batch_rows, on_error="skip")
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.filterwarnings("ignore", "explain_batches (set|skipped)", UserWarning)
        if not len(rows):
            with pytest.raises(ValueError, match="without rows"):
                list(explain_batches(explainer, source, **arguments))
            return
        out = Path(folder) / "phi" if kept else None
        made = explain_batches(explainer, source, out, **arguments)
        if kept:
            dataset = ExplanationDataset(out)
            assert (
                dataset.skipped()["row"].tolist()
                == np.isnan(rows).any(axis=1).nonzero()[0].tolist()
            )
        parts = list(made)
    if len(good):
        merged = Explanation.merge(parts)
        assert merged.index.tolist() == good.tolist()
        clean = np.where(np.isnan(rows).any(axis=1)[:, None], 0.0, rows)
        np.testing.assert_array_equal(
            merged.values, explainer.explain(clean).values[good]
        )
    else:
        assert not parts


def starts_no_workers(drawn):
    name, value = drawn
    return name != "n_jobs" or type(value) is not int or value in (0, 1)


SMALL = floats(min_value=-1e3, max_value=1e3)
HUGE = st.floats(min_value=-1e300, max_value=1e300)
ODD = st.sampled_from([0.0, 1.0, -2.5, 1e-9, np.nan, np.inf, -np.inf])
GROWN = [
    partial(DecisionTreeRegressor, max_depth=4, random_state=0),
    partial(ExtraTreesRegressor, 3, max_depth=4, random_state=0),
]
PARAMETERS = [
    "max_evals",
    "n_jobs",
    "max_background",
    "random_state",
    "verbose",
    "stopping",
    "sampler",
    "solver",
    "reward",
    "groups",
    "output",
    "response_method",
]

# name: (what is drawn, what must hold, how often in `make test` and in
# `make test-slow`)
PROPERTIES = {
    "dtypes, shapes, constant columns": (pairs(INTEGERS), dtypes, 15, 300),
    "floats of two widths": (pairs(FLOATS, SMALL), dtypes, 15, 300),
    "huge and tiny values": (pairs(FLOATS[:1], HUGE), dtypes, 20, 400),
    "NaN and infinity": (pairs(FLOATS, ODD), not_finite, 15, 300),
    "NaN and infinity that the model passes on": (
        pairs(FLOATS, ODD),
        not_finite_for_a_model_that_minds,
        15,
        300,
    ),
    "frames: kinds of columns, unicode and repeated names": (
        frames(NAMES),
        names,
        25,
        400,
    ),
    "frames: labels of any type": (
        frames(
            NAMES | st.integers(0, 3) | st.floats(0, 1) | st.tuples(st.integers(0, 1))
        ),
        labels_of_any_type,
        15,
        300,
    ),
    "frames of polars": (frames(NAMES), polars, 10, 200),
    "weights": (
        st.tuples(
            hnp.arrays(float, (3, 2), elements=SMALL),
            hnp.arrays(float, st.integers(2, 4), elements=st.floats())
            | st.just(np.ones(3)),
        ),
        weights,
        15,
        300,
    ),
    "groups": (
        st.tuples(
            pairs(FLOATS[:1], SMALL, most_columns=4),
            st.dictionaries(
                st.sampled_from(["g", "h", "é"]),
                st.lists(st.integers(-1, 4), max_size=3),
            ),
        ),
        groups,
        15,
        300,
    ),
    "anything for a table": (TABLES, any_table, 40, 600),
    "anything for a parameter": (
        st.tuples(st.sampled_from(PARAMETERS), ANYTHING).filter(starts_no_workers),
        any_parameter,
        40,
        600,
    ),
    "trees on tables with gaps": (
        st.tuples(
            pairs(FLOATS[:1], ODD.filter(lambda v: not np.isinf(v)), 4, 4),
            st.sampled_from(GROWN),
        ),
        trees,
        6,
        100,
    ),
    "batches of pieces with bad rows": (
        st.tuples(
            hnp.arrays(
                float,
                st.tuples(st.integers(0, 9), st.just(4)),
                elements=st.sampled_from([0.5, -1.0, 2.0, np.nan]),
            ),
            st.sets(st.integers(0, 9), max_size=3),
            st.integers(1, 6),
            st.booleans(),
        ),
        batches,
        8,
        100,
    ),
}
OFTEN = [0, pytest.param(1, marks=pytest.mark.slow)]


@pytest.mark.parametrize("often", OFTEN, ids=["few", "many"])
@pytest.mark.parametrize("name", PROPERTIES)
def test_any_call_succeeds_or_is_refused(name, often):
    drawn, check, *counts = PROPERTIES[name]
    quiet = settings(
        max_examples=counts[often],
        derandomize=not often,
        suppress_health_check=list(HealthCheck),
    )
    quiet(given(drawn)(check))()


def test_the_guide_lists_the_tested_combinations():
    page = Path(__file__).parents[1] / "doc" / "guide" / "inputs.rst"
    listed = re.findall(
        r"^(\S.*?) {2,}(\d+) +(\d+)$", page.read_text("utf-8"), flags=re.MULTILINE
    )
    drawn = [
        (name, str(few), str(many)) for name, (_, _, few, many) in PROPERTIES.items()
    ]
    assert listed == drawn
