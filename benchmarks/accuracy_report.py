"""Tables and figures of bench_accuracy.py, from its runs, into doc/results/accuracy."""

from pathlib import Path

import numpy as np
import pandas as pd
from accuracy_methods import AVERAGED, METHODS, PEERS, SPREAD

RESULTS = Path(__file__).parents[1] / "doc" / "results" / "accuracy"
KEY = ["task", "method", "budget"]
FLOOR = 1e-10  # of errors in geometric means: nothing is measured below
# A budget's means are over the tasks on which all of these were measured.
ALWAYS = ("leverage", "walks", "shap permutation", "shap kernel")
TARGETS = (1e-2, 1e-3, 1e-4, 1e-5)
# What is to be shown: ours, theirs, {budget: most of the ratio of squared errors}.
GOALS = (
    ("default", "shap permutation", {2: 1 / 8, 4: 1 / 20, 10: 1 / 40}),
    ("default", "shap kernel", {4: 1 / 40, 10: 1 / 40}),
    ("gp", "leverage", {4: 1 / 4, 10: 1 / 8, 20: 1 / 15}),
)
CELL_GOALS = (("gp", "leverage"), ("gp", "walks"))
CELL_GOAL, CELL_BUDGETS = 1.3, (4, 10, 20)
DRAWN = {
    "default": ("#c1272d", "o-"),
    "gp, blocks": ("#f28e2b", "s-"),
    "walks, a row each": ("#b5651d", "^-"),
    "gp": ("#0b5394", "o-"),
    "gp, one design": ("#6fa8dc", "s-"),
    "leverage": ("#38761d", "^-"),
    "walks": ("#93c47d", "v-"),
    "shap permutation": ("#444444", "o--"),
    "shap kernel": ("#888888", "s--"),
    "lightshap kernel": ("#8e63b0", "^--"),
    "shapiq kernel": ("#d5a6e6", "v--"),
    "shapiq kADD": ("#e377c2", "D--"),
}


def report(runs, group):
    """Merge the runs into cells.csv and write tables.md and the figures.

    `group` says of a task whether it is in the "suite" or for the "clock"; the others are tables.
    """
    RESULTS.mkdir(parents=True, exist_ok=True)
    cells = merged(runs)
    cells.to_csv(RESULTS / "cells.csv", index=False, float_format="%.4g")
    kinds = cells["task"].map(lambda task: group.get(task, "tables"))
    suite, tables, clock = (cells[kinds == kind] for kind in ("suite", "tables", "clock"))
    parts = {"means": means_table(suite), "goals": goals_table(suite)}
    parts |= {"wins": wins_table(suite), "cells": cells_table(suite)}
    parts |= {"real": means_table(tables), "clock": clock_table(clock)}
    parts |= {"coverage": coverage_table(suite), "tasks": tasks_table(cells[kinds != "clock"])}
    write(parts)
    draw_suite(suite)
    draw_clock(clock)
    draw_cells(cells[kinds != "clock"])


def merged(runs):
    """Return a line for each task, method and budget: those of cells.csv, or newer ones."""
    lines = [(*key, *found) for key, found in runs.items() if found]
    columns = ["task", "budget", "method", "seed", "error", "coverage", "rows", "seconds"]
    runs = pd.DataFrame(lines, columns=columns).astype({"budget": float})
    new = runs.groupby(KEY, as_index=False, sort=False).mean().drop(columns="seed")
    path = RESULTS / "cells.csv"
    if path.exists():
        new = pd.concat([pd.read_csv(path), new])
    new = new.drop_duplicates(KEY, keep="last")
    order = {method: i for i, method in enumerate(METHODS)}
    return new[new["method"].isin(order)].sort_values(
        KEY, key=lambda column: column.map(order) if column.name == "method" else column
    )


def errors_at(cells, budget):
    """Return errors by task and method at a budget."""
    at = cells[cells["budget"] == budget]
    return at.pivot_table(index="task", columns="method", values="error", sort=False)


