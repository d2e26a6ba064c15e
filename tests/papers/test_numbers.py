"""Numbers on the pages of the papers agree with the results files."""

import os
import re
from pathlib import Path
from runpy import run_path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import t

DOC = Path(__file__).parents[2] / "doc"
RESULTS = DOC / "results"
PERMUTATIONS = RESULTS / "permutations"

pytestmark = pytest.mark.skipif(
    not RESULTS.exists(), reason="an installed package has no pages"
)

# Table 4 of Mitchell et al.: d, n, then herding, antithetic, orthogonal, SBQ and Sobol
PRINTED_4 = """
10 10 .241 .264 .244 .240 .258
10 100 .059 .084 .070 .056 .069
10 1000 .013 .027 .022 - .018
50 10 .270 .272 .269 .270 .271
50 100 .080 .086 .072 .079 .079
50 1000 .023 .027 .023 - .022
200 10 .280 .273 .272 .280 .272
200 100 .084 .086 .083 .084 .084
200 1000 .026 .027 .023 - .023
"""
ORDER_4 = ["herding", "antithetic", "orthogonal", "SBQ", "Sobol"]
# Mean seconds of its Table 5
PRINTED_5 = {"herding": 3.05, "SBQ": 6.253, "orthogonal": 0.231, "Sobol": 0.05}
PRINTED_5 |= {"antithetic": 0.001, "Monte Carlo": 0.001}


def page(name):
    """The text of a page on one line, and with its lines."""
    text = (DOC / "papers" / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", text), text


def lines_of(text):
    """The cells of each line of Markdown tables, by the first one."""
    lines = [
        line.strip("| ").split(" | ")
        for line in text.splitlines()
        if line.startswith("| ")
    ]
    return {first.strip(): [cell.strip() for cell in rest] for first, *rest in lines}


def shown(number):
    """As many digits as the cell shows, of the numbers at its head."""
    digits = len(number.partition(".")[2])
    return float(number), 0.5000001 * 10**-digits


def agrees(cell, *expected):
    """Whether a cell such as ".298 (.0152)" shows these numbers."""
    quoted = re.findall(r"[\d.]+", cell)
    assert len(quoted) == len(expected)
    for number, truth in zip(quoted, expected, strict=True):
        value, half = shown(number)
        assert abs(value - truth) <= half, (cell, expected)


# --- Grah & Thouvenot -----------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["classification-16", "regression-16", "classification-300"]
)
def test_errors_of_figures_2_and_3(name):
    _, text = page("grah_thouvenot")
    table = text.partition(f"### {name}\n")[2].partition("\n#")[0]
    lines = lines_of(table)
    heads = lines.pop("method")
    frame = pd.read_csv(RESULTS / "sgd" / f"{name}.csv").set_index(
        ["method", "evaluations"]
    )
    assert len(lines) >= 9
    for method, cells in lines.items():
        for head, cell in zip(heads, cells, strict=True):
            agrees(cell, float(f"{frame['error'][method, int(head)]:.3g}"))


def of_figure(name):
    """Mean errors by method and budget."""
    frame = pd.read_csv(RESULTS / "sgd" / f"{name}.csv")
    return frame.pivot_table(index="method", columns="evaluations", values="error")


def test_comparisons_of_the_methods_of_the_paper():
    """Section "When to use it", by distinct evaluations; 300 players by draws."""
    rows, many = of_figure("classification-16"), of_figure("classification-300")
    smooth = of_figure("regression-16")
    walks, steps, pairs = (
        "optimised MC (Algorithm 1)",
        "SGD, step 0.01",
        "leverage least squares, pairs",
    )
    sgd = smooth.loc[steps] / smooth.loc[walks]
    assert sgd[[256, 500, 1000, 2000]].mean() == pytest.approx(1.2, abs=0.03)
    assert sgd[[4000, 8000, 16000, 30000]].mean() == pytest.approx(1.07, abs=0.03)
    sgd = rows.loc[steps] / rows.loc[walks]
    assert (sgd.loc[500:] < 1).all()
    assert (sgd.loc[:256] > 1).all()
    assert (abs(sgd.loc[2000:] - 0.77) < 0.02).all()
    of_paper = [
        walks,
        steps,
        "SGD, step 0.1/sqrt(t)",
        "classical MC",
        "SGD, uniform law",
    ]
    for table in (rows, smooth):
        of_best = table.loc[pairs] / table.loc[of_paper].min()
        assert of_best.between(0.3, 0.71).all()
    gain = {
        kind: 1
        - table.loc["SGD, defaults, leverage pairs"] / table.loc["SGD, defaults"]
        for kind, table in (("regression", smooth), ("classification", rows))
    }
    assert gain["regression"].between(0.2, 0.5).all()
    assert gain["classification"].between(0, 0.2).all()
    text, _ = page("grah_thouvenot")
    quoted = re.search(r"small budgets: (\S+) against (\S+) at 3300 evaluations", text)
    agrees(
        " ".join(quoted.groups()),
        many.loc["SGD, defaults", 3300],
        many.loc[walks, 3300],
    )
    quoted = re.search(r"comes near to it \((\S+) against (\S+)\)", text)
    both = many.loc[["SGD, defaults, leverage pairs", pairs], 57300]
    agrees(" ".join(quoted.groups()), *(float(f"{number:.3g}") for number in both))


