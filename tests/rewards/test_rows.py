"""Mixed rows, compared with a loop over cells: values, dtypes, order, for every container."""

import numpy as np
import pandas as pd
import pytest

from skshapley._tables._rows import row_pool

R, B, D = 4, 6, 5


def numbers(n, seed):
    return np.random.default_rng(seed).normal(size=(n, D))


def words(n, seed):
    return np.random.default_rng(seed).choice(list("abc"), size=(n, D))


def mixed(n, seed):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "number": np.where(rng.random(n) < 0.3, np.nan, rng.normal(size=n)),
            "category": pd.Categorical(
                rng.choice(["x", "y"], n), categories=["z", "y", "x"]
            ),
            "text": rng.choice(["u", "v"], n),
            "nullable": pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
            "when": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 9, n), "D"),
        }
    )


TABLES = {
    "float": numbers,
    "float32": lambda n, s: numbers(n, s).astype(np.float32),
    "int8": lambda n, s: (9 * numbers(n, s)).astype(np.int8),
    "bool": lambda n, s: numbers(n, s) > 0,
    "complex": lambda n, s: numbers(n, s) * 1j,
    "longdouble": lambda n, s: numbers(n, s).astype(np.longdouble),
    "words": words,
    "objects": lambda n, s: mixed(n, s).to_numpy(dtype=object),
    "dates": lambda n, s: (99 * numbers(n, s)).astype("M8[D]"),
    "transposed": lambda n, s: np.asfortranarray(numbers(n, s)),
    "frame": lambda n, s: pd.DataFrame(numbers(n, s), columns=list("edcba")),
    "mixed": mixed,
    "nullable": lambda n, s: pd.DataFrame(numbers(n, s) > 0).astype("boolean"),
}


def polars(n, seed):
    pl = pytest.importorskip("polars")
    return pl.from_pandas(mixed(n, seed).drop(columns="category")).with_columns(
        kind=pl.Series(["p", "q"] * n).head(n).cast(pl.Categorical)
    )


TABLES["polars"] = polars


def cells(table):
    """The cells of a table as a list of lists, missing ones as None."""
    rows = (
        table.rows()
        if hasattr(table, "rows")
        else np.asarray(table, dtype=object).tolist()
    )
    return [
        [None if cell is pd.NA or cell != cell else cell for cell in row]
        for row in rows
    ]


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("q", [1, 3])
@pytest.mark.parametrize("name", TABLES)
def test_mixed_rows_combine_explained_and_background_rows(name, q, grouped):
    make = TABLES[name]
    X, background = make(R, 0), make(B, 1)
    column_player = np.array([0, 1, 0, 2, 1]) if grouped else np.arange(D)
    pool = row_pool(X, background, column_player)

    rng = np.random.default_rng(2)
    n = 40
    coalitions = rng.random((n, column_player.max() + 1)) < 0.5
    rows, references = rng.integers(0, R, n), rng.integers(0, B, (n, q))
    hybrid = pool.hybrid(coalitions, rows, references)

    ours, theirs = cells(X), cells(background)
    expected = [
        [
            ours[rows[i]][j]
            if coalitions[i, column_player[j]]
            else theirs[references[i, t]][j]
            for j in range(D)
        ]
        for i in range(n)
        for t in range(q)
    ]
    assert cells(hybrid) == expected
    assert type(hybrid) is type(background)
    if hasattr(background, "columns"):
        assert list(hybrid.columns) == list(background.columns)
        assert list(hybrid.dtypes) == list(background.dtypes)
    else:
        assert hybrid.dtype == background.dtype


@pytest.mark.parametrize("name", TABLES)
def test_rows_of_one_instance(name):
    """The fast path for blocks of a single explained row."""
    make = TABLES[name]
    pool = row_pool(make(R, 0), make(B, 1), np.arange(D))
    everything = np.ones((B, D), dtype=bool)
    rows, references = np.full(B, 2), np.arange(B)[:, None]
    assert (
        cells(pool.hybrid(everything, rows, references)) == [cells(make(R, 0))[2]] * B
    )
    assert cells(pool.hybrid(~everything, rows, references)) == cells(make(B, 1))


