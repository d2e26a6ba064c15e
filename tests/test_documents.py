"""Documents are explained by their tokens, in any container."""

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union

from skshapley import Explanation, GlobalImportance, ShapleyExplainer, shapley_values
from skshapley.exceptions import PartialExplanationError
from skshapley.plots import SentenceDisplay
from skshapley.rewards import TokenReward

TEXTS = [
    "A fine film, and a moving one.",
    "Dull: dull, dull!",
    "",
    "Not fine; the end is dull.",
] * 3
LIKED = [1, 0, 1, 0] * 3


@pytest.fixture(scope="module")
def model():
    return make_pipeline(TfidfVectorizer(ngram_range=(1, 2)), LogisticRegression()).fit(
        TEXTS, LIKED
    )


@pytest.fixture(scope="module")
def expected(model):
    """The values of each text by the reward of one document, over all coalitions."""
    found = []
    for text in ("A fine film, and a moving one.", "Dull: dull, dull!"):
        reward = TokenReward(model, text)
        found.append(reward.explanation(shapley_values(reward, sampler="exact")))
    return found


FRAME = pd.DataFrame({"review": TEXTS}, index=[f"d{i}" for i in range(12)])
CONTAINERS = {
    "list": TEXTS,
    "tuple": tuple(TEXTS),
    "array": np.array(TEXTS),
    "objects": np.array(TEXTS, dtype=object),
    "series": FRAME["review"],
    "frame": FRAME,
    "column": FRAME.to_numpy(dtype=object),
}


@pytest.mark.parametrize("X", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("frozen", [False, True])
def test_any_container(model, expected, X, frozen):
    explainer = ShapleyExplainer(
        FrozenEstimator(model) if frozen else model, random_state=0
    )
    made = explainer.fit(X).explain(X[:2])
    tokens = [
        "A",
        "fine",
        "film",
        "and",
        "a",
        "moving",
        "one",
        "Dull",
        "dull",
        "dull (2)",
    ]
    assert made.feature_names.tolist() == tokens
    np.testing.assert_allclose(
        made.values[0, :7], expected[0].values[0], rtol=0, atol=1e-9
    )
    np.testing.assert_allclose(
        made.values[1, 7:], expected[1].values[0], rtol=0, atol=1e-9
    )
    assert not made.values[0, 7:].any()
    assert not made.values[1, :7].any()
    np.testing.assert_allclose(
        made.predictions, model.predict_proba(TEXTS[:2])[:, 1], atol=1e-12
    )
    assert made.data.iloc[1].tolist() == [None] * 7 + ["Dull: ", "dull, ", "dull!"]
    assert made.index.tolist() == (["d0", "d1"] if hasattr(X, "iloc") else [0, 1])


def test_polars(model, expected):
    polars = pytest.importorskip("polars")
    for X in (polars.Series(TEXTS), polars.DataFrame({"review": TEXTS})):
        made = ShapleyExplainer(model).fit(X).explain(X[:1])
        np.testing.assert_allclose(made.values, expected[0].values, rtol=0, atol=1e-9)


def test_a_column_transformer_of_one_column_of_text():
    steps = make_column_transformer(
        (make_union(CountVectorizer(), TfidfVectorizer()), "review")
    )
    model = make_pipeline(steps, LogisticRegression()).fit(FRAME, LIKED)
    made = ShapleyExplainer(model).fit(FRAME).explain(FRAME[:1])
    assert made.feature_names.tolist() == [
        "A",
        "fine",
        "film",
        "and",
        "a",
        "moving",
        "one",
    ]
    assert made.predictions == pytest.approx(model.predict_proba(FRAME[:1])[:, 1])
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(total, made.predictions, rtol=0, atol=1e-12)
    # a list of the same documents is put into the frame that the model takes
    np.testing.assert_array_equal(
        ShapleyExplainer(model).fit(TEXTS).explain(TEXTS[:1]).values, made.values
    )


def test_text_beside_other_columns_is_one_player():
    frame = FRAME.assign(length=[len(text) for text in TEXTS])
    steps = make_column_transformer(
        (TfidfVectorizer(), "review"), ("passthrough", ["length"])
    )
    model = make_pipeline(steps, LogisticRegression()).fit(frame, LIKED)
    made = ShapleyExplainer(model).fit(frame).explain(frame[:2])
    assert made.feature_names.tolist() == ["review", "length"]


def test_functions_receive_the_container_of_the_background():
    seen = []

    def letters(texts):
        seen.append(type(texts))
        return pd.Series(texts).str.len().to_numpy()

    ShapleyExplainer(letters).fit(FRAME["review"]).explain(FRAME["review"][:1])
    assert set(seen) == {pd.Series}
    made = ShapleyExplainer(letters).fit(TEXTS).explain(["Not  good."])
    assert made.values.tolist() == [[5.0, 5.0]]


def test_several_classes_and_the_predicted_class(model):
    topic = [0, 1, 2, 0] * 3
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(TEXTS, topic)
    made = ShapleyExplainer(model).fit(TEXTS).explain(TEXTS[:3])
    assert made.values.shape[2] == 3
    total = made.base_values + made.values.sum(axis=1)
    np.testing.assert_allclose(
        total, model.predict_proba(TEXTS[:3]), rtol=0, atol=1e-12
    )
    own = ShapleyExplainer(model, output="predicted").fit(TEXTS).explain(TEXTS[:3])
    np.testing.assert_allclose(
        own.predictions, model.predict_proba(TEXTS[:3]).max(axis=1)
    )


@pytest.mark.slow
def test_values_do_not_depend_on_other_documents(model):
    long = (
        "fine film, dull film, moving film, end film, not film, one film, the film, "
        "is film, a film"
    )
    explainer = ShapleyExplainer(model, random_state=0).fit(TEXTS)
    alone = explainer.explain([long])
    # the usual budget grows with the tokens, from 65 on
    company = explainer.explain([TEXTS[0], long, 4 * long, long])
    assert not alone.settings.sampler.startswith("Exact")
    for row in (1, 3):
        own = [
            company.feature_names.tolist().index(token) for token in alone.feature_names
        ]
        np.testing.assert_array_equal(company.values[row, own], alone.values[0])
    with parallel_config("threading"):
        parallel = (
            ShapleyExplainer(model, random_state=0, n_jobs=2).fit(TEXTS).explain([long])
        )
    np.testing.assert_array_equal(parallel.values, alone.values)


def test_equal_documents_have_equal_draws(model):
    long = [
        " ".join(["fine dull moving end"] * 6),
        " ".join(["dull fine moving end"] * 6),
    ]
    explainer = ShapleyExplainer(
        model, sampler="monte-carlo", max_rows=100, random_state=0
    )
    made = explainer.fit(TEXTS).explain([*long, long[0]])
    np.testing.assert_array_equal(made.values[0], made.values[2])
    assert np.abs(made.values[0] - made.values[1]).max() > 1e-6


def test_sentence_display_of_one_document(model):
    made = (
        ShapleyExplainer(model)
        .fit(TEXTS)
        .explain(["The end is dull.", "Dull is the end!"])
    )
    display = SentenceDisplay.from_explanation(made, row=1)
    assert "".join(display.frame()["token"]) == "Dull is the end!"
    loose = made.data.map(lambda piece: None if piece is None else str(piece))
    other = (
        ShapleyExplainer(model)
        .fit(TEXTS)
        .explain(["The end is dull.", "Dull is the end!"])
    )
    object.__setattr__(other, "data", loose)
    with pytest.raises(ValueError, match="explain the document alone"):
        SentenceDisplay.from_explanation(other, row=1)


def test_documents_without_tokens(model):
    made = ShapleyExplainer(model).fit(TEXTS).explain(["...", "fine"])
    assert made.feature_names.tolist() == ["fine"]
    assert made.values[0] == 0
    assert made.converged.all()


def test_finished_documents_are_kept(model):
    calls = []

    def failing(texts):
        calls.append(len(texts))
        if any("boom" in text for text in texts) and len(calls) > 4:
            raise RuntimeError("no more")
        return np.array([len(text) for text in texts])

    with pytest.raises(
        PartialExplanationError, match="after 1 of 2 documents"
    ) as caught:
        ShapleyExplainer(failing).fit(TEXTS).explain(["fine film", "boom and more"])
    assert caught.value.explanation.values.tolist() == [[5.0, 4.0]]


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("one text", TypeError, "got the str 'one text': pass a list"),
        ([[1.0, 2.0]], TypeError, "got a list: pass a list"),
        (
            ["fine", None],
            TypeError,
            "got None for document 1: every document must be a str",
        ),
        (pd.Series(["fine", np.nan]), TypeError, "got nan for document 1"),
    ],
    ids=str,
)
def test_invalid_documents(model, X, error, message):
    explainer = ShapleyExplainer(model).fit(TEXTS)
    with pytest.raises(error, match=message):
        explainer.explain(X)


