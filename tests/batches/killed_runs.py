"""A run that is killed again and again, and one in peace; prints how far each kill let it come.

Takes a folder, a number of rows and a seed. The runs are forked, so that imports are paid for once.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches

BATCH_ROWS = 5


def slow(X):
    time.sleep(0.004)
    return np.where(X[:, 0] * X[:, 1] > X[:, 2], X[:, 3], X[:, 1] - X[:, 2] * X[:, 3])


def run(folder, n_rows):
    """Explain the rows; returns for a child process only, with its exit status."""
    rng = np.random.default_rng(0)
    explainer = ShapleyExplainer(slow, sampler="antithetic", max_evals=16, random_state=5)
    explainer.fit(rng.normal(size=(5, 4)))
    explain_batches(explainer, rng.normal(size=(n_rows, 4)), folder, batch_rows=BATCH_ROWS)


def forked(folder, n_rows):
    child = os.fork()
    if not child:
        status = 1
        try:
            run(folder, n_rows)
            status = 0
        finally:
            os._exit(status)
    return child


def parts(folder):
    return len(list(folder.glob("part-*")))


def main(root, n_rows, seed):
    rng = np.random.default_rng(seed)
    killed, reached = root / "killed", []
    while parts(killed) < 0.6 * n_rows / BATCH_ROWS:
        before, child = parts(killed), forked(killed, n_rows)
        while parts(killed) == before:
            if os.waitpid(child, os.WNOHANG)[0]:
                raise SystemExit("a run ended before it wrote anything")
            time.sleep(0.005)
        time.sleep(rng.uniform(0, 0.03))
        os.kill(child, signal.SIGKILL)
        if os.waitpid(child, 0)[1] == signal.SIGKILL:
            reached.append(parts(killed))
    for folder in (killed, root / "peace"):
        if os.waitpid(forked(folder, n_rows), 0)[1]:
            raise SystemExit(f"the run in {folder.name} failed")
    sys.stdout.write(json.dumps(reached))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
