"""A model on one line, and the columns that an explainer learns without scikit-learn's checks."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier, VotingRegressor
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.validation import validate_data

from skshapley._tables._inputs import validated
from skshapley._tools._texts import model_text

STEPS = make_column_transformer(
    (StandardScaler(with_mean=False), [f"a long name of a column {i}" for i in range(40)]),
    (OneHotEncoder(categories=[["x", "y"]], drop="first"), ["c"]),
)
MODELS = [
    Ridge(),
    Ridge(alpha=0.5, fit_intercept=False, copy_X=np.False_),
    SGDClassifier(class_weight={"a": 1.0, "b": 2.5}, alpha=np.float64(0.1)),
    make_pipeline(StandardScaler(), LogisticRegression(C=10, max_iter=10_000)),
    make_pipeline(STEPS, RandomForestClassifier(n_estimators=5, random_state=0)),
    GridSearchCV(Ridge(), {"alpha": [1, 2]}, scoring="r2"),
    VotingRegressor([("a", Ridge()), ("b", "drop")], weights=(1,)),
    FunctionTransformer(np.log1p),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_a_model_reads_as_scikit_learn_writes_it(model):
    written = re.sub(r"\s*\n\s*", " ", model.__repr__(N_CHAR_MAX=10**6))
    assert model_text(model) == written
    with config_context(print_changed_only=False):
        assert model_text(model) == re.sub(r"\s*\n\s*", " ", repr(model))


def test_other_models_read_as_they_do():
    class Own(Ridge):
        def __repr__(self):
            return "one\n  two"

    assert model_text(Own()) == "one two"
    assert model_text([Own(), "x", ()]) == "[one two, 'x', ()]"


TABLES = {
    "array": np.zeros((3, 2)),
    "objects": np.zeros((3, 2), dtype=object),
    "flags": np.zeros((3, 2), dtype=bool),
    "frame": pd.DataFrame({"a": [1], "b": ["x"]}),
    "numbered": pd.DataFrame(np.zeros((3, 2))),
    "list": [[0, 1], [2, 3]],
    "sparse": sparse.csr_array(np.eye(2)),
    "columns": sparse.csc_matrix(np.eye(2)),
}


@pytest.mark.parametrize("before", [None, "array", "frame", "numbered"])
@pytest.mark.parametrize("name", TABLES)
def test_columns_are_learned_as_scikit_learn_learns_them(name, before):
    learned = []
    for learn in (
        lambda owner, X: validated(owner, X, True),
        lambda owner, X: validate_data(
            owner,
            X,
            dtype=None,
            ensure_all_finite=False,
            skip_check_array=hasattr(X, "columns"),
            accept_sparse="csr",
        ),
    ):
        owner = BaseEstimator()
        for table in [*([] if before is None else [TABLES[before]]), TABLES[name]]:
            learn(owner, table)
        learned.append({key: np.asarray(value).tolist() for key, value in vars(owner).items()})
        kinds = {key: np.asarray(value).dtype for key, value in vars(owner).items()}
        learned[-1]["kinds"] = kinds
    assert learned[0] == learned[1]


@pytest.mark.parametrize("name", ["array", "frame"])
def test_other_columns_are_refused_as_scikit_learn_refuses_them(name):
    table, owner = TABLES[name], BaseEstimator()
    validated(owner, table, True)
    other = table.rename(columns={"a": "c"}) if name == "frame" else table[:, :1]
    with pytest.raises(ValueError, match="feature"):
        validated(owner, other, False)
    with pytest.raises(ValueError, match="0 sample"):
        validated(owner, np.empty((0, 2)), True)
