"""Errors on games beside shapiq's methods, measured by shapiq's own runner.

Structured games have 12, 20 and 30 players, and Shapley values from formulas. Games of
models explain a row against one reference row; they have 10 to 30 players. Their exact
values come from shapiq: from all coalitions, or from its closed form of trees. The
default of this package runs as `skshapley.shapiq.ShapleyApproximator`.

Each method gets 3, 6, 15 or 40 evaluations per player. The error is |phi - truth|^2 /
|truth|^2, as a geometric mean over two seeds. Errors below 1e-12 count as 1e-12. A ratio
compares the default with the best of shapiq's methods on the same game.

shapiq's methods run with their default parameters. Some run in a second variant too: with
paired coalitions, with pairs of players, with a linear proxy, or with an adjusted proxy.
kADDSHAP of order 1 equals KernelSHAP. ProxySPEX is missing, because one estimate takes 20
to 40 seconds; SPEX and ShaplEIG are missing, because they need PyTorch or other packages.

Run ``make bench-games`` with SKSHAPLEY_DATA set. It writes the errors to
doc/results/games.csv and the tables to doc/results/games.md.
"""

import contextlib
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.games import structured

RESULTS = Path(__file__).parents[2] / "doc" / "results"
OURS = "skshapley"
TIMES = (3, 6, 15, 40)
SEEDS = (0, 1)
TINY = 1e-12
KEYS = ["kind", "game", "players", "times"]
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "KernelSHAP, paired": ("KernelSHAP", {"pairing_trick": True}),
    "PolySHAP, pairs": ("PolySHAP", {"max_order": 2}),
    "RegressionMSR, linear": (
        "RegressionMSR",
        {"index": "SV", "proxy_model": "linear"},
    ),
    "ProxySHAP": ("ProxySHAP", {"index": "SV", "max_order": 1}),
    "ProxySHAP, adjusted": (
        "ProxySHAP",
        {"index": "SV", "max_order": 1, "adjustment": True},
    ),
}
# Equal to KernelSHAP at order 1, too slow, or without their packages
LEFT_OUT = ("kADDSHAP", "PolySHAP", "ProxySPEX", "SPEX", "ShaplEIG")


def methods() -> dict[str, type]:
    """Return the approximators by name, ours first."""
    from shapiq import approximator

    from skshapley.shapiq import ShapleyApproximator

    classes = {OURS: ShapleyApproximator}
    for kind in approximator.SV_APPROXIMATORS:
        if kind.__name__ not in LEFT_OUT:
            classes[kind.__name__] = kind
    for label, (name, parameters) in VARIANTS.items():
        classes[label] = variant(getattr(approximator, name), parameters)
    return classes


def variant(kind: type, parameters: dict[str, Any]) -> type:
    """Return an approximator with other defaults."""

    class Variant(kind):
        def __init__(self, n: int, random_state: int | None = None) -> None:
            super().__init__(n=n, random_state=random_state, **parameters)

    return Variant


def known(family: str, p: int):
    """Return a structured game and its Shapley values as a benchmark of shapiq."""
    from shapiq import Game, InteractionValues
    from shapiq_benchmark import Benchmark, Computer

    worth, values = structured.game(family, p)

    class Structured(Game):
        def value_function(self, coalitions: np.ndarray) -> np.ndarray:
            return np.asarray(worth(coalitions), dtype=float)

    class Formula(Computer):
        name = "formula"

        @classmethod
        def supports_game(cls, game: Game) -> bool:
            return isinstance(game, Structured)

        @classmethod
        def supported_indices(cls) -> tuple[str, ...]:
            return ("SV",)

        def _compute(self, index: str, order: int) -> InteractionValues:
            return InteractionValues(
                values,
                index=index,
                min_order=1,
                max_order=order,
                n_players=p,
                interaction_lookup={(j,): j for j in range(p)},
                baseline_value=0.0,
            )

    game = Structured(p, normalize=False)
    return Benchmark(game, Formula(game))


def benchmarks() -> Iterator[tuple[str, str, Any]]:
    """Yield the kind, the name and the benchmark of each game."""
    from shapiq_benchmark import Benchmark

    from benchmarks.games import models

    for family in structured.FAMILIES:
        for p in structured.PLAYERS:
            yield "structured", family, known(family, p)
    for name, game in models.games():
        yield "models", name, Benchmark(game)


