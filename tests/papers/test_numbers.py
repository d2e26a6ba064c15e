"""The numbers on the pages of the papers are those of the files of results."""

import re
from pathlib import Path

import pandas as pd
import pytest

DOC = Path(__file__).parents[2] / "doc"
RESULTS = DOC / "results"
PERMUTATIONS = RESULTS / "permutations"

pytestmark = pytest.mark.skipif(not RESULTS.exists(), reason="an installed package has no pages")

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
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {first.strip(): [cell.strip() for cell in rest] for first, *rest in lines}


def shown(number):
    """As many digits as the cell shows, of the numbers at its head."""
    digits = len(number.partition(".")[2])
    return float(number), 0.5000001 * 10**-digits


def agrees(cell, *expected):
    """Whether a cell such as ".298 (.0152)" shows these numbers."""
    told = re.findall(r"[\d.]+", cell)
    assert len(told) == len(expected)
    for number, truth in zip(told, expected, strict=True):
        value, half = shown(number)
        assert abs(value - truth) <= half, (cell, expected)


# --- Grah & Thouvenot ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["classification-16", "regression-16", "classification-300"])
def test_errors_of_figures_2_and_3(name):
    _, text = page("grah_thouvenot")
    table = text.partition(f"### {name}\n")[2].partition("\n#")[0]
    lines = lines_of(table)
    heads = lines.pop("method")
    frame = pd.read_csv(RESULTS / "sgd" / f"{name}.csv").set_index(["method", "evaluations"])
    assert len(lines) >= 9
    for method, cells in lines.items():
        for head, cell in zip(heads, cells, strict=True):
            agrees(cell, float(f"{frame['error'][method, int(head)]:.3g}"))


# --- Mitchell et al. -----------------------------------------------------------------------------


def test_table_4_is_theirs_to_three_percent():
    frame = pd.read_csv(PERMUTATIONS / "table4.csv").set_index(["d", "n", "method"])
    for line in PRINTED_4.split("\n")[1:-1]:
        d, n, *printed = line.split()
        for method, number in zip(ORDER_4, printed, strict=True):
            ours = frame["discrepancy"][int(d), int(n), method]
            if number != "-":  # printed to .001
                assert abs(ours - float(number)) < 0.03 * ours + 0.0005
    text, _ = page("mitchell_et_al")
    told = re.search(
        r"d = 200, n = 1000: herding ([\d.]+) .*?SBQ (\S+), Sobol (\S+), orthogonal (\S+)\. ", text
    )
    for method, number in zip(
        ["herding", "SBQ", "Sobol", "orthogonal"], told.groups(), strict=True
    ):
        agrees(number, frame["seconds"][200, 1000, method])
    least = frame["discrepancy"].xs(1000, level="n").groupby("d").idxmin()
    assert {d: method for d, (_, method) in least.items()} == {
        10: "SBQ",
        50: "SBQ",
        200: "orthogonal",
    }


def test_herding_kernel_by_kernel():
    frame = pd.read_csv(PERMUTATIONS / "pair_by_pair.csv").set_index("d")
    text, _ = page("mitchell_et_al")
    told = re.search(
        r"takes (\d+) times \(d = 200, n = 30\) to (\d+) times \(d = 10, n = 100\)", text
    )
    assert [float(number) for number in told.groups()] == [
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
    """Sobol is best on four images, pairs or orthogonal blocks on the others."""
    frame = pd.read_csv(PERMUTATIONS / "images.csv")
    assert (frame["trials"] == 25).all()
    wide, low, high = (
        frame.pivot_table(index="image", columns="method", values=name)
        for name in ("mse", "low", "high")
    )
    relative = wide.div(wide["antithetic"], axis=0)
    theirs = wide.drop(columns="Sobol, pairs")
    best = theirs.idxmin(axis=1)
    sobol = best == "Sobol"
    assert sobol.sum() == 4
    assert set(best[~sobol]) <= {"orthogonal", "antithetic"}
    text, _ = page("mitchell_et_al")
    told = re.search(r"on four images, (\S+) to (\S+) times that of antithetic", text)
    agrees(" ".join(told.groups()), *relative["Sobol"][sobol].agg(["min", "max"]))
    told = re.search(r"sets without reverses have (\S+) to (\S+) times their error", text)
    single = relative.loc[~sobol, ["herding", "SBQ", "Sobol"]]
    agrees(" ".join(told.groups()), single.min().min(), single.max().max())
    assert not (high[["herding", "SBQ"]].lt(low["antithetic"], axis=0)).any(axis=None)
    told = re.search(r"never worse than antithetic pairs by more than (\d+) %", text)
    agrees(told[1], 100 * (relative["Sobol, pairs"].max() - 1))


def test_figure_15():
    frame = pd.read_csv(PERMUTATIONS / "lam_of_images.csv")
    wide = frame.pivot_table(index="lam", columns="image", values="mse")
    means = (wide / wide.loc[4]).mean(axis=1)
    told = re.search(r"images is (\S+) to (\S+) times that at lam 4", page("mitchell_et_al")[0])
    agrees(" ".join(told.groups()), means.min(), means.max())


# --- Chen et al. ---------------------------------------------------------------------------------


def test_evaluations_on_a_line():
    """4 a player for L-Shapley at k = 1 and the regression, 16 at k = 2, 9 and 25 for C-Shapley."""
    frame = pd.read_csv(RESULTS / "structured" / "scaling.csv").set_index(["method", "d"])
    text, _ = page("chen_et_al")
    told = re.search(
        r"from (\d+) to (\d+) of them: (\d+) a player for L-Shapley at k = 1 and .*?, (\d+) at k ="
        r" 2, (\d+) and (\d+) for C-Shapley at k = 2 and 4",
        text,
    )
    least, most, local, wide, near, far = (int(number) for number in told.groups())
    assert (least, most) == (frame.index.levels[1].min(), frame.index.levels[1].max())
    for method, number in {
        "L-Shapley, k = 1": local,
        "regression C-Shapley, length 4": local,
        "L-Shapley, k = 2": wide,
        "C-Shapley, k = 2": near,
        "C-Shapley, k = 4": far,
    }.items():
        assert frame["per_player"][method, most] == pytest.approx(number, rel=0.01)
        assert frame["error"][method].max() < 1e-9
