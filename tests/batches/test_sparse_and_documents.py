"""Batches of sparse rows, and batches of documents with their tokens as players."""

import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skshapley import Explanation, ShapleyExplainer
from skshapley.batches import ExplanationDataset, explain_batches
from skshapley.exceptions import BatchError

from .conftest import contents, model

DOCUMENTS = [
    "A fine film, and a moving one.",
    "Dull, dull: I left before the end!",
    "",
    "Not a good film; the end is dull.",
    " (Moving.)",
    "Thin plot, no end.",
]
LIKED = [1, 0, 0, 1, 1, 0]


# --- sparse rows ----------------------------------------------------------------------


@pytest.fixture(scope="module")
def matrix():
    return sparse.csr_array(
        np.random.default_rng(0).normal(size=(23, 5)).round().clip(0)
    )


@pytest.fixture(scope="module")
def sparse_explainer(matrix):
    def sparse_model(X):
        return model(X.toarray())

    explainer = ShapleyExplainer(
        sparse_model, sampler="antithetic", max_rows=49, random_state=7
    )
    return explainer.fit(matrix[:6])


def saved(X, folder):
    sparse.save_npz(folder / "rows.npz", X)
    return str(folder / "rows.npz")


SPARSE = {
    "array": lambda X, folder: X,
    "matrix": lambda X, folder: sparse.csr_matrix(X),
    "columns": lambda X, folder: X.tocsc(),
    "triples": lambda X, folder: X.tocoo(),
    "pieces": lambda X, folder: (X[i : i + 6].tocoo() for i in range(0, 23, 6)),
    "file": saved,
}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(
            name, marks=[pytest.mark.slow] * (name not in ("array", "pieces", "file"))
        )
        for name in SPARSE
    ],
)
def test_sparse_rows_are_explained_as_in_one_call(
    kind, matrix, sparse_explainer, tmp_path
):
    source = SPARSE[kind](matrix, tmp_path)
    dataset = explain_batches(sparse_explainer, source, tmp_path / "phi", batch_rows=9)
    whole, made = sparse_explainer.explain(matrix), dataset.read()
    np.testing.assert_array_equal(made.values, whole.values)
    np.testing.assert_array_equal(made.data, matrix.toarray())


def test_runs_on_sparse_rows_can_be_resumed(matrix, sparse_explainer, tmp_path):
    dataset = explain_batches(sparse_explainer, matrix, tmp_path, batch_rows=7)
    whole = contents(tmp_path)
    (tmp_path / "part-00000001.parquet").unlink()
    explain_batches(sparse_explainer, matrix, tmp_path, batch_rows=7)
    assert contents(tmp_path) == whole
    assert dataset.check() == []


def test_different_sparse_rows_are_refused(matrix, sparse_explainer, tmp_path):
    explain_batches(sparse_explainer, matrix, tmp_path, batch_rows=7)
    other = matrix.copy()
    other.data[-1] += 1e-9
    with pytest.raises(
        FileExistsError,
        match="the data of rows 21 to 22 have changed since they were explained",
    ):
        explain_batches(sparse_explainer, other, tmp_path, batch_rows=7)


def test_invalid_sparse_sources_are_refused(matrix, sparse_explainer, tmp_path):
    dense = ShapleyExplainer(model).fit(matrix[:6].toarray())
    with pytest.raises(
        TypeError,
        match=r"type scipy\.csr_array for a background of type numpy",
    ):
        explain_batches(dense, matrix)
    np.savez(tmp_path / "numbers.npz", a=np.eye(2))
    with pytest.raises(
        ValueError, match=r"only \.npz files of scipy\.sparse\.save_npz; got"
    ):
        explain_batches(sparse_explainer, tmp_path / "numbers.npz")
    with pytest.raises(ValueError, match="for an array: pass a frame"):
        next(explain_batches(sparse_explainer, iter([matrix]), keys="a"))


# --- documents ------------------------------------------------------------------------


def fitted_text(liked=LIKED, documents=DOCUMENTS, **parameters):
    pipeline = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(
        DOCUMENTS, liked
    )
    return ShapleyExplainer(pipeline, random_state=0, **parameters).fit(documents)


@pytest.fixture(scope="module")
def reader():
    return fitted_text()


