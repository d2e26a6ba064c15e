"""The record: slicing, outputs, frames, importance, merging, shap's plots, HTML, pickling."""

import copy
import dataclasses
import pickle
import re
import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from skshapley import (
    AmortizedExplainer,
    Explanation,
    ShapleyExplainer,
    TreeExplainer,
    shapley_values,
)
from skshapley.explanation import Settings
from skshapley.plots import BarDisplay, PlotAccessor
from skshapley.responses import highest_probability

R, P, K = 5, 3, 2


def made(k=None, **changes):
    """An explanation of known numbers: 5 rows, 3 players, k outputs."""
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
            {
                "age": [20.0, 30, np.nan, 50, 60],
                "<b>job": list("xyxyx"),
                "when": range(5),
            },
            index=["u", "v", "w", "v", "z"],
        ),
        feature_names=np.array(["age", "<b>job", "when"], dtype=object),
        output_names=None
        if k is None
        else np.array(["<i>no", "yes"], dtype=object)[:k],
        n_evaluations=np.full(R, 10.0),
        n_model_rows=np.full(R, 100),
        converged=np.array([True, False, True, True, False]),
        settings=Settings(sampler="Exact()", solver="Linear()"),
    )
    return Explanation(**{**parts, **changes})


# --- rows -----------------------------------------------------------------------------


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
    for name in (
        "values",
        "standard_errors",
        "base_values",
        "predictions",
        "converged",
    ):
        np.testing.assert_array_equal(
            getattr(some, name), getattr(whole, name)[positions]
        )
    np.testing.assert_array_equal(some.n_model_rows, whole.n_model_rows[positions])
    pd.testing.assert_frame_equal(some.data, whole.data.iloc[positions])
    assert len(some) == len(positions) == len(some.index)
    assert some.values.ndim == whole.values.ndim


def test_unknown_attributes_suggest_the_right_one():
    with pytest.raises(AttributeError, match="Explanation has no 'date': use data"):
        _ = made().date
    with pytest.raises(AttributeError, match=r"has no 'to_parquet': use save\(path\)"):
        _ = made().to_parquet


def test_data_are_the_explained_rows():
    X = np.ones((2, 2))
    explanation = (
        ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(np.zeros((1, 2))).explain(X)
    )
    X[:] = 7.0
    assert (explanation.data == 1.0).all(axis=None)


def test_iteration_gives_one_row_at_a_time():
    assert [float(one.predictions[0]) for one in made()] == made().predictions.tolist()


@pytest.mark.parametrize("rows", [5, -6])
def test_unknown_row(rows):
    with pytest.raises(IndexError, match=f"5 rows, .*; got {rows} "):
        made()[rows]


@pytest.mark.parametrize("rows", [("u", "v"), [0.5], None, {0}, [["age"]]])
def test_invalid_rows(rows):
    with pytest.raises(
        IndexError, match=r"an int, a slice, positions or a mask of them; got .*\.loc"
    ):
        made()[rows]


@pytest.mark.parametrize("output", [None, 2.0, {0}])
def test_invalid_outputs(output):
    with pytest.raises(IndexError, match=r"Explanation has 2 outputs, .* got"):
        made(2)[0, 1, output]


def test_mask_of_wrong_length():
    with pytest.raises(IndexError):
        made()[np.array([True, False])]


# --- outputs --------------------------------------------------------------------------


def test_output():
    whole = made(K)
    yes = whole.output("yes")
    np.testing.assert_array_equal(yes.values, whole.values[..., 1])
    np.testing.assert_array_equal(yes.predictions, whole.predictions[:, 1])
    assert yes.values.shape == (R, P)
    assert yes.output_names is None
    assert yes.settings.output == "yes"
    assert whole.settings.output is None


def test_output_of_an_explanation_without_standard_errors():
    assert made(K, standard_errors=None).output("yes").standard_errors is None


def test_unknown_output_names_the_choices():
    with pytest.raises(
        ValueError, match=r"no output 'maybe': choose one of \['<i>no', 'yes'\]"
    ):
        made(K).output("maybe")


def test_output_of_a_single_output():
    with pytest.raises(ValueError, match=r"single output"):
        made().output("yes")


# --- frames ---------------------------------------------------------------------------


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
def test_long_frame_holds_every_number(k):
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


