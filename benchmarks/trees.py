"""TreeExplainer beside shap, shapiq, woodelf and XGBoost: one thread, alternated, in CPU time.

Needs Python 3.12 or later for the newest shapiq; ``make bench-trees`` sets up what it needs.

    python -m benchmarks trees [--only NAME] [--seconds 2] [--sizes 1 10] [--without woodelf]
"""

import argparse
import signal
import time
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO

import lightgbm
import numpy as np
import pandas as pd
import shap
import shapiq
import xgboost
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from woodelf import WoodelfExplainer

from skshapley import ShapleyExplainer
from skshapley.trees import TreeExplainer

warnings.simplefilter("ignore")

MODELS = {
    "xgboost 100 x 6": (
        xgboost.XGBRegressor(n_estimators=100, max_depth=6, n_jobs=1),
        30,
    ),
    "lightgbm 100 x 31": (lightgbm.LGBMRegressor(verbose=-1, n_jobs=1), 30),
    "hist boosting 100": (HistGradientBoostingRegressor(), 30),
    "grown forest 50": (RandomForestRegressor(50, random_state=0), 10),
}
SIZES = (1, 10, 1_000)
BACKGROUNDS = (1, 100, 1_000)
# Peers that go through pairs are measured on so many of them, and scaled
MOST_PAIRS = 10_000
# A peer that takes longer than so many seconds is left out, and out of the cells that
# follow
PATIENCE = 60


class Ours:
    name = "ours"

    def __init__(self, model, background):
        self.explainer = TreeExplainer(model).fit(background)

    def explain(self, X):
        return self.explainer.explain(X).values


class Shap:
    name = "shap"

    def __init__(self, model, background):
        masker = shap.maskers.Independent(background, max_samples=len(background))
        self.explainer = shap.TreeExplainer(
            model, masker, feature_perturbation="interventional"
        )

    def explain(self, X):
        return self.explainer.shap_values(X, check_additivity=False)


class Shapiq:
    name = "shapiq"

    def __init__(self, model, background):
        self.explainer = shapiq.TreeExplainer(
            model, mode="interventional", reference_dataset=background, backend="shapiq"
        )
        self.explainer._init_explainers()

    def explain(self, X):
        found = self.explainer.explain_X(X).values
        return np.stack(
            [found.get((j,), np.zeros(len(X))) for j in range(X.shape[1])], axis=1
        )


class Woodelf:
    name = "woodelf"

    def __init__(self, model, background):
        self.columns = [f"x{i}" for i in range(background.shape[1])]
        frame = pd.DataFrame(background, columns=self.columns)
        self.explainer = WoodelfExplainer(
            model, frame, feature_perturbation="interventional"
        )

    def explain(self, X):
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            return self.explainer.shap_values(
                pd.DataFrame(X, columns=self.columns), verbose=False
            )


PACKAGES = (Ours, Shap, Shapiq, Woodelf)


@contextmanager
def patience(seconds):
    def stop(*_):
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def cpu(function):
    start = time.process_time()
    result = function()
    return result, time.process_time() - start


def alternated(calls, seconds):
    """The median CPU seconds of each call, in turn, until the time is spent."""
    took = {name: [cpu(call)[1]] for name, call in calls.items()}
    # What takes long is not called again: it would empty the caches of the others.
    fast = [name for name, times in took.items() if times[0] < min(0.2, seconds)]
    start = time.perf_counter()
    while fast and time.perf_counter() - start < seconds and len(took[fast[0]]) < 50:
        for name in fast:
            took[name].append(cpu(calls[name])[1])
    return {name: float(np.median(times[1:] or times)) for name, times in took.items()}