def common(errors):
    """Return the tasks that all of ALWAYS were measured on."""
    return errors.dropna(subset=[method for method in ALWAYS if method in errors])


def geometric(values):
    return float(np.exp(np.log(np.maximum(values, FLOOR)).mean()))


def budgets_of(cells, least=1):
    return [budget for budget in sorted(cells["budget"].unique()) if budget >= least]


# --- tables ---------------------------------------------------------------------------------------


def means_table(cells):
    """Geometric means by method and budget; in brackets over how many tasks, where not all."""
    table = pd.DataFrame(index=list(METHODS))
    for budget in budgets_of(cells):
        errors = errors_at(cells, budget)
        errors = common(errors) if budget > 1 else errors
        head = f"{budget:g}d ({len(errors)} tasks)"
        for method in errors:
            values = errors[method].dropna()
            if len(values):
                short = f" ({len(values)})" if len(values) < len(errors) else ""
                table.loc[method, head] = f"{geometric(values):.1e}{short}"
    return table.dropna(how="all").rename_axis("method")


def ratios(cells, ours, theirs, budget):
    """Return the ratios of squared errors on the tasks of both, largest first."""
    errors = errors_at(cells, budget)
    if not {ours, theirs} <= set(errors):
        return pd.Series(dtype=float)
    pair = errors[[ours, theirs]].dropna().clip(lower=FLOOR)
    return (pair[ours] / pair[theirs]).sort_values(ascending=False)


def goals_table(cells):
    """Measured ratios of squared errors, and what they were to be."""
    lines = []
    for ours, theirs, goals in GOALS:
        for budget, goal in goals.items():
            found = ratios(cells, ours, theirs, budget)
            if len(found):
                ratio, name = geometric(found), f"{ours} / {theirs}, {budget}d"
                lines.append((name, f"1/{1 / ratio:.1f}", f"1/{1 / goal:.0f}", ratio <= goal))
    for ours, theirs in CELL_GOALS:
        for budget in CELL_BUDGETS:
            found = ratios(cells, ours, theirs, budget)
            if len(found):
                worst, name = found.iloc[0], f"{ours} / {theirs}, {budget}d, worst task"
                shown = f"{worst:.2f} ({found.index[0]})"
                lines.append((name, shown, str(CELL_GOAL), worst <= CELL_GOAL))
    columns = ["squared errors", "measured", "at most", "met"]
    table = pd.DataFrame(lines, columns=columns).set_index("squared errors")
    return table.assign(met=table["met"].map({True: "yes", False: "no"}))


def wins_table(cells):
    """On how many tasks a method has the least error, of all and at equal evaluations."""
    table = pd.DataFrame(index=list(METHODS))
    for head, methods in (("all", METHODS), ("averaged", AVERAGED | PEERS)):
        for budget in budgets_of(cells, 2):
            errors = common(errors_at(cells, budget))
            best = errors[[m for m in errors if m in methods]].idxmin(axis=1)
            table[f"{head}, {budget:g}d"] = best.value_counts()
    return table.dropna(how="all").fillna(0).astype(int).rename_axis("method")


def cells_table(cells, n=12):
    """The tasks and budgets where our two are worst beside the best of all others."""
    lines = []
    for ours, others in (("default", METHODS), ("gp", AVERAGED | PEERS)):
        for budget in budgets_of(cells, 2):
            errors = errors_at(cells, budget).clip(lower=FLOOR)
            if ours not in errors:
                continue
            rest = errors[[m for m in errors if m in others and not m.startswith(ours)]]
            for task in errors.index[errors[ours].notna()]:
                if ours == "gp" or rest.loc[task].notna().any():
                    best = rest.loc[task].idxmin()
                    ratio = errors.loc[task, ours] / rest.loc[task, best]
                    lines.append((ours, f"{task}, {budget:g}d", ratio, best))
    table = pd.DataFrame(lines, columns=["method", "cell", "ratio", "best other"])
    table = table.sort_values(["method", "ratio"], ascending=[True, False])
    return table.groupby("method", sort=False).head(n).round({"ratio": 2}).set_index("method")