def measured() -> Iterator[pd.DataFrame]:
    """Yield the errors and seconds of all methods on each game."""
    from shapiq_benchmark import run

    numbers: dict[tuple[str, int], int] = {}
    for kind, family, benchmark in benchmarks():
        p = benchmark.game.n_players
        number = numbers.get((family, p), 0) + 1
        numbers[family, p] = number
        name = family if kind == "structured" else f"{family} {number}"
        budgets = [times * p for times in TIMES]
        with contextlib.redirect_stdout(io.StringIO()):
            runs = run(benchmark, methods(), budgets, index="SV", order=1, seeds=SEEDS)
        print(kind, name, p, flush=True)
        runs = runs.assign(kind=kind, game=name, players=p)
        yield runs.assign(times=runs["budget"] // p)


def mean_errors(runs: pd.DataFrame) -> pd.DataFrame:
    """Return the errors of each game and number of evaluations, a column for each method."""
    clipped = runs.assign(error=runs["nmse"].clip(lower=TINY))
    table = clipped.pivot_table(
        index=KEYS, columns="approximator", values="error", aggfunc=geometric
    )
    return table[runs["approximator"].unique()].reset_index()


def geometric(frame: pd.DataFrame | pd.Series) -> Any:
    return np.exp(np.log(frame).mean())


def ratios(errors: pd.DataFrame) -> pd.Series:
    """Return the error of the default relative to the best of shapiq's methods."""
    return errors[OURS] / errors.drop(columns=[*KEYS, OURS]).min(axis=1)


def summary(errors: pd.DataFrame) -> str:
    """Return the tables of errors as Markdown."""
    errors = errors.assign(ratio=ratios(errors))
    parts = []
    for kind, part in errors.groupby("kind", sort=False):
        games = part.groupby(["game", "players"]).ngroups
        lines = {}
        for times, cell in part.groupby("times"):
            lines[times] = {
                "ratio to the best of each game": f"{geometric(cell['ratio']):.2f}",
                "median": f"{cell['ratio'].median():.2f}",
                "largest": f"{cell['ratio'].max():.3g}",
                "below 1": f"{np.mean(cell['ratio'] < 1):.0%}",
                "equal": f"{np.mean(cell['ratio'] == 1):.0%}",
            }
        table = pd.DataFrame(lines).T.rename_axis("evaluations per player")
        columns = part.columns.difference([*KEYS, "ratio"], sort=False)
        means = part.groupby("times")[list(columns)].apply(geometric).T
        parts += [
            f"## {kind}, {games} games",
            table.to_markdown(),
            "Errors, geometric means over the games:",
            means.rename_axis("method").to_markdown(floatfmt=".1e"),
            "The ratio of each game, with the best of shapiq's methods:",
            by_game(part),
        ]
    return "\n\n".join(parts)


def by_game(errors: pd.DataFrame) -> str:
    """Return the ratio of each game as Markdown, with the best of shapiq's methods."""
    theirs = errors.drop(columns=[*KEYS, OURS, "ratio"])
    text = errors["ratio"].map("{:.2g}".format) + " (" + theirs.idxmin(axis=1) + ")"
    table = errors.assign(text=text).pivot_table(
        index=["game", "players"], columns="times", values="text", aggfunc="first"
    )
    return table.reset_index().to_markdown(index=False)


def page(errors: pd.DataFrame, runs: pd.DataFrame) -> str:
    """Return the page of errors and seconds."""
    seconds = runs.pivot_table(
        index="approximator", columns="times", values="runtime_s", aggfunc="median"
    )
    text = __doc__.partition("\n\n")[2].partition("Run ``make")[0].strip()
    return "\n\n".join(
        [
            "# Games beside shapiq's methods",
            text,
            summary(errors),
            "## Seconds of an estimate, medians",
            "Games of up to 16 columns are tables, so their models take no time here.",
            seconds.reindex(list(errors.columns[4:])).to_markdown(floatfmt=".2g"),
        ]
    )


def main() -> None:
    """Measure and write."""
    warnings.simplefilter("ignore")
    runs = pd.concat(measured())
    mean_errors(runs).to_csv(RESULTS / "games.csv", index=False, float_format="%.4g")
    errors = pd.read_csv(RESULTS / "games.csv")
    (RESULTS / "games.md").write_text(page(errors, runs) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
