"""The columns that an explainer learns without scikit-learn's checks."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from skshapley._tables._inputs import validated

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
def test_feature_names_agree_with_scikit_learn(name, before):
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
        learned.append(
            {key: np.asarray(value).tolist() for key, value in vars(owner).items()}
        )
        kinds = {key: np.asarray(value).dtype for key, value in vars(owner).items()}
        learned[-1]["kinds"] = kinds
    assert learned[0] == learned[1]


@pytest.mark.parametrize("name", ["array", "frame"])
def test_refusals_of_columns_agree_with_scikit_learn(name):
    table, owner = TABLES[name], BaseEstimator()
    validated(owner, table, True)
    other = table.rename(columns={"a": "c"}) if name == "frame" else table[:, :1]
    with pytest.raises(ValueError, match="feature"):
        validated(owner, other, False)
    with pytest.raises(ValueError, match="0 sample"):
        validated(owner, np.empty((0, 2)), True)
