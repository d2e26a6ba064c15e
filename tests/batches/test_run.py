"""Explanations do not depend on the container or on the batches."""

import gc
import time
import tracemalloc
import weakref
from copy import copy

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import load_iris, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression

from skshapley import Explanation, ShapleyExplainer, TreeExplainer
from skshapley.batches import ExplanationDataset, explain_batches
from skshapley.exceptions import BatchError, PartialExplanationError

from .conftest import NAMES, fitted, model, picky, spoilt


def file(table, folder):
    table.to_parquet(folder / "rows.parquet", row_group_size=4)
    return folder / "rows.parquet"


def files(table, folder):
    (folder / "rows").mkdir()
    for number, start in enumerate(range(0, 25, 9)):
        table[start : start + 9].to_parquet(
            folder / "rows" / f"{number}.parquet", index=False
        )
    return folder / "rows"


def csv(table, folder):
    table.to_csv(folder / "rows.csv", index=False)
    return str(folder / "rows.csv")


SOURCES = {
    "frame": lambda table, folder: table,
    "frames": lambda table, folder: (table[i : i + 6] for i in range(0, 25, 6)),
    "a list of frames": lambda table, folder: [table[:20], table[20:20], table[20:]],
    "frames that count anew": lambda table, folder: (
        table[i : i + 6].reset_index(drop=True) for i in range(0, 25, 6)
    ),
    "columns in another order": lambda table, folder: table[[*reversed(NAMES), "key"]],
    "file": file,
    "folder": files,
    "dataset": lambda table, folder: ds.dataset(files(table, folder)),
    "arrow table": lambda table, folder: pa.Table.from_pandas(table),
    "csv": csv,
}


@pytest.mark.thinned
@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("batch_rows", [1, 7, 25, 1000])
def test_values_do_not_depend_on_source_or_batch_size(
    source, batch_rows, table, explainer, whole, tmp_path
):
    rows = SOURCES[source](table, tmp_path)
    parts = list(explain_batches(explainer, rows, batch_rows=batch_rows))
    assert [len(part) for part in parts] == [
        min(batch_rows, 25 - i) for i in range(0, 25, batch_rows)
    ]
    same(Explanation.merge(parts), whole)


@pytest.mark.parametrize("source", ["frame", "frames", "folder", "csv"])
def test_keys_are_the_index(source, table, explainer, whole, tmp_path):
    rows = SOURCES[source](table, tmp_path)
    merged = Explanation.merge(
        explain_batches(explainer, rows, batch_rows=7, keys="key")
    )
    assert merged.index.name == "key"
    assert merged.index.tolist() == table["key"].tolist()
    np.testing.assert_array_equal(merged.values, whole.values)


def same(explanation, expected):
    for name in (
        "values",
        "standard_errors",
        "base_values",
        "predictions",
        "n_model_rows",
    ):
        np.testing.assert_array_equal(
            getattr(explanation, name), getattr(expected, name)
        )
    pd.testing.assert_frame_equal(
        explanation.data, expected.data, check_index_type=False, check_dtype=False
    )


@pytest.mark.parametrize("batch_rows", [4, pytest.param(25, marks=pytest.mark.slow)])
def test_arrays_and_polars(batch_rows, table, background, whole, tmp_path):
    rows = table[NAMES]
    for make in (np.asarray, pl.from_pandas):
        explainer = fitted(make(background))
        written = file(rows, tmp_path), csv(rows, tmp_path)
        for source in (make(rows), [make(rows[:9]), make(rows[9:])], *written):
            parts = explain_batches(explainer, source, batch_rows=batch_rows)
            np.testing.assert_array_equal(Explanation.merge(parts).values, whole.values)
    keyed = explain_batches(explainer, pl.from_pandas(table), keys=["key"])
    assert next(keyed).index.tolist() == table["key"].tolist()