def test_importance_is_the_mean_absolute_value_with_errors():
    table = made().importance()
    size = np.abs(made().values)
    assert table.index.name == "feature"
    assert table["importance"].is_monotonic_decreasing
    for position, name in enumerate(["age", "<b>job", "when"]):
        assert table.loc[name, "importance"] == pytest.approx(size[:, position].mean())
        total = np.std(size[:, position], ddof=1) / np.sqrt(R)
        assert table.loc[name, "standard_error"] == pytest.approx(total)
    np.testing.assert_allclose(table["estimation_error"], 0.1 / np.sqrt(R))
    parts = table["rows_error"] ** 2 + table["estimation_error"] ** 2
    np.testing.assert_allclose(parts, table["standard_error"] ** 2)
    np.testing.assert_allclose(table["max_bias"], 0.1 * np.sqrt(2 / np.pi))


def test_importance_of_several_outputs():
    table = made(K).importance()
    assert (
        table.loc[("yes", "when"), "importance"]
        == np.abs(made(K).values[:, 2, 1]).mean()
    )
    assert len(table) == P * K


UNKNOWN = {
    "one instance": (made()[:1], ["standard_error", "rows_error"]),
    "no instance": (
        made()[:0],
        ["importance", "standard_error", "rows_error", "max_bias"],
    ),
    "no errors": (
        made(standard_errors=None),
        ["rows_error", "estimation_error", "max_bias"],
    ),
}


@pytest.mark.parametrize(("explanation", "unknown"), UNKNOWN.values(), ids=UNKNOWN)
def test_importance_marks_unknown_errors(explanation, unknown):
    table = explanation.importance()
    assert table[unknown].isna().all(axis=None)
    if "importance" not in unknown:
        absent = ["background_error", "refit_error"]
        absent += ["direction", "direction_error"]
        known = table.drop(columns=[*unknown, *absent])
        assert known.notna().all(axis=None)


REPETITIONS = 400


def estimated(noise, scale, n=30):
    """The columns of `importance`, (400, 4): 400 repetitions of features with known truth.

    The true attributions of feature j = 0 .. 3 are N(4 j, scale^2) over n instances,
    the errors of their estimates normal of deviation noise * U(0.5, 1.5). Repetitions
    are players of one record.
    """
    rng = np.random.default_rng(0)
    centres = np.tile(4.0 * np.arange(4), REPETITIONS)
    true = rng.normal(centres, scale, size=(n, len(centres)))
    s = noise * rng.uniform(0.5, 1.5, size=true.shape)
    names = np.array([str(player) for player in range(len(centres))], dtype=object)
    table = dataclasses.replace(
        made()[np.zeros(n, dtype=int)],
        values=rng.normal(true, s),
        standard_errors=s,
        data=pd.DataFrame(true, columns=names),
        feature_names=names,
    ).importance()
    return {name: table[name].loc[names].to_numpy().reshape(-1, 4) for name in table}


def test_importance_separates_variation_of_rows_from_noise():
    """Each check is wrong for less than 1 of 1e4 seeds.

    Features b, c, d are far from zero, so |.| is linear and errors add up. The mean of
    400 estimates of a variance on 29 degrees of freedom has a standard error of 1.3 %.
    """
    noise, n = 0.8, 30
    of = estimated(noise, scale=0.9)
    spread = noise**2 * (1 + 1 / 12)  # the mean of s^2
    squares = {name: (part[:, 2:] ** 2).mean(axis=0) for name, part in of.items()}
    np.testing.assert_allclose(
        squares["standard_error"], (0.81 + spread) / n, rtol=0.06
    )
    np.testing.assert_allclose(squares["estimation_error"], spread / n, rtol=0.03)
    np.testing.assert_allclose(squares["rows_error"], 0.81 / n, rtol=0.11)
    means = of["importance"]
    z = (means[:, 2:] - [8, 12]) / of["standard_error"][:, 2:]
    np.testing.assert_allclose(z.mean(axis=0), 0, atol=4 / 20)
    # The deviation of t with 29 degrees of freedom is 1.036, that of a deviation of 400
    # 3.5 %.
    z = (means - means.mean(axis=0)) / of["standard_error"]
    np.testing.assert_allclose(z.std(axis=0), 1.036, atol=0.16)


