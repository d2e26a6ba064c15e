"""Conditional rewards: errors by model rows, time, coverage, margins, and held-out errors.

Errors are relative squared errors of attributions, pooled over instances. Truth is the
true covariance on rows of a scrambled Sobol sequence: all coalitions of 8 columns, long
walks of 30. Run ``python -m benchmarks conditional``; it writes
doc/results/conditional.md, in three minutes.
"""

import time
from pathlib import Path

import numpy as np
from scipy.stats import norm, qmc
from sklearn.covariance import ledoit_wolf

from skshapley import ShapleyExplainer
from skshapley.diagnostics import conditional_error
from skshapley.rewards import ConditionalReward

RESULTS = Path(__file__).parents[1] / "doc" / "results" / "conditional.md"
RHO = 0.6
MODEL_ROWS = 14_000
TRAINING_ROWS = 5_000
INSTANCES = 10


def rough(rows):
    """A response of six columns with interactions, as in the issue of conditional rewards."""
    a, b, c, d, e, f = np.asarray(rows).T[:6]
    return np.sin(a) * b + c**2 / 2 + np.maximum(d, 0) * e + f / 2


class Columns:
    """Normal columns with correlation 0.6 between any two."""

    def __init__(self, d):
        self.d = d
        self.sigma = np.full((d, d), RHO) + (1 - RHO) * np.eye(d)
        self.root = np.linalg.cholesky(self.sigma)

    def draw(self, n, rng):
        return rng.normal(size=(n, self.d)) @ self.root.T

    def spread(self, n):
        return norm.ppf(qmc.Sobol(self.d, seed=0).random(n)) @ self.root.T


def explained(rows, x, reward, seed=0, model=rough, evals=None, **options):
    if evals is not None:
        options["max_rows"] = (evals - 2) * options.get("max_background", len(rows)) + 1
    return (
        ShapleyExplainer(model, reward=reward, random_state=seed, **options)
        .fit(rows)
        .explain(x)
    )


def truth(columns, x, sigma=None):
    """The values of the true or another covariance, on the same rows and permutations."""
    reward = ConditionalReward(columns.sigma if sigma is None else sigma)
    if columns.d <= 8:
        return explained(columns.spread(2048), x, reward, sampler="exact").values
    rows, evals = columns.spread(8192), 2 * columns.d
    return explained(rows, x, reward, sampler="antithetic", evals=evals).values


def error(found, expected):
    return ((found - expected) ** 2).sum() / (expected**2).sum()


def errors(d, seeds=4):
    """Errors of some ways to spend the model rows, with the covariance of the training rows."""
    columns = Columns(d)
    x = columns.draw(INSTANCES, np.random.default_rng(100))
    expected, lines = truth(columns, x), []
    for name, reward, options in (
        ("pairs of permutations", "conditional", {"sampler": "antithetic"}),
        (
            "the same, covariance known",
            ConditionalReward(columns.sigma),
            {"sampler": "antithetic"},
        ),
        ("odd", "conditional", {"sampler": "odd"}),
        (
            "pairs of permutations, interventional",
            "interventional",
            {"sampler": "antithetic"},
        ),
    ):
        found = []
        for seed in range(seeds):
            rows = columns.draw(TRAINING_ROWS, np.random.default_rng(seed))
            found.append(
                explained(rows, x, reward, seed, max_rows=MODEL_ROWS, **options)
            )
        each = [error(one.values, expected) for one in found]
        rows = np.mean([one.n_model_rows.mean() for one in found])
        lines.append(
            (d, name, f"{rows:.0f}", f"{np.mean(each):.1e}", f"{max(each):.1e}")
        )
    for n in (1000, TRAINING_ROWS):
        known = ledoit_wolf(columns.draw(n, np.random.default_rng(0)))[0]
        found = error(truth(columns, x, known), expected)
        lines.append(
            (d, f"a long run, the covariance of {n} rows", "", f"{found:.1e}", "")
        )
    return lines


def clock(d=30):
    """CPU time of an instance in milliseconds, beside the interventional reward's."""
    columns, rng = Columns(d), np.random.default_rng(0)
    rows, x = columns.draw(TRAINING_ROWS, rng), columns.draw(20, rng)
    options = {"sampler": "antithetic", "max_rows": MODEL_ROWS}
    lines = []
    for reward in ("interventional", "conditional", "copula"):
        explainer = ShapleyExplainer(
            rough, reward=reward, random_state=0, **options
        ).fit(rows)
        explainer.explain(x[:2])
        spent = []
        for _ in range(3):
            start = time.process_time()
            explainer.explain(x)
            spent.append((time.process_time() - start) / len(x) * 1e3)
        lines.append((reward, f"{min(spent):.1f}"))
    return lines


