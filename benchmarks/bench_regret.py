"""What the default loses to the best of the methods that it chooses among.

    python benchmarks/bench_regret.py                          all tasks; some 20 minutes of CPU
    python benchmarks/bench_regret.py friedman-xgb,year-xgb    some

Squared errors |phi - truth|^2/|truth|^2 of walks, blocks and all rows at equal model rows, mean
over four instances (two at the dearest). A budget of m is m evaluations a player. The default does
what its fit chose, with the random numbers of that method, so that a regret is that of the choice:
its error over the best of the three. The table goes to benchmarks/results/regret.md; lines that are
there already are kept.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from accuracy_tasks import CLOCK, TASKS

from skshapley import ShapleyExplainer
from skshapley.samplers import Antithetic, Odd
from skshapley.samplers._odd_blocks import n_blocks

BUDGETS, INSTANCES, FEW = (4, 10, 20, 50), 4, 2
DEAR = 2000  # evaluations, from which on few instances are explained
METHODS = {"walks": Antithetic(), "blocks": Odd(), "all rows": Odd(references="all")}
TABLE = Path(__file__).parent / "results" / "regret.md"
COLUMNS = ["task", "budget", *METHODS, "choice", "regret"]


def found(task, sampler, evals):
    """Return mean squared error and sampler of an explainer; NaN if the budget is too small."""
    background, truth = task.background, task.truth()
    few = slice(FEW if evals >= DEAR else None)
    explainer = ShapleyExplainer(
        task.model,
        response_method=task.respond,
        sampler=sampler,
        max_rows=(evals - 2) * len(background) + 1,
        random_state=0,
    )
    try:
        values = explainer.fit(background).explain(task.instances[few])
    except ValueError as error:
        if "too small" in str(error):
            return np.nan, None
        raise
    apart = ((values.values - truth[few]) ** 2).sum(axis=1) / (truth[few] ** 2).sum(axis=1)
    return apart.mean(), values.settings.sampler


def alike(task, evals):
    """Return which method has the same design as another, and which: with a single block."""
    b, p = len(task.background), task.n_players
    single = b == 1 or n_blocks(np.full(b, 1 / b), p, (evals - 2) // 2) == 1
    return {"all rows": "blocks"} if single else {}


def measured(name):
    """Yield a record for each budget of a task."""
    tasks = TASKS[name](INSTANCES)
    for budget in BUDGETS:
        errors, chosen = {}, "blocks"
        evals = budget * tasks[0].n_players
        same = alike(tasks[0], evals)
        runs = [found(task, "auto", evals) for task in tasks]
        if runs[0][1] == "Exact()":
            continue
        if runs[0][1] is not None and not runs[0][1].startswith("Odd"):
            chosen = "walks"
        errors[chosen] = np.mean([error for error, _ in runs])
        for method in METHODS:
            if method not in errors and method not in same:
                errors[method] = np.mean([found(t, METHODS[method], evals)[0] for t in tasks])
        errors |= {method: errors[other] for method, other in same.items()}
        best = np.nanmin(list(errors.values()))
        yield {
            "task": name,
            "budget": f"{budget} d",
            **{method: errors[method] for method in METHODS},
            "choice": "all rows" if chosen == "blocks" and same else chosen,
            "regret": errors[chosen] / best,
        }


def kept():
    """Return the lines of the table that is there, as records."""
    if not TABLE.exists():
        return []
    text = TABLE.read_text(encoding="utf-8").split("\n\n")[-1].strip().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text[2:]]
    numbers = slice(2, 2 + len(METHODS))
    for line in cells:
        line[numbers] = [float(cell) for cell in line[numbers]]
        line[-1] = float(line[-1])
    return [dict(zip(COLUMNS, line, strict=True)) for line in cells]


def summary(table):
    """Return mean and worst regret by budget, and how often each method was chosen."""
    by = table.groupby("budget", sort=False)
    return pd.DataFrame(
        {
            "tasks": by.size(),
            "mean regret": by["regret"].mean(),
            "worst regret": by["regret"].max(),
            "worst task": by.apply(
                lambda part: part.loc[part["regret"].idxmax(), "task"], include_groups=False
            ),
            "always blocks": by.apply(_regret_of("blocks"), include_groups=False),
            "always walks": by.apply(_regret_of("walks"), include_groups=False),
            "always all rows": by.apply(_regret_of("all rows"), include_groups=False),
        }
    )


def _regret_of(method):
    """Return a function from lines of one budget to the mean regret of always that method."""
    return lambda part: (part[method] / part[list(METHODS)].min(axis=1)).mean()


def markdown(table):
    """Return a frame as a table of Markdown, numbers to three digits."""
    lines = [table.columns, ["---"] * table.shape[1], *table.itertuples(index=False)]
    shown = [[f"{x:.3g}" if isinstance(x, float) else str(x) for x in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in shown)


def main():
    """Measure the tasks of the command line, or all."""
    warnings.simplefilter("ignore")
    names = sys.argv[1].split(",") if len(sys.argv) > 1 else [n for n in TASKS if n not in CLOCK]
    for name in names:
        lines = [line for line in kept() if line["task"] != name]
        lines += measured(name)
        table = pd.DataFrame(lines, columns=COLUMNS)
        order = {f"{budget} d": budget for budget in BUDGETS}
        table = table.sort_values("budget", key=lambda column: column.map(order), kind="stable")
        parts = [markdown(summary(table).reset_index()), markdown(table)]
        TABLE.write_text("\n\n".join(parts) + "\n", encoding="utf-8")
        print(name, flush=True)


if __name__ == "__main__":
    main()
