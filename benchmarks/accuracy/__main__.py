"""Squared error of the estimators by evaluations, model rows and CPU time.

    python -m benchmarks accuracy                           what is missing, and the report
    python -m benchmarks accuracy --methods default --again     one method anew
    python -m benchmarks accuracy --report                  tables and figures alone

The error is |phi - truth|^2/|truth|^2, mean over seeds and instances of a task. A budget of m is m
evaluations a player, which is 100 m model rows a player where the background has 100. A run (task,
method, budget, seed) is kept in benchmarks/.cache/accuracy.jsonl as soon as it is done and never
done twice; --tasks, --methods, --budgets and --seconds cut the suite, which takes hours, into
pieces. The report writes doc/results/accuracy: cells.csv, which it also starts from, so that
methods that were not measured here keep their lines; tables and figures.
"""

import argparse
import json
import logging
import time
import warnings

import numpy as np

from benchmarks.accuracy.methods import METHODS, PEERS, Counted
from benchmarks.accuracy.report import note_versions, report
from benchmarks.accuracy.tasks import TASKS
from benchmarks.accuracy.truths import CACHE

RUNS = CACHE / "accuracy.jsonl"
BUDGETS = (2, 4, 10, 20, 50)
INSTANCES = 2


def measure(method, tasks, budget, seed):
    """Return error, rows and CPU seconds of a row; None if the budget is too small."""
    lines = []
    for task in tasks:
        truth, counted = task.truth(), Counted(task)
        begin = time.process_time()
        found = METHODS[method](counted, int(budget * task.n_players), seed)
        seconds = time.process_time() - begin
        if found is None:
            return None
        if not np.isfinite(found).all():
            return None
        error = ((found - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1)
        r = len(task.instances)
        lines.append((error.mean(), counted.rows / r, seconds / r))
    return np.mean(lines, axis=0).tolist()


def wanted(arguments):
    """Yield task, budget, method and seed of all runs asked for."""
    tasks = arguments.tasks.split(",") if arguments.tasks else TASKS
    methods = arguments.methods.split(";") if arguments.methods else METHODS
    for task in tasks:
        budgets = (
            [float(b) for b in arguments.budgets.split(",")]
            if arguments.budgets
            else BUDGETS
        )
        for budget in budgets:
            for method in methods:
                for seed in range(
                    int(min(arguments.seeds, METHODS[method].most_seeds))
                ):
                    yield task, f"{budget:g}", method, seed


def done():
    """Return the runs in the cache; later ones replace earlier ones."""
    if not RUNS.exists():
        return {}
    lines = (json.loads(line) for line in RUNS.read_text().splitlines())
    return {tuple(line["key"]): line["found"] for line in lines}


def forget(keys):
    """Take runs out of the cache, so that an interrupted `--again` goes on without it."""
    lines = [
        {"key": key, "found": found} for key, found in done().items() if key not in keys
    ]
    RUNS.write_text("".join(json.dumps(line) + "\n" for line in lines))


def run(arguments):
    """Do the runs that are missing, one after the other."""
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    if arguments.again:
        forget(set(wanted(arguments)))
    found, begin, made, warm = done(), time.process_time(), {}, set()
    for key in wanted(arguments):
        task, budget, method, seed = key
        if key in found:
            continue
        if time.process_time() - begin > arguments.seconds:
            return
        if task not in made:
            made[task] = TASKS[task](INSTANCES)
        tasks = made[task]
        if tasks[0].n_players > METHODS[method].most_players:
            continue
        if (
            method in PEERS and (task, method) not in warm
        ):  # what is compiled on the first call
            measure(method, tasks, float(budget), seed)
            warm.add((task, method))
        line = measure(method, tasks, float(budget), seed)
        with RUNS.open("a") as file:
            file.write(json.dumps({"key": key, "found": line}) + "\n")
        if line:
            error, rows, seconds = line
            print(
                f"{task:15s} {budget:>3s}d {method:22s} {seed} error {error:.1e}"
                f"  rows {rows:.0f}  {1e3 * seconds:.0f} ms",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--tasks", default="", help=f"of {', '.join(TASKS)}; all if empty"
    )
    parser.add_argument(
        "--methods", default="", help=f"of {'; '.join(METHODS)}; all if empty"
    )
    parser.add_argument("--budgets", default="", help="evaluations per player")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument(
        "--seconds", type=float, default=np.inf, help="CPU after which to stop"
    )
    parser.add_argument("--again", action="store_true", help="forget them first")
    parser.add_argument("--report", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    logging.getLogger("shap").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    if not arguments.report:
        run(arguments)
        note_versions()
    report(done())


if __name__ == "__main__":
    main()
