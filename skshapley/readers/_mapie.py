"""Reader of the conformal regressors of `mapie`: the mean of the fitted regressors."""

from typing import Any

import numpy as np

from skshapley.closed_forms import Part
from skshapley.readers._base import Ask, Form, Reader, check_method


def _of_conformal(model: Any, method: Any, ask: Ask) -> Form:
    check_method(model, method, ["predict"], "predict")
    ensemble = model._mapie_regressor.estimator_
    members = ensemble.estimators_ or [ensemble.single_estimator_]
    forms = [ask(member, method) for member in members]
    return [
        Part(form.combined(np.eye(form.n_outputs) / len(members))) for form in forms
    ]


READERS: dict[str, Reader] = dict.fromkeys(
    ("SplitConformalRegressor", "CrossConformalRegressor"), _of_conformal
)
