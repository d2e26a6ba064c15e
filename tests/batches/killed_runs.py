"""Runs that are killed at random moments, and one in peace, each in a fresh interpreter.

``killed_runs.py FOLDER ROWS TRIALS SEED`` starts a run into ``FOLDER/<trial>``, kills it, and has
another interpreter finish it; it prints the number of parts that each kill found, and how many
there are. ``killed_runs.py run FOLDER ROWS`` is such a run.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches

BATCH_ROWS = 5


def slow(X):
    """A model whose repr holds an address."""
    time.sleep(0.004)
    return np.where(X[:, 0] * X[:, 1] > X[:, 2], X[:, 3], X[:, 1] - X[:, 2] * X[:, 3])


def run(folder, n_rows):
    rng = np.random.default_rng(0)
    explainer = ShapleyExplainer(slow, sampler="antithetic", max_rows=14 * 5 + 1, random_state=5)
    explainer.fit(rng.normal(size=(5, 4)))
    explain_batches(explainer, rng.normal(size=(n_rows, 4)), folder, batch_rows=BATCH_ROWS)


def started(folder, n_rows):
    return subprocess.Popen([sys.executable, __file__, "run", folder, str(n_rows)])


def parts(folder):
    return len(list(folder.glob("part-*")))


def killed(folder, n_rows, rng):
    """Return how many parts there were when a run was killed."""
    enough, child = rng.integers(n_rows // BATCH_ROWS), started(folder, n_rows)
    while not (folder / "_manifest.json").exists() or parts(folder) < enough:
        if child.poll() is not None:
            raise SystemExit("a run ended before it was killed")
        time.sleep(0.002)
    time.sleep(rng.uniform(0, 0.03))
    child.kill()
    child.wait()
    return parts(folder)


def finish(folder, n_rows):
    if started(folder, n_rows).wait():
        raise SystemExit(f"the run in {folder.name} failed")


def main(root, n_rows, n_trials, seed):
    rng, found = np.random.default_rng(seed), []
    finish(root / "peace", n_rows)
    for trial in range(n_trials):
        folder = root / str(trial)
        found.append(killed(folder, n_rows, rng))
        finish(folder, n_rows)
    sys.stdout.write(json.dumps([found, parts(root / "peace")]))


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        main(Path(sys.argv[1]), *map(int, sys.argv[2:]))
