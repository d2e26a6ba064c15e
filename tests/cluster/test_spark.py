"""Explaining in Spark, on two workers of this machine."""

import sys

import numpy as np
import pandas as pd
import pytest

from skshapley.distributed import spark_udf

pytestmark = [
    pytest.mark.slow,
    # Spark 4.3 uses what pandas will drop, says so, and leaves sockets to be collected
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture
def spark(monkeypatch):
    """A session of two workers; a task may fail three times."""
    sql = pytest.importorskip("pyspark.sql")
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    session = sql.SparkSession.builder.master("local[2,4]").config(
        "spark.ui.enabled", "false"
    )
    with session.getOrCreate() as session:
        yield session


@pytest.mark.parametrize("killed", [False, True])
def test_bits_agree_with_one_machine(same, spark, made, rows, tmp_path, killed):
    """Also if a worker is killed. Rows without a partition stay in place."""
    from pyspark.sql.functions import struct

    flag = tmp_path / "killed"
    explainer = made(kills=flag if killed else None)
    table = spark.createDataFrame(rows).repartition(3)
    phi = table.select("key", spark_udf(explainer)(struct("*")).alias("phi")).select(
        "key", "phi.*"
    )
    same(phi.toPandas(), explainer, rows)
    assert flag.exists() == killed


def test_tables_without_a_key_are_written_into_one_folder(spark, made, rows, tmp_path):
    from pyspark.sql.functions import struct

    explainer, X = made(), rows.drop(columns="key")
    table = spark.createDataFrame(X).repartition(2)
    with_phi = table.withColumn("phi", spark_udf(explainer)(struct("*")))
    with_phi.write.parquet(str(tmp_path / "phi"))
    back = spark.read.parquet(str(tmp_path / "phi")).toPandas()
    wanted = explainer.explain(back.drop(columns="phi")).values
    assert len(back) == len(rows)
    np.testing.assert_array_equal(pd.DataFrame(back["phi"].tolist()), wanted)
