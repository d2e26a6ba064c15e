"""Damaged, lost and foreign files in a folder of results."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from skshapley.batches import ExplanationDataset, explain_batches

from .conftest import contents, fitted, picky, rewritten, spoilt

BAD = [2, 20, 21, 22, 23, 24]  # the last batch holds nothing else
ARGUMENTS = dict(batch_rows=5, keys="key", on_error="skip")
ASIDE = pytest.mark.filterwarnings("ignore:explain_batches set .* rows aside")


@pytest.fixture(scope="module")
def source(table):
    return spoilt(table, BAD)


@pytest.fixture
def skipping(background):
    """An explainer of a model that refuses missing values."""
    return fitted(background, model=picky)


@pytest.fixture
def folder(skipping, source, tmp_path):
    """Four parts, and the list of the rows of a batch without one."""
    with pytest.warns(UserWarning, match="set 6 rows aside"):
        explain_batches(skipping, source, tmp_path / "phi", **ARGUMENTS)
    assert len(contents(tmp_path / "phi")) == 6
    return tmp_path / "phi"


def again(explainer, source, folder):
    return explain_batches(explainer, source, folder, **ARGUMENTS)


def damage(path):
    """One letter of a text becomes another."""
    path.write_bytes(path.read_bytes().replace(b"row", b"rov", 1))


# --- damage ---------------------------------------------------------------------------


def outcome(folder):
    """Return the values that a reader gets, or its error."""
    try:
        dataset = ExplanationDataset(folder)
        read = dataset.read()
        tables = [read.to_frame(), read.data, dataset.skipped()]
        texts = [table.to_csv() for table in tables]
        return len(dataset), *texts, read.predictions.tobytes(), read.settings
    except OSError as error:
        return str(error)


@ASIDE
@pytest.mark.parametrize(
    ("n", "seed"), [(12, 0), pytest.param(200, 1, marks=pytest.mark.slow)]
)
def test_a_flipped_bit_never_changes_values_unnoticed(
    n, seed, folder, skipping, source
):
    """Flip one bit of any file: readers get the original values or an error."""
    rng, whole, expected = (
        np.random.default_rng(seed),
        contents(folder),
        outcome(folder),
    )
    sizes = {name: len(data) for name, data in whole.items()}
    n_seen = 0
    for _ in range(n):
        name = rng.choice(list(sizes))  # lists are as likely to be hit as parts
        place, bit = rng.integers(sizes[name]), rng.integers(8)
        flipped = bytearray(whole[name])
        flipped[place] ^= 1 << int(bit)
        (folder / name).write_bytes(flipped)
        seen = outcome(folder)
        assert seen == expected or "is damaged" in seen
        n_seen += seen != expected
        if name == "_manifest.json" and seen != expected:
            assert name in seen
            with pytest.raises(OSError, match=r"_manifest\.json.* is damaged"):
                again(skipping, source, folder)
        else:
            wrong = ExplanationDataset(folder).check()
            assert len(wrong) == (seen != expected)
            again(skipping, source, folder)
            assert outcome(folder) == expected
            if wrong:
                assert contents(folder)[name] == whole[name]
        (folder / name).write_bytes(whole[name])
    assert n_seen > 0.8 * n  # the others hit bytes that are not read


def test_deeply_nested_manifests_are_damaged(table, explainer, tmp_path):
    explain_batches(explainer, table, tmp_path, verbose=False)
    (tmp_path / "_manifest.json").write_bytes(b"[" * 10**6 + b"]" * 10**6)
    with pytest.raises(OSError, match=r"_manifest\.json' is damaged"):
        ExplanationDataset(tmp_path)


def test_saved_explanations_are_not_accepted_as_parts(
    table, explainer, whole, tmp_path
):
    explain_batches(explainer, table, tmp_path, batch_rows=5, keys="key")
    written = contents(tmp_path)
    whole[:5].save(tmp_path / "part-00000002.parquet")
    with pytest.raises(
        OSError, match=r"part-00000002\.parquet' is damaged .* no part of a run"
    ):
        len(ExplanationDataset(tmp_path))
    explain_batches(explainer, table, tmp_path, batch_rows=5, keys="key")
    assert contents(tmp_path) == written


def test_damaged_parts_are_named_and_recomputed(table, explainer, tmp_path):
    explain_batches(explainer, table, tmp_path, batch_rows=5)
    whole = contents(tmp_path)
    part = tmp_path / "part-00000003.parquet"
    for damaged in (b"", b"nothing", whole[part.name][:-20], whole[part.name][:50]):
        part.write_bytes(damaged)
        dataset = ExplanationDataset(tmp_path)
        assert repr(dataset).endswith("damaged, finished>")
        for reading in (len, list, ExplanationDataset.read):
            with pytest.raises(OSError, match=r"part-00000003\.parquet' is damaged"):
                reading(dataset)
        explain_batches(explainer, table, tmp_path, batch_rows=5)
        assert contents(tmp_path) == whole


@pytest.mark.parametrize("name", ["part-00000001.parquet", "part-00000004.parquet"])
def test_lost_parts_are_named_and_recomputed(name, table, explainer, tmp_path):
    """The last part too, although only the manifest shows its loss."""
    explain_batches(explainer, table, tmp_path, batch_rows=5)
    whole = contents(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"{name}' is missing \(1 in all\)"):
        ExplanationDataset(tmp_path).read()
    assert len(ExplanationDataset(tmp_path).check()) == 1
    explain_batches(explainer, table, tmp_path, batch_rows=5)
    assert contents(tmp_path) == whole


@ASIDE
@pytest.mark.parametrize("how", [Path.unlink, damage], ids=["lost", "broken"])
def test_damaged_lists_of_skipped_rows_are_named_and_recomputed(
    how, folder, skipping, source
):
    whole = contents(folder)
    how(folder / "_skipped-00000004.json")
    (wrong,) = ExplanationDataset(folder).check()
    assert "00000004" in wrong
    with pytest.raises(OSError, match=r"is (missing|damaged)"):
        ExplanationDataset(folder).skipped()
    again(skipping, source, folder)
    assert contents(folder) == whole


# --- another run ----------------------------------------------------------------------


def test_parts_of_another_run_are_refused(table, background, tmp_path):
    """The rows are the same and the file is intact."""
    for name, seed in (("ours", 7), ("theirs", 8)):
        explain_batches(
            fitted(background, random_state=seed), table, tmp_path / name, batch_rows=5
        )
    part = "part-00000002.parquet"
    shutil.copy(tmp_path / "theirs" / part, tmp_path / "ours" / part)
    with pytest.raises(OSError, match=rf"{part}' belongs to another run"):
        ExplanationDataset(tmp_path / "ours").read()
    with pytest.raises(FileExistsError, match=rf"{part} belongs to another run"):
        explain_batches(fitted(background), table, tmp_path / "ours", batch_rows=5)
    assert contents(tmp_path / "ours")[part] == contents(tmp_path / "theirs")[part]


@ASIDE
def test_a_manifest_with_another_entropy_is_refused(folder, skipping, source):
    """Whether it was edited by hand or sealed again."""
    manifest = folder / "_manifest.json"
    edited = manifest.read_text().replace('"entropy": "7"', '"entropy": "8"')
    assert edited != manifest.read_text()
    manifest.write_text(edited)
    with pytest.raises(
        OSError, match=r"_manifest\.json' is damaged.*hoose another folder"
    ):
        again(skipping, source, folder)
    rewritten(manifest)
    with pytest.raises(
        FileExistsError, match=r"part-00000000\.parquet belongs to another run"
    ):
        again(skipping, source, folder)
    with pytest.raises(OSError, match="belongs to another run"):
        ExplanationDataset(folder).read()
    assert len(ExplanationDataset(folder).check()) == 5


# --- files of somebody else -----------------------------------------------------------


def test_symbolic_links_are_not_followed_when_writing(table, explainer, tmp_path):
    """Links with the name of a draft, the manifest or a part."""
    out, thesis = tmp_path / "phi", tmp_path / "thesis.txt"
    thesis.write_text("Once upon a time")
    out.mkdir()
    for name in ("._manifest.json.tmp", ".part-00000000.parquet.tmp"):
        (out / name).symlink_to(thesis)
    explain_batches(explainer, table, out)
    assert thesis.read_text() == "Once upon a time"
    (out / "part-00000000.parquet").unlink()
    (out / "part-00000000.parquet").symlink_to(thesis)
    explain_batches(explainer, table, out)
    assert thesis.read_text() == "Once upon a time"
    assert len(ExplanationDataset(out)) == 25


def test_an_unusable_lock_file_is_not_reported_as_another_run(
    table, explainer, tmp_path
):
    (tmp_path / "thesis.txt").write_text("Once upon a time")
    for name, make in (
        ("link", lambda lock: lock.symlink_to(tmp_path / "thesis.txt")),
        ("folder", Path.mkdir),
    ):
        (tmp_path / name).mkdir()
        make(tmp_path / name / "_lock")
        with pytest.raises(
            OSError, match=r"file _lock cannot be locked: .*Free space"
        ) as caught:
            explain_batches(explainer, table, tmp_path / name)
        assert not isinstance(caught.value, BlockingIOError)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "_lock").write_text("not a lock")
    assert explain_batches(explainer, table, tmp_path / "broken").finished
    assert (tmp_path / "thesis.txt").read_text() == "Once upon a time"


def test_foreign_files_with_similar_names_are_kept(table, explainer, tmp_path):
    explain_batches(explainer, table, tmp_path, batch_rows=5)
    names = [
        "part-x.txt",
        "part-9.parquet",
        "part-00000009.parquet.bak",
        "part-000000009.parquet",
    ]
    strange = {name: f"my {name}" for name in [*names, "_skipped-z.json"]}
    for name, text in strange.items():
        (tmp_path / name).write_text(text)
    dataset = explain_batches(explainer, table, tmp_path, batch_rows=5)
    assert dataset.finished
    assert len(dataset.read()) == 25
    assert not len(dataset.skipped())
    assert not dataset.check()
    assert {name: (tmp_path / name).read_text() for name in strange} == strange


def test_a_foreign_list_of_skipped_rows_is_not_overwritten(table, explainer, tmp_path):
    (tmp_path / "_skipped-00000000.json").write_text("mine")
    with pytest.raises(
        FileExistsError,
        match=r"which holds other files, such as '_skipped-00000000\.json'",
    ):
        explain_batches(explainer, table, tmp_path)
    assert (tmp_path / "_skipped-00000000.json").read_text() == "mine"


def test_long_folder_paths(table, explainer, tmp_path):
    deep = tmp_path / Path(*["x" * 150] * 5)
    assert explain_batches(explainer, table, deep).finished
    assert len(str(deep)) > 600