def cell(model, background, X, seconds, slow):
    """Fit with the first call, and later calls: ``{name: (first, explain)}``; and errors."""
    n, m = len(X), len(background)
    calls, scale, fits, off = {}, {}, {}, {}
    expected = None
    for package in PACKAGES:
        if package.name in slow:
            continue
        some = X
        if package in (Shap, Shapiq):
            some = X[: max(1, MOST_PAIRS // m)]
        try:
            with patience(PATIENCE):
                explainer = package(model, background)
                values = explainer.explain(some)
        except Exception as error:  # a peer that cannot, or takes too long, is left out
            slow.add(package.name)
            off[package.name] = type(error).__name__
            continue
        values = np.reshape(values, (len(some), -1))
        expected = values if expected is None else expected
        off[package.name] = (
            np.abs(values - expected[: len(some)]).max() / np.abs(expected).max()
        )
        scale[package.name] = n / len(some)
        calls[package.name] = lambda e=explainer, some=some: e.explain(some)
        fits[package.name] = lambda p=package, some=some: p(model, background).explain(
            some
        )
    medians, firsts = alternated(calls, seconds), alternated(fits, seconds)
    return {
        name: (
            firsts[name] + medians[name] * (scale[name] - 1),
            medians[name] * scale[name],
        )
        for name in medians
    }, off


def grid(name, model, X, seconds, sizes, without):
    """Print the lines of a model in the table of doc/results/trees.md."""
    slow = set(without)
    for n in sizes:
        for m in BACKGROUNDS:
            times, off = cell(model, X[:m], X[-n:], seconds, slow)
            peers = [p for p in times if p != "ours"]
            explain = times["ours"][1] / min(times[p][1] for p in peers)
            whole = times["ours"][0] / min(times[p][0] for p in peers)
            cells = [
                shown(times.get(package))
                for package in ("ours", "shap", "shapiq", "woodelf")
            ]
            print(
                f"| {name} | {n:,} x {m:,} | {' | '.join(cells)} | {explain:.2f} | "
                f"{whole:.2f} |"
            )
            wrong = {
                p: o for p, o in off.items() if not isinstance(o, float) or o > 1e-4
            }
            print(f"  off: {wrong}" if wrong else "", end="", flush=True)


def shown(times):
    """Return milliseconds of explaining, and in parentheses of fit and the first call."""
    if times is None:
        return ""
    first, again = (f"{float(f'{1e3 * t:.3g}'):,g}" for t in times)
    return f"{again} ({first})"


def one_row(model, X, calls=300):
    """Latency of one row against 100 references, of an array and of a frame."""
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])])
    named = type(model)(**model.get_params()).fit(frame[:2000], model.predict(X[:2000]))
    row, frow = X[-1:], frame[-1:]
    matrix, booster = xgboost.DMatrix(row), model.get_booster()
    calls_of = {
        "TreeExplainer, array": TreeExplainer(model).fit(X[:100]).explain,
        "ShapleyExplainer, array": ShapleyExplainer(model).fit(X[:100]).explain,
        "shap": Shap(model, X[:100]).explain,
        "shapiq": Shapiq(model, X[:100]).explain,
        "XGBoost pred_contribs (path-dependent)": lambda _: booster.predict(
            matrix, pred_contribs=True
        ),
        "XGBoost predict": model.predict,
    }
    tasks = {name: (function, row) for name, function in calls_of.items()}
    tasks["TreeExplainer, frame"] = TreeExplainer(named).fit(frame[:100]).explain, frow
    tasks["ShapleyExplainer, frame"] = (
        ShapleyExplainer(named).fit(frame[:100]).explain,
        frow,
    )
    took = {name: [] for name in tasks}
    for _ in range(calls):
        for name, (function, x) in tasks.items():
            start = time.thread_time()
            function(x)
            took[name].append(time.thread_time() - start)
    print("\none row, 100 references, xgboost 100 x 6: CPU ms")
    for name, times in took.items():
        p50, p99 = np.quantile(times[5:], [0.5, 0.99]) * 1e3
        print(f"  {name:<42} p50 {p50:6.2f}  p99 {p99:6.2f}")


def tell(n, medians):
    print(
        f"  {n:>4} rows:",
        ", ".join(f"{name} {t * 1e3:.2f}" for name, t in medians.items()),
    )


def pairs(name, model, X, seconds):
    """Interactions: ours after its first call, and that call by itself."""
    background = X[:100]
    theirs = shapiq.TreeExplainer(
        model, mode="interventional", reference_dataset=background, index="SII", max_order=2,
        backend="shapiq",
    )  # fmt: skip
    theirs._init_explainers()
    ours = TreeExplainer(model, interactions=True).fit(background)
    _, first = cpu(lambda: ours.explain(X[-1:]))
    print(f"\npairs, 100 references, {name}: CPU ms; our first call {first * 1e3:.1f}")
    for n in (1, 10):
        rows = X[-n:]
        medians = alternated(
            {
                "ours": lambda r=rows: ours.explain(r),
                "shapiq": lambda r=rows: theirs.explain_X(r),
            },
            seconds,
        )
        tell(n, medians)


def path_dependent(name, model, X, seconds):
    """Times beside XGBoost's contributions, and beside shapiq for a forest and for pairs."""
    tasks = {"values": False}
    if not name.startswith("xgboost"):
        tasks["interactions"] = True
    for what, interactions in tasks.items():
        ours = TreeExplainer(
            model, feature_perturbation="path_dependent", interactions=interactions
        )
        _, fit = cpu(ours.fit)
        if name.startswith("xgboost"):
            peer, theirs = "XGBoost", xgboost_contributions(model)
        else:
            order = 1 + interactions
            peer, index = "shapiq", "SII" if interactions else "SV"
            theirs = shapiq.TreeExplainer(model, index=index, max_order=order).explain_X
        print(f"\npath-dependent {what}, {name}: CPU ms; our fit {fit * 1e3:.1f}")
        for n in SIZES if name.startswith("xgboost") else SIZES[:2]:
            calls = {"ours": ours.explain, peer: theirs}
            bound = {one: lambda c=call, r=X[-n:]: c(r) for one, call in calls.items()}
            tell(n, alternated(bound, seconds))


def xgboost_contributions(model):
    booster = model.get_booster()
    return lambda rows: booster.predict(xgboost.DMatrix(rows), pred_contribs=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=SIZES, help="rows of the grid"
    )
    parser.add_argument(
        "--without", nargs="*", default=[], help="packages that are left out"
    )
    parser.add_argument("--grid", action="store_true", help="nothing but the grid")
    options = parser.parse_args()
    versions = {
        one.__name__: one.__version__ for one in (shap, shapiq, xgboost, lightgbm)
    }
    print(f"{versions}, numpy {np.__version__}")
    for name, (model, d) in MODELS.items():
        if options.only not in name:
            continue
        X, y = make_friedman1(4000, d, noise=1.0, random_state=0)
        X = X.astype(np.float32).astype(np.float64)
        model.fit(X[:3000], y[:3000])
        if name.startswith("xgboost") and not options.grid:
            one_row(model, X)
        if name.startswith(("xgboost", "grown")) and not options.grid:
            path_dependent(name, model, X, options.seconds)
            pairs(name, model, X, options.seconds)
        grid(name, model, X, options.seconds, options.sizes, options.without)


if __name__ == "__main__":
    main()
