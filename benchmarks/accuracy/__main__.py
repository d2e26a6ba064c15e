"""Squared error of the estimators by evaluations, model rows and CPU time.

    python -m benchmarks.accuracy                           what is missing, and the report
    python -m benchmarks.accuracy --methods default --again     one method anew
    python -m benchmarks.accuracy --report                  tables and figures alone

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

from benchmarks.accuracy.methods import EXACT, METHODS, PEERS, POOLED, SPREAD, Counted
from benchmarks.accuracy.report import note_versions, report
from benchmarks.accuracy.tasks import CLOCK, TASKS
from benchmarks.accuracy.truths import CACHE

RUNS = CACHE / "accuracy.jsonl"
BUDGETS = (1, 2, 4, 10, 20, 50)
CLOCK_BUDGETS = (*BUDGETS, 100, 200)
INSTANCES, CLOCK_INSTANCES = 2, 40


def measure(method, tasks, budget, seed):
    """Return error, coverage, rows and CPU seconds an instance; None if the budget is too small."""
    lines = []
    for task in tasks:
        truth, counted = task.truth(), Counted(task)
        begin = time.process_time()
        found = METHODS[method](counted, int(budget * task.n_players), seed)
        seconds = time.process_time() - begin
        if found is None:
            return None
        values, errors = (None if part is None else part[:: task.step] for part in found)
        if not np.isfinite(values).all():
            return None
        error = ((values - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1)
        covered = np.nan
        if errors is not None and np.isfinite(errors).all():
            covered = np.mean(abs(values - truth) <= 1.96 * errors + 1e-12)
        r = len(task.instances)
        lines.append((error.mean(), covered, counted.rows / r, seconds / r))
    return np.mean(lines, axis=0).tolist()


def wanted(arguments):
    """Yield task, budget, method and seed of all runs asked for."""
    tasks = arguments.tasks.split(",") if arguments.tasks else TASKS
    methods = arguments.methods.split(";") if arguments.methods else METHODS
    for task in tasks:
        budgets = CLOCK_BUDGETS if task in CLOCK else BUDGETS
        if arguments.budgets:
            budgets = [float(b) for b in arguments.budgets.split(",")]
        for budget in budgets:
            for method in methods:
                if not sensible(task, budget, method):
                    continue
                for seed in range(int(min(arguments.seeds, METHODS[method].most_seeds))):
                    yield task, f"{budget:g}", method, seed


def tasks_of(name, among):
    """Return the tasks of a name; `among` more instances than are judged, for the clock."""
    return TASKS[name](CLOCK_INSTANCES, among) if name in CLOCK else TASKS[name](INSTANCES)


def sensible(task, budget, method):
    """Whether to run a method: below 2 d only spread ones, and exact ones once, on a model."""
    if method in EXACT:
        return task in CLOCK and task.endswith("xgb") and budget == min(CLOCK_BUDGETS)
    if task in CLOCK and method in POOLED and budget > 50:
        return False
    return budget >= 2 or method in SPREAD


def done():
    """Return the runs in the cache; later ones replace earlier ones."""
    if not RUNS.exists():
        return {}
    lines = (json.loads(line) for line in RUNS.read_text().splitlines())
    return {tuple(line["key"]): line["found"] for line in lines}


def forget(keys):
    """Take runs out of the cache, so that an interrupted `--again` goes on without it."""
    lines = [{"key": key, "found": found} for key, found in done().items() if key not in keys]
    RUNS.write_text("".join(json.dumps(line) + "\n" for line in lines))


def run(arguments):
    """Do the runs that are missing, one after the other."""
    RUNS.parent.mkdir(parents=True, exist_ok=True)
    if arguments.again:
        forget(set(wanted(arguments)))
    found, begin, made, warm = done(), time.process_time(), {}, set()
    for key in wanted(arguments):
        task, budget, method, seed = key
        name = task, task in CLOCK and method in POOLED
        if key in found:
            continue
        if time.process_time() - begin > arguments.seconds:
            return
        if name not in made:
            made[name] = tasks_of(*name)
        tasks = made[name]
        if tasks[0].n_players > METHODS[method].most_players:
            continue
        if method in PEERS and (task, method) not in warm:  # what is compiled on the first call
            measure(method, tasks, float(budget), seed)
            warm.add((task, method))
        line = measure(method, tasks, float(budget), seed)
        with RUNS.open("a") as file:
            file.write(json.dumps({"key": key, "found": line}) + "\n")
        if line:
            error, _, rows, seconds = line
            print(
                f"{task:15s} {budget:>3s}d {method:22s} {seed} error {error:.1e}"
                f"  rows {rows:.0f}  {1e3 * seconds:.0f} ms",
                flush=True,
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", default="", help=f"of {', '.join(TASKS)}; all if empty")
    parser.add_argument("--methods", default="", help=f"of {'; '.join(METHODS)}; all if empty")
    parser.add_argument("--budgets", default="", help="evaluations per player")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=np.inf, help="CPU after which to stop")
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
