"""The contract of ways, for each of them, and the way that a model is explained in."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from skshapley import AmortizedExplainer, RefitExplainer, ShapleyExplainer
from skshapley._ways._base import Way
from skshapley.testing import check_way
from skshapley.testing._result_contracts import WAY_CHECKS
from skshapley.trees import TreeExplainer

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X[:, 0] * X[:, 1] + X[:, 2]
TEXTS = ["good film", "bad film", "a good day", "a bad bad day"]


def function(Z):
    """A response without a closed form."""
    return np.where(Z[:, 0] > Z[:, 1], Z[:, 2], Z[:, 3])


def sampled():
    return ShapleyExplainer(function, max_rows=500, random_state=0)


def documents():
    model = make_pipeline(CountVectorizer(), LogisticRegression())
    return ShapleyExplainer(model.fit(TEXTS, [1, 0, 1, 0]), random_state=0).fit(TEXTS)


def forest():
    model = RandomForestRegressor(50, random_state=0).fit(X, Y)
    return ShapleyExplainer(model, max_rows=60, random_state=0).fit(X)


def refits():
    model = LinearRegression().fit(X, Y)
    return ShapleyExplainer(model, reward="refit").fit(X, Y)


def half_samples():
    settings = ShapleyExplainer(None, max_rows=500)
    return RefitExplainer(
        lambda X, y: function, explainer=settings, n_refits=2, random_state=0
    ).fit(X, Y)


def exact_trees():
    return TreeExplainer(DecisionTreeRegressor().fit(X, Y)).fit(X)


EXPLAINERS = [
    ("Exact", lambda: ShapleyExplainer(LinearRegression().fit(X, Y)).fit(X)),
    ("Exact", exact_trees),
    ("Coalitions", lambda: sampled().fit(X)),
    ("SampledTrees", forest),
    ("Joint", refits),
    ("Documents", documents),
    ("Refits", half_samples),
    ("Learned", lambda: AmortizedExplainer(sampled(), 40).fit(X)),
]


def subclasses(kind):
    children = set(kind.__subclasses__())
    return children.union(*map(subclasses, children))


@pytest.mark.parametrize(("way", "make"), EXPLAINERS)
def test_each_way_keeps_the_contract(way, make):
    explainer = make()
    assert type(explainer._way).__name__ == way
    check_way(explainer, TEXTS if way == "Documents" else X[:4])


def test_every_way_is_tested():
    ways = {
        way.__name__
        for way in subclasses(Way)
        if way.__module__.startswith("skshapley.")
    }
    assert ways == {way for way, _ in EXPLAINERS}


def test_broken_ways_are_seen():
    explainer = sampled().fit(X)
    way = explainer._way

    class Shifted(type(way)):
        """Values that depend on the number of rows, and predictions of nothing."""

        def explain(self, X, n_jobs, verbose):
            explanation = super().explain(X, n_jobs, verbose)
            return replace(explanation, values=explanation.values + len(X))

        def predictions(self, X):
            return super().predictions(X) + 1

    explainer._way = Shifted(**vars(way))
    for name in ("alone", "predictions"):
        with pytest.raises(AssertionError):
            WAY_CHECKS[name](explainer, X[:3])
