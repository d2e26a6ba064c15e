"""The command line: files, messages and exit status."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from importlib import import_module
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

import skshapley
from skshapley import ShapleyExplainer
from skshapley.batches import ExplanationDataset
from skshapley.samplers import Antithetic

from .conftest import run_command

TREES = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"

OK, FAILED, USAGE = 0, 1, 2  # the exit statuses that the manual names


def contents(folder):
    """The bytes of every file but the lock."""
    return {p.name: p.read_bytes() for p in Path(folder).iterdir() if p.name != "_lock"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A trained model and trees, a background, and rows with keys and a column too many."""
    root = tmp_path_factory.mktemp("cli")
    X, y = load_iris(return_X_y=True, as_frame=True)
    y = np.array(["setosa", "versicolor", "virginica"])[y]
    skops.io.dump(LogisticRegression(max_iter=500).fit(X, y), root / "model.skops")
    joblib.dump(LogisticRegression(max_iter=500).fit(X, y), root / "model.joblib")
    joblib.dump(
        LogisticRegression(max_iter=500).fit(X.to_numpy(), y), root / "nameless.joblib"
    )
    skops.io.dump(
        HistGradientBoostingClassifier(max_iter=2).fit(X, y), root / "trees.skops"
    )
    X[::15].to_parquet(root / "bg.parquet")
    rows = X[::10].assign(id=[f"flower {i}" for i in range(15)], note="")
    rows.to_parquet(root / "rows.parquet")
    rows.to_csv(root / "rows.csv", index=False)
    bad = rows.copy()
    bad.iloc[4, 0] = np.nan
    bad.to_parquet(root / "bad.parquet")
    rows.drop(columns=X.columns[1]).to_parquet(root / "narrow.parquet")
    rows.drop(columns=X.columns[1]).to_csv(root / "narrow.csv", index=False)
    header, *lines = X[::15].to_csv(index=False).splitlines()
    (root / "fields.csv").write_text(
        ",\n".join([header, *lines]).replace(",\n", "\n", 1)
    )
    X[::15].astype(str).add("?").to_csv(root / "text.csv", index=False)
    for name in ("broken.skops", "broken.joblib", "broken.parquet"):
        (root / name).write_bytes(b"\x80\x05not what it says")
    cut = (root / "model.joblib").read_bytes()
    (root / "cut.joblib").write_bytes(cut[: len(cut) // 2])
    cut = (root / "model.skops").read_bytes()
    (root / "cut.skops").write_bytes(cut[: len(cut) // 2])
    return root


def explain(
    folder,
    out,
    *more,
    model="model.skops",
    background="bg.parquet",
    data="rows.parquet",
):
    files = {"--model": model, "--background": background, "--data": data}
    arguments = [
        word for option, name in files.items() for word in (option, str(folder / name))
    ]
    return run_command(["explain", *arguments, "--out", str(out), *more])


def test_explain_writes_a_folder(folder, tmp_path, capsys):
    assert explain(folder, tmp_path / "phi", "--keys", "id", "--batch-rows", "4") == OK
    message = capsys.readouterr()
    assert message.out == f"{tmp_path / 'phi'}: 15 rows explained, 0 set aside\n"
    assert "15 of 15 rows" in message.err
    assert "rows/s" in message.err
    made = ExplanationDataset(tmp_path / "phi").read()
    assert made.index.tolist() == [f"flower {i}" for i in range(15)]
    X = load_iris(as_frame=True).data
    explainer = ShapleyExplainer(joblib.load(folder / "model.joblib"), random_state=0)
    expected = explainer.fit(X[::15]).explain(X[::10])
    np.testing.assert_array_equal(made.values, expected.values)
    # again, with nothing left to do
    assert (
        explain(
            folder, tmp_path / "phi", "--keys", "id", "--batch-rows", "4", "--quiet"
        )
        == OK
    )
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "data", "more"),
    [
        ("model.joblib", "rows.csv", ("--trust-pickle",)),
        (
            "nameless.joblib",
            "rows.parquet",
            ("--trust-pickle", "--keys", "id", "--columns"),
        ),
        ("trees.skops", "rows.parquet", ("--trust", TREES)),
    ],
)
def test_other_models_and_tables(model, data, more, folder, tmp_path):
    if more[-1] == "--columns":
        more += tuple(pd.read_parquet(folder / "bg.parquet").columns)
    assert (
        explain(folder, tmp_path / "phi", "--quiet", *more, model=model, data=data)
        == OK
    )
    assert len(ExplanationDataset(tmp_path / "phi")) == 15


def test_skipped_rows_show_in_the_exit_status(folder, tmp_path, capsys):
    arguments = ["--quiet", "--keys", "id"]
    assert explain(folder, tmp_path / "phi", *arguments, data="bad.parquet") == FAILED
    assert (
        "cannot explain rows 0 to 14 (id flower 0 to flower 14)"
        in capsys.readouterr().err
    )
    arguments += ["--on-error", "skip"]
    assert explain(folder, tmp_path / "phi", *arguments, data="bad.parquet") == FAILED
    message = capsys.readouterr()
    assert "14 rows explained, 1 set aside" in message.out
    assert not message.err
    skipped = ExplanationDataset(tmp_path / "phi").skipped()
    assert skipped["key"].tolist() == ["flower 4"]
    # what was set aside is tried again
    arguments = ["--quiet", "--keys", "id"]
    assert explain(folder, tmp_path / "phi", *arguments, data="bad.parquet") == FAILED
    assert "cannot explain row 4 (id flower 4)" in capsys.readouterr().err


def ctrl_c():
    raise KeyboardInterrupt


def terminate():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10)  # if nobody hears it


@pytest.mark.parametrize("interrupt", [ctrl_c, terminate])
def test_interrupted_runs_can_be_resumed(
    interrupt, folder, tmp_path, capsys, monkeypatch
):
    calls, handler = [], signal.getsignal(signal.SIGTERM)

    def interrupted(self, X):
        calls.append(len(X))
        if len(calls) == 3:
            interrupt()
        return explained(self, X)

    explained = ShapleyExplainer.explain
    monkeypatch.setattr(ShapleyExplainer, "explain", interrupted)
    assert explain(folder, tmp_path / "phi", "--batch-rows", "4") == FAILED
    assert "interrupted; repeat the command to continue" in capsys.readouterr().err
    assert len(ExplanationDataset(tmp_path / "phi")) == 8
    assert signal.getsignal(signal.SIGTERM) is handler
    assert explain(folder, tmp_path / "phi", "--batch-rows", "4") == OK
    assert calls == [4, 4, 4, 4, 3]


def test_runs_with_different_settings_are_refused(folder, tmp_path, capsys):
    assert explain(folder, tmp_path / "phi", "--quiet") == OK
    assert explain(folder, tmp_path / "phi", "--quiet", "--random-state", "1") == FAILED
    assert "settings.random_state was 0 and is 1" in capsys.readouterr().err


TRUSTED = ("--trust-pickle",)
LONG = "x" * 600
WRONG = {
    "no model": (dict(model="gone.skops"), (), "--model '.*gone.skops' does not exist"),
    "no data": (
        dict(data="gone.parquet"),
        (),
        "--data '.*gone.parquet' does not exist",
    ),
    "pickle": (
        dict(model="model.joblib"),
        (),
        "loading a pickle can run any .*--trust-pickle",
    ),
    "trees": (
        dict(model="trees.skops"),
        (),
        f"untrusted types: {TREES}. If .*--trust {TREES}",
    ),
    "columns": (
        {},
        ("--columns", "a"),
        r"--background .* lacks the columns \['a'\]: it has",
    ),
    "config": (
        {},
        ("--config", "gone.toml"),
        "takes a .toml or .json file that exists",
    ),
    "broken model": (
        dict(model="broken.skops"),
        (),
        "--model '.*broken.skops' cannot be read: ",
    ),
    "cut model": (
        dict(model="cut.skops"),
        (),
        "--model '.*cut.skops' cannot be read: ",
    ),
    "broken pickle": (
        dict(model="broken.joblib"),
        TRUSTED,
        "broken.joblib' cannot be read: ",
    ),
    "cut pickle": (dict(model="cut.joblib"), TRUSTED, "cut.joblib' cannot be read: "),
    "no pickle": (dict(model="rows.csv"), TRUSTED, "rows.csv' cannot be read: "),
    "broken data": (
        dict(data="broken.parquet"),
        (),
        "--data '.*broken.parquet' cannot be used: ",
    ),
    "column": (
        dict(data="narrow.parquet"),
        (),
        r"narrow.parquet' .*columns \['sepal width",
    ),
    "csv column": (
        dict(data="narrow.csv"),
        (),
        r"narrow.csv' .*columns \['sepal width",
    ),
    "csv fields": (
        dict(data="fields.csv"),
        (),
        "fields.csv'.* lines have more fields than the header",
    ),
    "csv fields of the background": (
        dict(background="fields.csv"),
        (),
        "--background '.*fields.csv' cannot be read: .* more fields than the header",
    ),
    "text in the background": (
        dict(background="text.csv"),
        (),
        "could not convert string to float",
    ),
    "key": ({}, ("--keys", "nr"), r"needs the columns \['nr'\]"),
    "long model": (
        dict(model=LONG),
        (),
        "--model '.*xx' is not a valid path: .*too long",
    ),
    "long data": (dict(data=LONG), (), "--data '.*xx' is not a valid path: .*too long"),
    "long config": (
        {},
        ("--config", LONG),
        "--config '.*xx' is not a valid path.*too long",
    ),
    "long out": ({}, ("--out", LONG), "--out '.*xx' is not a valid path.*too long"),
}


@pytest.mark.parametrize(("files", "more", "message"), WRONG.values(), ids=WRONG)
def test_invalid_commands(files, more, message, folder, tmp_path, capsys):
    assert explain(folder, tmp_path / "phi", *more, **files) == USAGE
    error = capsys.readouterr().err
    assert re.search(message, error)
    assert error.count("\n") == 1
    assert not (tmp_path / "phi").exists()


# --- configuration --------------------------------------------------------------------


def test_configuration(folder, tmp_path):
    text = """
    max_rows = 300
    stopping = { rtol = 0.05 }
    groups = { petal = ["petal length (cm)", "petal width (cm)"] }
    [sampler]
    name = "antithetic"
    references = "all"
    """
    (tmp_path / "c.toml").write_text(text)
    (tmp_path / "c.json").write_text(json.dumps(tomllib.loads(text)))
    for name in ("c.toml", "c.json"):
        out = tmp_path / name.replace(".", "_")
        assert explain(folder, out, "--config", str(tmp_path / name), "--quiet") == OK
        dataset = ExplanationDataset(out)
        settings = dataset.read().settings
        assert dataset.read().feature_names[-1] == "petal"
        assert settings.sampler == repr(Antithetic(references="all"))
        assert settings.max_rows == 300
        stopping = dataset.manifest["explainer"]["stopping"]
        assert stopping == "StandardError(atol=0.0, confidence=0.95, rtol=0.05)"


CONFIGS = {
    "unknown": (
        "max_eval = 3",
        r"parameters \['max_eval'\], which .* choose among \['groups', ",
    ),
    "estimator": ("estimator = 3", r"\['estimator'\]"),
    "syntax": ("max_rows = ", "cannot be parsed"),
    "sampler": (
        "sampler = {name = 'anti'}",
        "no sampler named 'anti': choose one of .*'antithe",
    ),
    "stopping": ("stopping = {tol = 1}", "does not fit StandardError: .*'tol'"),
    "value": ("max_rows = 0", "positive int"),
}


@pytest.mark.parametrize(("text", "message"), CONFIGS.values(), ids=CONFIGS)
def test_invalid_configurations(text, message, folder, tmp_path, capsys):
    config = tmp_path / "c.toml"
    config.write_text(text)
    status = explain(folder, tmp_path / "phi", "--config", str(config))
    assert status == USAGE
    assert re.search(message, capsys.readouterr().err)


# --- plots ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def phi(folder):
    assert explain(folder, folder / "phi", "--quiet") == OK
    return str(folder / "phi")


PLOTS = {
    "importance": (),
    "beeswarm": ("--output", "setosa", "--max-features", "3"),
    "bar": ("--output", "virginica", "--max-rows", "5"),
    "waterfall": ("--output", "setosa", "--row", "12"),
    "decision": ("--output", "setosa"),
    "dependence": ("--output", "setosa", "--features", "petal length (cm)"),
    "matrix": ("--output", "setosa"),
}


@pytest.mark.parametrize(
    "kind",
    [
        *list(PLOTS)[:3],
        *(pytest.param(k, marks=pytest.mark.slow) for k in list(PLOTS)[3:]),
    ],
)
def test_plots(kind, phi, tmp_path, capsys):
    picture = tmp_path / "new" / f"{kind}.png"
    assert (
        run_command(["plot", phi, "--kind", kind, "--out", str(picture), *PLOTS[kind]])
        == OK
    )
    assert capsys.readouterr().out == f"{picture}\n"
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(list(picture.parent.iterdir())) == 1
    plt.close("all")


WRONG_PLOTS = {
    "folder": (("--folder",), USAGE, "holds no _manifest.json"),
    "output": (
        ("--output", "rose"),
        USAGE,
        r"--output 'rose' is not one of .*\['setosa'",
    ),
    "option": (
        ("--output", "setosa", "--row", "1"),
        USAGE,
        "--kind beeswarm takes no --row",
    ),
    "row": (
        ("--kind", "waterfall"),
        USAGE,
        "waterfall shows one row of the 15 in .*: pass --row",
    ),
    "suffix": (
        ("--output", "setosa", "--out", "x.doc"),
        USAGE,
        r"'x\.doc' has a suffix",
    ),
    "long": (("--out", LONG), USAGE, r"--out '.*xx' is not a valid path.*too long"),
}


@pytest.mark.parametrize(
    ("more", "status", "message"), WRONG_PLOTS.values(), ids=WRONG_PLOTS
)
def test_invalid_plots(more, status, message, phi, tmp_path, capsys):
    source, more = (str(tmp_path), ()) if more == ("--folder",) else (phi, more)
    assert (
        run_command(
            ["plot", source, "--kind", "beeswarm", "--out", str(tmp_path / "x"), *more]
        )
        == status
    )
    assert re.search(message, capsys.readouterr().err)
    plt.close("all")


def test_pictures_are_not_overwritten(phi, tmp_path, capsys):
    """Targets of links are kept too, unless --overwrite is passed; the link is then replaced."""
    picture, thesis = tmp_path / "x.png", tmp_path / "thesis.txt"
    thesis.write_text("Once upon a time")
    picture.symlink_to(thesis)
    command = [
        "plot",
        phi,
        "--kind",
        "bar",
        "--output",
        "setosa",
        "--out",
        str(picture),
    ]
    assert run_command(command) == USAGE
    assert re.search(r"x\.png' exists; .*--overwrite", capsys.readouterr().err)
    assert run_command([*command, "--overwrite"]) == OK
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert not picture.is_symlink()
    assert thesis.read_text() == "Once upon a time"
    plt.close("all")


# --- report ---------------------------------------------------------------------------


def test_report(phi, tmp_path, capsys):
    path = tmp_path / "new" / "report.html"
    command = [
        "report",
        phi,
        "--out",
        str(path),
        "--title",
        "Irises",
        "--max-rows",
        "5",
    ]
    assert run_command(command) == OK
    assert capsys.readouterr().out == f"{path}\n"
    text = path.read_text(encoding="utf-8")
    assert "<h1>Irises</h1>" in text
    shown = json.loads(text.partition('id="content">')[2].partition("</script>")[0])
    assert (len(shown["rows"]), shown["n_explained"], shown["n_rows"]) == (5, 5, 15)
    assert run_command(command) == USAGE
    assert re.search(r"report\.html' exists; .*--overwrite", capsys.readouterr().err)
    assert run_command([*command, "--overwrite"]) == OK
    assert (
        run_command(["report", str(tmp_path), "--out", str(tmp_path / "x.html")])
        == USAGE
    )
    assert "holds no _manifest.json" in capsys.readouterr().err


# --- status ---------------------------------------------------------------------------


def test_status_of_a_complete_folder(phi, capsys):
    assert run_command(["status", phi]) == OK
    message = capsys.readouterr()
    assert (message.out, message.err) == (
        f"{phi}: finished, 15 rows explained, 0 set aside\n",
        "",
    )


def test_status_names_damaged_and_lost_files(folder, tmp_path, capsys):
    arguments = [tmp_path / "phi", "--quiet", "--batch-rows", "4", "--on-error", "skip"]
    assert explain(folder, *arguments, data="bad.parquet") == FAILED
    capsys.readouterr()
    assert (
        run_command(["status", str(tmp_path / "phi")]) == FAILED
    )  # one row is set aside
    assert "finished, 14 rows explained, 1 set aside" in capsys.readouterr().out
    whole = contents(tmp_path / "phi")
    part = tmp_path / "phi" / "part-00000000.parquet"
    part.write_bytes(part.read_bytes()[:-1] + b"?")
    (tmp_path / "phi" / "part-00000001.parquet").unlink()
    assert run_command(["status", str(tmp_path / "phi")]) == FAILED
    message = capsys.readouterr()
    assert message.out == f"{tmp_path / 'phi'}: finished, 2 damaged or lost\n"
    lost, damaged = message.err.splitlines()
    assert re.search(r"part-00000000\.parquet' is damaged", damaged)
    assert re.search(r"part-00000001\.parquet' is missing", lost)
    assert explain(folder, *arguments, data="bad.parquet") == FAILED
    assert contents(tmp_path / "phi") == whole


def test_status_of_an_interrupted_run(folder, tmp_path, capsys, monkeypatch):
    def interrupted(self, X):
        raise KeyboardInterrupt

    monkeypatch.setattr(ShapleyExplainer, "explain", interrupted)
    assert explain(folder, tmp_path / "phi") == FAILED
    assert run_command(["status", str(tmp_path / "phi")]) == FAILED
    assert "not finished, 0 rows explained, 0 set aside" in capsys.readouterr().out
    (tmp_path / "phi" / "_manifest.json").write_text("{}")
    assert run_command(["status", str(tmp_path / "phi")]) == FAILED
    assert "_manifest.json' is damaged" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone", "does not exist"),
        (".", "holds no _manifest"),
        ("file", "holds no _manifest"),
        (LONG, "too long"),
    ],
)
def test_status_of_other_folders(path, message, tmp_path, capsys):
    (tmp_path / "file").write_text("no folder")
    assert run_command(["status", str(tmp_path / path)]) == USAGE
    assert re.search(message, capsys.readouterr().err)


