"""Masking curves, their areas and figures, and one page of them: for this folder."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from skshapley.plots import MaskingCurveDisplay

RESULTS = Path(__file__).parents[2] / "doc" / "results" / "structured"


def report(name, curves, cost):
    """Write the curves of an experiment, their areas and figures."""
    frames, areas = [], []
    for method, curve in curves.items():
        frames.append(curve.frame().assign(method=method))
        areas.append({"method": method, "evaluations_per_feature": cost.get(method, 0)})
        mean, n = curve.deletion.mean(axis=1), len(curve.deletion)
        areas[-1] |= curve.area().to_dict() | {
            "deletion_se": mean.std(ddof=1) / np.sqrt(n)
        }
    columns = ["method", "kind", "fraction", "mean", "low", "high"]
    pd.concat(frames)[columns].to_csv(
        RESULTS / f"{name}.csv", index=False, float_format="%.4g"
    )
    table = pd.DataFrame(areas)
    table.to_csv(RESULTS / f"{name}_area.csv", index=False, float_format="%.4g")
    print(name, n, "instances")
    print(table.round(3).to_string())
    draw(name)


def draw(name):
    """Draw the curves of an experiment from its table."""
    table = pd.read_csv(RESULTS / f"{name}.csv")
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.2), layout="constrained")
    for kind, ax in zip(("deletion", "insertion"), axes, strict=True):
        MaskingCurveDisplay(table[table["kind"] == kind], kind).plot(ax)
        ax.get_legend().remove()
    figure.legend(
        *axes[0].get_legend_handles_labels(), loc="outside right upper", frameon=False
    )
    figure.savefig(RESULTS / f"{name}.png", dpi=60)
    plt.close(figure)


def write_tables():
    """Collect the files of the results folder in one page."""
    lines = ["# Structured data at 4 d evaluations", ""]
    for path in sorted(RESULTS.glob("*_area.csv")):
        table = pd.read_csv(path).round(2)
        name = path.stem.removesuffix("_area")
        lines += [f"## {name}", "", f"![masking curves of {name}]({name}.png)", ""]
        lines += [" | ".join(["", *table.columns, ""]), "|---" * table.shape[1] + "|"]
        lines += [
            " | ".join(["", *map(str, row), ""])
            for row in table.itertuples(index=False)
        ]
        lines.append("")
    lines += ["## Relative errors on digits of 4 x 4 tiles", ""]
    errors = pd.read_csv(RESULTS / "tiles.csv")
    errors = errors.pivot_table(
        index=["method", "evaluations"],
        columns="response",
        values="relative_error",
        sort=False,
    ).reset_index()
    lines += [" | ".join(["", *errors.columns, ""]), "|---" * errors.shape[1] + "|"]
    lines += [
        " | ".join(["", *map(str, row), ""]) for row in errors.itertuples(index=False)
    ]
    lines += ["", "## Evaluations on a line", ""]
    costs = (
        pd.read_csv(RESULTS / "scaling.csv")
        .pivot_table(index="d", columns="method", values="evaluations")
        .astype(int)
    )
    lines += [
        " | ".join(["", "d", *costs.columns, ""]),
        "|---" * (costs.shape[1] + 1) + "|",
    ]
    lines += [" | ".join(["", *map(str, row), ""]) for row in costs.itertuples()]
    text = "\n".join(line.strip() for line in lines) + "\n"
    (RESULTS / "tables.md").write_text(text, encoding="utf-8")
