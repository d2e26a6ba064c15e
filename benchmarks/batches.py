"""Tables of 100,000 rows: peak memory, and rows per second.

XGBoost, 100 trees of depth 6, on 30 inputs (the sum of six functions of Friedman,
1991), a background of 100 rows.

A new process explains a Parquet file of that many rows into a folder. The table has the
process's peak memory, with the model and all libraries, and the rows per CPU second,
reading and writing included. "trees" is the default; "sampled" has 64 evaluations in
permutations, and a background of 10 rows.

Run ``python -m benchmarks batches``; it writes
``doc/results/batches.md``.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.tasks import fitted, six_friedmans
from skshapley import ShapleyExplainer
from skshapley.batches import explain_batches

RESULTS = Path(__file__).parents[1] / "doc" / "results" / "batches.md"
SIZES = {"trees": (10_000, 30_000, 100_000), "sampled": (3_000, 10_000, 30_000)}


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
    """Explain a file in a separate process, and print time and memory."""
    model, respond, X, train, _ = fitted("friedman30", "xgb")
    names = [f"x{j}" for j in range(X.shape[1])]
    parameters = (
        {"sampler": "antithetic", "max_rows": 62 * 10 + 1} if kind == "sampled" else {}
    )
    if kind == "sampled":
        parameters["response_method"] = respond
    background = pd.DataFrame(
        X[train[: 10 if kind == "sampled" else 100]], columns=names
    )
    explainer = ShapleyExplainer(model, random_state=0, **parameters).fit(background)
    begin = time.process_time()
    explain_batches(explainer, path, folder)
    seconds = time.process_time() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))


def memory():
    """Yield a line of the table for each kind and size."""
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
                out = subprocess.run(
                    command, check=True, capture_output=True, text=True
                ).stdout
            found = json.loads(out.splitlines()[-1])
            yield f"| {kind} | {rows:,} | {found['peak']:.0f} | {rows / found['seconds']:,.0f} |"


def main():
    lines = [
        "| way | rows | peak memory, MiB | rows per CPU second |",
        "|---|---:|---:|---:|",
    ]
    for line in memory():
        lines.append(line)
        print(line, flush=True)
    text = __doc__.split("\n\n", 1)[1].split("\n\nRun ``")[0]
    table = "\n".join(lines)
    RESULTS.write_text(f"# Tables of any size\n\n{text}\n\n{table}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if len(sys.argv) > 1:
        explain_table(*sys.argv[1:])
    else:
        main()
