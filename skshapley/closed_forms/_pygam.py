"""Reader of generalised additive models, from `pygam`."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._curves import Exponential, Logistic
from skshapley.closed_forms._linear import LinearTerms, Monomials
from skshapley.closed_forms._sums import Columns, Part, View
from skshapley.exceptions import UnreadableModelError

# The first may have terms of several columns
LINKS = ("IdentityLink", "LogLink", "LogitLink")


def _evaluated(model: Any, terms: Any, X: Any) -> NDArray[np.float64]:
    """Return the terms of a model at the rows of a table, a column for each."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([model.partial_dependence(term, X=X) for term in terms])


def _splines(splines: Any, X: Any) -> NDArray[np.float64]:
    """Return the splines of a term of several columns at the rows of a table, side by side."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([spline.build_columns(X).toarray() for spline in splines])


def read_gam(model: Any, method: str, ask: Callable[..., ClosedForm]) -> list[Part]:
    """Return a sum of terms, or the curve of a sum of terms of one column each."""
    terms = [place for place, term in enumerate(model.terms) if not term.isintercept]
    joint = [place for place in terms if model.terms[place].istensor]
    terms = [place for place in terms if place not in joint]
    single = [*terms, *joint]
    by = [place for place in single if getattr(model.terms[place], "by", None) is not None]
    link = type(model.link).__name__
    proba = method == "predict_proba"
    if by or link not in LINKS[: 1 if joint else 3]:
        raise UnreadableModelError(
            f"{type(model).__name__} has a link, or terms, of another kind",
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
    view = View(
        source, model.statistics_["m_features"], (Columns(partial(_evaluated, model, terms)),)
    )
    plain = (
        [Part(form, view)] if terms else [Part(LinearTerms(np.zeros((view.width, 1)), [constant]))]
    )
    return [*plain, *(_tensor(model, place) for place in joint)]


def _tensor(model: Any, place: int) -> Part:
    """Return a term of several columns, the sum of products of a spline of each."""
    splines = list(model.terms[place])
    sizes = [spline.n_coefs for spline in splines]
    ends, number = np.cumsum([0, *sizes]), np.indices(sizes).reshape(len(sizes), -1)
    powers = np.zeros((number.shape[1], ends[-1]), dtype=np.intp)
    for start, own in zip(ends, number, strict=False):
        powers[np.arange(len(own)), start + own] = 1
    coef = model.coef_[model.terms.get_coef_indices(place)]
    source = np.repeat([spline.feature for spline in splines], sizes)
    view = View(source, model.statistics_["m_features"], (Columns(partial(_splines, splines)),))
    return Part(Monomials(powers, coef[:, None], [0.0]), view)


READERS = {"GAM": read_gam}
