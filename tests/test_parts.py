"""Parts, absolute values and means of explanations, in the syntax of pandas and shap."""

import numpy as np
import pandas as pd
import pytest

from skshapley import Explanation, ShapleyExplainer
from skshapley.explanation import Settings

R, P, K = 5, 4, 3
NAMES = ["age", "sex", "<b>", "size"]
OUTPUTS = ["no", "yes", "maybe"]
ARRAYS = ("values", "standard_errors", "background_errors")
ENDS = ("base_values", "predictions", "efficiency_gap")


def made(k=None, **changes):
    """An explanation with an efficiency gap of 0.25, distinct from all values."""
    rng = np.random.default_rng(0)
    shape = (R, P) if k is None else (R, P, k)
    values, base = rng.normal(size=shape), rng.normal(size=shape[:1] + shape[2:])
    parts = dict(
        values=values,
        standard_errors=rng.random(shape),
        background_errors=rng.random(shape),
        base_values=base,
        predictions=base + values.sum(axis=1) + 0.25,
        data=pd.DataFrame(rng.normal(size=(R, P)), columns=NAMES, index=list("uvwvz")),
        feature_names=np.array(NAMES, dtype=object),
        output_names=None if k is None else np.array(OUTPUTS, dtype=object)[:k],
        n_evaluations=np.arange(R) + 2.0,
        n_model_rows=np.arange(R),
        converged=np.array([True, True, True, False, True]),
        settings=Settings(sampler="Exact()"),
    )
    return Explanation(**{**parts, **changes})


# key, and the same in numbers: rows, players
PARTS = {
    "name": ("sex", slice(None), [1]),
    "names": (["size", "age"], slice(None), [3, 0]),
    "index of names": (pd.Index(["size"]), slice(None), [3]),
    "all rows, name": ((slice(None), "sex"), slice(None), [1]),
    "any, name": ((..., "sex"), slice(None), [1]),
    "row, name": ((2, "sex"), [2], [1]),
    "row, position": ((-1, -1), [4], [3]),
    "rows, positions": (([0, 1], [2, 0]), [0, 1], [2, 0]),
    "rows, slice": ((slice(1, 3), slice(2)), [1, 2], [0, 1]),
    "rows, all": ((slice(1, 3), slice(None)), [1, 2], [0, 1, 2, 3]),
    "mask, mask": (
        (np.array([1, 0, 0, 0, 1], bool), np.array([0, 1, 1, 0], bool)),
        [0, 4],
        [1, 2],
    ),
    "one axis": ((slice(1, 3),), [1, 2], [0, 1, 2, 3]),
    "no players": ((0, []), [0], []),
}


