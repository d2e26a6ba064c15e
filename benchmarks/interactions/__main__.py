"""Interactions of pairs beside shapiq's, on four sets of games.

- "benchmark" has complete games of sixteen families. Constants of the Gaussian process
  were chosen on these families.
- "held-out" has twelve families of published kinds. One constant, the start of a fit,
  was chosen on other games of these kinds.
- "jumps" has ten families of games with steps. One constant, the least weight of an
  observed value, was chosen on the gloves.
- "models" has rows of tree models with 10 to 30 inputs.

The error is sum (I - truth)^2/sum truth^2 over all pairs, as a geometric mean over
games and seeds. True values come from enumeration, and for trees from closed forms. All
methods use the same values and the same number of evaluations, m times the number of
players. Each family has two games with two runs each, and each model has six rows.

Coverage is the share of pairs within 1.96 standard errors, with one run of eight games
of each family, or of 24 rows of a model. The intervals of a game hold or fail together,
so the coverage of a family has a standard deviation of .02.

Some families have a coverage above .98, for these reasons:

- Games of "products" and "one_tree" are solved at 20 p. Their errors allow for what
  unseen pairs may hide.
- Errors of games with steps allow for a step that no pair has shown.
- With 30 players, there are more variances of pairs than observed values at 10 p, and
  the factor for their number is large.
- True errors differ from stated ones by a factor of 1.3 between games of one family. 25
  properties of the observed pairs explain only a fifth of this variance. Over 14 other
  games of each family of the first three sets, at 10 to 25 p, intervals cover .98 on
  average, and .95 to 1 by family. No cell of a family and a budget is below .92. If the
  factor for the number of pairs is smaller, intervals are a tenth narrower and cover
  .97. Then 7 of 190 cells are below .92.

    python -m benchmarks interactions [--sets models] [--games 2] [--more 6] [--shapiq]
    python -m benchmarks interactions --cost

`--shapiq` needs Python 3.12 and shapiq 1.8, which `make bench-interactions` installs.
`--write` puts the tables of all sets that ran into
`doc/results/interactions.md`. `--cost` measures what interactions add to the
time of an instance.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.interactions.games import FAMILIES
from benchmarks.interactions.held_out import HELD_OUT
from benchmarks.interactions.jumps import JUMPING
from skshapley import shapley_values
from skshapley.indices import PAIR_INDICES, enumerated

RESULTS = Path(__file__).parents[2] / "doc" / "results" / "interactions.md"
TINY = 1e-12  # an error as good as none, for geometric means
ROUNDING = 1e-9  # of a game's own values
THEIRS = (
    ("SVARM-IQ", "SVARMIQ", {"index": "SII"}),
    ("KernelSHAP-IQ", "KernelSHAPIQ", {"index": "SII"}),
    ("KernelSHAP-IQ, paired", "KernelSHAPIQ", {"index": "SII", "pairing_trick": True}),
    ("inconsistent", "InconsistentKernelSHAPIQ", {"index": "SII"}),
    ("permutations", "PermutationSamplingSII", {}),
    ("ProxySHAP", "ProxySHAP", {"index": "SII"}),
)


@dataclass
class Game:
    """The values of coalitions, and the interactions of all pairs ``(p, p)``."""

    function: Callable
    n_players: int
    truth: np.ndarray

    @classmethod
    def of_table(cls, values: np.ndarray) -> "Game":
        """Return the game of the values of all coalitions."""
        p = len(values).bit_length() - 1
        bits = 1 << np.arange(p)
        pairs = enumerated(values[:, None], PAIR_INDICES["shapley"], 2)[:, 0]
        return cls(
            lambda S: values[np.asarray(S, dtype=bool) @ bits], p, square(pairs, p)
        )

    def __call__(self, coalitions: np.ndarray) -> np.ndarray:
        return self.function(coalitions)


def square(pairs: np.ndarray, p: int) -> np.ndarray:
    out = np.zeros((p, p))
    out[np.triu_indices(p, 1)] = pairs
    return out + out.T


def ours(game: Game, evals: int, seed: int, **kwargs):
    """Return interactions and whether their nominal 95 % intervals reach how far, ``(p, p)``."""
    found = shapley_values(
        game,
        sampler="odd",
        max_evals=evals,
        random_state=seed,
        interactions=True,
        **kwargs,
    ).interactions
    return found.values[0], 1.96 * found.standard_errors[0]


def theirs(name: str, kwargs: dict, game: Game, evals: int, seed: int) -> np.ndarray:
    import shapiq.approximator

    p = game.n_players
    maker = getattr(shapiq.approximator, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = maker(n=p, max_order=2, random_state=seed, **kwargs)
        # shapiq takes games of value 0 for the empty coalition for granted in places
        empty = game(np.zeros((1, p), dtype=bool))
        found = made.approximate(
            evals, lambda S: game(np.atleast_2d(S).astype(bool)) - empty
        )
    values = found.get_n_order_values(2)
    return (values + values.T) / 2


def measured(
    games: dict, budgets: list[int], seeds: int, shapiq: bool, compared: float = 1.0
) -> dict:
    """Return the errors by (method, family, budget), and the coverage by (family, budget).

    Only a share of the games is `compared`; all others have one run, for the coverage.
    """
    errors: dict = {}
    covered: dict = {}
    for family, made in games.items():
        for i, game in enumerate(made):
            p, truth = game.n_players, game.truth
            largest = np.abs(game(np.tile([[True], [False]], p))).max()
            upper = np.triu_indices(p, 1)
            for m in budgets:
                for seed in range(seeds if i < compared * len(made) else 1):
                    found, reach = ours(game, m * p, seed)
                    if seed == 0:
                        inside = np.abs(found - truth) <= reach + ROUNDING * largest
                        covered.setdefault((family, m), []).append(inside[upper].mean())
                    if i >= compared * len(made):
                        continue
                    estimates = {"skshapley": found}
                    for label, name, kwargs in THEIRS if shapiq else ():
                        estimates[label] = theirs(name, kwargs, game, m * p, seed)
                    for label, found in estimates.items():
                        error = ((found - truth) ** 2).sum() / (truth**2).sum()
                        errors.setdefault((label, family, m), []).append(error + TINY)
        print(
            family,
            {m: f"{geometric(errors['skshapley', family, m]):.2g}" for m in budgets},
        )
    return {"errors": errors, "covered": covered}


def geometric(numbers) -> float:
    return float(np.exp(np.mean(np.log(numbers))))


def tables(found: dict, games: dict, budgets: list[int]) -> str:
    """Return the tables of errors and coverage as Markdown."""
    errors, covered = found["errors"], found["covered"]
    labels = list(dict.fromkeys(label for label, *_ in errors))
    lines = []
    for m in budgets:
        lines += [
            f"At {m} p evaluations:",
            "",
            "| family | p | coverage | " + " | ".join(labels),
        ]
        lines[-1] += " |"
        lines.append("|---|---|---|" + "---|" * len(labels))
        for family, made in games.items():
            each = [f"{geometric(errors[label, family, m]):.1e}" for label in labels]
            coverage = f"{np.mean(covered[family, m]):.3f}"
            lines.append(
                f"| {family} | {made[0].n_players} | {coverage} | {' | '.join(each)} |"
            )
        means = [geometric([geometric(errors[n, f, m]) for f in games]) for n in labels]
        mean = np.mean([np.mean(covered[f, m]) for f in games])
        lines.append(
            f"| mean | | {mean:.3f} | "
            f"{' | '.join(f'**{value:.1e}**' for value in means)} |"
        )
        if len(labels) > 1:
            lines += ["", _against_the_best(errors, labels, games, m)]
        lines.append("")
    return "\n".join(lines)


def _against_the_best(errors: dict, labels: list[str], games: dict, m: int) -> str:
    ratios = []
    for family in games:
        runs = np.array([errors[label, family, m] for label in labels])
        ratios += (runs[0] / runs[1:].min(axis=0)).tolist()
    better = np.mean(np.array(ratios) < 1)
    return (
        f"Relative to the best of the others, run by run: {geometric(ratios):.3f} in "
        f"the geometric mean; better in {better:.0%} of {len(ratios)} runs."
    )


def cost(runs: int = 3) -> None:
    """Print the processor time of an instance with and without interactions."""
    print("| p | evaluations | without | with |\n|---|---|---|---|")
    for p in (10, 20, 30, 60, 100):
        rng = np.random.default_rng(p)
        first, second = rng.normal(size=(2, p)) / np.sqrt(p)
        for m in (10, 20):
            spent = []
            for wanted in (False, True):
                start = time.process_time()
                for seed in range(runs):
                    shapley_values(
                        lambda S, a=first, b=second: np.tanh(S @ a) * np.exp(S @ b),
                        n_players=p, sampler="odd", max_evals=m * p, interactions=wanted,
                        random_state=seed,
                    )  # fmt: skip
                spent.append((time.process_time() - start) / runs)
            print(
                f"| {p} | {m * p} | {spent[0]:.3f} s | {spent[1]:.3f} s |", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=2)
    parser.add_argument("--more", type=int, default=6)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--budgets", default="10,20")
    parser.add_argument("--sets", default="benchmark,held-out,jumps,models")
    for flag in ("--shapiq", "--write", "--cost"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    if options.cost:
        cost()
        return
    budgets = [int(m) for m in options.budgets.split(",")]
    text, total = [], options.games + options.more
    for name in options.sets.split(","):
        games = made(name, total)
        share = options.games / total
        found = measured(games, budgets, options.seeds, options.shapiq, share)
        text += [f"## {name}", "", tables(found, games, budgets)]
        print("\n".join(text[-3:]), flush=True)
    if options.write:
        head = (
            f"# Interactions of pairs\n\n{__doc__.split('    python')[0].strip()}\n\n"
        )
        RESULTS.write_text(head + "\n".join(text), encoding="utf-8")


def made(name: str, n: int) -> dict[str, list[Game]]:
    """Return n games of each family of a set; of models, three times as many rows."""
    if name == "models":
        from benchmarks.interactions.models import MODELS, games

        return {
            model: [Game(*game) for game in games(MODELS[model], 3 * n)]
            for model in MODELS
        }
    sets = {"benchmark": FAMILIES, "held-out": HELD_OUT, "jumps": JUMPING}
    return {
        family: [Game.of_table(make(np.random.default_rng([2, i]))) for i in range(n)]
        for family, make in sets[name].items()
    }


if __name__ == "__main__":
    main()