@pytest.mark.parametrize("name", TABLES)
def test_mixing_does_not_modify_the_tables(name):
    make = TABLES[name]
    X, background = make(R, 0), make(B, 1)
    pool = row_pool(X, background, np.arange(D))
    coalitions = np.random.default_rng(0).random((30, D)) < 0.5
    pool.hybrid(coalitions, np.arange(30) % R, (np.arange(30) % B)[:, None])
    assert cells(X) == cells(make(R, 0))
    assert cells(background) == cells(make(B, 1))


@pytest.mark.parametrize("name", TABLES)
def test_unlike(name):
    """Cell by cell, against one background row each; missing values compare as values."""
    make = TABLES[name]
    X, background = make(R, 0), make(B, 1)
    rows, references = np.repeat([3, 0], B), np.tile(np.arange(B), 2)
    found = row_pool(X, background, np.arange(D)).unlike(rows, references)
    ours, theirs = cells(X), cells(background)
    pairs = zip(rows, references, strict=True)
    assert found.tolist() == [
        [ours[i][j] != theirs[b][j] for j in range(D)] for i, b in pairs
    ]


# --- numbers of different kinds -------------------------------------------------------

BOTH = np.array([[True, False]])


@pytest.mark.parametrize(
    ("given", "background", "common"),
    [
        (np.float64, np.int64, np.float64),
        (np.int8, np.int64, np.int64),
        (np.float64, bool, np.float64),
        (np.float64, np.float32, np.float64),
    ],
)
def test_arrays_of_different_dtypes_get_a_common_dtype(given, background, common):
    X, row = np.array([[1.5, 1.5]]).astype(given), np.array([[1, 1]]).astype(background)
    hybrid = row_pool(X, row, np.arange(2)).hybrid(
        BOTH, np.zeros(1, int), np.zeros((1, 1), int)
    )
    assert hybrid.dtype == common
    assert hybrid.tolist() == [[X[0, 0], row[0, 1]]]


@pytest.mark.parametrize(
    ("given", "background"),
    [
        ("float64", "int64"),
        ("float64", "bool"),
        ("bool", "float64"),
        ("Int64", "float64"),
        ("float64", "Int64"),
        ("float64", "boolean"),
        ("boolean", "bool"),
        ("boolean", "Float64"),
        ("uint8", "int64"),
        ("int64", "float32"),
    ],
)
def test_columns_of_different_dtypes_get_a_common_dtype(given, background):
    X = pd.DataFrame({"a": [1.0, 1.0], "c": list("uv")}).astype({"a": given})
    row = pd.DataFrame({"a": [0], "c": ["w"]}).astype({"a": background})
    pool = row_pool(X, row, np.arange(2))
    hybrid = pool.hybrid(np.eye(2, dtype=bool), np.array([0, 1]), np.zeros((2, 1), int))
    assert pd.api.types.is_numeric_dtype(hybrid["a"])
    assert hybrid["a"].astype(float).tolist() == [1.0, 0.0]
    assert hybrid["c"].tolist() == ["w", "v"]


def test_fractions_survive_a_background_of_whole_numbers():
    X, row = (
        pd.DataFrame({"a": [0.25], "c": ["u"]}),
        pd.DataFrame({"a": [3], "c": ["w"]}),
    )
    hybrid = row_pool(X, row, np.arange(2)).hybrid(
        BOTH, np.zeros(1, int), np.zeros((1, 1), int)
    )
    assert hybrid["a"].tolist() == [0.25]


@pytest.mark.parametrize("given", ["Float64", "Int8", "Boolean"])
def test_polars_columns_of_different_dtypes(given):
    pl = pytest.importorskip("polars")
    X = pl.DataFrame({"a": [1, 1], "c": ["u", "v"]}).with_columns(
        a=pl.col("a").cast(getattr(pl, given))
    )
    row = pl.DataFrame({"a": [0], "c": ["w"]})
    hybrid = row_pool(X, row, np.arange(2)).hybrid(
        np.eye(2, dtype=bool), np.array([0, 1]), np.zeros((2, 1), int)
    )
    assert hybrid["a"].dtype == (pl.Float64 if given == "Float64" else pl.Int64)
    assert hybrid["a"].to_list() == [1, 0]
