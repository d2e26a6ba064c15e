"""True labels beside the predictions of a report, and the error of the model."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skshapley._report._columns import rounded, text
from skshapley._tables._texts import number
from skshapley.rewards._methods import BY_CLASS

if TYPE_CHECKING:
    from skshapley.explanation import Explanation

DIGITS = 6


def truth(explanation: "Explanation", y: Any, rows: NDArray[np.intp]) -> dict[str, Any]:
    """Return the true labels of some rows, and the error of the model over all rows.

    Parameters
    ----------
    explanation : Explanation
    y : array-like of shape (r,)
    rows : ndarray of shape (n,), int
        The shown rows.

    Returns
    -------
    truth : dict
        The labels as ``texts``; ``errors``, by which the shown rows are sorted: the
        probability of the other classes, or the size of the difference; and ``fact``,
        the error of the model in words.

    Raises
    ------
    ValueError
        For another number of labels than rows, or labels that the predictions do not
        belong to.
    """
    labels = np.asarray(y)
    if labels.shape != (len(explanation),):
        raise ValueError(
            f"Explanation.report takes y with one label for each of the"
            f" {len(explanation)} rows; got shape {labels.shape}."
        )
    shares = _shares(explanation, labels)
    if shares is not None:
        wrong = np.mean(shares < 0.5)
        errors, fact = (
            1 - shares,
            f"the true class has less than 50 % in {wrong:.1%} of rows",
        )
    elif (
        labels.dtype.kind in "biuf"
        and np.ndim(explanation.predictions) == 1
        and explanation.settings.response_method not in BY_CLASS
    ):
        errors = np.abs(explanation.predictions - labels)
        rmse = np.sqrt(np.mean(errors**2))
        fact = f"{number(errors.mean())} (mean size), {number(rmse)} (root mean square)"
    else:
        raise ValueError(
            "Explanation.report takes y as the classes that the explanation has, or as"
            f" numbers to compare with its predictions; got {labels[:3].tolist()}: pass"
            " labels of the explained response."
        )
    return {
        "texts": [text(label) or "missing" for label in labels[rows]],
        "errors": rounded(errors[rows], DIGITS),
        "shares": shares is not None,
        "fact": fact,
    }


def _shares(
    explanation: "Explanation", labels: NDArray[Any]
) -> NDArray[np.float64] | None:
    """Return the probability of each row's true class, or None without probabilities."""
    settings = explanation.settings
    scores = np.asarray(explanation.predictions)
    method = settings.response_method
    if settings.explained_class is not None and method in ("predict_proba", "log_odds"):
        share = expit(scores) if method == "log_odds" else scores
        return np.where(labels == settings.explained_class, share, 1 - share)
    names = explanation.output_names
    if names is None or method != "predict_proba":
        return None
    places = {name: place for place, name in enumerate(names.tolist())}
    if not {*labels.tolist()} <= {*places}:
        return None
    columns = [places[label] for label in labels.tolist()]
    return scores[np.arange(len(scores)), columns]