def test_student_t_factor():
    """t(.975, T - 1) / 1.96 is the factor for a variance estimated from T permutations."""
    text, _ = page("grah_thouvenot")
    quoted = re.search(
        r"factor is (\S+) for two permutations, (\S+) for four, and (\S+) for", text
    )
    degrees = np.array([1, 3, 29])
    agrees(" ".join(quoted.groups()), *(t.ppf(0.975, degrees) / 1.95996))


@pytest.mark.skipif(
    "SKSHAPLEY_DATA" not in os.environ, reason="COMPAS is no part of the tests"
)
def test_figure_1():
    text, _ = page("grah_thouvenot")
    quoted = re.search(
        r"Age adds (\.2\S+), and no prior offence subtracts (\S+)\. The.*?, which takes (\S+) of"
        r" the same credit\. .*?, which takes (\S+)\. - Our contrast is (\S+) against (\S+), which"
        r" leaves (\S+) to share",
        text,
    )
    age, priors, category, juvenile, high, low, gap = quoted.groups()
    made = run_path(str(DOC.parent / "examples" / "contrastive" / "plot_compas.py"))[
        "explanation"
    ]
    plt.close("all")
    values = dict(zip(made.feature_names, made.values[0], strict=True))
    agrees(age.rstrip(","), values["age"])
    agrees(priors, -values["priors_count"])
    agrees(category, abs(values["age_cat"]))
    agrees(
        juvenile, max(abs(values[name]) for name in values if name.startswith("juv"))
    )
    agrees(f"{high} {low}", made.predictions[0], float(np.ravel(made.base_values)[0]))
    agrees(gap, sum(values.values()))


# --- Mitchell et al. ------------------------------------------------------------------


def test_table_4_agrees_to_three_percent():
    frame = pd.read_csv(PERMUTATIONS / "table4.csv").set_index(["d", "n", "method"])
    for line in PRINTED_4.split("\n")[1:-1]:
        d, n, *printed = line.split()
        for method, number in zip(ORDER_4, printed, strict=True):
            ours = frame["discrepancy"][int(d), int(n), method]
            if number != "-":  # printed to .001
                assert abs(ours - float(number)) < 0.03 * ours + 0.0005
    text, _ = page("mitchell_et_al")
    quoted = re.search(
        r"d = 200, n = 1000: herding ([\d.]+) .*?SBQ (\S+), Sobol (\S+), orthogonal (\S+)\. ",
        text,
    )
    for method, number in zip(
        ["herding", "SBQ", "Sobol", "orthogonal"], quoted.groups(), strict=True
    ):
        agrees(number, frame["seconds"][200, 1000, method])
    least = frame["discrepancy"].xs(1000, level="n").groupby("d").idxmin()
    assert {d: method for d, (_, method) in least.items()} == {
        10: "SBQ",
        50: "SBQ",
        200: "orthogonal",
    }


def test_herding_by_kernel():
    frame = pd.read_csv(PERMUTATIONS / "pair_by_pair.csv").set_index("d")
    text, _ = page("mitchell_et_al")
    quoted = re.search(
        r"takes (\d+) times \(d = 200, n = 30\) to (\d+) times \(d = 10, n = 100\)",
        text,
    )
    assert [float(number) for number in quoted.groups()] == [
        pytest.approx(frame["ratio"][d], rel=0.02) for d in (200, 10)
    ]