def coverage(seeds=6):
    """How often +-1.96 standard errors hold the value of the same rows and covariance."""
    columns, lines = Columns(8), [wide_coverage()]
    for reward in ("conditional", "copula"):
        inside = []
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            rows, x = columns.draw(100, rng), columns.draw(20, rng)
            expected = explained(rows, x, reward, sampler="exact").values
            for sampler, evals in (
                ("antithetic", 60),
                ("orthogonal", 60),
                ("antithetic", 200),
            ):
                found = explained(rows, x, reward, seed, sampler=sampler, evals=evals)
                inside.append(
                    np.abs(found.values - expected) <= 1.96 * found.standard_errors
                )
        lines.append((reward, f"{np.mean(inside):.3f}", np.size(inside)))
    return lines


def wide_coverage(d=30):
    """The same with 30 columns and 5,000 rows, against long runs."""
    columns, inside = Columns(d), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows, x = columns.draw(TRAINING_ROWS, rng), columns.draw(20, rng)
        long = {"sampler": "antithetic", "max_rows": 2 * (d - 1) * len(rows) + 1}
        expected = explained(rows, x, "conditional", 100 + seed, **long)
        options = {"sampler": "antithetic", "max_rows": MODEL_ROWS}
        found = explained(rows, x, "conditional", seed, **options)
        allowed = 1.96 * np.hypot(found.standard_errors, expected.standard_errors)
        inside.append(np.abs(found.values - expected.values) <= allowed)
    return (
        "conditional, 30 columns, 14,000 model rows",
        f"{np.mean(inside):.3f}",
        np.size(inside),
    )


def margins():
    """Errors where the columns are monotone transforms of normal ones, which the model undoes."""
    columns, rng = Columns(8), np.random.default_rng(0)
    rows, x = columns.draw(1000, rng), columns.draw(INSTANCES, rng)
    expected, lines = truth(columns, x), []
    for name, there, back in (
        (
            "exp",
            np.exp,
            lambda z: np.log(np.maximum(z, 1e-3)),
        ),  # of what a normal law makes of it
        ("cube", lambda z: z**3, np.cbrt),
        ("sinh", np.sinh, np.arcsinh),
    ):
        cells = [name]
        for reward in ("conditional", "copula"):
            options = {"model": lambda Z, back=back: rough(back(Z)), "sampler": "exact"}
            found = explained(there(rows), there(x), reward, **options)
            cells.append(f"{error(found.values, expected):.1e}")
        lines.append(cells)
    return lines


def tables():
    """Name, training rows, held-out rows and model of some tables."""
    rng, columns = np.random.default_rng(0), Columns(8)
    yield "normal", columns.draw(1000, rng), columns.draw(300, rng), rough
    tails = [
        columns.draw(n, rng) / np.sqrt(rng.chisquare(4, (n, 1)) / 4)
        for n in (1000, 300)
    ]
    yield "heavy tails", *tails, rough
    signs = [rng.choice([-1.5, 1.5], size=(n, 1)) for n in (1000, 300)]
    flips = np.array([1, 1, -1, 1, -1, 1, 1, -1])
    mixture = [sign * flips + columns.draw(len(sign), rng) for sign in signs]
    yield "mixture", *mixture, rough

    def mixed(n):
        kind, place = rng.integers(5, size=n), rng.integers(3, size=n)
        centres = np.array([2.0, -1.0, 0.5, -2.0, 1.0])
        a = centres[kind] + rng.normal(size=n)
        b = 0.7 * a + (place == 1) + rng.normal(size=n)
        return np.column_stack([kind, place, a, b, rng.normal(size=n)])

    def of_mixed(rows):
        kind, place, a, b, c = np.asarray(rows).T
        return a * (place < 1.5) + np.sin(b) + (kind > 2.5) * c

    yield "codes of categories", mixed(1000), mixed(300), of_mixed


def held_out():
    rewards = ["interventional", "conditional", "copula", "empirical", "surrogate"]
    for name, rows, others, model in tables():
        explainer = ShapleyExplainer(model).fit(rows)
        found = conditional_error(
            explainer, rewards, others, n_coalitions=16, random_state=0
        )
        cells = zip(found["error"], found["standard_error"], strict=True)
        yield name, *(f"{value:.3f} ± {spread:.3f}" for value, spread in cells)


def section(title, names, lines):
    """Return a table under its title, and print it."""
    rows = [names, ["---"] * len(names), *lines]
    table = "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)
    print(f"## {title}\n\n{table}\n", flush=True)
    return f"## {title}\n\n{table}\n"


def main():
    names = ("columns", "method", "model rows", "error, mean of 4 runs", "worst")
    rewards = ("interventional", "conditional", "copula", "empirical", "surrogate")
    time_of = "CPU milliseconds a row, 30 columns, 14,000 model rows"
    parts = [
        section("Relative squared errors", names, errors(8) + errors(30)),
        section(time_of, ("reward", "ms"), clock()),
        section(
            "Coverage of 95 % intervals", ("reward", "share", "intervals"), coverage()
        ),
        section("Margins", ("margins", "conditional", "copula"), margins()),
        section("Held-out errors", ("table", *rewards), held_out()),
    ]
    RESULTS.write_text("# Conditional rewards\n\n" + "\n".join(parts), encoding="utf-8")


if __name__ == "__main__":
    main()
