"""Tokens as players, removed or masked, for any pipeline on texts."""

import pickle

import joblib
import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from skshapley import shapley_values
from skshapley.rewards import TokenReward

DOCUMENT = ' "It is  not good," she said -- it isn’t.\nBad!'


def lengths(texts):
    return np.array([len(text) for text in texts])


def fitted(labels):
    texts = ["good good film", "bad film", "good", "bad bad", "so so film", "so"][
        : len(labels)
    ]
    return make_pipeline(CountVectorizer(), LogisticRegression()).fit(texts, labels)


def test_tokens_add_up_to_the_document():
    for mask in (None, "?"):
        reward = TokenReward(lengths, DOCUMENT, mask=mask)
        assert reward.texts(np.ones((1, reward.n_players))) == [DOCUMENT]
    assert reward.tokens == [
        "It",
        "is",
        "not",
        "good",
        "she",
        "said",
        "it",
        "isn’t",
        "Bad",
    ]
    result = shapley_values(reward, sampler="local", max_evals=100)
    assert "".join(reward.explanation(result).data.iloc[0]) == DOCUMENT


def test_absent_tokens_are_left_out_or_masked():
    present = np.array([[True, False, False, True], [False] * 4])
    document = "(Not a good film.)"
    removed = TokenReward(lengths, document)
    assert removed.texts(present) == ["(Not film.)", "("]
    masked = TokenReward(lengths, document, mask="[MASK]")
    assert masked.texts(present) == [
        "(Not [MASK] [MASK] film.)",
        "([MASK] [MASK] [MASK] [MASK].)",
    ]


def test_values_of_a_linear_model_of_counts_are_its_coefficients():
    model = fitted([1, 0, 1, 0, 1, 0])
    counts, classifier = model[0], model[1]
    document = "Good film, so so bad; unknown"
    reward = TokenReward(model, document, response_method="decision_function")
    weight = dict(zip(counts.get_feature_names_out(), classifier.coef_[0], strict=True))
    expected = [weight.get(token.lower(), 0.0) for token in reward.tokens]
    for sampler in ("exact", "local", "connected", "connected-regression", "myerson"):
        result = shapley_values(reward, sampler=sampler, max_evals=200)
        np.testing.assert_allclose(result.values, expected, rtol=0, atol=1e-12)
    explanation = reward.explanation(result)
    np.testing.assert_allclose(
        explanation.base_values + explanation.values.sum(axis=1),
        explanation.predictions,
    )
    assert explanation.feature_names.tolist() == [
        "Good",
        "film",
        "so",
        "so (2)",
        "bad",
        "unknown",
    ]


@pytest.mark.parametrize("document", ["good film", "bad bad"])
def test_the_predicted_class_belongs_to_the_whole_document(document):
    model = fitted(["up", "down", "up", "down"])
    reward = TokenReward(
        model, document, response_method="predict_log_proba", output="predicted"
    )
    coalitions = np.array([[True, True], [True, False], [False, False]])
    predicted = model.predict([document])[0]
    column = list(model.classes_).index(predicted)
    expected = model.predict_log_proba(reward.texts(coalitions))[:, column]
    np.testing.assert_array_equal(reward(coalitions), expected)
    explanation = reward.explanation(shapley_values(reward))
    assert explanation.settings.output == predicted


def test_several_classes_are_several_outputs():
    model = fitted(["a", "b", "a", "b", "c", "c"])
    reward = TokenReward(model, "so good, so bad")
    result = shapley_values(reward, sampler="local", max_evals=50)
    assert result.values.shape == (4, 3)
    explanation = reward.explanation(result)
    assert explanation.output_names.tolist() == ["a", "b", "c"]
    assert explanation.output("b").values.shape == (1, 4)


def test_a_batch_of_coalitions_is_one_call_of_the_model():
    calls = []

    def model(texts):
        calls.append(len(texts))
        return lengths(texts)

    reward = TokenReward(model, "one two three four five six")
    shapley_values(reward, sampler="exact", max_evals=64)
    assert calls == [1, 2, 62]  # the document, both ends, all the rest


def test_rewards_can_be_pickled_and_workers_change_nothing():
    reward = TokenReward(fitted([1, 0, 1, 0]), "so good and not bad at all")
    again = pickle.loads(pickle.dumps(reward))
    ours, theirs = (
        shapley_values(r, sampler="local", max_evals=60) for r in (reward, again)
    )
    np.testing.assert_array_equal(ours.values, theirs.values)
    with joblib.parallel_config("threading"):
        parallel = shapley_values(reward, sampler="local", max_evals=60, n_jobs=2)
    np.testing.assert_array_equal(ours.values, parallel.values)


@pytest.mark.parametrize(
    ("document", "options", "error", "message"),
    [
        ("?! --", {}, ValueError, r"matches nothing in the document '\?! --'"),
        ("", {}, ValueError, "matches nothing"),
        (["one", "two"], {}, TypeError, "one document as a str"),
        ("good", {"output": "predicted"}, ValueError, "one output"),
    ],
)
def test_invalid_documents_and_options_are_refused(document, options, error, message):
    with pytest.raises(error, match=message):
        TokenReward(lengths, document, **options)
