"""Lazy tables are read one part at a time."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.utils.fixes import parse_version

from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(500, 3)), columns=["a", "b", 'the "c"'])
    return X.assign(unused="text", key=[f"k{i}" for i in range(500)])


@pytest.fixture(scope="module")
def explainer(rows):
    X = rows.iloc[:, :3]
    model = HistGradientBoostingRegressor(max_iter=10).fit(X, X["a"] * X["b"])
    return ShapleyExplainer(model).fit(X[:50])


def lazy(library, rows):
    module = pytest.importorskip(library)
    return (
        module.from_pandas(rows).lazy() if library == "polars" else module.from_df(rows)
    )


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_lazy_tables_are_read_in_batches(library, rows, explainer):
    table = lazy(library, rows)
    parts = list(explain_batches(explainer, table, keys="key", batch_rows=200))
    assert [len(part) for part in parts] == [200, 200, 100]
    wanted = explainer.explain(rows.iloc[:, :3]).values
    np.testing.assert_array_equal(
        np.concatenate([part.values for part in parts]), wanted
    )
    assert list(parts[1].index[:2]) == ["k200", "k201"]


@pytest.mark.parametrize("library", ["polars", "duckdb"])
def test_lazy_tables_without_a_column_are_refused(library, rows, explainer, tmp_path):
    with pytest.raises(ValueError, match=r"needs the columns \['b'\]"):
        explain_batches(
            explainer, lazy(library, rows.drop(columns="b")), tmp_path / "phi"
        )


@pytest.mark.skipif(
    parse_version(sklearn.__version__) < parse_version("1.8"),
    reason="scikit-learn then finds columns of polars by a protocol that polars 2 has dropped",
)
def test_polars_backgrounds_receive_polars_batches(rows, explainer):
    polars = pytest.importorskip("polars")
    X = polars.from_pandas(rows.iloc[:, :3])
    fitted = ShapleyExplainer(explainer.estimator).fit(X[:50])
    (part,) = explain_batches(fitted, X.lazy())
    np.testing.assert_array_equal(
        part.values, explainer.explain(rows.iloc[:, :3]).values
    )
