"""An interrupted run can be resumed and ends with the same bytes."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer, TreeExplainer
from skshapley.batches import ExplanationDataset, explain_batches
from skshapley.exceptions import BatchError

from .conftest import NAMES, contents, fitted, model, rewritten
from .killed_runs import trials


class Died(BaseException):
    """The simulated death of a process; nothing catches it."""


@pytest.mark.parametrize(
    "after",
    [False, pytest.param(True, marks=pytest.mark.slow)],
    ids=["before the move", "after the move"],
)
def test_a_run_killed_at_any_write_can_be_resumed(
    after, table, explainer, tmp_path, monkeypatch
):
    """Manifest, three parts, manifest: kill the run at each of the five writes."""
    arguments = dict(batch_rows=10, keys="key")
    explain_batches(explainer, table, tmp_path / "whole", **arguments)
    moved, deaths, calls = os.replace, [], 0

    def dying(source, target):
        nonlocal calls
        calls += 1
        fatal = calls == len(deaths) + 1
        if fatal and not after:
            raise Died
        moved(source, target)
        if fatal:
            raise Died

    monkeypatch.setattr(os, "replace", dying)
    while True:
        calls, folder = 0, tmp_path / f"death {len(deaths)}"
        try:
            explain_batches(explainer, table, folder, **arguments)
            break
        except Died:
            deaths.append(folder)
    monkeypatch.undo()
    assert len(deaths) == 5
    for folder in deaths:
        explain_batches(explainer, table, folder, **arguments)
        assert contents(folder) == contents(tmp_path / "whole")


def test_an_interrupted_write_leaves_no_file(table, explainer, tmp_path, monkeypatch):
    def dying(file):
        raise Died

    monkeypatch.setattr(os, "fsync", dying)
    with pytest.raises(Died):
        explain_batches(explainer, table, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["_lock"]


def test_finished_batches_are_not_recomputed(table, background, tmp_path):
    """The model breaks at row 17; the next run passes it only the remaining rows."""
    # an object, whose state is no part of a function's code
    state = SimpleNamespace(seen=0, broken=True)

    def fragile(X):
        if state.broken and (X["a"] == table["a"][17]).any():
            raise ValueError("out of order.")
        state.seen += len(X)
        return model(X)

    explainer = fitted(background, model=fragile)
    state.seen = 0
    with pytest.raises(BatchError, match="rows 15 to 19"):
        explain_batches(explainer, table, tmp_path, batch_rows=5)
    assert not ExplanationDataset(tmp_path).finished
    assert len(ExplanationDataset(tmp_path)) == 15
    state.broken, first = False, state.seen
    dataset = explain_batches(explainer, table, tmp_path, batch_rows=5)
    np.testing.assert_array_equal(
        dataset.read().values, fitted(background).explain(table[NAMES]).values
    )
    assert state.seen - first < first


@pytest.mark.parametrize(
    "state", [None, np.random.RandomState(4), np.random.default_rng(4)]
)
def test_a_resumed_run_keeps_its_entropy(state, table, background, tmp_path):
    explainer = fitted(background, random_state=state)
    before = explain_batches(explainer, table, tmp_path, batch_rows=5).read()
    (tmp_path / "part-00000002.parquet").unlink()
    after = explain_batches(explainer, table, tmp_path, batch_rows=5).read()
    np.testing.assert_array_equal(after.values, before.values)


# --- a run with something else is refused ---------------------------------------------

CHANGES = {
    "batches": (dict(batch_rows=6), "settings.batch_rows was 5 and is 6"),
    "keys": (dict(keys="key"), r"settings.keys was \[\] and is \['key'\]"),
    "seed": (dict(random_state=8), "settings.random_state was 7 and is 8"),
    "no seed": (dict(random_state=None), "random_state was 7 and is drawn"),
    "budget": (dict(max_rows=169), "explainer.max_rows was 109 and is 169"),
    "sampler": (
        dict(sampler="monte-carlo"),
        "sampler was 'antithetic' and is 'monte-carlo'",
    ),
    "model": (dict(model=lambda X: model(X) + 1e-12), "explainer.model's answers was"),
    "background": (dict(background=0.5), "explainer.background was"),
    "several": (
        dict(batch_rows=6, max_rows=169),
        "batch_rows was .*; explainer.max_rows was",
    ),
}


@pytest.mark.parametrize(("change", "message"), CHANGES.values(), ids=CHANGES)
def test_different_settings_are_refused(change, message, table, background, tmp_path):
    explain_batches(fitted(background), table, tmp_path, batch_rows=5)
    whole, change = contents(tmp_path), dict(change)
    arguments = {
        name: change.pop(name) for name in ("batch_rows", "keys") if name in change
    }
    other = fitted(background + change.pop("background", 0.0), **change)
    with pytest.raises(FileExistsError, match=message) as caught:
        explain_batches(other, table, tmp_path, **(dict(batch_rows=5) | arguments))
    assert str(caught.value).endswith("Restore that, or choose another folder.")
    assert contents(tmp_path) == whole


def test_settings_without_effect_on_values_may_change(table, background, tmp_path):
    explain_batches(fitted(background), table, tmp_path, batch_rows=5)
    whole = contents(tmp_path)
    explainer = fitted(background, n_jobs=2, verbose=1)
    explain_batches(explainer, table, tmp_path, batch_rows=5, on_error="skip")
    assert contents(tmp_path) == whole


def test_different_library_versions_are_refused(table, explainer, tmp_path):
    versions = explain_batches(explainer, table, tmp_path).manifest["versions"]
    rewritten(tmp_path / "_manifest.json", versions=versions | {"numpy": "1.0"})
    with pytest.raises(FileExistsError, match=r"versions\.numpy was 1\.0 and is "):
        explain_batches(explainer, table, tmp_path)


def test_different_trees_are_refused(table, tmp_path):
    X = table[NAMES]
    for seed, fails in ((0, False), (0, False), (1, True)):
        forest = RandomForestRegressor(3, random_state=seed).fit(X, X["a"] * X["b"])
        explainer = TreeExplainer(forest).fit(X)
        if fails:
            with pytest.raises(FileExistsError, match="answers"):
                explain_batches(explainer, X, tmp_path)
        else:
            explain_batches(explainer, X, tmp_path)


def test_a_different_preprocessing_step_is_refused(table, tmp_path):
    X = table[NAMES]
    forest = RandomForestRegressor(3, random_state=0).fit(X.to_numpy(), X["a"] * X["b"])
    for scale, fails in ((1.0, False), (1.0, False), (2.0, True)):
        step = StandardScaler(with_mean=False).fit(X * scale)
        step.scale_ = np.full(5, scale)
        explainer = ShapleyExplainer(make_pipeline(step, forest), random_state=0).fit(X)
        if fails:
            with pytest.raises(FileExistsError, match="model's answers was"):
                explain_batches(explainer, X, tmp_path)
        else:
            explain_batches(explainer, X, tmp_path)


def edited(table):
    changed = table.copy()
    changed.loc[3, "c"] += 1e-9
    return changed


DATA = {
    "a value": (
        edited,
        "the data of rows 0 to 4 .* have changed since they were explained",
    ),
    "a key": (lambda t: t.assign(key=[*t["key"][:-1], "?"]), "rows 20 to 24"),
    "a type": (
        lambda t: t.assign(a=t["a"].astype("float32")),
        "source.columns.a was float64",
    ),
    "fewer rows": (lambda t: t[:20], "source.rows was 25 and is 20"),
    "columns": (lambda t: t.assign(z=0), "source.columns.z was None and is int64"),
}


@pytest.mark.parametrize(("change", "message"), DATA.values(), ids=DATA)
def test_different_data_are_refused(change, message, table, explainer, tmp_path):
    arguments = dict(batch_rows=5, keys="key")
    explain_batches(explainer, table, tmp_path, **arguments)
    with pytest.raises(FileExistsError, match=message):
        explain_batches(explainer, change(table), tmp_path, **arguments)


def test_iterators_are_identified_by_their_batches(table, explainer, tmp_path):
    explain_batches(explainer, iter([table]), tmp_path, batch_rows=5)
    whole = contents(tmp_path)
    explain_batches(explainer, iter([table[:8], table[8:]]), tmp_path, batch_rows=5)
    assert contents(tmp_path) == whole
    for other, message in (
        (edited(table), "rows 0 to 4"),
        (table[:20], "the source ends after 20 rows, and it had more"),
        (
            pd.concat([table, table[:5]], ignore_index=True),
            "the source now has more than 25 rows",
        ),
        (table[:18], "rows 15 to 17"),
    ):
        with pytest.raises(FileExistsError, match=message):
            explain_batches(explainer, iter([other]), tmp_path, batch_rows=5)


def test_unrelated_files_are_kept(table, explainer, tmp_path):
    (tmp_path / "thesis.txt").write_text("Once upon a time")
    with pytest.raises(
        FileExistsError, match=r"which holds other files, such as 'thesis\.txt'"
    ):
        explain_batches(explainer, table, tmp_path)
    with pytest.raises(FileExistsError, match="which is not a folder"):
        explain_batches(explainer, table, tmp_path / "thesis.txt")
    assert (tmp_path / "thesis.txt").read_text() == "Once upon a time"


# --- processes ------------------------------------------------------------------------


def test_two_processes_cannot_share_a_folder(table, explainer, tmp_path):
    """Another process locks the folder; killing it releases the lock."""
    hold = (
        "import pathlib, sys, time; from skshapley.batches._folder import Folder\n"
        "with Folder(pathlib.Path(sys.argv[1])).held(): print('held', flush=True); "
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", hold, tmp_path]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(
            BlockingIOError, match="which another run is writing to; wait"
        ):
            explain_batches(explainer, table, tmp_path)
        holder.kill()
    assert explain_batches(explainer, table, tmp_path).finished


@pytest.mark.slow
@pytest.mark.parametrize(("n_trials", "seed"), [(40, 1)])
def test_a_run_killed_at_random_times_ends_with_the_same_bytes(
    n_trials, seed, tmp_path
):
    """SIGKILL at a random time, then a new interpreter finishes the run.

    The model is a function.
    """
    found = trials(tmp_path, 60, n_trials, seed)
    assert min(found) < len(list((tmp_path / "peace").glob("part-*"))) == 12
    for trial in range(n_trials):
        assert contents(tmp_path / str(trial)) == contents(tmp_path / "peace")
    assert pd.read_parquet(tmp_path / "0")["row"].tolist() == list(range(60))
