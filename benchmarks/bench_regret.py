"""What the default loses to the best of the methods that it chooses among.

    python benchmarks/bench_regret.py                          all tasks; hours
    python benchmarks/bench_regret.py friedman-xgb,year-xgb    some

Squared errors |phi - truth|^2/|truth|^2, mean over seeds and four instances, of the default, of
blocks, of all rows and of walks, at equal model rows. A budget of m is m evaluations a player. The
table goes to benchmarks/results/regret.md; lines that are there already are kept.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from accuracy_methods import METHODS, Counted
from accuracy_tasks import CLOCK, TASKS

BUDGETS, SEEDS, INSTANCES = (4, 10, 20, 50), 2, 4
OURS = ("default", "gp, blocks", "gp", "walks, a row each")
TABLE = Path(__file__).parent / "results" / "regret.md"


def error(tasks, method, budget):
    """Return the mean squared error of a method; NaN if the budget is too small for it."""
    errors = []
    for task in tasks:
        truth = task.truth()
        for seed in range(SEEDS):
            found = METHODS[method](Counted(task), budget * task.n_players, seed)
            if found is None:
                return np.nan
            errors.append(((found[0] - truth) ** 2).sum(axis=1) / (truth**2).sum(axis=1))
    return np.mean(errors)


def measured(name):
    """Yield a record for each budget of a task."""
    tasks = TASKS[name](INSTANCES)
    for budget in BUDGETS:
        errors = {method: error(tasks, method, budget) for method in OURS}
        best = np.nanmin([errors[method] for method in OURS[1:]])
        yield {"task": name, "budget": f"{budget} d", **errors, "regret": errors["default"] / best}


def kept():
    """Return the lines of the table that is there, as records."""
    if not TABLE.exists():
        return []
    table = pd.read_csv(TABLE, sep="|", skiprows=[1], skipinitialspace=True).iloc[:, 1:-1]
    table.columns = table.columns.str.strip()
    for column in ("task", "budget"):
        table[column] = table[column].str.strip()
    return table.to_dict("records")


def main():
    """Measure the tasks of the command line, or all."""
    warnings.simplefilter("ignore")
    names = sys.argv[1].split(",") if len(sys.argv) > 1 else [n for n in TASKS if n not in CLOCK]
    for name in names:
        lines = [line for line in kept() if line["task"] != name]
        lines += measured(name)
        table = pd.DataFrame(lines).to_markdown(index=False, floatfmt=".3g")
        TABLE.write_text(f"{table}\n", encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main()
