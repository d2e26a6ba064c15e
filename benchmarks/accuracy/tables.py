"""Tables of this folder, from its cells."""

import numpy as np
import pandas as pd

from benchmarks.accuracy.methods import AVERAGED, METHODS, PEERS, SPREAD

FLOOR = 1e-10  # of errors in geometric means: nothing is measured below
# A budget's means are over the tasks on which all of these were measured.
ALWAYS = ("leverage", "permutations, all rows", "shap permutation", "shap kernel")
# What is to be shown: ours, theirs, {budget: most of the ratio of squared errors}.
GOALS = (
    ("default", "shap permutation", {2: 1 / 6, 4: 1 / 6, 10: 1 / 6}),
    ("odd", "shap permutation", {4: 1 / 20, 10: 1 / 20}),
    ("odd", "shap kernel", {4: 1 / 40, 10: 1 / 40}),
    ("odd, all rows", "leverage", {4: 1 / 4, 10: 1 / 8, 20: 1 / 15}),
)
CELL_GOALS = (
    ("odd, all rows", "leverage"),
    ("odd, all rows", "permutations, all rows"),
)
CELL_GOAL, CELL_BUDGETS = 1.3, (4, 10, 20)


def errors_at(cells, budget):
    """Return errors by task and method at a budget."""
    at = cells[cells["budget"] == budget]
    return at.pivot_table(index="task", columns="method", values="error", sort=False)


def common(errors):
    """Return the tasks that all of ALWAYS were measured on."""
    return errors.dropna(subset=[method for method in ALWAYS if method in errors])


def geometric(values):
    return float(np.exp(np.log(np.maximum(values, FLOOR)).mean()))


def budgets_of(cells):
    return sorted(cells["budget"].unique())


def means_table(cells):
    """Geometric means by method and budget; in brackets over how many tasks, where not all."""
    table = pd.DataFrame(index=list(METHODS))
    for budget in budgets_of(cells):
        errors = common(errors_at(cells, budget))
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


def ratios_at_rows(cells, ours, theirs, budget):
    """Return the ratios of squared errors at as many model rows as `theirs` really asked for.

    Our error there is interpolated between budgets, in logarithms.
    """
    found = {}
    for task, of_task in cells.groupby("task"):
        curve = of_task[of_task["method"] == ours].sort_values("rows")
        other = of_task[(of_task["method"] == theirs) & (of_task["budget"] == budget)]
        if len(curve) and len(other):
            there, error = np.log(other[["rows", "error"]].to_numpy()[0])
            rows, errors = np.log(
                curve[["rows", "error"]].clip(lower=FLOOR).to_numpy().T
            )
            found[task] = np.exp(np.interp(there, rows, errors) - error)
    return pd.Series(found, dtype=float)


def goals_table(cells):
    """Measured ratios of squared errors, and their targets."""
    lines = []
    for ours, theirs, goals in GOALS:
        hows = {"": ratios} | (
            {", equal rows": ratios_at_rows} if ours in SPREAD else {}
        )
        for budget, goal in goals.items():
            for how, compared in hows.items():
                found = compared(cells, ours, theirs, budget)
                if len(found):
                    ratio, name = geometric(found), f"{ours} / {theirs}, {budget}d{how}"
                    lines.append(
                        (name, f"1/{1 / ratio:.1f}", f"1/{1 / goal:.0f}", ratio <= goal)
                    )
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
    """Number of tasks on which a method has the smallest error, of all and at equal evaluations."""
    table = pd.DataFrame(index=list(METHODS))
    for head, methods in (("all", METHODS), ("averaged", AVERAGED | PEERS)):
        for budget in budgets_of(cells):
            errors = common(errors_at(cells, budget))
            best = errors[[m for m in errors if m in methods]].idxmin(axis=1)
            table[f"{head}, {budget:g}d"] = best.value_counts()
    return table.dropna(how="all").fillna(0).astype(int).rename_axis("method")


def worst_table(cells, n=12):
    """The tasks and budgets where our three are worst beside the best of all others."""
    lines = []
    for ours, others in (
        ("default", METHODS),
        ("odd", METHODS),
        ("odd, all rows", AVERAGED | PEERS),
    ):
        for budget in budgets_of(cells):
            errors = errors_at(cells, budget).clip(lower=FLOOR)
            if ours not in errors:
                continue
            rest = errors[[m for m in errors if m in others and m != ours]]
            for task in errors.index[errors[ours].notna()]:
                if rest.loc[task].notna().any():
                    best = rest.loc[task].idxmin()
                    ratio = errors.loc[task, ours] / rest.loc[task, best]
                    lines.append((ours, f"{task}, {budget:g}d", ratio, best))
    table = pd.DataFrame(lines, columns=["method", "cell", "ratio", "best other"])
    table = table.sort_values(["method", "ratio"], ascending=[True, False])
    return (
        table.groupby("method", sort=False)
        .head(n)
        .round({"ratio": 2})
        .set_index("method")
    )


def tasks_table(cells, methods, budget=10):
    """Errors of each task at one budget, of the methods named."""
    errors = errors_at(cells, budget)
    errors = errors[[method for method in methods if method in errors]]
    return errors.map(lambda e: "" if np.isnan(e) else f"{e:.1e}")
