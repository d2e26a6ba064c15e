"""Runs killed at random times, each in a new interpreter, and finished by another run."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches

BATCH_ROWS = 5


def slow(X):
    """A model with a memory address in its repr."""
    time.sleep(0.004)
    return np.where(X[:, 0] * X[:, 1] > X[:, 2], X[:, 3], X[:, 1] - X[:, 2] * X[:, 3])


def run(n_rows, folder):
    rng = np.random.default_rng(0)
    explainer = ShapleyExplainer(
        slow, sampler="antithetic", max_rows=14 * 5 + 1, random_state=5
    )
    explainer.fit(rng.normal(size=(5, 4)))
    explain_batches(
        explainer, rng.normal(size=(n_rows, 4)), folder, batch_rows=BATCH_ROWS
    )


def started(n_rows, *folders):
    return subprocess.Popen([sys.executable, __file__, str(n_rows), *folders])


def parts(folder):
    return len(list(folder.glob("part-*")))


def killed(folder, n_rows, rng):
    """Return how many parts there were when a run was killed."""
    enough, child = rng.integers(n_rows // BATCH_ROWS), started(n_rows, folder)
    while not (folder / "_manifest.json").exists() or parts(folder) < enough:
        assert child.poll() is None, "a run ended before it was killed"
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.03))
    child.kill()
    child.wait()
    return parts(folder)


def trials(root, n_rows, n_trials, seed):
    """Kill runs into ``root/0``, ...; finish each, and make one in peace.

    Returns the number of parts that each kill found.
    """
    rng, found = np.random.default_rng(seed), []
    for trial in range(n_trials):
        folder, others = root / str(trial), () if trial else (root / "peace",)
        found.append(killed(folder, n_rows, rng))
        assert started(n_rows, folder, *others).wait() == 0, (
            f"the run in {folder} failed"
        )
    return found


if __name__ == "__main__":
    for folder in sys.argv[2:]:
        run(int(sys.argv[1]), Path(folder))