@pytest.mark.parametrize("noise", [0.3, 1.0, 3.0])
def test_bounds_of_importance_are_valid_and_attained(noise):
    """The same rows throughout; each check is wrong for less than 1 of 1e4 seeds."""
    of = estimated(noise, scale=0.0)
    means = of["importance"]
    bias, deviation = means.mean(axis=0) - [0, 4, 8, 12], means.std(axis=0)
    bound, slack = of["max_bias"].mean(axis=0), 4 * deviation / np.sqrt(REPETITIONS)
    assert (bias <= bound + slack).all()
    assert abs(bias[0] - bound[0]) <= slack[0]  # feature a is zero throughout
    error = np.sqrt((of["estimation_error"] ** 2).mean(axis=0))
    assert (deviation <= 1.15 * error).all()
    if noise < 1:  # the others are clear of zero
        np.testing.assert_allclose(deviation[1:], error[1:], rtol=0.15)


COHORTS = {
    "column": ("<b>job", {"x": [0, 2, 4], "y": [1, 3]}),
    "labels": (["b", "a", "b", "a", None], {"a": [1, 3], "b": [0, 2], "missing": [4]}),
    "mask": (np.arange(R) > 2, {False: [0, 1, 2], True: [3, 4]}),
    "categories": (
        pd.Categorical([*"sslls"], ["s", "m", "l"], ordered=True),
        {"s": [0, 1, 4], "l": [2, 3]},
    ),
}


@pytest.mark.parametrize("k", [None, K])
@pytest.mark.parametrize(("cohorts", "expected"), COHORTS.values(), ids=COHORTS)
def test_importance_of_cohorts(cohorts, expected, k):
    table = made(k).importance(cohorts=cohorts)
    assert table.index.names[0] == "cohort"
    assert pd.unique(table.index.get_level_values("cohort")).tolist() == list(expected)
    for label, positions in expected.items():
        pd.testing.assert_frame_equal(table.loc[label], made(k)[positions].importance())


@pytest.mark.parametrize(
    ("cohorts", "message"),
    [
        (
            "sex",
            r"got cohorts='sex': choose a column among \['age', '<b>job', 'when'\]",
        ),
        ([True, False], "cohort for each of 5 rows; got 2"),
    ],
)
def test_importance_refuses_cohorts(cohorts, message):
    with pytest.raises(ValueError, match=message):
        made().importance(cohorts=cohorts)


# --- merging --------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, K])
def test_merged_parts_equal_the_whole(k):
    whole = made(k)
    merged = Explanation.merge(part for part in (whole[:2], whole[2:3], whole[3:]))
    for name in (
        "values",
        "standard_errors",
        "base_values",
        "n_evaluations",
        "converged",
    ):
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
        (
            made(feature_names=np.array(["age", "job", "when"], dtype=object)),
            "feature_names",
        ),
        (made(K), "output_names"),
        (made(K).output("yes"), "output"),
    ],
)
def test_merging_of_incompatible_explanations(other, word):
    with pytest.raises(ValueError, match=f"needs the same {word}:"):
        Explanation.merge([made(), other])


@pytest.mark.parametrize(
    "options",
    [
        {"index": "banzhaf"},
        {"response_method": "log_odds"},
        {"reward": "baseline"},
        {"response_method": highest_probability},
    ],
)
def test_merging_of_different_quantities(options):
    X = np.random.default_rng(0).normal(size=(20, 3))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    of_probability = ShapleyExplainer(model).fit(X).explain(X[:2])
    different = ShapleyExplainer(model, **options).fit(X).explain(X[2:4])
    with pytest.raises(ValueError, match=f"needs the same {next(iter(options))}: got"):
        Explanation.merge(of_probability, different)


def test_merging_of_other_objects():
    with pytest.raises(TypeError, match=r"takes explanations; got 3: Explanation"):
        Explanation.merge([made(), 3])


def test_merging_of_no_explanation():
    with pytest.raises(ValueError, match="at least one"):
        Explanation.merge([])


# --- a frozen record ------------------------------------------------------------------

ARRAYS = ("values", "standard_errors", "base_values", "predictions", "feature_names")


