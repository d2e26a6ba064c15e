"""The facts of an explanation in words: its subject, method and uncertainty."""

import numpy as np
from scipy.special import expit

from skshapley._records._summary import gap_shows
from skshapley._tables import number, shorten
from skshapley.explanation import Explanation
from skshapley.plots._common import response_name

MODEL_LETTERS = 400
OF_BACKGROUND = "what another background of the same kind would change"
OF_REFITS = (
    "what other training data of the same size would change; nothing about what the "
    "model gets wrong everywhere"
)
ON_REQUEST = "computed on request, by explainer.background_errors(X)"
ABSENT = {
    "InterventionalReward": "interventional: absent features take the values of background rows",
    "BaselineReward": "baseline: absent features take the background's means and modes",
    "ConditionalReward": "conditional: absent features follow those that are present",
}


def facts(explanation: Explanation) -> list[list[str]]:
    """Return pairs of a fact's name and its text.

    Parameters
    ----------
    explanation : Explanation
        Of one output.
    """
    settings = explanation.settings
    b = settings.n_background
    n = int(explanation.converged.sum())
    r = len(explanation)
    base = explanation.base_values
    base_value = number(base[0]) if (base == base[0]).all() else None
    if base_value is not None and is_logit(explanation):
        base_value += f", a probability of {expit(base[0]):.3g}"
    background_errors = _finite(explanation.background_errors)
    refit_errors = _finite(explanation.refit_errors)
    gap = number(np.abs(explanation.efficiency_gap).max())
    reward = (settings.reward or "").removesuffix("()")
    entries = {
        "Response": response_name(explanation),
        "Model": (settings.model or "").partition("(")[0],
        "Method": _method(explanation),
        "Index": settings.index,
        "Absent features": ABSENT.get(reward, reward),
        "Base value": base_value,
        "Background": b and f"{b:,} row{'' if b == 1 else 's'}",
        "Model rows": _model_rows(explanation),
        "Accurate enough": f"{n:,} of {r:,} rows" if 0 < n < r else None,
        "Standard errors": _standard_errors(explanation),
        "Background errors": f"{_usual(background_errors)}: {OF_BACKGROUND}"
        if len(background_errors)
        else ON_REQUEST,
        "Refit errors": f"{_usual(refit_errors)}, from {settings.refits}: {OF_REFITS}"
        if len(refit_errors)
        else None,
        "Adds up": f"no: base value and attributions miss the prediction by up to {gap}"
        if gap_shows(explanation)
        else "yes: base value and attributions add up to the prediction, up to rounding",
        "Source": settings.source,
    }
    return [[name, text] for name, text in entries.items() if text]


def parameters(explanation: Explanation) -> list[list[str]]:
    """Return pairs of names and values of the parameters in the words of the code."""
    settings = explanation.settings
    exact = settings.exact_response
    entries = {
        "model": settings.model and shorten(settings.model, MODEL_LETTERS),
        "response_method": settings.response_method,
        "reward": settings.reward,
        "method": settings.method,
        "why sampled": settings.why_sampled,
        "exact instead": exact and f"response_method={exact!r}",
        "masked": settings.masked,
        "random_state": None if settings.entropy is None else str(settings.entropy),
    }
    return [[name, text] for name, text in entries.items() if text]


def _method(explanation: Explanation) -> str:
    """Return a text on the method without the names of the code."""
    settings = explanation.settings
    if settings.learned is not None:
        return f"learned from {settings.learned}"
    if settings.closed_form is not None:
        return f"exact, from the structure of the model ({settings.closed_form})"
    if settings.sampler is None:
        return settings.method
    if "Exact" in settings.sampler:
        return "exact, from all coalitions of features"
    why = f". {settings.why_sampled}" if settings.why_sampled else ""
    return f"sampled: the model predicts rows with some features replaced{why}"


def is_logit(explanation: Explanation) -> bool:
    """Return True if the response is the log-odds of one of two classes."""
    settings = explanation.settings
    return (
        settings.response_method == "log_odds" and settings.explained_class is not None
    )


def _model_rows(explanation: Explanation) -> str:
    rows = np.asarray(explanation.n_model_rows, dtype=float)
    if np.isnan(rows).any():
        return "not on record"
    if not rows.any():
        return "none: the values come from the structure of the model"
    return f"{rows.mean():,.0f} for each row, {rows.sum():,.0f} in all"


def _standard_errors(explanation: Explanation) -> str:
    errors = _finite(explanation.standard_errors)
    if not len(errors):
        return "not known: the method has none"
    if not errors.any():
        return "0: the attributions are exact for this background"
    largest = np.abs(explanation.values).max()
    share = (
        f", {errors.max() / largest:.1%} of the largest attribution" if largest else ""
    )
    return f"{_usual(errors)}{share}"


def _finite(errors: np.ndarray | None) -> np.ndarray:
    return np.zeros(0) if errors is None else errors[np.isfinite(errors)]


def _usual(errors: np.ndarray) -> str:
    return f"{number(np.median(errors))} (median), {number(errors.max())} at most"