def time_to(curve, target):
    """Return CPU seconds at which a curve of one method reaches an error, or NaN.

    Between two budgets the logarithms are interpolated; below the least budget its time is taken.
    """
    curve = curve.sort_values("budget")
    seconds, errors = np.log(curve["seconds"].to_numpy()), np.log(curve["error"].to_numpy())
    reached = np.flatnonzero(errors <= np.log(target))
    if not len(reached):
        return np.nan
    i = reached[0]
    if i == 0:
        return float(np.exp(seconds[0]))
    share = (np.log(target) - errors[i - 1]) / (errors[i] - errors[i - 1])
    return float(np.exp(seconds[i - 1] + share * (seconds[i] - seconds[i - 1])))


def clock_table(cells):
    """CPU milliseconds an instance to an error, and the best peer's time over the default's."""
    table = pd.DataFrame(index=list(METHODS))
    for task, of_task in cells.groupby("task"):
        for target in TARGETS:
            for method, curve in of_task.groupby("method"):
                table.loc[method, f"{task}, {target:.0e}"] = 1e3 * time_to(curve, target)
    table = table.dropna(how="all")
    if not len(table):
        return table
    peers = [method for method in table.index if method in PEERS]
    ours = [method for method in table.index if method not in PEERS]
    shown = table.map(lambda ms: "" if np.isnan(ms) else f"{ms:.3g}")
    for method in ("default", ours and table.loc[ours].mean(axis=1).idxmin()):
        if method in table.index:
            ratio = table.loc[peers].min() / table.loc[method]
            shown.loc[f"best peer / {method}"] = ratio.map(
                lambda x: "" if np.isnan(x) else f"{x:.1f}"
            )
    return shown.rename_axis("method")


def coverage_table(cells):
    """Mean over tasks of the share of values within 1.96 standard errors, and the least task's."""
    table = pd.DataFrame(index=list(METHODS))
    for budget in budgets_of(cells, 2):
        at = cells[(cells["budget"] == budget) & cells["coverage"].notna()]
        for method, found in at.groupby("method"):
            worst = found.loc[found["coverage"].idxmin()]
            table.loc[method, f"{budget:g}d"] = (
                f"{found['coverage'].mean():.2f} ({worst['coverage']:.2f} {worst['task']})"
            )
    return table.dropna(how="all").rename_axis("method").fillna("")


def tasks_table(cells, budget=10):
    """Errors of each task at one budget, of the methods that are drawn."""
    errors = errors_at(cells, budget)
    errors = errors[[method for method in DRAWN if method in errors]]
    return errors.map(lambda e: "" if np.isnan(e) else f"{e:.1e}")


def markdown(frame):
    frame = frame.reset_index().fillna("")
    lines = [list(map(str, frame.columns)), ["---"] * frame.shape[1]]
    lines += [[str(x) for x in row] for row in frame.to_numpy()]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


TITLES = {
    "goals": "What was to be shown",
    "means": "Squared error, geometric mean over the suite",
    "real": "Squared error, geometric mean over models on real tables",
    "wins": "Tasks on which a method has the least error",
    "cells": "Where we are worst",
    "clock": "CPU milliseconds an instance to the same error",
    "coverage": "Coverage of nominal 95 % intervals, mean and worst task",
    "tasks": "Squared error by task at 10 d",
}


def write(parts):
    text = ["# Accuracy by evaluations, model rows and CPU time"]
    for name, title in TITLES.items():
        if len(parts[name]):
            table = markdown(parts[name])
            text.append(f"## {title}\n\n<!-- {name} -->\n\n{table}\n\n<!-- end {name} -->")
            parts[name].to_csv(RESULTS / f"{name}.csv")
    (RESULTS / "tables.md").write_text("\n\n".join(text) + "\n", encoding="utf-8")


# --- figures --------------------------------------------------------------------------------------