def test_frames_keep_their_index(table, explainer):
    rows = table[NAMES]
    for own in (rows[5:], rows.set_axis(list("abcdefghijklmnopqrstuvwxy")), rows[::-1]):
        merged = Explanation.merge(explain_batches(explainer, own, batch_rows=10))
        pd.testing.assert_index_equal(merged.index, own.index, exact=False)
    pairs = table.set_index([table["key"], table["a"]])
    merged = Explanation.merge(explain_batches(explainer, pairs, batch_rows=10))
    pd.testing.assert_index_equal(merged.index, pairs.index)


def test_categories_of_batches_match_the_background():
    def first_letter(X):
        return (X["k"].astype(str) == "u").to_numpy() + X["z"].to_numpy()

    frame = pd.DataFrame({"k": pd.Categorical(list("uvwuvw")), "z": np.arange(6.0)})
    explainer = ShapleyExplainer(first_letter).fit(frame)
    pieces = [
        piece.assign(k=piece["k"].cat.remove_unused_categories())
        for piece in (frame[:2], frame[2:3], frame[3:])
    ]
    for source in (pieces, pa.concat_tables([pa.Table.from_pandas(p) for p in pieces])):
        merged = Explanation.merge(explain_batches(explainer, source, batch_rows=4))
        np.testing.assert_array_equal(merged.values, explainer.explain(frame).values)
        assert merged.data["k"].dtype == frame["k"].dtype


# --- on disk --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def iris():
    """Flowers, linear models with labels as text and as numbers, and trees."""
    X, y = load_iris(return_X_y=True, as_frame=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    linear = LogisticRegression(max_iter=500).fit(X, names)
    numbered = copy(linear)
    numbered.classes_ = np.arange(3)
    return X, linear, numbered, RandomForestClassifier(3, random_state=0).fit(X, names)


EXPLAINERS = {
    "three outputs": lambda linear, numbered, trees: ShapleyExplainer(linear),
    "labels that are numbers": lambda linear, numbered, trees: ShapleyExplainer(
        numbered
    ),
    "one output": lambda linear, numbered, trees: ShapleyExplainer(
        linear, output="setosa"
    ),
    "groups": lambda linear, numbered, trees: ShapleyExplainer(
        linear, groups={"petal": [2, 3]}
    ),
    "no standard errors": lambda linear, numbered, trees: ShapleyExplainer(
        linear, solver="sgd", max_rows=10 * 10 + 1, random_state=0
    ),
    "exact trees": lambda linear, numbered, trees: ShapleyExplainer(trees),
    "trees": lambda linear, numbered, trees: TreeExplainer(trees),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] * (i % 2))
        for i, n in enumerate(EXPLAINERS)
    ],
)
def test_results_survive_a_round_trip(name, iris, tmp_path):
    X, *models = iris
    explainer = EXPLAINERS[name](*models).fit(X[::15])
    rows = X[::4]
    expected = Explanation.merge(explain_batches(explainer, rows, batch_rows=9))
    dataset = explain_batches(explainer, rows, tmp_path / "phi", batch_rows=9)
    assert (len(dataset), dataset.finished, len(list(dataset))) == (38, True, 5)
    for made in (
        dataset.read(),
        Explanation.merge(ExplanationDataset(tmp_path / "phi")),
    ):
        for part in ("values", "standard_errors", "base_values", "predictions"):
            np.testing.assert_array_equal(getattr(made, part), getattr(expected, part))
        for part in ("n_evaluations", "n_model_rows", "converged", "feature_names"):
            np.testing.assert_array_equal(getattr(made, part), getattr(expected, part))
        names = expected.output_names
        assert (made.output_names is None) == (names is None)
        assert names is None or made.output_names.tolist() == names.tolist()
        pd.testing.assert_frame_equal(made.data, expected.data, check_index_type=False)
        for key in ("response_method", "sampler", "output"):
            assert getattr(made.settings, key) == getattr(expected.settings, key)