@pytest.mark.parametrize(
    "options",
    [{"reward": "baseline"}, {"groups": {"a": [0]}}, {"interactions": True}],
    ids=str,
)
def test_unsupported_methods_of_documents(model, options):
    with pytest.raises(ValueError, match=f"got {next(iter(options))}=.* for documents"):
        ShapleyExplainer(model, **options).fit(TEXTS)


def test_invalid_combinations(model):
    explainer = ShapleyExplainer(model).fit(TEXTS)
    with pytest.raises(
        TypeError, match=r"fitted on documents, .* explain\(X\)\.to_frame"
    ):
        explainer.transform(TEXTS)
    with pytest.raises(ValueError, match="max_rows=3, which is too small"):
        ShapleyExplainer(model, max_rows=3).fit(TEXTS).explain(TEXTS)
    with pytest.raises(ValueError, match="Expected 2D array"):
        GlobalImportance(model).fit(TEXTS)


def test_saved_documents_keep_the_order_of_tokens(model, tmp_path):
    made = ShapleyExplainer(model, random_state=0).fit(TEXTS).explain(TEXTS[:2])
    made.save(tmp_path / "phi")
    there = Explanation.load(tmp_path / "phi")
    np.testing.assert_array_equal(there.values, made.values)
    shown, expected = (
        SentenceDisplay.from_explanation(part, row=1).frame() for part in (there, made)
    )
    pd.testing.assert_frame_equal(shown, expected)
    assert shown["token"].str.cat() == TEXTS[1]


def test_a_table_of_numbers_is_no_document():
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    explainer = ShapleyExplainer(model.fit(["bad", "good"], [0, 1]))
    with pytest.raises(TypeError, match="got a ndarray: pass a list"):
        explainer.fit(np.ones((2, 3)))
