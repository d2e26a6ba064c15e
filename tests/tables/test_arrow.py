"""Frames as Arrow data: every kind of column survives a round trip, and no code is run."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from skshapley import Explanation, ShapleyExplainer
from skshapley._tables._arrow import frame_from_bytes, frame_to_bytes

N = 4
COLUMNS = {
    "floats": np.array([1.5, np.nan, -np.inf, 0.1]),
    "single": np.arange(N, dtype=np.float32),
    "ints": np.arange(N),
    "bytes": np.arange(N, dtype=np.uint8),
    "bools": np.array([True, False, True, True]),
    "dates": pd.to_datetime(["2020-01-01", None, "2021-05-05", "1969-07-20"]),
    "seconds": pd.Series(np.array([1, 2, 3, 4], dtype="datetime64[s]")),
    "zoned": pd.to_datetime(
        ["2020-01-01", None, "2021-07-05", "2022-01-01"]
    ).tz_localize("Europe/Berlin"),
    "durations": pd.to_timedelta([1, 2, None, 4], unit="h"),
    "text": pd.Series(["a", None, "ü", "<b>"], dtype="str"),
    "strings": pd.Series(["a", pd.NA, "b", "c"], dtype="string"),
    "objects": pd.Series(
        [
            *(None, np.nan, "x", 3, True, 2.5, pd.NaT, pd.NA),
            *(np.float32(0.1), np.int8(4), Decimal("1.10"), (1, "b", None)),
            *(dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 3), dt.time(4, 5)),
            *(pd.Timestamp("2020-01-01", tz="UTC"), np.datetime64("2020-01-01")),
            *(
                pd.Timedelta("1h"),
                pd.Interval(0, 1.5, "left"),
                pd.Period("2020-03", "M"),
            ),
            *(np.str_("y"), 2**70),
        ],
        dtype=object,
    ),
    "nullable": pd.Series([1, pd.NA, 3, 4], dtype="Int16"),
    "nullable floats": pd.Series([1.0, pd.NA, 3, 4], dtype="Float64"),
    "nullable bools": pd.Series([True, pd.NA, False, True], dtype="boolean"),
    "categories": pd.Categorical(["b", "a", None, "b"], categories=["b", "c", "a"]),
    "ordered": pd.Categorical([3, 1, 2, 3], ordered=True),
    "bins": pd.cut([0.5, 1.5, 2.5, 0.1], [0, 1, 2, 3]),
    "periods": pd.Series(pd.period_range("2020-01", periods=N, freq="M")),
    "sparse": pd.Series(pd.arrays.SparseArray([0.0, 0, 3, 0])),
    "sparse ints": pd.Series(pd.arrays.SparseArray([1, 1, 0, 1], fill_value=1)),
    "arrow": pd.Series([1, None, 3, 4], dtype="int64[pyarrow]"),
}
INDICES = {
    "range": pd.RangeIndex(3, 11, 2),
    "named": pd.Index(["a", "b", "a", "c"], name="key"),
    "numbers": pd.Index([5, 3, 3, 1]),
    "dates": pd.to_datetime(["2020-01-01"] * N).rename("day"),
    "levels": pd.MultiIndex.from_tuples(
        [("a", 1), ("a", 2), ("b", 1), ("c", 9)], names=["k", 3]
    ),
}


def there_and_back(frame):
    data = frame_to_bytes(frame)
    assert data == frame_to_bytes(frame)
    return frame_from_bytes(data)


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns(kind):
    frame = pd.DataFrame({"first": 1.0, kind: COLUMNS[kind]})
    back = there_and_back(frame)
    pd.testing.assert_frame_equal(back, frame)
    for here, there in zip(frame[kind], back[kind], strict=True):
        assert type(there) is type(here) or isinstance(here, np.str_)
        assert there is here or there == here or (here != here and there != there)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([Decimal("1.10"), None, Decimal("3.00")], pa.decimal128(5, 2)),
        (["a", None, "b"], pa.dictionary(pa.int8(), pa.string())),
    ],
    ids=["decimal", "dictionary"],
)
def test_types_that_pandas_cannot_name_return_as_objects(cells, kind, tmp_path):
    """A file with such a column was written, but could not be read."""
    column = pd.Series(pd.arrays.ArrowExtensionArray(pa.array(cells, kind)))
    frame = pd.DataFrame({"a": column, "b": 1.0})
    explainer = ShapleyExplainer(lambda X: X["b"]).fit(frame)
    explainer.explain(frame).save(tmp_path / "explanation.parquet")
    data = Explanation.load(tmp_path / "explanation.parquet").data
    expected = frame.astype({"a": object})
    pd.testing.assert_frame_equal(data, expected)
    pd.testing.assert_frame_equal(there_and_back(frame), expected)


def test_all_columns_and_no_column():
    frame = pd.DataFrame(
        {kind: pd.Series(column)[:N] for kind, column in COLUMNS.items()}
    )
    pd.testing.assert_frame_equal(there_and_back(frame), frame)
    for empty in (frame[:0], frame[[]], pd.DataFrame()):
        pd.testing.assert_frame_equal(
            there_and_back(empty), empty, check_index_type=False
        )


@pytest.mark.parametrize("index", INDICES.values(), ids=INDICES)
def test_indices(index):
    frame = pd.DataFrame({"a": range(N), "b": list("wxyz")}, index=index)
    back = there_and_back(frame)
    pd.testing.assert_frame_equal(back, frame)


def test_column_names_may_be_any_label():
    frame = pd.DataFrame(
        np.eye(3), columns=pd.Index([1, "b", ("c", 2)], dtype=object, name="of")
    )
    frame = pd.concat([frame, frame], axis=1)
    pd.testing.assert_frame_equal(there_and_back(frame), frame)


def test_objects_of_any_class_are_refused():
    frame = pd.DataFrame({"a": [1.0], "b": [object]})
    with pytest.raises(
        TypeError, match=r"it contains .* of type type; convert it to a number"
    ):
        there_and_back(frame)
