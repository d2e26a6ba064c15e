"""The record: slicing, outputs, frames, importance, merging, shap's plots, HTML, pickling."""

import copy
import pickle
from dataclasses import FrozenInstanceError

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from skshapley import Explanation

R, P, K = 5, 3, 2


def made(k=None, **changes):
    """An explanation of known numbers: 5 instances, 3 players, k outputs."""
    shape = (R, P) if k is None else (R, P, k)
    ends = (R,) if k is None else (R, k)
    values = np.arange(np.prod(shape), dtype=float).reshape(shape) - 6
    base = np.full(ends, 0.5)
    parts = dict(
        values=values,
        standard_errors=np.full(shape, 0.1),
        base_values=base,
        predictions=base + values.sum(axis=1),
        data=pd.DataFrame(
            {"age": [20.0, 30, np.nan, 50, 60], "<b>job": list("xyxyx"), "when": range(5)},
            index=["u", "v", "w", "v", "z"],
        ),
        feature_names=np.array(["age", "<b>job", "when"], dtype=object),
        output_names=None if k is None else np.array(["<i>no", "yes"], dtype=object)[:k],
        n_evaluations=np.full(R, 10.0),
        n_model_rows=np.full(R, 100),
        converged=np.array([True, False, True, True, False]),
        settings={"sampler": "Exact()", "solver": "Linear()", "output": None},
    )
    return Explanation(**{**parts, **changes})


# --- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "positions"),
    [
        (1, [1]),
        (-1, [4]),
        (np.int64(2), [2]),
        (slice(1, 4), [1, 2, 3]),
        (slice(None, None, -2), [4, 2, 0]),
        ([3, 0, 3], [3, 0, 3]),
        (np.array([True, False, False, True, False]), [0, 3]),
        (pd.Series([False, True, False, False, False], index=list("uvwvz")), [1]),
        ([], []),
        (np.array(2), [2]),
    ],
)
@pytest.mark.parametrize("k", [None, K])
def test_rows(rows, positions, k):
    whole = made(k)
    some = whole[rows]
    for name in ("values", "standard_errors", "base_values", "predictions", "converged"):
        np.testing.assert_array_equal(getattr(some, name), getattr(whole, name)[positions])
    np.testing.assert_array_equal(some.n_model_rows, whole.n_model_rows[positions])
    pd.testing.assert_frame_equal(some.data, whole.data.iloc[positions])
    assert len(some) == len(positions) == len(some.index)
    assert some.values.ndim == whole.values.ndim


def test_iteration_gives_one_instance_at_a_time():
    assert [float(one.predictions[0]) for one in made()] == made().predictions.tolist()


@pytest.mark.parametrize("rows", [5, -6])
def test_row_that_is_not_there(rows):
    with pytest.raises(IndexError, match=f"5 instances; got row {rows}"):
        made()[rows]


@pytest.mark.parametrize("rows", ["yes", ("u", "v"), (0, 1), [0.5], None, {0}])
def test_rows_that_are_no_rows(rows):
    with pytest.raises(TypeError, match=r"int, slice, positions or a boolean mask"):
        made()[rows]


def test_mask_of_another_length():
    with pytest.raises(IndexError):
        made()[np.array([True, False])]


# --- outputs -------------------------------------------------------------------------------------


def test_output():
    whole = made(K)
    yes = whole.output("yes")
    np.testing.assert_array_equal(yes.values, whole.values[..., 1])
    np.testing.assert_array_equal(yes.predictions, whole.predictions[:, 1])
    assert yes.values.shape == (R, P)
    assert yes.output_names is None
    assert yes.settings["output"] == "yes"
    assert whole.settings["output"] is None


def test_output_of_an_explanation_without_standard_errors():
    assert made(K, standard_errors=None).output("yes").standard_errors is None


def test_unknown_output_names_the_choices():
    with pytest.raises(ValueError, match=r"no output 'maybe': choose one of \['<i>no', 'yes'\]"):
        made(K).output("maybe")


def test_output_of_a_single_output():
    with pytest.raises(ValueError, match=r"single output"):
        made().output("yes")


