"""Reader of generalised additive models, from `pygam`."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms import (
    ClosedForm,
    Exponential,
    LinearTerms,
    Logistic,
    Monomials,
    Part,
    part_by,
)
from skshapley.exceptions import UnreadableModelError
from skshapley.readers._base import Ask, check_method

# Link -> the curve of a sum of terms; only the first may have terms of several columns
CURVES: dict[str, Callable[..., ClosedForm]] = {
    "IdentityLink": lambda ones, constant: LinearTerms(ones[:, None], [constant]),
    "LogLink": Exponential,
    "LogitLink": Logistic,
}


def _evaluated(model: Any, terms: Any, X: Any) -> NDArray[np.float64]:
    """Return the terms of a model at the rows of a table, a column for each."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([model.partial_dependence(term, X=X) for term in terms])


def _splines(splines: Any, X: Any) -> NDArray[np.float64]:
    """Return the splines of a term of several columns at the rows of a table, side by side."""
    X = np.asarray(X, dtype=np.float64)
    return np.column_stack([spline.build_columns(X).toarray() for spline in splines])


def read_gam(model: Any, method: str, ask: Ask) -> list[Part]:
    """Return a sum of terms, or the curve of a sum of terms of one column each."""
    places = [place for place, term in enumerate(model.terms) if not term.isintercept]
    joint = [place for place in places if model.terms[place].istensor]
    terms = [place for place in places if place not in joint]
    scaled = any(
        getattr(model.terms[place], "by", None) is not None for place in places
    )
    link = type(model.link).__name__
    check_method(
        model,
        method,
        {"LogitLink": ["predict_proba"], "LogLink": ["predict", "log"]}.get(
            link,
            ["predict"],
        ),
    )
    if method == "log":
        link = "IdentityLink"
    if scaled or link not in CURVES or (joint and link != "IdentityLink"):
        raise UnreadableModelError(
            f"{type(model).__name__} has a link or a term without closed form"
        )
    constant = float(model.coef_[-1]) if model.terms[-1].isintercept else 0.0
    source = [model.terms[place].feature for place in terms]
    width = model.statistics_["m_features"]
    curve = CURVES[link](np.ones(len(terms)), constant)
    plain = part_by(curve, _evaluated, source, width, model, terms)
    if not terms:
        plain = Part(LinearTerms(np.zeros((width, 1)), [constant]))
    return [plain, *(_tensor(model, place) for place in joint)]


def _tensor(model: Any, place: int) -> Part:
    """Return a term of several columns, the sum of products of a spline of each."""
    splines = list(model.terms[place])
    sizes = [spline.n_coefs for spline in splines]
    ends = np.cumsum([0, *sizes])
    numbers = np.indices(sizes).reshape(len(sizes), -1)
    powers = np.zeros((numbers.shape[1], ends[-1]), dtype=np.intp)
    for start, number in zip(ends, numbers, strict=False):
        powers[np.arange(len(number)), start + number] = 1
    coef = model.coef_[model.terms.get_coef_indices(place)]
    return part_by(
        Monomials(powers, coef[:, None], [0.0]),
        _splines,
        np.repeat([spline.feature for spline in splines], sizes),
        model.statistics_["m_features"],
        splines,
    )


READERS = {"GAM": read_gam}