@pytest.mark.parametrize("through", [lambda e: e, copy.deepcopy, lambda e: e[1:]])
@pytest.mark.parametrize("protocol", [None, 2, pickle.HIGHEST_PROTOCOL])
def test_arrays_are_read_only_before_and_after_pickling(through, protocol):
    record = through(made(K))
    if protocol is not None:
        record = pickle.loads(pickle.dumps(record, protocol))
    for name in (*ARRAYS, "output_names", "n_evaluations", "n_model_rows", "converged"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(record, name)[0] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        record.values = 0


def test_source_arrays_stay_writeable():
    values = np.zeros((R, P))
    made(values=values)
    values[0] = 1


def test_pickling_keeps_everything():
    record = pickle.loads(pickle.dumps(made(K)))
    for name in (*ARRAYS, "output_names", "n_evaluations", "n_model_rows", "converged"):
        np.testing.assert_array_equal(getattr(record, name), getattr(made(K), name))
    pd.testing.assert_frame_equal(record.data, made(K).data)
    assert record.settings == made(K).settings


# --- shown ----------------------------------------------------------------------------


def test_repr_names_data_and_methods():
    text = "<Explanation: 5 rows, 3 features, 2 outputs; exact, by all coalitions>"
    assert repr(made(K)).splitlines()[0] == text
    assert "method unknown" in repr(made(settings=Settings()))
    alone = (
        ShapleyExplainer(lambda X: X[:, 0] ** 2).fit(np.eye(1)).explain(np.eye(1) * 2)
    )
    assert "; exact, from the prediction and the base value>" in repr(alone)


@pytest.mark.parametrize("k", [None, K])
def test_html_escapes_names(k):
    nasty = Settings(sampler="<script>", solver="Linear()")
    html = made(k, settings=nasty)._repr_html_()
    assert "&lt;b&gt;job" in html
    assert "&lt;script&gt;" in html
    assert "<b>job" not in html
    assert "<script>" not in html
    assert "<i>no" not in html
    # a head, and for a few rows of one output the prediction and the base value
    assert html.count("</tr>") == 1 + P + (0 if k else 2)
    assert "3 of 5" in html


def test_html_without_rows():
    assert "0 rows" in made()[:0]._repr_html_()


# --- shap -----------------------------------------------------------------------------


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
    "datetime": pd.to_datetime(
        ["2024-02-01", "2024-01-01", None, "2024-02-01", "2024-01-01"]
    ),
    "nullable": pd.array([1, 0, None, 1, 0], dtype="Int64"),
    "boolean": pd.array([True, False, None, True, False], dtype="boolean"),
    "mixed": np.array(["b", 1, None, "b", 1], dtype=object),
}


@pytest.mark.parametrize("kind", KINDS)
def test_to_shap_encodes_categories_as_ranks(shap, kind):
    data = made().data.assign(age=KINDS[kind])
    assert (
        str(made(data=data).to_shap().data[:, 0].tolist())
        == "[1.0, 0.0, nan, 1.0, 0.0]"
    )


def drawn_by_shap(shap, plot, theirs):
    if plot == "decision":
        ends = theirs.base_values[0], theirs.values, theirs.data
        return shap.plots.decision(*ends, theirs.feature_names, show=False)
    options = {"matplotlib": True} if plot == "force" else {}
    if plot == "scatter":
        theirs = theirs[:, "<b>job"]
    rows = theirs[1] if plot in ("waterfall", "force") else theirs
    return getattr(shap.plots, plot)(rows, show=False, **options)


@pytest.mark.filterwarnings("ignore")  # shap's own plots warn of many things
@pytest.mark.parametrize(
    "plot",
    ["bar", "force", "waterfall"]
    + [
        pytest.param(plot, marks=pytest.mark.slow)
        for plot in ("beeswarm", "decision", "heatmap", "scatter", "violin")
    ],
)
def test_to_shap_works_with_plots_of_shap(shap, plot):
    ours = made(K).output("yes")
    drawn_by_shap(shap, plot, ours.to_shap())
    assert all(ax.has_data() or ax.texts for ax in plt.gcf().axes[:1])
    texts = " ".join(text.get_text() for text in plt.gcf().findobj(Text))
    assert "<b>job" in texts
    if plot in ("waterfall", "force"):
        assert re.search("y = <b>job|<b>job = y", texts)  # the value, not its rank
    plt.close("all")


PARTS = ("values", "base_values", "predictions", "feature_names", "output_names")


@pytest.mark.parametrize("k", [None, 1, K])
@pytest.mark.parametrize("rows", [slice(None), slice(2, 3)])
def test_from_shap_and_back(shap, k, rows):
    ours = made(k)[rows]
    there = Explanation.from_shap(ours.to_shap())
    for name in PARTS:
        np.testing.assert_array_equal(getattr(there, name), getattr(ours, name))
    pd.testing.assert_frame_equal(
        there.data, ours.data.reset_index(drop=True), check_dtype=False
    )
    assert there.standard_errors is None
    assert np.isnan(there.n_evaluations).all()
    assert "method unknown" in repr(there)
    assert "model rows" not in there._repr_html_()


