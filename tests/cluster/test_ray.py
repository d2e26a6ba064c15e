"""Explaining in Ray, on two workers of this machine."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from skshapley.distributed import explain_ray

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    pytest.importorskip("ray.data")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("killed", [False, True])
def test_bits_agree_with_one_machine(same, ray, made, rows, tmp_path, killed):
    """Also if a worker is killed."""
    flag = tmp_path / "killed"
    explainer = made(kills=flag if killed else None)
    table = ray.data.from_pandas(rows).repartition(3)
    same(explain_ray(explainer, table, batch_size=16).to_pandas(), explainer, rows)
    assert flag.exists() == killed


def test_workers_write_into_one_folder(same, ray, made, rows, tmp_path):
    explainer, table = made(), ray.data.from_pandas(rows).repartition(3)
    explain_ray(explainer, table, batch_size=16).write_parquet(str(tmp_path / "phi"))
    assert len(list((tmp_path / "phi").glob("*.parquet"))) > 1
    same(pd.read_parquet(tmp_path / "phi"), explainer, rows)


def test_ray_works_as_a_joblib_backend(ray, made, rows):
    from ray.util.joblib import register_ray

    register_ray()
    explainer, X = made(), rows.drop(columns="key")
    with parallel_config("ray", n_jobs=2):
        spread = explainer.explain(X)
    np.testing.assert_array_equal(spread.values, explainer.explain(X).values)
