"""Explanations in files, and explainers in skops files: all comes back, and no code is run."""

import json
from dataclasses import asdict, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skshapley import Explanation, ShapleyExplainer, TreeExplainer
from skshapley.rewards import BaselineReward, ConditionalReward, EmpiricalReward

NUMBERS = (
    "values",
    "standard_errors",
    "background_errors",
    "base_values",
    "predictions",
    "others",
)
COSTS = ("n_evaluations", "n_model_rows", "converged")
PAIRS = ("values", "standard_errors", "attributions", "base_values")


def table(n=30, seed=0):
    """Numbers, categories, text, dates, missing values, under labels."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "job": pd.Categorical(rng.choice(["cook", "pilot"], size=n)),
            "seen": pd.to_datetime("2020-01-01")
            + pd.to_timedelta(rng.integers(99, size=n), "D"),
            "note": pd.Series(rng.choice(["<b>", "ü"], size=n)).where(
                rng.random(n) < 0.8, None
            ),
            "$x": rng.integers(9, size=n),
        },
        index=pd.Index([f"row {i}" for i in range(n)], name="id"),
    )


def scores(X):
    value = (
        X["age"] * (X["job"] == "cook")
        + X["seen"].dt.day / 9
        + X["$x"] * X["note"].isna()
    )
    return np.column_stack([value, -value / 2, value**2])


@pytest.fixture(scope="module")
def mixed():
    """Three outputs, pairs, errors, and all kinds of columns."""
    explainer = ShapleyExplainer(
        scores, interactions=True, max_rows=700, random_state=0
    )
    return explainer.fit(table()[:4]).explain(table(6, seed=1))


def assert_same(there, here):
    for name in (*NUMBERS, *COSTS, "feature_names", "output_names"):
        np.testing.assert_array_equal(
            getattr(there, name), getattr(here, name), strict=True
        )
    pd.testing.assert_frame_equal(there.data, here.data)
    assert there.settings == here.settings
    assert (there.interactions is None) == (here.interactions is None)
    if here.interactions is not None:
        for name in (*PAIRS, "feature_names", "output_names"):
            ours, theirs = (
                getattr(here.interactions, name),
                getattr(there.interactions, name),
            )
            np.testing.assert_array_equal(theirs, ours)
        assert there.interactions.index == here.interactions.index
        assert there.interactions.rows is there.index


PARTS = {
    "all": lambda e: e,
    "one output": lambda e: e.output(1),
    "some rows and features": lambda e: e[[4, 0], ["note", "job"]],
    "no rows": lambda e: e[:0],
    "sizes": abs,
    "a mean": Explanation.mean,
    "without errors": lambda e: replace(e, standard_errors=None),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_explanations_survive_a_round_trip(mixed, part, tmp_path):
    part(mixed).save(tmp_path / "eye.parquet")
    there = Explanation.load(str(tmp_path / "eye.parquet"))
    assert_same(there, part(mixed))
    with pytest.raises(ValueError, match="read-only"):
        there.values[...] = 0
    assert [path.name for path in tmp_path.iterdir()] == ["eye.parquet"]


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_interactions_of_one_feature_survive_a_round_trip(n_outputs, tmp_path):
    X = np.random.default_rng(0).normal(size=(9, 1))
    explainer = ShapleyExplainer(
        lambda X: np.hstack([X**2, X])[:, :n_outputs], interactions=True
    )
    explanation = explainer.fit(X).explain(X)
    assert not explanation.interactions.standard_errors.any()
    explanation.save(tmp_path / "one.parquet")
    there = Explanation.load(tmp_path / "one.parquet")
    assert_same(there, explanation)
    assert there.interactions.standard_errors.shape == there.interactions.values.shape


def test_equal_explanations_give_equal_bytes(mixed, tmp_path):
    for name in ("one", "two"):
        mixed.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_unknown_objects_are_refused_and_the_old_file_is_kept(mixed, tmp_path):
    mixed.save(tmp_path / "eye")
    before = (tmp_path / "eye").read_bytes()
    data = mixed.data.assign(note=[object() for _ in range(6)])
    odd = replace(mixed, data=data)
    with pytest.raises(
        TypeError, match=r"Explanation\.save: Column 'note' cannot be saved: .*text"
    ):
        odd.save(tmp_path / "eye")
    assert (tmp_path / "eye").read_bytes() == before


def test_names_that_are_equal_as_text_are_refused(mixed, tmp_path):
    one = mixed.output(0)[:, ["age", "$x"]]
    names = np.array([1, "1"], dtype=object)
    twice = replace(one, feature_names=names, data=one.data.set_axis([1, "1"], axis=1))
    with pytest.raises(
        ValueError, match=r"Explanation\.save: .* with different names as text; got"
    ):
        twice.save(tmp_path / "eye")


def test_other_programs_read_every_number(mixed, tmp_path):
    mixed.save(tmp_path / "eye.parquet")
    frame = pd.read_parquet(tmp_path / "eye.parquet")
    assert len(frame) == 18
    assert frame["key:id"].tolist() == np.repeat(mixed.index, 3).tolist()
    assert frame["output"].tolist() == [0, 1, 2] * 6
    for player, name in enumerate(mixed.feature_names):
        np.testing.assert_array_equal(
            frame[f"value:{name}"], mixed.values[:, player].ravel()
        )
        np.testing.assert_array_equal(
            frame[f"error:{name}"], mixed.standard_errors[:, player].ravel()
        )
        given = mixed.data[name].astype(object).where(mixed.data[name].notna(), None)
        kept = frame[f"data:{name}"][::3].astype(object)
        assert kept.where(kept.notna(), None).tolist() == given.tolist()
    pairs = mixed.interactions.values[:, *np.triu_indices(5, 1)]
    np.testing.assert_array_equal(np.stack(frame["interaction"])[1::3], pairs[..., 1])


MIXED = {
    "text with NaN": pd.Series(["a", np.nan, "b", "c", np.nan, "a"], dtype=object),
    "text with None and NaN": pd.Series(
        ["a", np.nan, None, "c", "b", "a"], dtype=object
    ),
    "mixed objects": pd.Series([1, "a", None, 2.5, True, ()], dtype=object),
    "bins": pd.cut(pd.Series([0.5, 1.5, np.nan, 0.1, 1.1, 0.2]), [0, 1, 2]),
    "a sparse column": pd.Series(pd.arrays.SparseArray([0, 0, 3, 0, 1, 0])),
    "periods": pd.Series(pd.period_range("2020-01", periods=6, freq="M")),
}


@pytest.mark.parametrize("kind", MIXED)
def test_columns_without_a_parquet_type(kind, mixed, tmp_path):
    one = mixed.output(0)[["note", "age"]]
    data = one.data.assign(note=MIXED[kind].set_axis(one.index))
    given = replace(one, data=data)
    given.save(tmp_path / "a")
    assert_same(Explanation.load(tmp_path / "a"), given)
    if kind == "mixed objects":
        texts = pd.read_parquet(tmp_path / "a")["data:note"]
        assert texts[[0, 1, 3, 4]].tolist() == ["1", '"a"', "2.5", "true"]
    if kind == "text with NaN":
        texts = pd.read_parquet(tmp_path / "a")["data:note"]
        assert texts.dropna().tolist() == ["a", "b", "c", "a"]


def test_mixed_output_labels(mixed, tmp_path):
    """A target of two classes is one output, and one of three has an output for each class."""
    labels = np.array([0, "1_a", None], dtype=object)
    given = replace(mixed, output_names=labels, interactions=None)
    given.save(tmp_path / "a")
    assert_same(Explanation.load(tmp_path / "a"), given)
    assert (
        pd.read_parquet(tmp_path / "a")["output"].tolist() == ["0", "1_a", "None"] * 6
    )


@pytest.mark.parametrize("name", ["save", "load"])
def test_pyarrow_is_needed(name, mixed, tmp_path, monkeypatch):
    mixed.save(tmp_path / "a")
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(
        ImportError, match=r'needs pyarrow.* pip install "skshapley\[parquet\]"'
    ):
        getattr(mixed, name)(tmp_path / "a")


# --- files that were not written by `save` --------------------------------------------

META = b"skshapley"


def read_or_refused(path):
    """Return the explanation, or None if the error names the file."""
    try:
        return Explanation.load(path)
    except ValueError as error:
        message = str(error)
    assert path.name in message
    assert "is damaged or was not written by skshapley" in message
    return None


def refused(path):
    return read_or_refused(path) is None


@pytest.fixture(scope="module")
def written(mixed, tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "eye.parquet"
    mixed.save(path)
    return path


def test_flipped_bits_are_detected(mixed, written, tmp_path):
    """A bit of each 97th byte, and 500 bits in the metadata at the end."""
    data, rng = written.read_bytes(), np.random.default_rng(0)
    places = [
        *range(0, len(data), 97),
        *rng.integers(len(data) - 12_000, len(data), size=500),
    ]
    n_refused = 0
    for place in places:
        flipped = bytearray(data)
        flipped[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "eye").write_bytes(flipped)
        there = read_or_refused(tmp_path / "eye")
        n_refused += there is None
        if there is not None:
            assert_same(there, mixed)
    assert n_refused > 0.9 * len(places)  # the others hit bytes that are not read


@pytest.mark.parametrize("part", [0, 0.01, 0.5, 0.99])
def test_truncated_or_extended_files_are_refused(part, written, tmp_path):
    data = written.read_bytes()
    for damaged in (
        data[: int(part * len(data))],
        data[int(part * len(data)) + 1 :],
        data + b"x",
    ):
        (tmp_path / "eye").write_bytes(damaged)
        assert refused(tmp_path / "eye")


def forged(path, content, header=None, **options):
    """Write a table with a footer that has the right hash."""
    text = (
        content.schema.metadata[META] if header is None else json.dumps(header).encode()
    )
    content = content.replace_schema_metadata({META: text})
    pq.write_table(
        content, path, **{"compression": "none", "use_dictionary": False} | options
    )
    data = path.read_bytes()
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    digest = blake2b(data[start:], digest_size=16).digest()
    path.write_bytes(data[:start] + digest + data[start:])
    return path


def test_forged_files_can_be_read(mixed, written, tmp_path):
    assert_same(
        Explanation.load(forged(tmp_path / "eye", pq.read_table(written))), mixed
    )


def names_of(table, change):
    return table.rename_columns([change(name) for name in table.column_names])


TABLES = {
    "renamed": lambda t: names_of(
        t, lambda name: name.replace("value:age", "value:aged")
    ),
    "swapped": lambda t: t.select([1, 0, *range(2, t.num_columns)]),
    "a column less": lambda t: t.drop_columns(["error:age"]),
    "a column more": lambda t: t.append_column("more", t["row"]),
    "another type": lambda t: t.set_column(0, "row", t["row"].cast(pa.int32())),
    "a line less": lambda t: t[:-1],
    "a line more": lambda t: pa.concat_tables([t, t[:1]]),
    "nothing": lambda t: t[:0],
    "texts for values": lambda t: t.set_column(
        t.column_names.index("value:age"), "value:age", t["data:note"]
    ),
}


@pytest.mark.parametrize("change", TABLES.values(), ids=TABLES)
def test_tables_that_contradict_their_header_are_refused(change, written, tmp_path):
    table = pq.read_table(written)
    header = json.loads(table.schema.metadata[META])
    assert refused(forged(tmp_path / "eye", change(table), header))


HEADERS = {
    "n_rows": [0, 7, -1, 10**12, "6", None, [6]],
    "of_tokens": [True, None],
    "features": [
        None,
        {},
        {"objects": True, "names": []},
        {"objects": True, "names": [3] * 5},
    ],
    "outputs": [None, {"objects": True, "names": [0]}, []],
    "settings": [None, [], {"model": {"type": "os.system", "value": "ls"}}],
    "index": [[], [["id", {"dtype": "no"}]], [["id", {}]], [[]], None, "key"],
    "data": [
        [],
        [{}] * 5,
        [{"dtype": "int8"}] * 5,
        [{"dtype": "category", "json": True}] * 5,
    ],
    "lacking": [["standard_errors", "others", "predictions"], None, []],
    "interactions": [7, ["shapley"]],
    "format": [None, "1", [1]],
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_contradict_their_table_are_refused(name, written, tmp_path):
    table = pq.read_table(written)
    header = json.loads(table.schema.metadata[META])
    for content in HEADERS[name]:
        forged(tmp_path / "eye", table, header | {name: content})
        assert refused(tmp_path / "eye"), content
    forged(
        tmp_path / "eye", table, {key: c for key, c in header.items() if key != name}
    )
    assert refused(tmp_path / "eye")


def with_error(table, kind, error):
    """Return a table with another first error."""
    name = kind if kind == "interaction_error" else f"{kind}:a"
    numbers = table[name].to_pylist()
    if kind == "interaction_error":
        numbers[0] = [error, *numbers[0][1:]]
    else:
        numbers[0] = error
    column = pa.array(numbers, table.schema.field(name).type)
    place = table.column_names.index(name)
    return table.set_column(place, table.schema.field(name), column)


@pytest.mark.parametrize("error", [-1e-9, np.inf, np.nan])
@pytest.mark.parametrize("kind", ["error", "background", "interaction_error"])
def test_invalid_errors_are_refused(kind, error, tmp_path):
    """Unknown errors are NaN, and only in kinds of errors that the header names."""
    X = pd.DataFrame(np.eye(3), columns=list("abc"))
    exact = ShapleyExplainer(Ridge().fit(X, X["a"]), interactions=True).fit(X)
    explanation = exact.explain(X)
    replace(explanation, background_errors=explanation.standard_errors).save(
        tmp_path / "eye"
    )
    table = pq.read_table(tmp_path / "eye")
    header = json.loads(table.schema.metadata[META])
    assert header["unknown"] == []
    changed = with_error(table, kind, error)
    assert refused(forged(tmp_path / "eye", changed, header))
    assert not refused(forged(tmp_path / "eye", with_error(table, kind, 0.5), header))
    for unknown in ({"unknown": [kind]}, {"unknown": None}):
        forged(tmp_path / "eye", changed, header | unknown)
        assert refused(tmp_path / "eye") == (not np.isnan(error))


@pytest.mark.parametrize("error", [-1.0, np.inf])
def test_invalid_errors_are_not_saved(error, mixed, tmp_path):
    errors = np.full(mixed.values.shape, error)
    with pytest.raises(ValueError, match=r"Explanation\.save: .*no standard error"):
        replace(mixed, standard_errors=errors).save(tmp_path / "eye")
    assert not list(tmp_path.iterdir())


def test_unknown_errors_survive_a_round_trip(mixed, tmp_path):
    errors = np.where(mixed.values > 0, np.nan, mixed.standard_errors)
    part = replace(mixed, standard_errors=errors)
    part.save(tmp_path / "eye")
    assert_same(Explanation.load(tmp_path / "eye"), part)


def test_deeply_nested_headers_are_refused(written, tmp_path):
    table, depth = pq.read_table(written), 10**6
    text = b'{"settings": ' + b"[" * depth + b"]" * depth + b"}"
    forged(tmp_path / "eye", table.replace_schema_metadata({META: text}))
    assert refused(tmp_path / "eye")


def test_small_files_of_large_tables_are_refused_before_they_are_read(tmp_path):
    """A million equal lines take some kilobytes when they are packed."""
    zeros = np.zeros((2, 1))
    made = ShapleyExplainer(lambda X: X[:, 0]).fit(zeros[:1]).explain(zeros)
    made.save(tmp_path / "eye")
    table, n = pq.read_table(tmp_path / "eye"), 10**6
    header = json.loads(table.schema.metadata[META]) | {"n_rows": n}
    large = table.take(np.zeros(n, dtype=int))
    for options in (dict(compression="zstd"), dict(use_dictionary=True)):
        forged(tmp_path / "eye", large, header, **options)
        with pytest.raises(ValueError, match=r"its column '.*' is compressed"):
            Explanation.load(tmp_path / "eye")
    forged(tmp_path / "eye", large, header)
    assert len(Explanation.load(tmp_path / "eye")) == n


def test_foreign_files_and_later_versions_are_refused(mixed, written, tmp_path):
    mixed.data[["age"]].to_parquet(tmp_path / "other.parquet")
    assert refused(tmp_path / "other.parquet")
    table = pq.read_table(written)
    header = json.loads(table.schema.metadata[META])
    later = (
        {"format": 2},
        {"settings": {**asdict(mixed.settings), "mood": "good"}},
        {"added": {"mood": 3}},
        {"mood": "good"},
    )
    for changes in later:
        with pytest.raises(
            ValueError, match="eye' was written by a later version of skshapley"
        ):
            Explanation.load(forged(tmp_path / "eye", table, header | changes))
    with pytest.raises(FileNotFoundError):
        Explanation.load(tmp_path / "gone")


# --- files of earlier and later versions ----------------------------------------------

# Written by the version before the columns of refits
STORED = Path(__file__).parent / "stored"


@pytest.mark.parametrize("name", ["pairs", "sampled", "documents"])
def test_stored_files_are_read(name):
    """The numbers are compared with the columns as pyarrow reads them."""
    there = Explanation.load(STORED / f"{name}.parquet")
    table = pq.read_table(STORED / f"{name}.parquet").to_pydict()
    k = 1 if there.output_names is None else len(there.output_names)
    assert there.refit_values is None
    for end in ("prediction", "base_value"):
        np.testing.assert_array_equal(getattr(there, f"{end}s").ravel(), table[end])
    for row in range(len(there) * k):
        for player, feature in enumerate(there.feature_names):
            value = there.values.reshape(len(there), -1, k)[row // k, player, row % k]
            if name != "documents":
                assert value == table[f"value:{feature}"][row]
            elif feature in table["feature"][row]:
                place = table["feature"][row].index(feature)
                assert value == table["value"][row][place]
                assert there.data.iloc[row, player] == table["piece"][row][place]
    if name == "sampled":
        np.testing.assert_array_equal(there.others, table["others"])
        for kind, errors in (
            ("error", there.standard_errors),
            ("background", there.background_errors),
        ):
            columns = [table[f"{kind}:{feature}"] for feature in there.feature_names]
            np.testing.assert_array_equal(errors, np.transpose(columns))
        assert there.data["$x"].tolist() == [3, 7, 4]
        assert there.index.tolist() == ["row 0", "row 1", "row 2"]
        assert there.settings.max_rows == 250
    if name == "pairs":
        pairs = there.interactions.values[:, *np.triu_indices(5, 1)]
        lines = np.swapaxes(pairs, 1, 2).reshape(len(there) * k, -1)
        np.testing.assert_array_equal(lines, table["interaction"])


# --- skops ----------------------------------------------------------------------------

NUMERIC = table()[["age", "$x"]]
TARGET = NUMERIC["age"] * NUMERIC["$x"]


def pipeline():
    columns = make_column_transformer(
        (OneHotEncoder(), ["job"]), remainder="passthrough"
    )
    model = make_pipeline(
        columns, HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2)
    )
    return model.fit(table()[["age", "job", "$x"]], TARGET)


EXPLAINERS = {
    "read": lambda: ShapleyExplainer(Ridge().fit(NUMERIC, TARGET)),
    "sampled": lambda: ShapleyExplainer(
        LogisticRegression().fit(NUMERIC, TARGET > 0), random_state=0
    ),
    "pipeline": lambda: ShapleyExplainer(pipeline()),
    "baseline": lambda: ShapleyExplainer(
        Ridge().fit(NUMERIC, TARGET), reward=BaselineReward()
    ),
    "conditional": lambda: ShapleyExplainer(
        Ridge().fit(NUMERIC, TARGET), reward=ConditionalReward(), random_state=0
    ),
    "empirical": lambda: ShapleyExplainer(
        Ridge().fit(NUMERIC, TARGET), reward=EmpiricalReward(), random_state=0
    ),
    "trees": lambda: TreeExplainer(
        HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2).fit(
            NUMERIC, TARGET
        )
    ),
}


def through_skops(thing):
    sio = pytest.importorskip("skops.io")
    data = sio.dumps(thing)
    return sio.loads(data, trusted=sio.get_untrusted_types(data=data))


@pytest.mark.parametrize("make", EXPLAINERS.values(), ids=EXPLAINERS)
def test_skops_keeps_explainers_fitted_on_frames(make):
    explainer = make()
    names = list(getattr(explainer.estimator, "feature_names_in_", NUMERIC.columns))
    explainer.fit(table()[names])
    rows = table(3, seed=1)[names]
    before = explainer.explain(rows)  # and keeps some indices
    assert_same(through_skops(explainer).explain(rows), before)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_of_any_resolution_survive_a_round_trip(tmp_path, unit):
    """Parquet has no seconds: it keeps milliseconds in their place."""
    days = pd.Series(pd.date_range("2020-01-01", periods=4)).astype(
        f"datetime64[{unit}]"
    )
    X = pd.DataFrame({"day": days, "x": [1.0, 2.0, 3.0, 4.0]})
    explainer = ShapleyExplainer(lambda Z: Z["day"].dt.day * Z["x"]).fit(X)
    explanation = explainer.explain(X)
    explanation.save(tmp_path / "dates.parquet")
    there = Explanation.load(tmp_path / "dates.parquet")
    pd.testing.assert_frame_equal(there.data, explanation.data)


def test_numbers_of_every_line_are_required_in_the_file(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    explanation = ShapleyExplainer(lambda X: X[:, 0] * X[:, 1]).fit(X[:2]).explain(X)
    path = tmp_path / "phi.parquet"
    explanation.save(path)
    schema = pq.read_schema(path)
    required = {field.name for field in schema if not field.nullable}
    assert {"row", "prediction", "base_value", "value:x0", "error:x2"} <= required
    assert not any(name.startswith("data:") for name in required)


def test_labels_that_are_bools_stay_bools_in_the_file(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    explanation = ShapleyExplainer(lambda X: X[:, :2] * X[:, 2:]).fit(X[:2]).explain(X)
    explanation = replace(explanation, output_names=np.array([False, True]))
    path = tmp_path / "phi.parquet"
    explanation.save(path)
    assert str(pq.read_schema(path).field("output").type) == "bool"
