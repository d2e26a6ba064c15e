"""Writing to a full disk or a lost folder: earlier files stay, and one error says how to go on.

A limit on the size of files stands for the full disk, since it needs no rights.
"""

import pickle
import shutil
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest

from skshapley import Explanation, ShapleyExplainer
from skshapley.batches import ExplanationDataset, explain_batches

from .conftest import run_command

resource = pytest.importorskip("resource", reason="limits of POSIX")
TABLE = pd.DataFrame(np.arange(60.0).reshape(20, 3) % 7, columns=list("abc"))


@contextmanager
def full_disk(free=1024):
    """Limit the size of files that can be written, in bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def fitted():
    return ShapleyExplainer(lambda X: np.asarray(X).prod(axis=1)).fit(TABLE[:4])


@pytest.fixture(scope="module")
def explanation():
    return fitted().explain(TABLE)


WRITERS = {"save": "phi.parquet", "report": "phi.html"}


@pytest.mark.parametrize(("writer", "name"), WRITERS.items())
def test_files_on_a_full_disk_are_kept(writer, name, explanation, tmp_path):
    path = tmp_path / name
    getattr(explanation, writer)(path)
    before = path.read_bytes()
    with full_disk(), pytest.raises(OSError, match="too large") as caught:
        getattr(explanation[:5], writer)(path)
    message = str(caught.value)
    assert message.startswith(f"{name!r} cannot be written into {str(tmp_path)!r}: ")
    assert "kept" in message
    assert "Free space" in message
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert path.read_bytes() == before


@pytest.mark.parametrize(("writer", "name"), WRITERS.items())
def test_interrupted_writing_leaves_no_hidden_file(
    writer, name, explanation, tmp_path, monkeypatch
):
    def interrupted(descriptor):
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        getattr(explanation, writer)(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_save_into_a_missing_folder(explanation, tmp_path):
    folder = tmp_path / "gone"
    with pytest.raises(OSError, match="No such file") as caught:
        explanation.save(folder / "phi.parquet")
    assert f"into {str(folder)!r}" in str(caught.value)


def pieces(event=None):
    """Yield a table in two pieces, with an event between them."""
    yield TABLE[:10]
    if event is not None:
        event()
    yield TABLE[10:]


def test_runs_on_a_full_disk_continue(tmp_path):
    folder, whole = tmp_path / "run", tmp_path / "whole"
    limits = full_disk()
    try:
        with pytest.raises(OSError, match="rows 10 to 19 into") as caught:
            explain_batches(
                fitted(), pieces(limits.__enter__), folder, batch_rows=10, verbose=False
            )
    finally:
        limits.__exit__(None, None, None)
    message = str(caught.value)
    assert f"out={str(folder)!r}: File too large. The 10 rows before are " in message
    assert "repeat the call to continue" in message
    assert not list(folder.glob(".*"))
    assert len(ExplanationDataset(folder)) == 10

    explain_batches(fitted(), pieces(), folder, batch_rows=10, verbose=False)
    explain_batches(fitted(), pieces(), whole, batch_rows=10, verbose=False)
    part = "part-00000001.parquet"
    np.testing.assert_array_equal(
        Explanation.load(folder / part).values, Explanation.load(whole / part).values
    )


def test_runs_in_a_removed_folder_name_it(tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(OSError, match=r"rows 10 to 19 into .*restore the folder"):
        explain_batches(
            fitted(), pieces(lambda: shutil.rmtree(folder)), folder, batch_rows=10
        )


def test_commands_on_a_full_disk_keep_the_old_page(tmp_path, capsys):
    folder, page = tmp_path / "run", tmp_path / "page.html"
    explain_batches(fitted(), TABLE, folder, verbose=False)
    page.write_text("old")
    with full_disk():
        status = run_command(["report", str(folder), "--out", str(page), "--overwrite"])
    assert status == 1
    assert "skshapley: 'page.html' cannot be written into" in capsys.readouterr().err
    assert page.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == {"run", "page.html"}
