"""Squared error of the estimators by budget, over the tasks of accuracy_tasks.py.

    python benchmarks/bench_accuracy.py --tasks friedman-xgb,breast-svm --budgets 4,10,20 --seeds 3

The error is |phi - truth|^2/|truth|^2, mean over seeds and instances of a task, geometric mean over
tasks. A budget of m d evaluations is 100 m d model rows. The whole suite takes hours; tasks,
budgets and seeds cut it into runs of a minute. Results are added to benchmarks/output/accuracy.csv.
"""

import argparse
import csv
import logging
import time
import warnings
from pathlib import Path

import numpy as np
from accuracy_tasks import TASKS, explained

from skshapley.samplers import Antithetic, Leverage, Odd
from skshapley.solvers import RegressionAdjustment

OUTPUT = Path(__file__).parent / "output"

# Name: sampler, solver. Those of the second group average each coalition over all background rows.
METHODS = {
    "gp": (Odd(), "gp"),
    "walks": (Antithetic(), "permutation-mean"),
    "gp, averaged": (Odd(references="all"), "gp"),
    "gp, unchosen": (Odd(references="all", adaptive=False), "gp"),
    "walks, averaged": (Antithetic(references="all"), "permutation-mean"),
    "leverage": (Leverage(), "least-squares"),
    "kernel": ("kernel", "least-squares"),
    "regression-adjusted": (Leverage(), RegressionAdjustment()),
    "sample reuse": ("square-root", "sample-reuse"),
}


def ours(method, task, evals, seed):
    """Return values and standard errors of one of METHODS, or None if the budget is too small."""
    sampler, solver = METHODS[method]
    try:
        found = explained(
            task.model,
            task.respond,
            task.background,
            task.instances,
            sampler=sampler,
            solver=solver,
            max_evals=evals,
            random_state=seed,
        )
    except ValueError as error:
        if "too small" in str(error):
            return None
        raise
    return found.values, found.standard_errors


def shap_permutation(task, evals, seed):
    import shap

    masker = shap.maskers.Independent(task.background, max_samples=len(task.background))
    explainer = shap.PermutationExplainer(lambda Z: task.respond(task.model, Z), masker, seed=seed)
    if evals < 2 * task.n_players + 1:
        return None
    return explainer(task.instances, max_evals=evals, silent=True).values, None


def shap_kernel(task, evals, seed):
    import shap

    np.random.seed(seed)  # noqa: NPY002 - the only seed that it knows
    explainer = shap.KernelExplainer(lambda Z: task.respond(task.model, Z), task.background)
    values = explainer.shap_values(task.instances, nsamples=evals - 2, l1_reg=False, silent=True)
    return np.asarray(values), None


PEERS = {"shap permutation": shap_permutation, "shap kernel": shap_kernel}


def measure(method, task, evals, seed, truth):
    """Return squared error, coverage of 95 % intervals and CPU seconds an instance, or None."""
    begin = time.process_time()
    peer = PEERS.get(method)
    found = peer(task, evals, seed) if peer else ours(method, task, evals, seed)
    if found is None:
        return None
    seconds = (time.process_time() - begin) / len(task.instances)
    values, errors = found
    error = ((values - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1)
    covered = np.nan
    if errors is not None and np.isfinite(errors).all():
        covered = np.mean(abs(values - truth) <= 1.96 * errors + 1e-12)
    return error.mean(), covered, seconds


def run(arguments):
    """Print a line a task and budget, and the geometric means."""
    methods = [*METHODS, *(PEERS if arguments.peers else ())]
    if arguments.methods:
        methods = arguments.methods.split(";")
    means = {}
    for name in arguments.tasks.split(",") if arguments.tasks else TASKS:
        tasks = TASKS[name](arguments.rows)
        truths = [task.truth() for task in tasks]
        for budget in map(float, arguments.budgets.split(",")):
            for method in methods:
                evals = int(budget * tasks[0].n_players)
                cells = [
                    measure(method, task, evals, seed, truth)
                    for task, truth in zip(tasks, truths, strict=True)
                    for seed in range(arguments.seeds)
                ]
                if None in cells:
                    continue
                error, covered, seconds = np.mean(cells, axis=0)
                means.setdefault((budget, method), []).append((error, covered, seconds))
                record(name, budget, method, error, covered, seconds)
                print(
                    f"{name:16s} {budget:5g}d {method:20s} error {error:.2e}"
                    f"  covered {covered:.2f}  {1e3 * seconds:.0f} ms",
                    flush=True,
                )
    print("\ngeometric mean of errors; mean coverage and CPU")
    for (budget, method), cells in sorted(means.items()):
        error, covered, seconds = np.array(cells).T
        print(
            f"{budget:5g}d {method:20s} {np.exp(np.log(error).mean()):.2e}"
            f"  {np.mean(covered):.2f}  {1e3 * np.mean(seconds):.0f} ms  ({len(cells)} tasks)"
        )


def record(*cells):
    OUTPUT.mkdir(exist_ok=True)
    path = OUTPUT / "accuracy.csv"
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(["task", "budget", "method", "error", "coverage", "cpu_seconds"])
        writer.writerow(cells)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", default="", help=f"of {', '.join(TASKS)}; all if empty")
    parser.add_argument("--methods", default="", help="separated by semicolons; all if empty")
    parser.add_argument("--budgets", default="2,4,10,20,50", help="evaluations per player")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=2, help="instances a task")
    parser.add_argument("--peers", action="store_true", help="shap's explainers too")
    logging.getLogger("shap").setLevel(logging.ERROR)
    warnings.simplefilter("ignore")
    run(parser.parse_args())
