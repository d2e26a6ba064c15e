"""Later runs retry skipped rows; errors unrelated to rows stop a run."""

import os

import numpy as np
import pytest

from skshapley.batches import ExplanationDataset, _run, explain_batches
from skshapley.exceptions import BatchError

from .conftest import NAMES, contents, fitted, model, picky, rewritten, spoilt

ARGUMENTS = dict(batch_rows=5, keys="key")
ASIDE = pytest.mark.filterwarnings("ignore:explain_batches set .* rows aside")
DOWN = [1, 3, 10, 11, 12, 13, 14]  # of the third batch all


class Service:
    """A model that cannot answer about some rows for a while."""

    def __init__(self, table):
        self.table, self.rows = table, []

    def __call__(self, X):
        if np.isin(X["a"], self.table["a"][self.rows]).any():
            raise ConnectionError(f"no answer from {self!r}")
        return picky(X)


@pytest.fixture(scope="module")
def table(table):
    """A different number in column a for each row."""
    return table.assign(a=np.linspace(-1, 1, 25))


@pytest.fixture
def service(table):
    return Service(table)


@pytest.fixture
def explainer(service, background):
    return fitted(background, model=service)


@pytest.fixture
def folder(service, explainer, table, tmp_path):
    """A run that says it has finished, during which seven rows had no answer."""
    service.rows = DOWN
    with pytest.warns(UserWarning, match="set 7 rows aside"):
        dataset = explain_batches(
            explainer, table, tmp_path / "phi", on_error="skip", **ARGUMENTS
        )
    assert dataset.finished
    service.rows = []
    return tmp_path / "phi"


def test_the_list_of_skipped_rows_has_the_errors(folder):
    skipped = ExplanationDataset(folder).skipped()
    assert skipped["row"].tolist() == DOWN
    assert skipped["key"].tolist() == [f"row {row}" for row in DOWN]
    (why,) = set(skipped["error"])
    assert why.startswith("ConnectionError: no answer from <")
    assert " at 0x" not in why


@pytest.mark.parametrize(
    "on_error", [pytest.param("raise", marks=pytest.mark.slow), "skip"]
)
def test_a_later_run_retries_skipped_rows(
    on_error, folder, explainer, background, table, tmp_path
):
    dataset = explain_batches(explainer, table, folder, on_error=on_error, **ARGUMENTS)
    assert not len(dataset.skipped())
    expected = fitted(background).explain(table[NAMES])
    np.testing.assert_array_equal(dataset.read().values, expected.values)
    explain_batches(
        explainer, table, tmp_path / "peace", on_error=on_error, **ARGUMENTS
    )
    assert contents(folder) == contents(tmp_path / "peace")


@ASIDE
def test_rows_that_fail_again_stay_skipped(folder, explainer, service, table):
    """A failing retry changes no file; then one of three rows succeeds."""
    before, service.rows = contents(folder), DOWN
    explain_batches(explainer, table, folder, on_error="skip", **ARGUMENTS)
    assert contents(folder) == before
    service.rows = [3, 10]
    dataset = explain_batches(explainer, table, folder, on_error="skip", **ARGUMENTS)
    assert dataset.skipped()["row"].tolist() == [3, 10]
    assert len(dataset) == 23


def test_a_run_that_raises_names_the_failing_rows(folder, explainer, service, table):
    """The first failing row of the batch, or the batch if all of its rows fail."""
    before, service.rows = contents(folder), [10]
    with pytest.raises(
        BatchError, match=r"cannot explain row 10 \(key row 10\): ConnectionError"
    ):
        explain_batches(explainer, table, folder, **ARGUMENTS)
    service.rows = [11]
    with pytest.raises(
        BatchError, match=r"cannot explain rows 10 to 14 .*: ConnectionError"
    ):
        explain_batches(explainer, table, folder, **ARGUMENTS)
    after = contents(folder)
    assert (
        after["part-00000000.parquet"] != before["part-00000000.parquet"]
    )  # is explained now
    assert after["_skipped-00000002.json"] == before["_skipped-00000002.json"]


@ASIDE
def test_a_retry_with_more_failures_keeps_the_earlier_part(
    folder, explainer, service, table, monkeypatch
):
    before, service.rows = contents(folder), range(25)
    monkeypatch.setattr(_run.Attempts, "recovers", lambda self, batch, failures: True)
    explain_batches(explainer, table, folder, on_error="skip", **ARGUMENTS)
    assert contents(folder) == before


def test_an_outdated_list_of_skipped_rows_is_removed_on_resume(
    folder, explainer, service, table
):
    """The third batch has both a part and an outdated list of skipped rows."""
    skipped = folder / "_skipped-00000002.json"
    listed = skipped.read_bytes()
    explain_batches(explainer, table, folder, **ARGUMENTS)
    assert not skipped.exists()
    whole = contents(folder)
    skipped.write_bytes(listed)
    assert not len(ExplanationDataset(folder).skipped())
    assert len(ExplanationDataset(folder)) == 25
    explain_batches(explainer, table, folder, **ARGUMENTS)
    assert contents(folder) == whole


@ASIDE
def test_a_shorter_source_is_refused_after_a_skipped_batch(background, table, tmp_path):
    """The last batch has no part. Only its list of skipped rows shows that it existed."""
    explainer = fitted(background, model=picky)
    source = spoilt(table, [20, 21, 22, 23, 24])
    whole = explain_batches(
        explainer, iter([source]), tmp_path, on_error="skip", batch_rows=5
    )
    assert (whole.finished, len(whole)) == (True, 20)
    for n_rows in (
        None,
        25,
    ):  # a run that was killed before it had finished, and one that had
        rewritten(tmp_path / "_manifest.json", n_rows=n_rows)
        with pytest.raises(
            FileExistsError, match="the source ends after 20 rows, and it had more"
        ):
            explain_batches(
                explainer, iter([source[:20]]), tmp_path, on_error="skip", batch_rows=5
            )
        assert ExplanationDataset(tmp_path).manifest["n_rows"] == n_rows


# --- workers --------------------------------------------------------------------------


class Fatal:
    """A model that kills its process, except the process that created it."""

    def __init__(self):
        self.home = os.getpid()

    def __call__(self, X):
        if os.getpid() != self.home:
            os._exit(1)
        return model(X)


def test_dead_workers_stop_the_run_and_the_batch_is_named(background, table):
    """The run stops at the first attempt: each half of a halved batch would kill more workers."""
    explainer = fitted(background, model=Fatal(), n_jobs=2)
    stream = explain_batches(explainer, table[NAMES], batch_rows=12, on_error="skip")
    with pytest.raises(
        BatchError, match="lost the workers that were to explain rows 0 to 11: "
    ):
        next(stream)