def test_table_5():
    frame = pd.read_csv(PERMUTATIONS / "table5.csv").set_index("method")
    lines = lines_of(page("mitchell_et_al")[1])
    for method, printed in PRINTED_5.items():
        theirs, ours = lines[method]
        assert float(theirs.split()[0]) == printed
        agrees(ours, frame["mean"][method], frame["std"][method])
    agrees(lines["the rest: model and means"][1], *frame.loc["model and means"])


def test_figure_12():
    """Sobol is best on four images, sets with reverses on the others."""
    frame = pd.read_csv(PERMUTATIONS / "images.csv")
    assert (frame["trials"] == 25).all()
    wide, low, high = (
        frame.pivot_table(index="image", columns="method", values=name)
        for name in ("mse", "low", "high")
    )
    relative = wide.div(wide["antithetic"], axis=0)
    best = wide.idxmin(axis=1)
    sobol = best == "Sobol"
    assert sobol.sum() == 4
    assert best[~sobol].value_counts().to_dict() == {
        "Sobol, pairs": 2,
        "orthogonal": 1,
        "antithetic": 1,
    }
    text, _ = page("mitchell_et_al")
    quoted = re.search(r"smallest error, (\S+) to (\S+) times that of antithetic", text)
    agrees(" ".join(quoted.groups()), *relative["Sobol"][sobol].agg(["min", "max"]))
    quoted = re.search(
        r"without reverses have (\S+) to (\S+) times the error of antithetic pairs, and "
        r"Monte Carlo has (\S+) to (\S+) times",
        text,
    )
    single = relative.loc[~sobol, ["herding", "SBQ", "Sobol"]]
    random = relative.loc[~sobol, "Monte Carlo"]
    limits = single.min().min(), single.max().max(), random.min(), random.max()
    agrees(" ".join(quoted.groups()), *limits)
    assert not (high[["herding", "SBQ"]].lt(low["antithetic"], axis=0)).any(axis=None)
    quoted = re.search(r"pairs with reverses has (\S+) to (\S+) times the error", text)
    agrees(" ".join(quoted.groups()), *relative["Sobol, pairs"].agg(["min", "max"]))


def test_figure_15():
    frame = pd.read_csv(PERMUTATIONS / "lam_of_images.csv")
    wide = frame.pivot_table(index="lam", columns="image", values="mse")
    means = (wide / wide.loc[4]).mean(axis=1)
    quoted = re.search(
        r"images is (\S+) to (\S+) times that at lam 4", page("mitchell_et_al")[0]
    )
    agrees(" ".join(quoted.groups()), means.min(), means.max())


def told_on(pattern):
    """Return the numbers in a sentence of the page on permutations."""
    return " ".join(re.search(pattern, page("mitchell_et_al")[0]).groups())


def at_the_largest_budget():
    """Ratios of errors with XGBoost to errors of antithetic pairs, and significant ones."""
    frame = pd.read_csv(PERMUTATIONS / "gbdt.csv")
    assert frame["trials"].min() >= 6
    frame = frame[
        frame["evaluations"] == frame.groupby("data")["evaluations"].transform("max")
    ]
    mse, low, high = (
        frame.pivot_table(index="method", columns="data", values=name)
        for name in ("mse", "low", "high")
    )
    apart = low.gt(high.loc["antithetic"]) | high.lt(low.loc["antithetic"])
    return mse / mse.loc["antithetic"], apart


def test_figures_9_and_10():
    relative, apart = at_the_largest_budget()
    halved = relative.loc["Owen-halved, published nodes"]
    agrees(
        told_on(r"budget it has (\S+) to (\S+) times the error of pairs"),
        halved.min(),
        halved.max(),
    )
    agrees(
        told_on(r"On breast_cancer it has (\S+) times their error"),
        halved["breast_cancer"],
    )
    older = relative.index.isin(["Owen-halved, published nodes", "stratified, Castro"])
    better = apart[older] & (relative[older] < 1)
    assert list(better.columns[better.any()]) == ["breast_cancer"]
    bad = relative.loc[["Monte Carlo", "Owen, published nodes", "stratified, Castro"]]
    agrees(
        told_on(r"sampling are (\S+) to (\S+) times as bad"),
        bad.min().min(),
        bad.max().max(),
    )
    greedy, small = relative.loc[["herding", "SBQ"]], ["cal_housing", "make_regression"]
    ranked = relative.loc[["SBQ", "herding", "orthogonal", "antithetic", "Sobol"]]
    assert (ranked[small].diff().iloc[1:3] > 0).all(axis=None)
    lost = greedy.drop(columns=small)
    agrees(
        told_on(r"pairs, by (\S+) to (\S+) times\. Sobol"),
        lost.min().min(),
        lost.max().max(),
    )
    assert (relative.loc["Sobol"] > 1).all()
    blocks = relative.loc["orthogonal"]
    agrees(
        told_on(r"all six, with (\S+) to (\S+) times the error"),
        blocks.min(),
        blocks.max(),
    )
    assert apart.loc["orthogonal"].sum() == 3