# --- the command itself ---------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments", [[], ["explain"], ["plot"], ["draw"], ["explain", "--n-jobs", "x"]]
)
def test_usage_errors_exit_with_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as end:
        run_command(arguments)
    assert end.value.code == USAGE
    assert "usage: skshapley" in capsys.readouterr().err


def test_without_arguments_the_commands_are_listed(capsys):
    with pytest.raises(SystemExit) as end:
        run_command([])
    assert end.value.code == USAGE
    text = capsys.readouterr().err
    for part in (
        "usage: skshapley",
        "explain a table into a folder",
        "examples:\n  skshapley ex",
    ):
        assert part in text


class OddError(Exception):
    """An error of an unexpected kind."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OddError("so"), "skshapley: OddError: so\n"),
        (MemoryError(), "out of memory; repeat"),
    ],
)
def test_errors_print_no_traceback(
    error, message, folder, tmp_path, capsys, monkeypatch
):
    def fails(self, X):
        raise error

    monkeypatch.setattr(ShapleyExplainer, "fit", fails)
    assert explain(folder, tmp_path / "phi") == FAILED
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    "make", [Path.mkdir, lambda lock: lock.symlink_to("/dev/full")]
)
def test_unusable_lock_files(make, folder, tmp_path, capsys):
    (tmp_path / "phi").mkdir()
    make(tmp_path / "phi" / "_lock")
    assert explain(folder, tmp_path / "phi") == FAILED
    error = capsys.readouterr().err
    assert "file _lock cannot be locked" in error
    assert "another run" not in error


@pytest.mark.parametrize("command", [[], ["explain"], ["status"], ["plot"], ["report"]])
def test_help_is_a_manual(command, capsys):
    with pytest.raises(SystemExit) as end:
        run_command([*command, "--help"])
    assert end.value.code == OK
    text = capsys.readouterr().out
    for section in ("examples:", "exit status:", "  2  the "):
        assert section in text


def test_manual_names_every_column(folder, tmp_path, capsys):
    assert explain(folder, tmp_path / "phi") == OK
    columns = pd.read_parquet(tmp_path / "phi").columns
    with pytest.raises(SystemExit):
        run_command(["explain", "--help"])
    results = (
        capsys.readouterr().out.partition("results:")[2].partition("configuration:")[0]
    )
    kinds = {re.sub(":.*", ":NAME", column) for column in columns}
    assert {"row", "value:NAME", "background:NAME"} <= kinds
    assert kinds <= {*re.findall(r"[\w:]+", results)}


def process(folder, out, *more):
    files = {
        "--model": "trees.skops",
        "--background": "bg.parquet",
        "--data": "rows.parquet",
    }
    arguments = [
        word for option, name in files.items() for word in (option, folder / name)
    ]
    command = [
        sys.executable,
        "-m",
        "skshapley",
        "explain",
        *arguments,
        "--out",
        out,
        *more,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_process_without_trust_refuses_unknown_types(folder, tmp_path):
    done = process(folder, tmp_path / "phi")
    assert (done.returncode, done.stdout) == (USAGE, "")
    assert TREES in done.stderr


@pytest.mark.slow
def test_a_successful_process(folder, tmp_path):
    done = process(folder, tmp_path / "phi", "--trust", TREES)
    assert done.returncode == OK, done.stderr
    assert "15 rows explained" in done.stdout
    assert "15 of 15 rows" in done.stderr


def test_the_script_is_installed(capsys):
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())[
        "project"
    ]
    module, function = project["scripts"]["skshapley"].split(":")
    with pytest.raises(SystemExit):
        getattr(import_module(module), function)(["--version"])
    assert capsys.readouterr().out == f"{skshapley.__version__}\n"
