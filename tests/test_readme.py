"""The code of the README runs, and its names exist."""

import inspect
import re
from pathlib import Path

import matplotlib.pyplot as plt
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import skshapley
import skshapley.batches
import skshapley.plots
import skshapley.rewards
import skshapley.samplers
import skshapley.solvers
import skshapley.stopping

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
REGISTERED = {
    *skshapley.samplers.SAMPLERS,
    *skshapley.solvers.SOLVERS,
    *skshapley.rewards.REWARDS,
}
PLACES = [
    skshapley,
    skshapley.batches,
    skshapley.Explanation,
    skshapley.ShapleyExplainer,
    skshapley.plots,
    skshapley.rewards,
    skshapley.samplers,
    skshapley.solvers,
    skshapley.stopping,
]


def table_names():
    """Return the names in code type in the table of contents."""
    table = README.partition("## What is there")[2].partition("\n## ")[0]
    return sorted(set(re.findall(r"`([^`]+)`", table)))


def test_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = load_iris(return_X_y=True, as_frame=True)
    rows = y < 2
    model = LogisticRegression().fit(X[rows], y[rows])
    names = {"model": model, "X_train": X[rows], "X_test": X[rows][:3]}
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, names)
    columns = names["explanation"].to_frame("long").columns.tolist()
    plt.close("all")
    assert ", ".join(columns) in README
    assert (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", table_names())
def test_names_in_the_table_exist(name):
    last = name.split(".")[-1]
    parameters = inspect.signature(skshapley.ShapleyExplainer).parameters
    assert last in {*REGISTERED, *parameters} or any(
        hasattr(place, last) for place in PLACES
    )


def test_commands_are_targets_of_the_makefile():
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
    )
    targets |= {f"bench-{path.stem}" for path in (ROOT / "benchmarks").iterdir()}
    commands = set(re.findall(r"\bmake ([a-z-]+)\b(?= +#|`)", README))
    assert {"demo", "test", "bench"} <= commands <= targets


ACCURACY = {
    'skshapley, `sampler="odd"`': "odd",
    "shapiq KernelSHAP": "shapiq kernel",
    "shap PermutationExplainer": "shap permutation",
    "shap KernelExplainer(l1_reg=False)": "shap kernel",
    "LightSHAP, kernel": "lightshap kernel",
    "shapiq LeverageSHAP": "shapiq LeverageSHAP",
    "shapiq OddSHAP": "shapiq OddSHAP",
    "shapiq RegressionMSR, linear": "shapiq RegressionMSR",
    "shapiq PolySHAP, pairs": "shapiq PolySHAP",
    "shapiq ProxySHAP": "shapiq ProxySHAP",
    "skshapley, default": "default",
}


def cells(table):
    """The first cell of each line of a Markdown table, and the others."""
    lines = [
        line.strip("| ").split("|")
        for line in table.splitlines()
        if line.startswith("|")
    ]
    return {first.strip(): [cell.strip() for cell in rest] for first, *rest in lines}


def test_errors_agree_with_the_measurements():
    tables = (ROOT / "doc/results/accuracy/tables.md").read_text(encoding="utf-8")
    measured = cells(
        tables.partition("<!-- means -->")[2].partition("<!-- end means -->")[0]
    )
    printed = cells(README.partition("## Beside shap")[2])
    for ours, theirs in ACCURACY.items():
        assert printed[ours] == measured[theirs][:4]


def test_speed_of_trees_agrees_with_the_measurements():
    measured = (ROOT / "doc/results/trees.md").read_text(encoding="utf-8")
    printed = cells(README.partition("## Beside shap")[2])
    for rows in ("1 x 1", "10 x 100", "1,000 x 1,000"):
        (line,) = re.findall(
            rf"^\| xgboost 100 x 6 \| {rows} \|(.*)", measured, re.MULTILINE
        )[:1]
        assert printed[rows] == [cell.strip() for cell in line.split("|")[:4]]


def sentences(text):
    """The sentences of a Markdown text, without code, tables, pictures and link targets."""
    text = re.sub(r"```.*?```|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r"!\[[^]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    blocks = re.split(r"\n\s*\n|\n(?=[-#|] *)", text)
    prose = [
        " ".join(block.split())
        for block in blocks
        if not block.lstrip().startswith(("|", "#"))
    ]
    return [
        sentence for block in prose for sentence in re.split(r"(?<=[.?!])\s+", block)
    ]


def test_sentences_are_short():
    found = sentences(README)
    assert len(found) > 30
    assert [sentence for sentence in found if len(sentence.split()) > 25] == []


def test_long_sentences_are_seen():
    long = " ".join(["word"] * 26)
    block = f"| {long} |\n\n```\n{long}\n```"
    text = f"# Head\n\nShort. A {long}.\n\n{block}\n\n[a b]({long}) and\n- c."
    assert [len(sentence.split()) for sentence in sentences(text)] == [1, 27, 3, 2]


def test_links_have_targets():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    local = [target for target in targets if "://" not in target]
    assert local
    assert all((ROOT / target).exists() for target in local)