def test_gain_of_antithetic_pairs():
    relative, apart = at_the_largest_budget()
    pairs = relative.loc[["herding, pairs", "SBQ, pairs"]]
    five = pairs.drop(columns="adult")
    agrees(
        told_on(r"SBQ have (\S+) to (\S+) times the"),
        five.min().min(),
        five.max().max(),
    )
    agrees(told_on(r"and (\S+) times on adult, within"), pairs["adult"].max())
    assert not apart.loc[pairs.index, "adult"].any()
    sobol = relative.loc["Sobol, pairs"]
    other = sobol.drop("make_regression")
    agrees(
        told_on(r"Sobol has (\S+) to (\S+) times, but (\S+) times on make_regression"),
        *(other.min(), other.max(), sobol["make_regression"]),
    )
    best = relative.drop(index="leverage least squares").min()
    assert list(relative.columns[relative.loc["leverage least squares"] > best]) == [
        "year"
    ]


SMALL, WIDE = (
    ["cal_housing", "make_regression", "bank"],
    ["breast_cancer", "adult", "year"],
)


def of_appendix(figure):
    """Ratios of errors to errors of the paper's choice, and significant ones."""
    frame = pd.read_csv(PERMUTATIONS / "appendix.csv", dtype={"setting": str})
    frame = frame[frame["figure"] == figure]
    mse, low, high = (
        frame.pivot_table(index="data", columns="setting", values=name)
        for name in ("mse", "low", "high")
    )
    names = {setting: setting.removesuffix(".0") for setting in mse}
    chosen = next(
        s
        for s in mse
        if names[s] in {"25" if figure == "figure16" else "4"} | {MALLOWS}
    )
    apart = low.gt(high[chosen], axis=0) | high.lt(low[chosen], axis=0)
    return mse.div(mse[chosen], axis=0).rename(columns=names), apart.rename(
        columns=names
    )


MALLOWS = "Mallows, lam 4"


def test_figure_13():
    relative, apart = of_appendix("figure13")
    assert relative.loc[SMALL].idxmin(axis=1).isin(["2", "4"]).all()
    far = relative.loc[SMALL, "32"]
    agrees(told_on(r"and 32 has (\S+) to (\S+) times those of 4"), far.min(), far.max())
    assert not apart.loc[WIDE].any(axis=None)


def test_figure_14():
    relative, apart = of_appendix("figure14")
    far = relative.loc[SMALL, "32"]
    agrees(
        told_on(r"small tables lam 32 has (\S+) to (\S+) times the error"),
        far.min(),
        far.max(),
    )
    assert not apart.loc[WIDE].any(axis=None)


def test_figure_16():
    relative, apart = of_appendix("figure16")
    few, many = relative.loc[SMALL, "5"], relative.loc[SMALL, "50"]
    agrees(
        told_on(r"errors are (\S+) to (\S+) times those with 25"), few.min(), few.max()
    )
    agrees(told_on(r"they are (\S+) to (\S+) times as large"), many.min(), many.max())
    assert not apart.loc[WIDE].any(axis=None)


def test_figure_17():
    relative, apart = of_appendix("figure17")
    kendall = relative.loc[["cal_housing", "make_regression"], "Kendall"]
    agrees(told_on(r"\((\S+) and (\S+) times the error\)\. It is level"), *kendall)
    assert list(apart.index[apart["Kendall"]]) == ["cal_housing", "make_regression"]
    ranks, orders = relative["Spearman"], relative["Spearman, of orders"]
    agrees(
        told_on(r"kernel has (\S+) to (\S+) times the error on the three"),
        *ranks[SMALL].agg(["min", "max"]),
    )
    assert sorted(apart.index[apart["Spearman"]]) == sorted(SMALL)
    agrees(
        told_on(r"code, it has (\S+) to (\S+) times the error"),
        orders.min(),
        orders.max(),
    )
    assert (relative.idxmax(axis=1) == "Spearman, of orders").all()