@pytest.mark.parametrize(("key", "rows", "players"), PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("k", [None, K])
def test_rows_and_features(key, rows, players, k):
    if isinstance(key, tuple) and key[0] is Ellipsis and k is not None:
        pytest.skip("there the name is that of an output")
    whole = made(k)
    some = whole[key]
    assert isinstance(some, Explanation)
    for name in ARRAYS:
        np.testing.assert_array_equal(
            getattr(some, name), getattr(whole, name)[rows][:, players]
        )
    for name in ENDS:
        np.testing.assert_allclose(
            getattr(some, name), getattr(whole, name)[rows], atol=1e-12
        )
    pd.testing.assert_frame_equal(some.data, whole.data.iloc[rows, players])
    assert some.feature_names.tolist() == [NAMES[player] for player in players]
    left_out = np.setdiff1d(range(P), players)
    if len(left_out):
        np.testing.assert_allclose(
            some.others, whole.values[rows][:, left_out].sum(axis=1)
        )
    else:
        assert some.others is None


def test_repeated_selections_of_features_add_up():
    whole = made(K)
    some = whole[["size", "age", "sex"]][:, ["age", "size"]]["size"]
    np.testing.assert_allclose(some.efficiency_gap, 0.25)
    np.testing.assert_allclose(some.others, whole.values[:, :3].sum(axis=1))
    assert "efficiency gap up to 0.25" in repr(some)
    assert "1 feature, others left out" in repr(some)
    closed = made(predictions=made().predictions - 0.25)["age"]
    assert "efficiency gap" not in repr(closed)
    assert "efficiency gap" not in closed._repr_html_()


OUTPUT_KEYS = {
    "position": np.s_[:, :, 1],
    "name": np.s_[:, :, "yes"],
    "any, position": np.s_[..., 1],
    "any, name": np.s_[..., "yes"],
    "any, from the end": np.s_[..., -2],
}


@pytest.mark.parametrize("key", OUTPUT_KEYS.values(), ids=OUTPUT_KEYS)
def test_an_output(key):
    whole, expected = made(K), made(K).output("yes")
    for name in (*ARRAYS, *ENDS):
        np.testing.assert_array_equal(
            getattr(whole[key], name), getattr(expected, name)
        )
    assert whole[key].settings.output == "yes"
    assert whole["age"][key].others.shape == (R,)


def test_rows_features_and_output_at_once_and_several_outputs():
    whole = made(K)
    np.testing.assert_array_equal(
        whole[3, "sex", "yes"].values, whole.values[[3]][:, [1], 1]
    )
    for key in (np.s_[:, :, 1:], np.s_[..., ["yes", "maybe"]], np.s_[:, :, [1, -1]]):
        some = whole[key]
        assert some.output_names.tolist() == ["yes", "maybe"]
        np.testing.assert_array_equal(some.values, whole.values[..., 1:])
        np.testing.assert_array_equal(some.predictions, whole.predictions[:, 1:])


def test_ambiguous_positions_of_outputs():
    digits = made(K, output_names=np.array([1, 2, 3]))
    with pytest.raises(
        ValueError, match=r"output 2 at position 1, and 1 elsewhere: .*output\(1\)"
    ):
        digits[..., 1]
    np.testing.assert_array_equal(digits[..., 0].values, digits.values[..., 0])
    plain = made(K, output_names=np.arange(3))
    np.testing.assert_array_equal(plain[..., 1].values, plain.values[..., 1])


def test_interactions_follow_rows_and_outputs_but_not_features():
    weights = np.array([[1.0, 0.0], [2.0, 1.0]])
    explainer = ShapleyExplainer(
        lambda X: X[:, :1] * X[:, 1:] @ weights[:1], interactions=True
    )
    whole = explainer.fit(np.zeros((1, 2))).explain(np.ones((3, 2)))
    one = whole[1:, :, [1]]
    np.testing.assert_array_equal(
        one.interactions.values, whole.interactions.values[1:][..., [1]]
    )
    assert one.interactions.output_names.tolist() == [1]
    assert whole[:, "x0"].interactions is None
    assert whole.mean().interactions is abs(whole).interactions is None


REFUSED = {
    "unknown": (
        "agee",
        KeyError,
        r"no feature 'agee' \(did you mean 'age'\?\): choose one of \['age', 'sex'",
    ),
    "unknown of several": (["age", "x"], KeyError, "no feature 'x'"),
    "twice": (["age", "age"], ValueError, r"each feature once; got \['age', 'age'\]"),
    "outside": ((0, 4), IndexError, "has 4 features, .*; got 4 "),
    "slice of names": (
        (0, slice("age", "sex")),
        TypeError,
        "4 features, .*names are given as a list",
    ),
    "fractions": (
        (0, [0.5]),
        IndexError,
        r"4 features, .* a mask of them; got \[0.5\]",
    ),
    "short mask": ((0, np.array([True])), IndexError, "4 features, .* a mask of them"),
    "third of a single output": (
        np.s_[:, :, 1],
        ValueError,
        "single output; got 1 for a third",
    ),
    "any of a single output": (np.s_[..., 1], ValueError, "leave it out"),
    "four": ((0, 0, 0, 0), TypeError, "got 4 indices"),
}


@pytest.mark.parametrize(("key", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_invalid_selections_are_refused(key, error, message):
    with pytest.raises(error, match=message):
        made()[key]


def test_unknown_names():
    with pytest.raises(
        KeyError, match=r"no output 'maybee' .*'maybe'\?\): choose one of \['no', 'yes'"
    ):
        made(K)[..., "maybee"]
    many = np.array([f"sensor_{i}" for i in range(40)], dtype=object)
    zeros = np.zeros((R, 40))
    parts = dict(
        values=zeros, standard_errors=None, background_errors=None, feature_names=many
    )
    explanation = made(**parts, data=pd.DataFrame(zeros, columns=many))
    with pytest.raises(KeyError, match="did you mean 'sensor_3"):
        explanation["sensr_33"]


# --- labels of rows -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "rows"),
    [
        ("w", [2]),
        ("v", [1, 3]),
        (["z", "u"], [4, 0]),
        (slice("w", None), [2, 3, 4]),
        (pd.Series([True, False, False, True, False], index=list("uvwvz")), [0, 3]),
    ],
)
def test_rows_by_label(key, rows):
    whole = made(K)
    np.testing.assert_array_equal(whole.loc[key].values, whole.values[rows])
    some = whole.loc[key, "sex", "yes"]
    np.testing.assert_array_equal(some.values, whole.values[rows][:, [1], 1])
    assert some.index.tolist() == whole.index[rows].tolist()


def test_labels_of_several_levels():
    levels = pd.MultiIndex.from_tuples(
        [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("c", 0)]
    )
    whole = made()
    whole = made(data=whole.data.set_axis(levels, axis=0))
    for key, rows, players in (
        (("a", 1), [1], [0, 1, 2, 3]),
        ("b", [2, 3], [0, 1, 2, 3]),
        (("b", "sex"), [2, 3], [1]),
        ((("b", 1), "sex"), [3], [1]),
        (("b", ["sex", "age"]), [2, 3], [1, 0]),
    ):
        np.testing.assert_array_equal(
            whole.loc[key].values, whole.values[rows][:, players]
        )


def test_unknown_labels():
    with pytest.raises(
        KeyError, match=r"\.loc got 'x', .* 5 rows: choose one of \['u'"
    ):
        made().loc["x"]
    with pytest.raises(KeyError, match=r"\.loc got 7, .* 5 rows"):
        made().loc[7]


# --- arrays, sizes and means ----------------------------------------------------------


@pytest.mark.parametrize("k", [None, K])
def test_numpy_converts_to_the_values(k):
    whole = made(k)
    np.testing.assert_array_equal(np.asarray(whole), whole.values)
    assert np.asarray(whole, dtype=np.float32).dtype == np.float32
    assert whole.shape == whole.values.shape
    np.testing.assert_array_equal(np.max(whole, axis=0), whole.values.max(axis=0))
    copied = np.array(whole)
    copied[:] = 0  # is our own
    assert len(whole) == R
    assert [one.index.tolist() for one in whole] == [[name] for name in "uvwvz"]


@pytest.mark.parametrize("k", [None, K])
def test_absolute_values(k):
    whole = made(k)
    for some in (abs(whole), whole.abs):
        np.testing.assert_array_equal(some.values, np.abs(whole.values))
        np.testing.assert_array_equal(some.standard_errors, whole.standard_errors)
        assert np.isnan(some.base_values).all()
        assert np.isnan(some.predictions).all()
        assert "gap" not in repr(some)
    importance = whole.importance()["importance"]
    means = whole.abs.mean(0).to_frame().iloc[0]
    pd.testing.assert_series_equal(
        means.sort_index(),
        importance.sort_index(),
        check_names=False,
        check_index_type=False,
    )


@pytest.mark.parametrize("k", [None, K])
def test_means(k):
    whole = made(k)
    mean = whole.mean()
    for name in (*ARRAYS[::2], *ENDS):  # errors of the background are the same for all
        np.testing.assert_allclose(
            getattr(mean, name),
            getattr(whole, name).mean(axis=0, keepdims=True),
            atol=1e-12,
        )
    assert mean.index.tolist() == ["mean"]
    assert mean.n_model_rows.tolist() == [whole.n_model_rows.sum()]
    assert mean.converged.tolist() == [False]
    assert mean["age"].others.shape == mean.base_values.shape


def test_errors_of_means_assume_independent_errors():
    """The spread of means over 4,000 repetitions, within 5 standard errors (1 in 10^6)."""
    rng = np.random.default_rng(0)
    deviations = np.array([[0.1, 0.2, 0.3, 0.4]]) * np.arange(1, R + 1)[:, None]
    noise = rng.normal(size=(4000, R, P)) * deviations
    spread = noise.mean(axis=1).std(axis=0)
    stated = made(standard_errors=deviations).mean().standard_errors[0]
    np.testing.assert_allclose(spread, stated, rtol=5 / np.sqrt(2 * 4000))


def test_invalid_means_are_refused():
    with pytest.raises(ValueError, match="takes axis=0, the mean over rows; got 1"):
        made().mean(axis=1)
    with pytest.raises(ValueError, match="at least one row"):
        made()[:0].mean()


@pytest.mark.parametrize(
    "call",
    [
        lambda empty: empty.importance(confidence=0.95),
        lambda empty: empty.plot.bar(),
        lambda empty: empty.plot.beeswarm(),
    ],
)
def test_summaries_of_no_rows_are_refused(call):
    with pytest.raises(ValueError, match=r"needs at least one row.*; got none"):
        call(made()[:0])


def test_merging_selections():
    whole = made(K)["age"]
    parts = Explanation.merge([whole[:2], whole[2:]])
    np.testing.assert_array_equal(parts.others, whole.others)
    only = whole[:2]
    unselected = Explanation(**{**vars(only), "others": None})
    mixed = Explanation.merge([only, unselected])
    np.testing.assert_array_equal(mixed.others[2:], 0)
