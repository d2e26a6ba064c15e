"""Comparisons of results with results hold with the kernels of another processor too.

NumPy's OpenBLAS has kernels for each kind of processor, which add the products of a row
in another order, and some of them in another order with other rows beside it. Tests
that ask for the same bits where these come from such a product pass on one machine and
fail on the next.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_info

ROOT = Path(__file__).parents[1]
# Those that compare results across batches, workers, containers, engines and estimators
SUBSET = (
    "batches",
    "rewards",
    "solvers",
    "trees",
    "test_agreement.py",
    "test_engine.py",
    "test_evaluate.py",
    "test_explainer.py",
    "test_explanation.py",
    "test_frames.py",
    "test_global.py",
    "test_pipelines.py",
    "test_short_cut.py",
    "test_valuation.py",
)
ACTIVE = "import sys; sys.path.append('tests'); from test_kernels import kernel; print(kernel())"


def kernel():
    """Return the processor type of NumPy's OpenBLAS kernels, or None without OpenBLAS."""
    np.zeros((1, 1)) @ np.zeros((1, 1))
    found = [info for info in threadpool_info() if info["internal_api"] == "openblas"]
    return found[0]["architecture"] if found else None


@pytest.mark.slow
def test_some_tests_pass_with_another_blas_kernel():
    other = "Sandybridge" if kernel() == "Haswell" else "Haswell"
    environment = dict(os.environ, OPENBLAS_CORETYPE=other)

    def stated(*arguments):
        command = [sys.executable, *arguments]
        return subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    active = stated("-c", ACTIVE).stdout.strip()
    if active != other:
        pytest.skip(
            f"NumPy's BLAS does not change its kernels: {active} instead of {other}"
        )
    files = [f"tests/{name}" for name in SUBSET]
    done = stated(
        "-m", "pytest", "-q", "-m", "not slow", "-p", "no:cacheprovider", *files
    )
    assert done.returncode == 0, done.stdout[-10_000:]