SLICES = {
    "one row": (made(), lambda e: e[3], made()[3]),
    "one row of outputs": (made(K), lambda e: e[3], made(K)[3]),
    "one output": (
        made(K, data=made().data[["when"] * 3]),
        lambda e: e[..., 1],
        made(K).output("yes"),
    ),
    "one row and output": (made(K), lambda e: e[3, :, 1], made(K)[3].output("yes")),
}


@pytest.mark.parametrize(("whole", "cut", "expected"), SLICES.values(), ids=SLICES)
def test_from_shap_takes_slices(shap, whole, cut, expected):
    there = Explanation.from_shap(cut(whole.to_shap()))
    for name in ("values", "base_values", "predictions"):
        np.testing.assert_array_equal(getattr(there, name), getattr(expected, name))
    assert there.settings.output == expected.settings.output


def test_from_shap_of_a_model(shap):
    """shap's exact values agree in single precision; its base values may be constants."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"])
    forest = RandomForestClassifier(3, max_depth=3, random_state=0).fit(
        X, rng.integers(3, size=40)
    )
    theirs = shap.TreeExplainer(forest, X[:6], feature_perturbation="interventional")(
        X[:4]
    )
    there = Explanation.from_shap(theirs)
    ours = ShapleyExplainer(forest, sampler="exact").fit(X[:6]).explain(X[:4])
    for name in ("values", "base_values", "predictions"):
        np.testing.assert_allclose(getattr(there, name), getattr(ours, name), atol=1e-7)
    pd.testing.assert_frame_equal(there.data, X[:4])
    bare = Explanation.from_shap(shap.Explanation(theirs.values, theirs.base_values[0]))
    np.testing.assert_array_equal(bare.base_values, there.base_values)
    assert bare.feature_names.tolist() == ["x0", "x1", "x2"]
    assert bare.output_names.tolist() == [0, 1, 2]
    assert bare.data.isna().all(axis=None)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            dict(values=np.zeros((2, 3)), base_values=np.zeros(4)),
            r"base value for each of 2 rows",
        ),
        (dict(values=np.zeros((2, 3))), "needs a base value"),
        (dict(values=np.zeros((2, 3, 3, 2)), base_values=0.0), r"shape \(2, 3, 3, 2\)"),
        (
            dict(values=np.zeros(3), base_values=0.0, feature_names="age"),
            "of all features",
        ),
        (
            dict(values=np.zeros((2, 3)), base_values=0.0, feature_names=["a", "b"]),
            "name for each of 3 features; got 2",
        ),
        (
            dict(values=np.zeros((2, 3)), base_values=0.0, data=np.zeros((2, 4))),
            r"data of shape \(2, 3\); got shape \(2, 4\)",
        ),
    ],
)
def test_from_shap_refuses_invalid_objects(parts, message):
    whole = dict(base_values=None, data=None, display_data=None, feature_names=None)
    with pytest.raises(ValueError, match=message):
        Explanation.from_shap(
            SimpleNamespace(**{**whole, "output_names": None, **parts})
        )


# --- shapiq ---------------------------------------------------------------------------


@pytest.fixture
def shapiq():
    return pytest.importorskip("shapiq")


@pytest.mark.parametrize("rows", [slice(None), slice(0, 1)])
def test_to_shapiq_keeps_the_numbers(shapiq, rows):
    ours = made()[rows]
    theirs = ours.to_shapiq()
    assert len(theirs) == len(ours)
    for row, one in enumerate(theirs):
        assert (one.index, one.max_order, one.n_players) == ("SV", 1, P)
        np.testing.assert_array_equal(one.get_n_order_values(1), ours.values[row])
        assert one[()] == one.baseline_value == ours.base_values[row]
        assert one.estimated
        assert one.estimation_budget == 10


@pytest.mark.filterwarnings("ignore")  # their plots are not ours
def test_to_shapiq_works_with_plots_of_shapiq(shapiq):
    one = made().to_shapiq()[0]
    assert (
        one.plot_force(feature_names=np.array(["a", "b", "c"]), show=False) is not None
    )
    plt.close("all")


def test_exact_values_are_not_marked_as_estimated(shapiq):
    assert not made(standard_errors=np.zeros((R, P))).to_shapiq()[0].estimated


def test_to_shapiq_refuses_several_rows(shapiq):
    with pytest.raises(ValueError, match=r"one output; choose it by \.output\(name\)"):
        made(K).to_shapiq()


# --- pictures -------------------------------------------------------------------------


def test_plot_is_the_accessor_of_the_displays():
    explanation = made()
    drawn = explanation.plot.bar(row=1)
    assert isinstance(drawn, BarDisplay)
    assert drawn.frame()["value"].tolist() == [-3.0, -2.0, -1.0]
    assert "plot" not in {field.name for field in dataclasses.fields(Explanation)}
    assert isinstance(explanation.plot, PlotAccessor)
    plt.close("all")


# --- what need not add up -------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 2])
def test_the_efficiency_gap_is_the_missing_part_of_the_sum(k):
    whole = made(k)
    np.testing.assert_allclose(whole.efficiency_gap, 0, atol=1e-12)
    missing = np.arange(whole.predictions.size, dtype=float).reshape(
        whole.predictions.shape
    )
    lacking = made(k, predictions=whole.predictions + missing)
    np.testing.assert_allclose(lacking.efficiency_gap, missing, atol=1e-12)
    np.testing.assert_allclose(lacking[[1]].efficiency_gap, missing[[1]], atol=1e-12)


def test_the_efficiency_gap_is_shown_unless_it_is_rounding():
    whole = made()
    rounded = made(predictions=whole.predictions * (1 + 1e-12))
    for explanation in (whole, rounded):
        assert "efficiency gap" not in repr(explanation)
        assert "efficiency gap" not in explanation._repr_html_()
    lacking = made(predictions=whole.predictions + np.arange(R) / 4)
    assert "; efficiency gap up to 1>" in repr(lacking)
    assert "efficiency gap up to 1" in lacking._repr_html_()
    # an instance that is far off is not hidden behind one of large values
    apart = made(values=whole.values * np.array([[1e9], [1], [1], [1], [1]]))
    assert "efficiency gap" in repr(apart)


def test_the_gap_between_large_similar_predictions_is_not_rounding():
    result = shapley_values(lambda S: 1e9 + S @ [1.0, 2.0], n_players=2)
    assert result.efficiency_gap == 0
    banzhaf = shapley_values(
        lambda S: S.all(axis=1) * 4.0,
        n_players=3,
        sampler="antithetic",
        index="banzhaf",
        max_evals=500,
        random_state=0,
    )
    assert banzhaf.efficiency_gap == pytest.approx(1.0)


@pytest.mark.parametrize("package", ["shap", "shapiq"])
def test_missing_packages_are_reported(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    match = rf"^Explanation\.to_{package} needs {package}, which is not installed; .* pip install"
    with pytest.raises(ImportError, match=match):
        getattr(made(), f"to_{package}")()


# --- values without a record ----------------------------------------------------------


@pytest.fixture(scope="module")
def forest():
    X = np.random.default_rng(0).normal(size=(60, 3))
    labels = np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5])
    return RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, labels), X


WAYS = {
    "read": ShapleyExplainer,
    "one output": lambda forest: ShapleyExplainer(forest, output=1),
    "predicted": lambda forest: ShapleyExplainer(forest, output="predicted"),
    "interactions": lambda forest: ShapleyExplainer(forest, interactions=True),
    "trees": TreeExplainer,
    "an explainer that learned nothing": lambda forest: AmortizedExplainer(
        ShapleyExplainer(forest)
    ),
    "sampled": lambda forest: ShapleyExplainer(
        forest, sampler="antithetic", random_state=0
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_values_agree_with_the_explanation(way, forest):
    model, X = forest
    explainer = WAYS[way](model).fit(X[:9])
    np.testing.assert_array_equal(
        explainer.values(X[9:15]), explainer.explain(X[9:15]).values
    )
    with pytest.raises(ValueError, match=r"columns|features"):
        explainer.values(X[:, :2])


def test_values_need_a_fitted_explainer():
    with pytest.raises(NotFittedError):
        ShapleyExplainer(lambda X: X[:, 0]).values(np.eye(2))


def test_settings_print_the_main_entries_and_keep_all():
    settings = (
        ShapleyExplainer(lambda X: X @ [1.0, 2.0])
        .fit(np.zeros((3, 2)))
        .explain(np.ones((1, 2)))
        .settings
    )
    assert len(repr(settings)) < 160
    assert "method='exact, by all coalitions'" in repr(settings)
    assert "n_background=3" in repr(settings)
    assert "settings.all" in repr(settings)
    assert settings.all["reward"] == "InterventionalReward()"
    assert "closed_form" not in settings.all