# --- frames --------------------------------------------------------------------------------------


def test_wide_frame():
    frame = made().to_frame()
    assert frame.columns.tolist() == ["age", "<b>job", "when"]
    assert frame.index.tolist() == ["u", "v", "w", "v", "z"]
    np.testing.assert_array_equal(frame.to_numpy(), made().values)


def test_wide_frame_of_several_outputs():
    frame = made(K).to_frame()
    assert frame.columns.names == ["output", "feature"]
    np.testing.assert_array_equal(frame["yes"].to_numpy(), made(K).values[..., 1])


@pytest.mark.parametrize("k", [None, K])
def test_long_frame_holds_every_number_in_its_place(k):
    whole = made(k)
    frame = whole.to_frame("long")
    assert len(frame) == whole.values.size
    assert ("output" in frame) == (k is not None)
    some = frame[frame["feature"] == "<b>job"]
    if k is not None:
        some = some[some["output"] == "yes"]
    column = whole.values[:, 1] if k is None else whole.values[:, 1, 1]
    assert some["value"].tolist() == column.tolist()
    assert some["data"].tolist() == list("xyxyx")
    assert some["row"].tolist() == ["u", "v", "w", "v", "z"]
    assert (some["standard_error"] == 0.1).all()


def test_long_frame_without_standard_errors():
    assert made(standard_errors=None).to_frame("long")["standard_error"].isna().all()


def test_unknown_kind_of_frame():
    with pytest.raises(ValueError, match=r'"wide" or "long"; got \'tall\''):
        made().to_frame("tall")


def test_importance_is_the_mean_size_with_its_standard_error():
    table = made().importance()
    size = np.abs(made().values)
    assert table.index.name == "feature"
    assert table["importance"].is_monotonic_decreasing
    for position, name in enumerate(["age", "<b>job", "when"]):
        assert table.loc[name, "importance"] == pytest.approx(size[:, position].mean())
        error = np.std(size[:, position], ddof=1) / np.sqrt(R)
        assert table.loc[name, "standard_error"] == pytest.approx(error)


def test_importance_of_several_outputs():
    table = made(K).importance()
    assert table.loc[("yes", "when"), "importance"] == np.abs(made(K).values[:, 2, 1]).mean()
    assert len(table) == P * K


@pytest.mark.parametrize("rows", [slice(0, 1), slice(0, 0)])
def test_importance_of_too_few_instances_has_no_error(rows):
    assert made()[rows].importance()["standard_error"].isna().all()


# --- merging -------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, K])
def test_merging_parts_gives_the_whole(k):
    whole = made(k)
    merged = Explanation.merge(part for part in (whole[:2], whole[2:3], whole[3:]))
    for name in ("values", "standard_errors", "base_values", "n_evaluations", "converged"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(whole, name))
    pd.testing.assert_frame_equal(merged.data, whole.data)


def test_merging_with_and_without_standard_errors():
    merged = Explanation.merge([made(), made(standard_errors=None)])
    assert np.isnan(merged.standard_errors[R:]).all()
    assert (merged.standard_errors[:R] == 0.1).all()
    assert Explanation.merge([made(standard_errors=None)]).standard_errors is None


@pytest.mark.parametrize(
    ("other", "word"),
    [
        (made(feature_names=np.array(["age", "job", "when"], dtype=object)), "feature_names"),
        (made(K), "output_names"),
        (made(K).output("yes"), "output"),
    ],
)
def test_merging_what_does_not_belong_together(other, word):
    with pytest.raises(ValueError, match=f"needs the same {word}:"):
        Explanation.merge([made(), other])


def test_merging_nothing():
    with pytest.raises(ValueError, match="at least one"):
        Explanation.merge([])


# --- a frozen record -----------------------------------------------------------------------------

ARRAYS = ("values", "standard_errors", "base_values", "predictions", "feature_names")