def curves(cells, methods):
    """Yield method, budgets, geometric means of error, rows a player and seconds."""
    budgets = budgets_of(cells, 2)
    for method in methods:
        points = []
        for budget in budgets:
            tasks = common(errors_at(cells, budget)).index
            at = cells[(cells["budget"] == budget) & (cells["method"] == method)]
            at = at[at["task"].isin(tasks)]
            if len(at) == len(tasks) and len(at):
                points.append((budget, geometric(at["error"]), geometric(at["seconds"])))
        if points:
            yield method, np.array(points).T


def axes_of(n, height=4.4):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2 * n, height), layout="constrained")
    return figure, figure.subplots(1, n, squeeze=False)[0]


def save(figure, axes, name):
    handles = {}
    for ax in axes:
        ax.set(xscale="log", yscale="log")
        ax.grid(which="major", color="#dddddd", linewidth=0.6)
        handles |= dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = [method for method in DRAWN if method in handles]
    figure.legend([handles[m] for m in order], order, loc="outside lower center", ncols=6)
    figure.savefig(RESULTS / f"{name}.png", dpi=90)


def line(ax, method, x, y):
    colour, style = DRAWN[method]
    ax.plot(x, y, style, color=colour, label=method, markersize=4, linewidth=1.6)


def draw_suite(cells):
    """Geometric means against evaluations, against model rows, and against CPU time."""
    figure, axes = axes_of(3)
    peers = [method for method in DRAWN if method in PEERS]
    ours = [method for method in DRAWN if method in AVERAGED]
    spread = [method for method in DRAWN if method in SPREAD]
    for ax, methods, x, name in (
        (axes[0], ours + peers, 0, "evaluations / d, each over the whole background"),
        (axes[1], [*spread, "gp", *peers], 0, "model rows / 100 d"),
        (axes[2], [*spread, "gp", "leverage", *peers], 2, "CPU seconds an instance"),
    ):
        for method, points in curves(cells, methods):
            line(ax, method, points[x], points[1])
        ax.set(xlabel=name)
    axes[0].set_ylabel("squared error / squared norm")
    save(figure, axes, "suite")


def draw_clock(cells):
    """Errors against CPU time on the two models of 30 inputs."""
    tasks = list(dict.fromkeys(cells["task"]))
    if not tasks:
        return
    figure, axes = axes_of(len(tasks))
    for ax, task in zip(axes, tasks, strict=True):
        for method in DRAWN:
            curve = cells[(cells["task"] == task) & (cells["method"] == method)]
            if len(curve):
                curve = curve.sort_values("budget")
                line(ax, method, curve["seconds"], curve["error"])
        ax.set(title=task, xlabel="CPU seconds an instance")
    axes[0].set_ylabel("squared error / squared norm")
    save(figure, axes, "clock")


def draw_cells(cells):
    """The default beside the best peer, task by task."""
    from matplotlib.figure import Figure

    budgets = [b for b in (2, 4, 10, 20, 50) if b in set(cells["budget"])]
    tables = {b: errors_at(cells, b).clip(lower=FLOOR) for b in budgets}
    tasks = list(dict.fromkeys(cells["task"]))
    figure = Figure(figsize=(7.5, 0.27 * len(tasks) + 1.2), layout="constrained")
    ax = figure.subplots()
    for budget, marker in zip(budgets, "vso^D", strict=False):
        errors = tables[budget].reindex(tasks)
        peers = errors[[m for m in errors if m in PEERS]].min(axis=1)
        if "default" in errors:
            ax.plot(errors["default"] / peers, range(len(tasks)), marker, label=f"{budget:g}d")
    ax.axvline(1, color="#888888", linewidth=0.8)
    ax.set(xscale="log", xlabel="squared error of the default / least of all peers', equal rows")
    ax.set_yticks(range(len(tasks)), tasks)
    ax.grid(axis="x", color="#dddddd", linewidth=0.6)
    ax.legend(ncols=len(budgets), fontsize=8)
    figure.savefig(RESULTS / "cells.png", dpi=90)
