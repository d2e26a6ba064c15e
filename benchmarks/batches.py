"""Tables of 100,000 rows: rows per second beside other packages at equal error, and peak memory.

XGBoost, 100 trees of depth 6, on 30 inputs (the sum of six functions of Friedman, 1991), a
background of 100 rows.

Speed: the margin, explained by each package with the least of a ladder of budgets that brings the
mean squared error, relative to the squared attributions, down to 1e-3; the truth is that of shap's
TreeExplainer. Rows per CPU second on one thread, of 400 rows here and 20 there, since others work
at each row anew. "default" reads the trees; "default, sampled" is what it does with a model that it
cannot read.

Memory: a new process explains a Parquet file of so many rows into a folder; what is given is the
most memory that it held, with the model and all libraries, and rows per CPU second, reading and
writing included. "trees" is the default; "sampled" has walks of 64 evaluations and a background of
10 rows.

Run ``OMP_NUM_THREADS=1 python -m benchmarks.batches``; it writes
``benchmarks/results/batches.md``.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.accuracy.methods import METHODS, PEERS, Counted
from benchmarks.accuracy.tasks import fitted, model_task, six_friedmans
from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches

RESULTS = Path(__file__).parent / "results" / "batches.md"
INSTANCES, OTHERS, ERROR = 400, 20, 1e-3
LADDER = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)
OURS = {
    "default": "default, exact trees",
    "default, sampled": "default",
    "walks, a row each": "walks, a row each",
}
THEIRS = ("shap permutation", "shap kernel", "lightshap permutation", "lightshap kernel")
SIZES = {"trees": (10_000, 30_000, 100_000), "sampled": (3_000, 10_000, 30_000)}


def rates():
    """Yield a line of the first table for each method."""
    methods = {name: METHODS[method] for name, method in OURS.items()}
    for name, method in {**methods, **{name: PEERS[name] for name in THEIRS}}.items():
        rows = INSTANCES if name in OURS else OTHERS
        task = model_task("friedman30", "xgb", rows)
        truth = task.truth()
        for budget in LADDER:
            counted, begin = Counted(task), time.process_time()
            found = method(counted, budget * task.n_players, 0)
            seconds = time.process_time() - begin
            if found is None:
                continue
            error = np.mean(((found[0] - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1))
            if error <= ERROR:
                exact = name == "default"
                spent = "-" if exact else f"{budget}d"
                yield f"| {name} | {spent} | {error:.1e} | {rows / seconds:,.1f} |"
                break


def write_table(path, rows):
    """Write that many rows of the data, 10,000 at a time, so that this process stays small too."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, _ = six_friedmans(10_000)
    names = [f"x{j}" for j in range(X.shape[1])]
    table = pa.Table.from_pandas(pd.DataFrame(X, columns=names), preserve_index=False)
    with pq.ParquetWriter(path, table.schema) as writer:
        for start in range(0, rows, len(X)):
            writer.write_table(table.slice(0, min(len(X), rows - start)))


def explain_table(kind, path, folder):
    """Explain a file, and print what it took: run in a process of its own."""
    model, respond, X, train, _ = fitted("friedman30", "xgb")
    names = [f"x{j}" for j in range(X.shape[1])]
    parameters = {"sampler": "antithetic", "max_rows": 62 * 10 + 1} if kind == "sampled" else {}
    if kind == "sampled":
        parameters["response_method"] = respond
    background = pd.DataFrame(X[train[: 10 if kind == "sampled" else 100]], columns=names)
    explainer = ShapleyExplainer(model, random_state=0, **parameters).fit(background)
    begin = time.process_time()
    explain_batches(explainer, path, folder)
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))


def memory():
    """Yield a line of the second table for each kind and size."""
    for kind, sizes in SIZES.items():
        for rows in sizes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "rows.parquet"
                write_table(path, rows)
                command = [
                    sys.executable,
                    "-m",
                    "benchmarks.batches",
                    kind,
                    str(path),
                    f"{folder}/phi",
                ]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            found = json.loads(out.splitlines()[-1])
            yield f"| {kind} | {rows:,} | {found['peak']:.0f} | {rows / found['seconds']:,.0f} |"


def main():
    speed = [
        "| method | budget | squared error | rows per CPU second |",
        "|---|---:|---:|---:|",
    ]
    held = ["| way | rows | peak memory, MiB | rows per CPU second |", "|---|---:|---:|---:|"]
    for lines, found in ((speed, rates()), (held, memory())):
        for line in found:
            lines.append(line)
            print(line, flush=True)
    text = __doc__.split("\n\n", 1)[1].split("\n\nRun ``")[0]
    tables = "\n".join(speed) + "\n\n" + "\n".join(held)
    RESULTS.write_text(f"# Tables of any size\n\n{text}\n\n{tables}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        explain_table(*sys.argv[1:])
    else:
        main()