@pytest.mark.parametrize("n_rows", [20, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("interactions", [False, True])
def test_grown_trees_continue_with_the_same_bits(interactions, n_rows, tmp_path):
    """Also after other rows, and with tables or without them, by the size of the run."""
    X, y = make_friedman1(600, 6, random_state=0)
    model = RandomForestRegressor(2, random_state=0).fit(X, y)
    rows = X[:n_rows]

    def fresh():
        return TreeExplainer(model, interactions=interactions).fit(X[:20])

    whole = explain_batches(fresh(), rows, tmp_path / "once", batch_rows=5).read()
    used = fresh()
    used.explain(X[:500])
    explain_batches(used, rows, tmp_path / "twice", batch_rows=5)
    for number in (1, 3):
        (tmp_path / "twice" / f"part-{number:08}.parquet").unlink()
    resumed = explain_batches(fresh(), rows, tmp_path / "twice", batch_rows=5).read()
    alone = next(explain_batches(used, rows, batch_rows=n_rows))
    for other in (resumed, alone):
        np.testing.assert_array_equal(other.values, whole.values)
        if interactions:
            np.testing.assert_array_equal(
                other.interactions.values, whole.interactions.values
            )


def test_files_have_one_line_per_row_and_output(iris, tmp_path):
    X, *models = iris
    explainer = EXPLAINERS["three outputs"](*models).fit(X[::15])
    explain_batches(explainer, X[:5], tmp_path, batch_rows=2)
    frame = pd.read_parquet(tmp_path)
    wanted = explainer.explain(X[:5])
    assert frame["row"].tolist() == np.repeat(np.arange(5), 3).tolist()
    assert frame["output"].tolist() == ["setosa", "versicolor", "virginica"] * 5
    name = X.columns[2]
    virginica = frame[frame["output"] == "virginica"]
    np.testing.assert_array_equal(virginica[f"data:{name}"], X[name][:5])
    # to rounding: a BLAS may add the products of a row in another order with other rows
    # beside it
    for column, numbers in (
        (virginica[f"value:{name}"], wanted.values[:, 2, 2]),
        (frame["prediction"], wanted.predictions.ravel()),
        (frame["base_value"], wanted.base_values.ravel()),
    ):
        np.testing.assert_allclose(column, numbers, rtol=1e-12, atol=1e-15)
    assert not [column for column in frame if column.startswith("key:")]


@pytest.mark.parametrize("keys", [None, "key"])
def test_batches_of_mixed_keys_have_one_type(keys, explainer, table, tmp_path):
    """Some batches have integers only; as numbers, they would end the run."""
    labels = ["A1", "A2", 3, 4, 5, None, 6, 7]
    rows = table[NAMES][:8].assign(key=pd.Series(labels, dtype=object).to_numpy())
    rows = rows if keys else rows.set_index("key")
    dataset = explain_batches(explainer, rows, tmp_path, batch_rows=2, keys=keys)
    assert dataset.read().index.tolist() == labels
    pieces = (rows[start : start + 1] for start in range(8))
    stream = explain_batches(explainer, pieces, batch_rows=2, keys=keys)
    assert Explanation.merge([*stream]).index.tolist() == labels


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_get_the_dtypes_of_the_background(suffix, tmp_path):
    """Where no value changes: files have no categories, and gaps make objects of flags."""
    frame = pd.DataFrame(
        {
            "flag": pd.array([True, None, False, True], dtype="boolean"),
            "kind": pd.Categorical([2, 1, None, 2], [1, 2, 3]),
            "many": pd.array([1, None, 3, 4], dtype="Int64"),
        }
    )
    explainer = ShapleyExplainer(lambda X: X.isna().sum(axis=1)).fit(frame[:2])
    path = tmp_path / f"rows.{suffix}"
    getattr(frame, f"to_{suffix}")(path, index=False)
    made = Explanation.merge([*explain_batches(explainer, path, batch_rows=1)])
    np.testing.assert_array_equal(made.values, explainer.explain(frame).values)
    assert made.data.dtypes.tolist() == frame.dtypes.tolist()
    other = frame.assign(kind=pd.Categorical([2, 1, 4, 2], [1, 2, 4]))
    getattr(other, f"to_{suffix}")(path, index=False)
    with pytest.raises(BatchError, match="'kind' is int64 instead of category"):
        [*explain_batches(explainer, path)]


def test_kinds_of_data_and_keys(tmp_path):
    frame = pd.DataFrame(
        {
            "text": ["x", None, "z"],
            "when": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
            "kind": pd.Categorical(
                ["low", "high", None], ["low", "high"], ordered=True
            ),
            "flag": [True, False, True],
            "many": pd.array([1, None, 3], dtype="Int64"),
            "mixed": np.array([1, "b", None], dtype=object),
            "id": [2**60 + 1, 2, 3],
            "part": ["u", "v", "w"],
        }
    )
    explainer = ShapleyExplainer(lambda X: X["flag"].to_numpy(dtype=float))
    explainer.fit(frame[["text", "when", "kind", "flag", "many", "mixed"]])
    expected = explainer.explain(frame.iloc[:, :6]).data
    dataset = explain_batches(
        explainer, frame, tmp_path, batch_rows=2, keys=["id", "part"]
    )
    data = dataset.read().data
    assert data.index.tolist() == [(2**60 + 1, "u"), (2, "v"), (3, "w")]
    assert data["mixed"].tolist() == [1, "b", None]
    data, expected = data.reset_index(drop=True), expected.astype({"many": float})
    for name in ("text", "when", "kind", "flag"):
        pd.testing.assert_series_equal(
            data[name], expected[name], check_dtype=name != "when"
        )
    assert data["many"].isna().tolist() == [False, True, False]


def test_integer_columns_may_become_floats_in_a_later_frame(explainer, table, tmp_path):
    whole = table[NAMES].round().astype({"a": int})
    pieces = [whole[:5], whole[5:].assign(a=0.5)]
    dataset = explain_batches(explainer, pieces, tmp_path, batch_rows=5)
    assert dataset.read().data["a"].tolist() == [*whole["a"][:5], *[0.5] * 20]
    assert len(pd.read_parquet(tmp_path)) == 25


def test_sample_rows_are_evenly_spaced(explainer, table, tmp_path):
    dataset = explain_batches(explainer, table, tmp_path, batch_rows=7)
    assert dataset.read(5).index.tolist() == [0, 5, 10, 15, 20]
    assert len(dataset.read(1)) == 1
    assert len(dataset.read(100)) == 25
    with pytest.raises(ValueError, match="max_rows as None or a positive int; got 0"):
        dataset.read(0)


def test_invalid_folders_are_refused(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"holds no _manifest\.json; pass a folder"
    ):
        ExplanationDataset(tmp_path)


# --- memory ---------------------------------------------------------------------------


def test_batches_are_released_after_use(explainer, table):
    references = []
    most = 0

    def pieces():
        nonlocal most
        for _ in range(30):
            piece = table[:5].copy()
            references.append(weakref.ref(piece))
            most = max(most, sum(reference() is not None for reference in references))
            yield piece

    for explanation in explain_batches(explainer, pieces(), batch_rows=10):
        assert len(explanation) == 10
    assert most <= 6  # two to a batch, the batch before, and the one that is being made


MEASURED = {
    "a function": lambda background: fitted(
        background, model=lambda X: X["a"].to_numpy(), max_rows=10 * 6 + 1
    ),
    "trees": lambda background: ShapleyExplainer(
        RandomForestRegressor(3, random_state=0).fit(background, background["a"])
    ).fit(background),
}


@pytest.fixture
def no_collector():
    """Disable the garbage collector, so only unreferenced objects are freed."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=[pytest.mark.slow] * (i > 0))
        for i, n in enumerate(MEASURED)
    ],
)
def test_memory_does_not_grow_with_the_rows(name, background, tmp_path):
    """Without the collector, so that nothing of a batch may live in a cycle of references."""
    explainer = MEASURED[name](background)

    def peak(n):
        source = tmp_path / f"{n}.parquet"
        frame = pd.DataFrame(
            np.random.default_rng(0).normal(size=(n, 5)), columns=NAMES
        )
        pq.write_table(pa.Table.from_pandas(frame), source, row_group_size=25)
        del frame
        gc.collect()
        tracemalloc.start()
        explain_batches(explainer, source, tmp_path / f"out {n}", batch_rows=25)
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(50)  # whatever is made once
    assert peak(250) < 1.2 * peak(100)


def test_files_are_not_read_ahead_of_a_slow_model(tmp_path):
    """Arrow holds a few row groups of 80 kB, not the file of 4 MB."""
    table = np.random.default_rng(0).normal(size=(100_000, 5))
    frame = pd.DataFrame(table, columns=NAMES)
    source = tmp_path / "rows.parquet"
    frame.to_parquet(source, index=False, row_group_size=2_000)
    explainer = ShapleyExplainer(LinearRegression().fit(frame, table[:, 0]))
    before, held = pa.total_allocated_bytes(), []
    for _ in explain_batches(explainer.fit(frame[:10]), source, batch_rows=5_000):
        time.sleep(0.01)  # what a slow model leaves to the threads of Arrow
        held.append(pa.total_allocated_bytes() - before)
    assert max(held) < source.stat().st_size / 5


# --- randomness -----------------------------------------------------------------------


def test_runs_without_a_seed_differ_and_record_their_entropy(
    table, background, tmp_path
):
    runs = [
        explain_batches(
            fitted(background, random_state=None), table, tmp_path / name, batch_rows=9
        )
        for name in "uv"
    ]
    assert (runs[0].read().values != runs[1].read().values).any()
    seed = int(runs[0].manifest["entropy"])
    again = fitted(background, random_state=seed).explain(table[NAMES])
    np.testing.assert_array_equal(runs[0].read().values, again.values)
    assert runs[0].read().settings.entropy == seed


def test_a_generator_is_advanced_by_each_fit(table, background):
    state = np.random.default_rng(3)
    first, second = (
        Explanation.merge(
            explain_batches(fitted(background, random_state=state), table, batch_rows=9)
        )
        for _ in range(2)
    )
    assert (first.values != second.values).any()
    explainer = fitted(background, random_state=np.random.default_rng(3))
    np.testing.assert_array_equal(explainer.explain(table[NAMES]).values, first.values)


def test_the_explainer_is_not_modified(table, explainer, whole):
    before = dict(vars(explainer))
    list(explain_batches(explainer, table, batch_rows=9))
    assert vars(explainer) == before


# --- what is refused ------------------------------------------------------------------

WRONG = {
    "explainer": (
        dict(explainer=LogisticRegression()),
        TypeError,
        "got LogisticRegression",
    ),
    "not fitted": (
        dict(explainer=ShapleyExplainer(model)),
        NotFittedError,
        "not fitted yet",
    ),
    "source": (dict(source=3), TypeError, "Parquet, CSV or .npz files.*; got int"),
    "no file": (
        dict(source="nowhere.parquet"),
        FileNotFoundError,
        "'nowhere.parquet', which does",
    ),
    "rows": (
        dict(batch_rows=0),
        ValueError,
        "batch_rows as None or a positive int; got 0",
    ),
    "rows bool": (dict(batch_rows=True), ValueError, "got True"),
    "on_error": (
        dict(on_error="ignore"),
        ValueError,
        'one of "raise", "skip"; got .ignore',
    ),
    "keys": (
        dict(keys="nr"),
        ValueError,
        r"the columns \['nr'\], for the explainer or as keys",
    ),
    "keys twice": (dict(keys=["key", "key"]), ValueError, "keys that differ"),
    "columns": (
        dict(columns=["a", "z"]),
        ValueError,
        r"needs the columns \['z'\].*it has \['a'",
    ),
    "empty": (dict(source=[]), ValueError, "a source without rows"),
    "no rows": (
        dict(source=pd.DataFrame(columns=NAMES)),
        ValueError,
        "a source without rows",
    ),
    "a line": (
        dict(source=np.zeros(3)),
        ValueError,
        r"two dimensions; got an array of shape \(3,",
    ),
    "lists": (
        dict(source=[[1.0, 2.0]]),
        TypeError,
        "sparse matrices or frames; got an iterator of li",
    ),
    "keys of arrays": (
        dict(source=np.zeros((2, 5)), keys="k"),
        ValueError,
        "for an array: pass a frame",
    ),
    "mixed": (
        dict(source=[pd.DataFrame(np.zeros((2, 5)), columns=NAMES), np.zeros((1, 5))]),
        TypeError,
        "iterator of DataFrame and ndarray",
    ),
    "widths": (
        dict(source=[np.zeros((2, 5)), np.zeros((1, 4))]),
        ValueError,
        r"widths, \[\(4,",
    ),
    "some with an index": (
        dict(
            source=[
                pd.DataFrame(np.zeros((2, 5)), columns=NAMES),
                pd.DataFrame(np.zeros((2, 5)), columns=NAMES, index=list("ab")),
            ]
        ),
        ValueError,
        "an index of their own and frames without; pass keys=",
    ),
}


@pytest.mark.parametrize(("arguments", "error", "message"), WRONG.values(), ids=WRONG)
def test_invalid_arguments_are_refused(
    arguments, error, message, table, explainer, tmp_path
):
    arguments = dict(explainer=explainer, source=table) | arguments
    for out in (None, tmp_path / "phi"):
        with pytest.raises(error, match=message):
            list(explain_batches(**arguments, out=out))


def test_arguments_are_checked_before_the_first_batch(table, explainer):
    with pytest.raises(ValueError, match="batch_rows"):
        explain_batches(explainer, table, batch_rows=-1)


@pytest.mark.parametrize("early", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_csv_that_is_not_utf8_is_named_with_a_way_to_read_it(
    early, table, explainer, tmp_path
):
    """In the first lines or after the first batches."""
    path = tmp_path / "rows.csv"
    rows = pd.concat(
        [table] * (1 if early else 4000)
    ).copy()  # pandas 2 shares a single table
    rows.iloc[-1, -1] = "caf\u00e9"
    rows.to_csv(path, index=False, encoding="latin-1")
    shown = rf"cannot read '.*rows\.csv': line {len(rows) + 1} is not UTF-8"
    with pytest.raises(ValueError, match=shown) as caught:
        list(
            explain_batches(
                ShapleyExplainer(first).fit(table[NAMES][:2]), path, keys="key"
            )
        )
    call = str(caught.value).partition("such as ")[2].removesuffix(".")
    pieces = eval(call, {"pandas": pd})
    made = explain_batches(explainer, (piece[-5:] for piece in pieces), keys="key")
    assert [*made][-1].index[-1] == "caf\u00e9"


def first(X):
    return X["a"]


def test_a_csv_with_an_extra_field_is_named(explainer, table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    with (tmp_path / "rows.csv").open("a") as file:
        file.write("1,2,3,4,5,6,7\n")
    with pytest.raises(
        ValueError, match=r"cannot read '.*rows\.csv': .* line 27, saw 7"
    ):
        list(explain_batches(explainer, tmp_path / "rows.csv"))


@pytest.mark.parametrize("line", ["{},", "label,{}"])
def test_a_csv_with_an_extra_field_in_every_line_is_named(
    line, explainer, table, tmp_path
):
    """pandas takes the first field as a label: the columns would be shifted by one."""
    header, *lines = table[NAMES].to_csv(index=False).splitlines()
    text = "\n".join([header, *map(line.format, lines)])
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(ValueError, match="lines have more fields than the header"):
        list(explain_batches(explainer, tmp_path / "rows.csv"))
    (tmp_path / "rows.csv").write_text(header)
    with pytest.raises(ValueError, match="source without rows"):
        list(explain_batches(explainer, tmp_path / "rows.csv"))


# --- bad rows -------------------------------------------------------------------------


def test_a_bad_batch_is_named(table, background):
    explainer = fitted(background, model=picky)
    stream = explain_batches(explainer, spoilt(table, [13]), batch_rows=10, keys="key")
    assert len(next(stream)) == 10
    # the row of the cell counts from the start of the batch, and the message says so
    shown = (
        r"cannot explain rows 10 to 19 \(key row 10 to row 19\): ValueError: .* missing "
        r".* 'b', row 3 of 10;"
    )
    with pytest.raises(BatchError, match=shown) as caught:
        next(stream)
    assert caught.value.rows.tolist() == list(range(10, 20))
    assert caught.value.keys[0] == "row 10"


def test_bad_rows_are_skipped_and_good_rows_kept(table, background, whole, tmp_path):
    explainer = fitted(background, model=picky)
    bad = [0, 13, 14, 20, 21, 22, 23, 24]  # the last batch holds nothing else
    source = spoilt(table, bad)
    arguments = dict(batch_rows=5, keys="key", on_error="skip")
    with pytest.warns(UserWarning, match="set 8 rows aside"):
        dataset = explain_batches(explainer, source, tmp_path, **arguments)
    skipped, good = dataset.skipped(), np.setdiff1d(np.arange(25), bad)
    assert skipped["row"].tolist() == bad
    assert skipped["key"].tolist() == [f"row {i}" for i in bad]
    assert skipped["error"].str.contains("ValueError: .* missing .* 'b';").all()
    np.testing.assert_array_equal(dataset.read().values, whole.values[good])
    assert dataset.read().index.tolist() == [f"row {i}" for i in good]
    assert len(dataset) == pd.read_parquet(tmp_path)["row"].nunique() == 17
    # a second run finds everything done, and says the same
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("part*")}
    with pytest.warns(UserWarning, match="set 8 rows aside"):
        explain_batches(explainer, source, tmp_path, **arguments)
    assert before == {
        path.name: path.stat().st_mtime_ns for path in tmp_path.glob("part*")
    }


def test_skipping_without_a_folder_warns(table, background, whole):
    explainer = fitted(background, model=picky)
    with pytest.warns(
        UserWarning, match=r"skipped 1 of rows 0 to 24: row 3: ValueError: .* 'b';"
    ):
        (made,) = explain_batches(explainer, spoilt(table, [3]), on_error="skip")
    np.testing.assert_array_equal(made.values, np.delete(whole.values, 3, axis=0))


def test_interruptions_do_not_count_as_bad_rows(table, background):
    calls = 0

    def interrupted(X):
        nonlocal calls
        calls += 1
        if calls > 8:
            raise KeyboardInterrupt
        return model(X)

    explainer = fitted(background, model=interrupted)
    with pytest.raises((KeyboardInterrupt, PartialExplanationError)):
        list(explain_batches(explainer, table, batch_rows=5, on_error="skip"))


def test_memory_errors_do_not_count_as_bad_rows(table, background):
    def greedy(X):
        if len(X) > 6:
            raise MemoryError
        return model(X)

    explainer = fitted(background, model=greedy)
    with pytest.raises(MemoryError):
        list(explain_batches(explainer, table, on_error="skip"))


def test_whole_numbers_before_fractions_are_written_as_floats(tmp_path):
    """A later piece of an iterator may have fractions in a column of whole numbers."""
    whole = pd.DataFrame({"a": [1, 2], "b": [3, 4]})
    explainer = ShapleyExplainer(lambda X: np.asarray(X).prod(axis=1))
    explainer.fit(whole.astype(float))
    pieces = iter([whole, whole.assign(a=[0.5, 0.25])])
    explain_batches(explainer, pieces, tmp_path / "phi", batch_rows=2)
    files = [*(tmp_path / "phi").glob("*.parquet")]
    assert [str(pq.read_schema(path).field("data:a").type) for path in files] == [
        "double",
        "double",
    ]


def test_one_row_more_than_before_is_refused_before_it_is_written(tmp_path):
    table = pd.DataFrame({"a": np.arange(7.0), "b": 1.0})
    explainer = ShapleyExplainer(lambda X: np.asarray(X).prod(axis=1)).fit(table[:3])
    out = tmp_path / "phi"
    explain_batches(explainer, iter([table[:3], table[3:6]]), out, batch_rows=3)
    before = sorted(path.name for path in out.iterdir())
    pieces = iter([table[:3], table[3:6], table[6:]])
    with pytest.raises(FileExistsError, match="more than 6 rows"):
        explain_batches(explainer, pieces, out, batch_rows=3)
    assert sorted(path.name for path in out.iterdir()) == before