@pytest.mark.parametrize("through", [lambda e: e, copy.deepcopy, lambda e: e[1:]])
@pytest.mark.parametrize("protocol", [None, 2, pickle.HIGHEST_PROTOCOL])
def test_read_only_before_and_after_pickling(through, protocol):
    record = through(made(K))
    if protocol is not None:
        record = pickle.loads(pickle.dumps(record, protocol))
    for name in (*ARRAYS, "output_names", "n_evaluations", "n_model_rows", "converged"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(record, name)[0] = 0
    with pytest.raises(FrozenInstanceError):
        record.values = 0


def test_the_arrays_it_is_made_of_stay_writeable():
    values = np.zeros((R, P))
    made(values=values)
    values[0] = 1


def test_pickling_keeps_everything():
    record = pickle.loads(pickle.dumps(made(K)))
    for name in (*ARRAYS, "output_names", "n_evaluations", "n_model_rows", "converged"):
        np.testing.assert_array_equal(getattr(record, name), getattr(made(K), name))
    pd.testing.assert_frame_equal(record.data, made(K).data)
    assert record.settings == made(K).settings


# --- shown ---------------------------------------------------------------------------------------


def test_repr_says_what_and_how():
    text = "<Explanation: 5 instances, 3 features, 2 outputs; sampler=Exact(), solver=Linear()>"
    assert repr(made(K)) == text
    assert "method unknown" in repr(made(settings={}))


@pytest.mark.parametrize("k", [None, K])
def test_html_escapes_names(k):
    nasty = {"sampler": "<script>", "solver": "Linear()"}
    html = made(k, settings=nasty)._repr_html_()
    assert "&lt;b&gt;job" in html
    assert "&lt;script&gt;" in html
    assert "<b>job" not in html
    assert "<script>" not in html
    assert "<i>no" not in html
    assert html.count("<tr>") == html.count("</tr>") == 1 + P * (k or 1)
    assert "3 of 5" in html


def test_html_of_no_instances():
    assert "0 instances" in made()[:0]._repr_html_()


# --- shap ----------------------------------------------------------------------------------------


@pytest.fixture
def shap():
    return pytest.importorskip("shap")


def test_to_shap_holds_the_same_numbers(shap):
    theirs = made(K).to_shap()
    assert isinstance(theirs, shap.Explanation)
    np.testing.assert_array_equal(theirs.values, made(K).values)
    np.testing.assert_array_equal(theirs.base_values, made(K).base_values)
    assert theirs.feature_names == ["age", "<b>job", "when"]
    assert theirs.output_names == ["<i>no", "yes"]
    np.testing.assert_array_equal(theirs.data[:, 0], made().data["age"])
    assert theirs.data[:, 1].tolist() == [0, 1, 0, 1, 0]
    assert theirs.display_data[:, 1].tolist() == list("xyxyx")


KINDS = {
    "category": pd.Categorical(["b", "a", None, "b", "a"]),
    "string": pd.array(["b", "a", None, "b", "a"], dtype="string"),
    "object": np.array(["b", "a", None, "b", "a"], dtype=object),
    "datetime": pd.to_datetime(["2024-02-01", "2024-01-01", None, "2024-02-01", "2024-01-01"]),
    "nullable": pd.array([1, 0, None, 1, 0], dtype="Int64"),
    "boolean": pd.array([True, False, None, True, False], dtype="boolean"),
    "mixed": np.array(["b", 1, None, "b", 1], dtype=object),
}


@pytest.mark.parametrize("kind", KINDS)
def test_to_shap_ranks_what_is_no_number(shap, kind):
    data = made().data.assign(age=KINDS[kind])
    assert str(made(data=data).to_shap().data[:, 0].tolist()) == "[1.0, 0.0, nan, 1.0, 0.0]"


@pytest.mark.filterwarnings("ignore")  # shap's own plots warn of many things
@pytest.mark.parametrize("plot", ["bar", "beeswarm", "waterfall", "heatmap", "scatter"])
def test_to_shap_drives_their_plots(shap, plot):
    theirs = made(K).output("yes").to_shap()
    if plot == "scatter":
        theirs = theirs[:, "age"]
    draw = getattr(shap.plots, plot)
    draw(theirs[0] if plot == "waterfall" else theirs, show=False)
    assert plt.gcf().axes
    plt.close("all")
