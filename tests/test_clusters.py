"""Explaining on a dask cluster: joblib's dask backend, and map_partitions of dask.dataframe.

The clusters are real ones of this machine. Two worker processes take seconds to start, so that
what needs processes is marked slow; threads stand for workers in the rest.
"""

import os
import signal
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from skshapley import ShapleyExplainer

distributed = pytest.importorskip("distributed")

P, B, R = 12, 40, 30
RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, P))


def explainer(log=None, fatal=False, **kwargs):
    """An explainer whose model notes in `log` where it arrives, or kills the first to use it.

    Its class is defined here, so that workers get it by value and need not find this file.
    """

    class Product(RegressorMixin, BaseEstimator):
        def __init__(self, log, fatal):
            self.log, self.fatal = log, fatal
            self.n_features_in_, self.home = P, os.getpid()

        def fit(self, X, y=None):
            return self

        def predict(self, X):
            if self.fatal and os.getpid() != self.home:
                with suppress(FileExistsError), open(self.log, "x"):
                    os.kill(os.getpid(), signal.SIGKILL)
            return np.sin(X).sum(axis=1) * X[:, 0]

        def __setstate__(self, state):
            self.__dict__.update(state)
            if not self.fatal:
                with open(self.log, "a") as file:
                    file.write(f"{os.getpid()}\n")

    kwargs = {"sampler": "antithetic", "max_rows": 198 * B + 1, "random_state": 0} | kwargs
    return ShapleyExplainer(Product(log, fatal), **kwargs).fit(X[:B])


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
    """A client of two worker processes, which keep the copies of what was scattered to them."""
    dask = pytest.importorskip("dask")
    with (
        dask.config.set({"distributed.scheduler.active-memory-manager.start": False}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def pids(client):
    """The processes of the workers."""
    return set(client.run(os.getpid).values())


def tasks_done(client):
    """The number of tasks that each worker has done so far."""
    return list(client.run(lambda dask_worker: dask_worker.state.executed_count).values())


def test_same_bits_as_serial(threads):
    """... of a pipeline, whose columns are made once here and never by a worker."""
    frame = pd.DataFrame(X[:, :3], columns=list("abc")).assign(city=RNG.choice(["u", "v"], 200))
    columns = make_column_transformer((OneHotEncoder(), ["city"]), (SimpleImputer(), list("abc")))
    pipeline = make_pipeline(columns, RandomForestRegressor(5, max_depth=3, random_state=0))
    pipeline.fit(frame, X[:, 0] * X[:, 1])
    made = ShapleyExplainer(pipeline, sampler="antithetic", max_rows=98 * B + 1, random_state=0)
    made.fit(frame[:B])
    serial = made.explain(frame[B : B + R])
    before = sum(tasks_done(threads))
    with parallel_config("dask"):
        spread = made.explain(frame[B : B + R])
    assert sum(tasks_done(threads)) > before
    np.testing.assert_array_equal(spread.values, serial.values)
    np.testing.assert_array_equal(spread.standard_errors, serial.standard_errors)


@pytest.mark.slow
def test_the_model_is_sent_once(processes, tmp_path):
    """... to each worker, for all tasks of two calls, when it is named to `scatter`."""
    log = tmp_path / "arrivals"
    made = explainer(log)
    serial = made.explain(X[B : B + R])
    before = sum(tasks_done(processes))
    with parallel_config("dask", scatter=[made.reward_.masked_]):
        for _ in range(2):
            spread = made.explain(X[B : B + R])
            np.testing.assert_array_equal(spread.values, serial.values)
    # joblib may make one task of several that are quick
    assert sum(tasks_done(processes)) - before >= 4
    workers = sorted(str(pid) for pid in pids(processes))
    # dask takes the name of the model from copies that it makes here
    assert sorted(pid for pid in log.read_text().split() if pid in workers) == workers


@pytest.mark.slow
@pytest.mark.parametrize("scattered", [False, True])
def test_a_worker_that_is_killed_costs_time_only(processes, tmp_path, scattered):
    """The first worker that is asked for a prediction dies of it."""
    flag = tmp_path / "killed"
    made = explainer(flag, fatal=True)
    serial = made.explain(X[B : B + R])
    assert not flag.exists()
    scatter = [made.reward_.masked_] if scattered else None
    with parallel_config("dask", scatter=scatter):
        spread = made.explain(X[B : B + R])
    assert flag.exists()
    np.testing.assert_array_equal(spread.values, serial.values)


@pytest.mark.slow
def test_partitions_of_a_dask_dataframe(threads):
    dataframe = pytest.importorskip("dask.dataframe")
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(P)])
    model = LinearRegression().fit(frame, X[:, 0])
    made = ShapleyExplainer(model, random_state=0).fit(frame[:B]).set_output(transform="pandas")
    table = dataframe.from_pandas(frame[B : B + R], npartitions=3)
    phi = table.map_partitions(made.transform, meta=made.transform(frame[:1]).iloc[:0])
    pd.testing.assert_frame_equal(phi.compute(), made.transform(frame[B : B + R]))
