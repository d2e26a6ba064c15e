"""Two workers against one: CPU seconds of an explanation here, and spread over two processes.

A random forest of 100 trees on 30 features, which does not thread by itself; a background of 100
rows, 160 instances, 100 evaluations each: 49 tasks of 32768 model rows. joblib's loky backend, and
dask's with two worker processes, to which the model (9 MB) goes once a run. The workers have done a
small explanation before; those of loky get the model anew in each run. CPU seconds, the least of
three runs, are those of this process and, where work is spread, of the workers; "shared" is the
part of them that the workers did. Efficiency is the quotient of both: two workers that do nothing
but what one does have 1. A cluster's processes use CPU also while there is nothing to do: "idle" is
what they would have used in the time that the run took, measured over five seconds before it, and
the last column is the efficiency without it. The slower the run, the more it is: the last two
columns are the further apart the busier the machine.

Run ``OMP_NUM_THREADS=1 python -m benchmarks.workers``; it writes
``benchmarks/results/workers.md``.
"""

import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
from dask.distributed import Client, LocalCluster
from joblib import parallel_config
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor

from skshapley import ShapleyExplainer

P, B, R, EVALS, REPEATS = 30, 100, 160, 100, 3
IDLE_SECONDS = 5
RESULTS = Path(__file__).parent / "results" / "workers.md"


def cpu_seconds():
    """Return the CPU seconds of this process so far, and of those that it has started."""
    me = psutil.Process()
    families = [[me], me.children(recursive=True)]
    return np.array([sum(sum(p.cpu_times()[:2]) for p in family) for family in families])


def measured(work):
    """Return what the work returns, the CPU seconds of both kinds that it took, and the time."""
    before, start = cpu_seconds(), time.perf_counter()
    result = work()
    return result, cpu_seconds() - before, time.perf_counter() - start


@contextmanager
def loky(explainer):
    """Two processes of joblib's own."""
    with parallel_config("loky", n_jobs=2):
        yield


@contextmanager
def dask(explainer):
    """Two workers of a dask cluster."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
        parallel_config("dask"),
    ):
        yield


def main():
    X, y = make_friedman1(1000, P, random_state=0)
    forest = RandomForestRegressor(100, random_state=0).fit(X, y)
    n_rows = (EVALS - 2) * B + 1
    explainer = ShapleyExplainer(forest, sampler="antithetic", max_rows=n_rows, random_state=0)
    explainer.fit(X[:B])
    X = X[B : B + R]
    lines = [
        "| backend | one, CPU s | two, CPU s | shared | efficiency | idle, CPU s | without idle |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for backend in (loky, dask):
        with backend(explainer):
            explainer.explain(X[:8])
            _, costs, seconds = measured(lambda: time.sleep(IDLE_SECONDS))
            rate = costs.sum() / seconds
            runs = []
            for _ in range(REPEATS):
                spread, costs, seconds = measured(lambda: explainer.explain(X))
                runs.append((costs.sum(), costs[1] / costs.sum(), rate * seconds))
        # out of its reach, so that it takes no CPU of the reference
        serial, (one, _), _ = min(
            (measured(lambda: explainer.explain(X)) for _ in range(REPEATS)),
            key=lambda run: run[1][0],
        )
        np.testing.assert_array_equal(spread.values, serial.values)
        two, shared, idle = min(runs)
        lines.append(
            f"| {backend.__name__} | {one:.1f} | {two:.1f} | {shared:.2f} | {one / two:.2f}"
            f" | {idle:.1f} | {one / (two - idle):.2f} |"
        )
        print(lines[-1], flush=True)
    text = __doc__.split("\n\n", 1)[1].split("\n\nRun ``")[0]
    RESULTS.write_text("# Two workers against one\n\n" + text + "\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
