"""Reader of generalised additive models, from `pygam`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._curves import Exponential, Logistic
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._sums import Part, View
from skshapley.exceptions import UnreadableModelError


class Terms:
    """Transformer that evaluates the terms of a fitted model, a column for each.

    Parameters
    ----------
    model : pygam.GAM
    terms : sequence of int
    """

    def __init__(self, model: Any, terms: Any) -> None:
        self.model, self.terms = model, terms

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the terms at the rows of a table, ``(n, D)``."""
        X = np.asarray(X, dtype=np.float64)
        return np.column_stack([self.model.partial_dependence(term, X=X) for term in self.terms])


def read_gam(model: Any, method: str, ask: Callable[..., ClosedForm]) -> list[Part]:
    """Return a sum of terms of one column each, or the curve of its link."""
    terms = [place for place, term in enumerate(model.terms) if not term.isintercept]
    joint = [place for place in terms if model.terms[place].istensor]
    by = [place for place in terms if getattr(model.terms[place], "by", None) is not None]
    link = type(model.link).__name__
    proba = method == "predict_proba"
    if joint or by or link not in ("IdentityLink", "LogLink", "LogitLink"):
        raise UnreadableModelError(
            f"{type(model).__name__} has terms of several columns, or another link",
            "explain it by sampling",
        )
    if proba != (link == "LogitLink") or method not in ("predict", "predict_proba"):
        raise UnreadableModelError(
            f"{type(model).__name__}.{method} is not a mean", "explain it by sampling"
        )
    ones = np.ones(len(terms))
    constant = float(model.coef_[-1]) if model.terms[-1].isintercept else 0.0
    form: ClosedForm
    if link == "LogLink":
        form = Exponential(ones, constant)
    elif proba:
        form = Logistic(ones, constant)
    else:
        form = LinearTerms(ones[:, None], [constant])
    source = np.array([model.terms[place].feature for place in terms])
    view = View(source, model.statistics_["m_features"], (Terms(model, terms),))
    return [Part(form, view)]


READERS = {"GAM": read_gam}
