"""The guide's recipe for Spark, run as it stands there, on two workers of this machine."""

import re
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier

from skshapley import ShapleyExplainer

pytestmark = [
    pytest.mark.slow,
    # Spark 4.3 uses what pandas will drop, says so, and leaves sockets to be collected
    pytest.mark.filterwarnings("ignore"),
]
GUIDE = Path(__file__).parents[1] / "doc" / "guide" / "clusters.rst"


@pytest.fixture
def spark(monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    with session.getOrCreate() as session:
        yield session


def recipe():
    """The guide's block of code that calls mapInPandas."""
    blocks = re.findall(r"code-block:: python\n\n((?:    .*\n|\n)+)", GUIDE.read_text())
    (code,) = (block for block in blocks if "mapInPandas" in block)
    return dedent(code)


def test_the_guides_recipe_gives_each_partition_the_bits_that_it_has_here(spark):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(100, 10)), columns=[f"column {i}" for i in range(10)])
    model = GradientBoostingClassifier(n_estimators=20).fit(X, X.iloc[:, 0] * X.iloc[:, 1] > 0)
    walks = ShapleyExplainer(model, sampler="antithetic", max_rows=98 * 20 + 1, random_state=0)
    explainer = walks.fit(X[:20])
    table = X[40:].assign(key=np.arange(1000, 1060))
    scope = {"spark": spark, "explainer": explainer, "rows": spark.createDataFrame(table)}
    exec(recipe(), scope)
    phi = scope["phi"].toPandas().set_index("key").sort_index()
    halves = [explainer.explain(half).values for half in (X[40:70], X[70:])]
    assert scope["rows"].rdd.getNumPartitions() == len(halves)
    np.testing.assert_array_equal(phi.to_numpy(), np.concatenate(halves))
    assert list(phi) == list(X)