# --- Chen et al. ----------------------------------------------------------------------


def test_evaluations_on_a_line():
    """4 a player for L-Shapley at k = 1 and the regression, 16 at k = 2, 9 and 25 for C-Shapley."""
    frame = pd.read_csv(RESULTS / "structured" / "scaling.csv").set_index(
        ["method", "d"]
    )
    text, _ = page("chen_et_al")
    quoted = re.search(
        r"here from (\d+) to (\d+)\. L-Shapley costs (\d+) evaluations per player at k = 1 and"
        r" (\d+) at k = 2\. The regression .*? costs (\d+)\. C-Shapley costs (\d+) and (\d+) at",
        text,
    )
    least, most, local, wide, runs, near, far = (
        int(number) for number in quoted.groups()
    )
    assert (least, most) == (frame.index.levels[1].min(), frame.index.levels[1].max())
    for method, number in {
        "L-Shapley, k = 1": local,
        "regression C-Shapley, length 4": runs,
        "L-Shapley, k = 2": wide,
        "C-Shapley, k = 2": near,
        "C-Shapley, k = 4": far,
    }.items():
        assert frame["per_player"][method, most] == pytest.approx(number, rel=0.01)
        assert frame["error"][method].max() < 1e-9


def test_errors_on_tiles_of_digits():
    frame = pd.read_csv(RESULTS / "structured" / "tiles.csv").set_index(
        ["response", "method"]
    )
    frame = frame.sort_index()
    quoted = re.search(
        r"Antithetic permutations with (\d+) evaluations have a relative error of (\S+)"
        r" \(log-probability\) and (\S+) \(log-odds\)\. L-Shapley of order 1, with (\d+)"
        r" evaluations, has (\S+) and ([\d.]+)\.",
        page("chen_et_al")[0],
    )
    methods = "antithetic permutations", "L-Shapley, k = 1 (over budget)"
    for method, (evals, chance, odds) in zip(
        methods, (quoted.groups()[:3], quoted.groups()[3:]), strict=True
    ):
        agrees(evals, frame["evaluations"]["log_odds", method])
        agrees(chance, frame["relative_error"]["predict_log_proba", method])
        agrees(odds, frame["relative_error"]["log_odds", method])


def areas(name):
    """Areas under masking curves by method."""
    return pd.read_csv(RESULTS / "structured" / f"{name}_area.csv").set_index("method")


def test_areas_under_masking_curves():
    """Statements of the page on SampleShapley, permutations, and methods that use the graph."""
    graph = ["C-Shapley, regression", "C-Shapley, regression, balanced"]
    least_squares = ["kernel least squares", "leverage least squares"]
    for name in ("imdb", "agnews", "digits", "mnist", "cifar"):
        frame = areas(name)
        masked, local = (
            frame["deletion"],
            [method for method in frame.index if "L-Shapley" in method],
        )
        sampled = masked["SampleShapley"]
        assert masked["antithetic permutations"] < masked["permutations"] < sampled
        assert (sampled < masked[least_squares].min()) == (
            name in ("imdb", "agnews", "mnist")
        )
        knowing = masked[graph + local]
        if name == "cifar":
            everywhere = masked.drop([*graph, *local, "saliency", "random"])
            assert everywhere.max() < knowing.min()
            quoted = re.search(
                r"better \((\S+) to (\S+)\) than sets of neighbours \((\S+) to (\S+)\)\."
                r" The standard errors, .*?, are (\S+)\. ",
                page("chen_et_al")[0],
            )
            ends = [
                -everywhere.max(),
                -everywhere.min(),
                -knowing.max(),
                -knowing.min(),
            ]
            agrees(
                " ".join(quoted.groups()),
                *ends,
                round(frame["deletion_se"][knowing.index].mean(), 1),
            )
        else:
            assert knowing.max() < masked[least_squares].min()
            others = masked.drop(knowing.index).min()
            assert (knowing.min() < others) == (name != "cifar")
            noise = 2 * frame["deletion_se"].max()
            assert (knowing.min() + noise < others) == (name == "agnews")
            if name in ("imdb", "agnews"):
                assert knowing.max() < sampled
    for name in ("mnist", "digits"):
        masked = areas(name)["deletion"]
        assert (
            masked.nsmallest(2)
            .index.isin(["C-Shapley, regression", "L-Shapley, k = 1 (over budget)"])
            .all()
        )
