"""Explanations on local dask clusters.

Worker processes take seconds to start, so tests that need them are slow. Other tests
use threads.
"""

import os

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches
from skshapley.distributed import explain_dask

distributed = pytest.importorskip("distributed")
dataframe = pytest.importorskip("dask.dataframe")


@pytest.fixture(scope="module")
def threads():
    """A client of two workers that are threads of this process."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture
def processes():
    """A client of two worker processes."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def tasks_done(client):
    """The number of tasks that the workers have done so far."""
    return sum(
        client.run(lambda dask_worker: dask_worker.state.executed_count).values()
    )


def test_bits_agree_with_one_machine(threads):
    """Of a pipeline: its columns are computed once here and never by a worker."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame = frame.assign(city=rng.choice(["u", "v"], 80))
    columns = make_column_transformer(
        (OneHotEncoder(), ["city"]), (SimpleImputer(), list("abc"))
    )
    pipeline = make_pipeline(
        columns, RandomForestRegressor(5, max_depth=3, random_state=0)
    )
    pipeline.fit(frame, frame["a"] * frame["b"])
    made = ShapleyExplainer(
        pipeline, sampler="antithetic", max_rows=98 * 40 + 1, random_state=0
    )
    made.fit(frame[:40])
    serial = made.explain(frame[40:])
    before = tasks_done(threads)
    with parallel_config("dask"):
        spread = made.explain(frame[40:])
    assert tasks_done(threads) - before > 2
    np.testing.assert_array_equal(spread.values, serial.values)
    np.testing.assert_array_equal(spread.standard_errors, serial.standard_errors)


@pytest.mark.slow
def test_the_model_is_sent_once_to_each_worker(processes, made, rows, tmp_path):
    explainer = made(log=tmp_path / "arrivals")
    X = rows.drop(columns="key")
    serial = explainer.explain(X)
    with parallel_config("dask"):
        spread = explainer.explain(X)
    np.testing.assert_array_equal(spread.values, serial.values)
    workers = {str(pid) for pid in processes.run(os.getpid).values()}
    arrived = [
        pid for pid in (tmp_path / "arrivals").read_text().split() if pid in workers
    ]
    assert len(arrived) == len(set(arrived))


@pytest.mark.slow
def test_a_killed_worker_changes_no_value(processes, made, rows, tmp_path):
    flag = tmp_path / "killed"
    explainer = made(kills=flag)
    X = rows.drop(columns="key")
    serial = explainer.explain(X)
    assert not flag.exists()
    with parallel_config("dask"):
        spread = explainer.explain(X)
    assert flag.exists()
    np.testing.assert_array_equal(spread.values, serial.values)


@pytest.mark.slow
def test_a_model_that_kills_every_worker_raises(processes, made, rows):
    """An error of the scheduler, or of the explainer if no worker restarts."""
    explainer = made(kills="all")
    with (
        parallel_config("dask"),
        pytest.raises(
            (distributed.KilledWorker, RuntimeError), match=r"workers died|no worker"
        ),
    ):
        explainer.explain(rows.drop(columns="key"))


@pytest.mark.slow
def test_partitions_survive_a_killed_worker(same, processes, made, rows, tmp_path):
    flag = tmp_path / "killed"
    explainer = made(kills=flag)
    phi = explain_dask(explainer, dataframe.from_pandas(rows, npartitions=4))
    same(phi.compute(), explainer, rows)
    assert flag.exists()


def test_workers_write_into_one_folder(same, threads, made, rows, tmp_path):
    explainer, table = made(), dataframe.from_pandas(rows, npartitions=3)
    explain_dask(explainer, table).to_parquet(tmp_path / "phi", write_index=False)
    assert len(list((tmp_path / "phi").glob("*.parquet"))) == 3
    same(pd.read_parquet(tmp_path / "phi"), explainer, rows)


def test_partitions(same, made, rows):
    """One of them is empty. Nothing is computed before the result is requested."""
    table = dataframe.from_pandas(rows, npartitions=3)
    table = table[table["key"] > 1040]
    explainer = made()
    phi = explain_dask(explainer, table)
    assert list(phi.columns)[:2] == ["key", "column 0"]
    same(phi.compute(scheduler="synchronous"), explainer, rows[rows["key"] > 1040])


def test_several_outputs_of_an_array(rows):
    X = rows.drop(columns="key")
    model = LogisticRegression().fit(X.to_numpy(), np.arange(len(X)) % 3)
    explainer = ShapleyExplainer(model, random_state=0).fit(X[:20].to_numpy())
    phi = explain_dask(explainer, dataframe.from_pandas(X, npartitions=2))
    wanted = explainer.transform(X.to_numpy())
    assert list(phi.columns) == list(explainer.get_feature_names_out())
    np.testing.assert_allclose(
        phi.compute(scheduler="synchronous"), wanted, rtol=0, atol=1e-12
    )


def test_batches_of_a_dask_table(made, rows):
    explainer = made()
    table = dataframe.from_pandas(rows, npartitions=3)
    parts = list(explain_batches(explainer, table, keys="key", batch_rows=25))
    assert [len(part) for part in parts] == [25, 25, 10]
    wanted = explainer.explain(rows.drop(columns="key")).values
    np.testing.assert_array_equal(
        np.concatenate([part.values for part in parts]), wanted
    )
    assert parts[1].index[0] == rows["key"][25]


@pytest.mark.parametrize("explainer", [LogisticRegression(), ShapleyExplainer(np.sum)])
def test_unfitted_explainers_are_refused(rows, explainer):
    table = dataframe.from_pandas(rows, npartitions=3)
    with pytest.raises((TypeError, ValueError), match="fitted"):
        explain_dask(explainer, table)
