"""Results of this benchmark as tables and figures in doc/results/accuracy."""

from importlib.metadata import version
from pathlib import Path

import pandas as pd

from benchmarks.accuracy.figures import DRAWN, draw_cells, draw_suite
from benchmarks.accuracy.methods import METHODS
from benchmarks.accuracy.tables import (
    goals_table,
    means_table,
    tasks_table,
    wins_table,
    worst_table,
)
from benchmarks.accuracy.tasks import SUITE, TASKS

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "doc" / "results" / "accuracy"
# What the README shows of the means, by the names that readers know
SHOWN = {
    "odd": 'skshapley, `sampler="odd"`',
    "default": "skshapley, default",
    "shapiq RegressionMSR": "shapiq RegressionMSR, linear",
    "shapiq LeverageSHAP": "shapiq LeverageSHAP",
    "shapiq PolySHAP": "shapiq PolySHAP, pairs",
    "shapiq OddSHAP": "shapiq OddSHAP",
    "shapiq ProxySHAP": "shapiq ProxySHAP",
    "shap permutation": "shap PermutationExplainer",
    "shap kernel": "shap KernelExplainer(l1_reg=False)",
    "lightshap kernel": "LightSHAP, kernel",
    "shapiq kernel": "shapiq KernelSHAP",
}
SHOWN_BUDGETS = (2, 4, 10, 20)
PACKAGES = ("shap", "shapiq", "lightshap", "xgboost-cpu")
KEY = ["task", "method", "budget"]
TITLES = {
    "goals": "Goals",
    "means": "Squared error, geometric mean over the suite",
    "real": "Squared error, geometric mean over models on real tables",
    "wins": "Tasks on which a method has the smallest error",
    "worst": "Tasks on which other methods are better",
    "tasks": "Squared error by task at 10 d",
}


def report(runs):
    """Merge the runs into cells.csv and write the README's table, tables.md and the figures."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    cells = merged(runs)
    cells.to_csv(RESULTS / "cells.csv", index=False, float_format="%.4g")
    parts = tables(pd.read_csv(RESULTS / "cells.csv"))
    write(parts)
    show(parts["means"])
    draw_suite(cells[cells["task"].isin(SUITE)], RESULTS)
    draw_cells(cells, RESULTS)


def tables(cells):
    """Return all tables of the cells, by name."""
    in_suite = cells["task"].isin(SUITE)
    suite, real = cells[in_suite], cells[~in_suite]
    return {
        "goals": goals_table(suite),
        "means": means_table(suite),
        "real": means_table(real),
        "wins": wins_table(suite),
        "worst": worst_table(suite),
        "tasks": tasks_table(cells, DRAWN),
    }


def merged(runs):
    """Return a line for each task, method and budget, from cells.csv or newer runs."""
    lines = [(*key, *found) for key, found in runs.items() if found]
    columns = ["task", "budget", "method", "seed", "error", "rows", "seconds"]
    runs = pd.DataFrame(lines, columns=columns).astype({"budget": float})
    cells = runs.groupby(KEY, as_index=False, sort=False).mean().drop(columns="seed")
    path = RESULTS / "cells.csv"
    if path.exists():
        cells = pd.concat([pd.read_csv(path), cells]).drop_duplicates(KEY, keep="last")
    tasks = dict.fromkeys([*TASKS, *sorted(cells["task"])])
    order = {name: i for i, name in enumerate([*tasks, *METHODS])}
    cells = cells[cells["method"].isin(METHODS)]
    return cells.sort_values(
        KEY, key=lambda column: column.map(lambda x: order.get(x, x))
    )


def markdown(frame):
    frame = frame.reset_index().fillna("")
    lines = [list(map(str, frame.columns)), ["---"] * frame.shape[1]]
    lines += [[str(x) for x in row] for row in frame.to_numpy()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def note_versions():
    """Store the versions of the measured packages, in their environment."""
    found = {name: version(name) for name in PACKAGES}
    lines = "".join(f"{name},{number}\n" for name, number in found.items())
    (RESULTS / "versions.csv").write_text("package,version\n" + lines, encoding="utf-8")


def show(means):
    """Put the table of the README in its place, with the versions that it is of."""
    heads = {budget: f"{budget}d (" for budget in SHOWN_BUDGETS}
    columns = [next(c for c in means if c.startswith(head)) for head in heads.values()]
    lines = ["| evaluations per player | " + " | ".join(map(str, SHOWN_BUDGETS)) + " |"]
    lines.append("| --- |" + " ---: |" * len(SHOWN_BUDGETS))
    for method, name in SHOWN.items():
        if method in means.index:
            cells = means.loc[method, columns].fillna("")
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
    versions = pd.read_csv(RESULTS / "versions.csv", dtype=str)
    listed = ", ".join(" ".join(pair) for pair in versions.itertuples(index=False))
    table = "\n".join([*lines, "", f"Measured with {listed}."])
    readme = ROOT / "README.md"
    text = readme.read_text("utf-8")
    head, tail = text.split("<!-- peers -->")[0], text.split("<!-- end peers -->")[1]
    readme.write_text(
        f"{head}<!-- peers -->\n\n{table}\n\n<!-- end peers -->{tail}", encoding="utf-8"
    )


def write(parts):
    text = ["# Accuracy by evaluations, model rows and CPU time"]
    for name, title in TITLES.items():
        if len(parts[name]):
            table = markdown(parts[name])
            text.append(
                f"## {title}\n\n<!-- {name} -->\n\n{table}\n\n<!-- end {name} -->"
            )
            parts[name].to_csv(RESULTS / f"{name}.csv")
    (RESULTS / "tables.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")
