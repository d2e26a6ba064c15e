"""The answers of the kernel to a panel, for models of every kind."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from skshapley import ShapleyExplainer

from .test_model import FULL, MODELS, THREE, as_frame, random_moves

pytest.importorskip("anywidget")
SAMPLED = {
    "neighbours": lambda: (
        ShapleyExplainer(
            KNeighborsClassifier().fit(FULL, THREE),
            sampler="antithetic",
            max_rows=100,
            random_state=0,
        ),
        FULL,
    ),
    "groups": lambda: (
        ShapleyExplainer(
            LogisticRegression(max_iter=1000).fit(FULL, THREE),
            response_method="decision_function",
            groups={"both": ["age", "pay"]},
        ),
        FULL,
    ),
}
KINDS = SAMPLED | {
    name: MODELS[name] for name in ("xgboost categories", "logistic", "splines")
}


@pytest.mark.parametrize("name", KINDS)
def test_the_kernel_answers_moves(name):
    explainer, rows = KINDS[name]()
    explainer.set_params(verbose=False).fit(rows[:20])
    widget = explainer.widget(rows[:4])
    frame = as_frame(rows)
    rng = np.random.default_rng(0)
    (cells, *_), moved = random_moves(widget.content, frame, rng, 4)
    table = moved[:1] if isinstance(rows, pd.DataFrame) else moved[:1].to_numpy(float)
    known = explainer.explain(table)
    start = [column[0] for column in widget.content["rows"]]
    request = {"cells": cells, "start": start, "output": 0, "column": 1, "id": 5}
    widget.request = request | {"points": [start[1]], "values": True}
    answer = widget.answer
    np.testing.assert_allclose(answer["predictions"], known.predictions.ravel())
    p = len(known.feature_names)
    values = known.values.reshape(p, -1)[:, 0]
    np.testing.assert_allclose(answer["values"], values, rtol=1e-9, atol=1e-12)
    assert answer["id"] == 5
    assert np.shape(answer["curve"]) == (1, len(answer["predictions"]))
    first = explainer.explain(rows[:1]).predictions.ravel()
    np.testing.assert_allclose(answer["former"]["predictions"], first)
    if name == "neighbours":
        assert min(answer["errors"]) >= 0
        assert max(answer["errors"]) > 0


def test_documents_and_unfitted_explainers_are_refused():
    explainer = ShapleyExplainer(KNeighborsClassifier().fit(FULL, THREE))
    with pytest.raises(NotFittedError):
        explainer.widget(FULL[:3])
    texts = ["good", "bad", "good day", "bad day"]
    model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(
        texts, [1, 0] * 2
    )
    explainer = ShapleyExplainer(model).fit(texts)
    with pytest.raises(ValueError, match="widget got documents"):
        explainer.widget(texts)