@pytest.fixture(scope="module")
def read_at_once(reader):
    return reader.explain(DOCUMENTS)


def in_parquet(folder):
    frame = pd.DataFrame({"id": range(6), "review": DOCUMENTS})
    frame.to_parquet(folder / "reviews.parquet")
    return folder / "reviews.parquet"


TEXTS = {
    "list": lambda folder: DOCUMENTS,
    "Series": lambda folder: pd.Series(DOCUMENTS),
    "array": lambda folder: np.array(DOCUMENTS),
    "frame": lambda folder: pd.DataFrame({"review": DOCUMENTS}),
    "one by one": lambda folder: iter(DOCUMENTS),
    "lists": lambda folder: (DOCUMENTS[i : i + 4] for i in (0, 4)),
    "Series of pieces": lambda folder: [
        pd.Series(DOCUMENTS[:1]),
        pd.Series(DOCUMENTS[1:]),
    ],
    "column of Arrow": lambda folder: pa.table({"review": DOCUMENTS}),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_documents_are_explained_as_in_one_call(kind, reader, read_at_once, tmp_path):
    dataset = explain_batches(reader, TEXTS[kind](tmp_path), tmp_path, batch_rows=2)
    same(dataset.read(), read_at_once)
    assert dataset.check() == []
    assert len(dataset) == 6


def same(made, expected):
    assert made.feature_names.tolist() == expected.feature_names.tolist()
    assert made.data.astype(object).equals(expected.data)
    for name in (
        "values",
        "standard_errors",
        "base_values",
        "predictions",
        "n_model_rows",
    ):
        np.testing.assert_array_equal(getattr(made, name), getattr(expected, name))


def test_files_have_lists_of_tokens(reader, read_at_once, tmp_path):
    explain_batches(
        reader, in_parquet(tmp_path), tmp_path / "phi", columns=["review"], keys="id"
    )
    documents = pd.read_parquet(tmp_path / "phi")
    assert len(documents) == 6
    lines = documents.explode(["position", "token", "piece", "value"])
    second = lines[lines["row"] == 1]
    assert second["token"].tolist() == [
        "Dull",
        "dull",
        "I",
        "left",
        "before",
        "the",
        "end",
    ]
    assert second["piece"].str.cat() == DOCUMENTS[1]
    assert lines.loc[lines["row"] == 4, "piece"].tolist() == [" (Moving.)"]
    assert second["position"].tolist() == list(range(7))
    total = lines.groupby("key:id")["value"].sum()
    gap = read_at_once.predictions - read_at_once.base_values
    np.testing.assert_allclose(total.astype(float), gap, atol=1e-12)
    assert not len(documents["value"][2])


@pytest.mark.parametrize(
    "part", [slice(None), [1], [2], [], (slice(None), ["dull", "end"])]
)
def test_explanations_of_documents_survive_a_round_trip(part, read_at_once, tmp_path):
    explanation = read_at_once[part]
    explanation.save(tmp_path / "eye.parquet")
    there = Explanation.load(tmp_path / "eye.parquet")
    same(there, explanation)
    np.testing.assert_array_equal(there.efficiency_gap, explanation.efficiency_gap)
    places = there.data.map(lambda piece: getattr(piece, "place", None))
    assert places.equals(
        explanation.data.map(lambda piece: getattr(piece, "place", None))
    )


def test_files_have_one_line_per_output(tmp_path):
    reader = fitted_text([0, 1, 2, 0, 1, 2])
    dataset = explain_batches(
        reader, pd.Series(DOCUMENTS, list("abcdef")), tmp_path, batch_rows=4
    )
    same(dataset.read(), reader.explain(pd.Series(DOCUMENTS, list("abcdef"))))
    some = dataset.take([1, 4])
    assert some.index.tolist() == ["b", "e"]
    expected = reader.explain([DOCUMENTS[1], DOCUMENTS[4]])
    np.testing.assert_array_equal(some.values, expected.values)


def test_invalid_documents_are_skipped(reader, tmp_path):
    spoilt = [*DOCUMENTS[:3], None, *DOCUMENTS[4:]]
    with pytest.raises(
        BatchError, match="got None for document 3: every document must be a str"
    ):
        explain_batches(reader, spoilt, tmp_path / "raised")
    with pytest.warns(UserWarning, match="set 1 rows aside"):
        dataset = explain_batches(reader, spoilt, tmp_path / "skipped", on_error="skip")
    assert dataset.skipped()["row"].tolist() == [3]
    kept = [*DOCUMENTS[:3], *DOCUMENTS[4:]]
    np.testing.assert_array_equal(dataset.read().values, reader.explain(kept).values)


class Died(BaseException):
    """The simulated death of a process; nothing catches it."""


def test_runs_on_documents_can_be_resumed_after_any_write(tmp_path, monkeypatch):
    """Sampled values with a random seed: the manifest, three parts, and the manifest again."""
    reader = fitted_text(max_rows=60).set_params(random_state=None).fit(DOCUMENTS)
    arguments = dict(source=DOCUMENTS, batch_rows=2)
    explain_batches(reader, out=tmp_path / "whole", **arguments)
    moved, writes = os.replace, iter(range(1))

    def dying(source, target):
        if next(writes) == 0:
            raise Died
        moved(source, target)

    for death in (0, 2, 4):
        folder, writes = tmp_path / str(death), iter(range(death, -1, -1))
        with monkeypatch.context() as patched:
            patched.setattr(os, "replace", dying)
            with pytest.raises(Died):
                explain_batches(reader, out=folder, **arguments)
        later = (
            reader
            if death == 0
            else fitted_text(max_rows=60).set_params(random_state=None)
        )
        explain_batches(
            later.fit(DOCUMENTS) if death else later, out=folder, **arguments
        )
        assert contents(folder) == contents(tmp_path / "whole")


def test_documents_of_another_run_are_refused(reader, tmp_path):
    explain_batches(reader, DOCUMENTS, tmp_path, batch_rows=2)
    with pytest.raises(FileExistsError, match="model's answers was"):
        explain_batches(
            fitted_text([1, 0, 1, 1, 1, 0]), DOCUMENTS, tmp_path, batch_rows=2
        )
    other = [*DOCUMENTS[:-1], "Thin plot, no ends."]
    with pytest.raises(
        FileExistsError,
        match="the data of rows 4 to 5 have changed since they were explained",
    ):
        explain_batches(reader, other, tmp_path, batch_rows=2)


def test_the_document_column_is_chosen(reader, tmp_path):
    path = in_parquet(tmp_path)
    with pytest.raises(
        ValueError, match=r"columns \['id', 'review'\] beside keys=\[\]: name the"
    ):
        explain_batches(reader, path)
    named = fitted_text(documents=pd.Series(DOCUMENTS, name="review"))
    assert len(next(explain_batches(named, path))) == 6
    assert len(next(explain_batches(reader, path, keys="id"))) == 6


@pytest.mark.parametrize("rows", [2, 256])
def test_importance_averages_tokens_over_documents(reader, tmp_path, rows):
    """Of all documents together, although each batch has different tokens."""
    dataset = explain_batches(reader, DOCUMENTS, tmp_path, batch_rows=rows)
    whole = dataset.read()
    found = dataset.importance(0.9)
    pd.testing.assert_frame_equal(found, whole.importance(confidence=0.9), rtol=1e-9)
    sizes = np.abs(whole.to_frame()).mean()
    np.testing.assert_allclose(found["importance"], sizes[found.index], rtol=1e-9)


def test_comparisons_keep_the_strongest_tokens(reader, tmp_path, monkeypatch):
    monkeypatch.setattr("skshapley.batches._dataset.MOST_TOKENS", 3)
    dataset = explain_batches(reader, DOCUMENTS, tmp_path, batch_rows=2)
    found, whole = dataset.importance(), dataset.read().importance()
    assert found.index.tolist() == whole.index[:3].tolist()
    np.testing.assert_allclose(found["importance"], whole["importance"][:3], rtol=1e-9)


def test_batches_of_documents_are_small_by_default(reader):
    many = ["A", *[""] * 256]
    assert [len(made) for made in explain_batches(reader, many)] == [256, 1]
    assert len(next(explain_batches(reader, many, batch_rows=257))) == 257


def test_a_single_empty_document(reader, tmp_path):
    dataset = explain_batches(reader, ["", "..."], tmp_path, batch_rows=1)
    assert dataset.read().shape == (2, 0)
    assert ExplanationDataset(tmp_path).check() == []
