"""Explanations in files, and explainers as skops keeps them: all comes back, and no code is run."""

import io
import json
import zipfile
from dataclasses import asdict

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skshapley import Explanation, ShapleyExplainer, TreeExplainer
from skshapley.rewards import BaselineReward, ConditionalReward, EmpiricalReward

NUMBERS = ("values", "standard_errors", "background_errors", "base_values", "predictions", "others")
COSTS = ("n_evaluations", "n_model_rows", "converged")
PAIRS = ("values", "standard_errors", "attributions", "base_values")


def table(n=30, seed=0):
    """Numbers, categories, text, dates, missing values, under labels."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.normal(size=n),
            "job": pd.Categorical(rng.choice(["cook", "pilot"], size=n)),
            "seen": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(99, size=n), "D"),
            "note": pd.Series(rng.choice(["<b>", "ü"], size=n)).where(rng.random(n) < 0.8, None),
            "$x": rng.integers(9, size=n),
        },
        index=pd.Index([f"row {i}" for i in range(n)], name="id"),
    )


def scores(X):
    value = X["age"] * (X["job"] == "cook") + X["seen"].dt.day / 9 + X["$x"] * X["note"].isna()
    return np.column_stack([value, -value / 2, value**2])


@pytest.fixture(scope="module")
def mixed():
    """Three outputs, pairs, errors, and all kinds of columns."""
    explainer = ShapleyExplainer(scores, interactions=True, max_rows=700, random_state=0)
    return explainer.fit(table()[:4]).explain(table(6, seed=1))


def assert_same(there, here):
    for name in (*NUMBERS, *COSTS, "feature_names", "output_names", "entries"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name), strict=True)
    pd.testing.assert_frame_equal(there.data, here.data)
    assert there.settings == here.settings
    assert (there.interactions is None) == (here.interactions is None)
    if here.interactions is not None:
        for name in (*PAIRS, "feature_names", "output_names"):
            ours, theirs = getattr(here.interactions, name), getattr(there.interactions, name)
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
    "without errors": lambda e: Explanation(**{**vars(e), "standard_errors": None}),
}


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_what_is_saved_is_loaded(mixed, part, tmp_path):
    part(mixed).save(tmp_path / "eye.npz")
    there = Explanation.load(str(tmp_path / "eye.npz"))
    assert_same(there, part(mixed))
    with pytest.raises(ValueError, match="read-only"):
        there.values[...] = 0
    assert [path.name for path in tmp_path.iterdir()] == ["eye.npz"]


def test_the_same_explanation_is_the_same_bytes_and_numpy_opens_it(mixed, tmp_path):
    for name in ("one", "two"):
        mixed.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with np.load(tmp_path / "one") as arrays:
        np.testing.assert_array_equal(arrays["values"], mixed.values)


def test_what_cannot_be_saved_leaves_the_file_that_was_there(mixed, tmp_path):
    mixed.save(tmp_path / "eye")
    before = (tmp_path / "eye").read_bytes()
    data = mixed.data.assign(note=[object() for _ in range(6)])
    odd = Explanation(**{**vars(mixed), "data": data})
    with pytest.raises(TypeError, match=r"Explanation\.save: Column 'note' cannot be kept: .*text"):
        odd.save(tmp_path / "eye")
    assert (tmp_path / "eye").read_bytes() == before


def changed(path, **changes):
    """The file with other content in its record."""
    file = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "record.json":
                data = json.dumps({**json.loads(data), **changes}).encode()
            new.writestr(name, data)
    return file.getvalue()


@pytest.mark.parametrize("cut", [0, 10, 200, -30])
def test_damaged_files(mixed, tmp_path, cut):
    mixed.save(tmp_path / "eye")
    data = (tmp_path / "eye").read_bytes()
    (tmp_path / "eye").write_bytes(data[:cut])
    with pytest.raises(ValueError, match=r"load got '.*eye', which is damaged or was not written"):
        Explanation.load(tmp_path / "eye")
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 255
    (tmp_path / "eye").write_bytes(flipped)
    with pytest.raises(ValueError, match="damaged"):
        Explanation.load(tmp_path / "eye")


def test_files_of_others_and_of_later_versions(mixed, tmp_path):
    path = tmp_path / "eye"
    np.savez(tmp_path / "other.npz", values=np.eye(2))
    with pytest.raises(ValueError, match=r"other\.npz', which is damaged or was not written by"):
        Explanation.load(tmp_path / "other.npz")
    mixed.save(path)
    later = {"version": 2}, {"settings": {**asdict(mixed.settings), "mood": "good"}}
    for changes in later:
        mixed.save(path)
        path.write_bytes(changed(path, **changes))
        with pytest.raises(ValueError, match="which a later version of skshapley wrote"):
            Explanation.load(path)
    with pytest.raises(FileNotFoundError):
        Explanation.load(tmp_path / "gone")


# --- Parquet -------------------------------------------------------------------------------------


def test_parquet_has_every_number_and_mixed_data(mixed, tmp_path):
    pytest.importorskip("pyarrow")
    mixed.to_parquet(tmp_path / "eye.parquet")
    frame = pd.read_parquet(tmp_path / "eye.parquet")
    assert len(frame) == 18
    assert frame["key:id"].tolist() == np.repeat(mixed.index, 3).tolist()
    assert frame["output"].tolist() == [0, 1, 2] * 6
    for player, name in enumerate(mixed.feature_names):
        np.testing.assert_array_equal(frame[f"value:{name}"], mixed.values[:, player].ravel())
        np.testing.assert_array_equal(
            frame[f"error:{name}"], mixed.standard_errors[:, player].ravel()
        )
        given = mixed.data[name].astype(object).where(mixed.data[name].notna(), None)
        kept = frame[f"data:{name}"][::3].astype(object)
        assert kept.where(kept.notna(), None).tolist() == given.tolist()


def test_parquet_of_objects_parts_and_no_errors(mixed, tmp_path):
    pytest.importorskip("pyarrow")
    one = mixed.output(0)[["note", "age"]]
    data = one.data.assign(note=pd.Series([1, "a", None, 2.5, True, ()], one.index, dtype=object))
    Explanation(**{**vars(one), "data": data, "standard_errors": None}).to_parquet(tmp_path / "a")
    frame = pd.read_parquet(tmp_path / "a")
    assert frame["data:note"].fillna("none").tolist() == ["1", "a", "none", "2.5", "True", "()"]
    assert not [name for name in frame if name.startswith("error:")]
    np.testing.assert_array_equal(frame["others"], one.others)


def test_parquet_of_outputs_whose_labels_are_numbers_and_text(mixed, tmp_path):
    """A target of two classes is one output, and one of three has an output for each class."""
    pytest.importorskip("pyarrow")
    labels = np.array([0, "1_a", None], dtype=object)
    Explanation(**{**vars(mixed), "output_names": labels}).to_parquet(tmp_path / "a")
    frame = pd.read_parquet(tmp_path / "a")
    assert frame["output"].tolist() == ["0", "1_a", "None"] * 6


def test_parquet_of_bins_and_sparse_columns(mixed, tmp_path):
    pytest.importorskip("pyarrow")
    one = mixed.output(0)[["note", "age"]]
    bins = pd.cut(pd.Series([0.5, 1.5, np.nan, 0.1, 1.1, 0.2], one.index), [0, 1, 2])
    sparse = pd.arrays.SparseArray([0, 0, 3, 0, 1, 0])
    data = pd.DataFrame({"note": bins, "age": sparse}, index=one.index)
    Explanation(**{**vars(one), "data": data}).to_parquet(tmp_path / "a")
    frame = pd.read_parquet(tmp_path / "a")
    expected = ["(0, 1]", "(1, 2]", "none", "(0, 1]", "(1, 2]", "(0, 1]"]
    assert frame["data:note"].fillna("none").tolist() == expected
    assert frame["data:age"].tolist() == [0, 0, 3, 0, 1, 0]


def test_parquet_without_pyarrow(mixed, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ImportError, match=r"needs pyarrow, .* pip install 'skshapley\[parquet\]'"):
        mixed.to_parquet(tmp_path / "a")


# --- skops ---------------------------------------------------------------------------------------

NUMERIC = table()[["age", "$x"]]
TARGET = NUMERIC["age"] * NUMERIC["$x"]


def pipeline():
    columns = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(columns, HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2))
    return model.fit(table()[["age", "job", "$x"]], TARGET)


EXPLAINERS = {
    "read": lambda: ShapleyExplainer(Ridge().fit(NUMERIC, TARGET)),
    "sampled": lambda: ShapleyExplainer(
        LogisticRegression().fit(NUMERIC, TARGET > 0), random_state=0
    ),
    "pipeline": lambda: ShapleyExplainer(pipeline()),
    "baseline": lambda: ShapleyExplainer(Ridge().fit(NUMERIC, TARGET), reward=BaselineReward()),
    "conditional": lambda: ShapleyExplainer(
        Ridge().fit(NUMERIC, TARGET), reward=ConditionalReward(), random_state=0
    ),
    "empirical": lambda: ShapleyExplainer(
        Ridge().fit(NUMERIC, TARGET), reward=EmpiricalReward(), random_state=0
    ),
    "trees": lambda: TreeExplainer(
        HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=2).fit(NUMERIC, TARGET)
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
    assert_same(through_skops(explainer).explain(rows), explainer.explain(rows))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_skops_keeps_explanations(mixed, part):
    assert_same(through_skops(part(mixed)), part(mixed))
