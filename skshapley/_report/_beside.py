"""Two explanations of the same rows, side by side in a report."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from skshapley._report._columns import rounded
from skshapley.plots._common import adding_up

if TYPE_CHECKING:
    from skshapley.explanation import Explanation

DIGITS = 6
SHARED = {"features": "feature_names", "rows": "index", "outputs": "output_names"}


def beside(
    explanation: "Explanation",
    other: Any,
    rows: NDArray[np.intp],
    kept: NDArray[np.intp],
) -> list[dict[str, Any]]:
    """Return the differences between two explanations, by output.

    Parameters
    ----------
    explanation, other : Explanation
        Of the same rows and features.
    rows : ndarray of shape (n,), int
        The shown rows.
    kept : ndarray of shape (p',), int
        The shown features.

    Raises
    ------
    ValueError
        If the rows, features or outputs differ.
    """
    for noun, attribute in SHARED.items():
        names = getattr(explanation, attribute)
        other_names = getattr(other, attribute, None)
        if not np.array_equal(np.array(names), np.array(other_names)):
            raise ValueError(
                f"Explanation.report got beside with other {noun} than the explanation:"
                " pass an Explanation of the same rows, features and outputs."
            )
    first = adding_up(explanation)
    second = adding_up(other)
    shape = (*first.values.shape[:2], -1)
    values = first.values.reshape(shape)
    other_values = second.values.reshape(shape)
    predictions = second.predictions.reshape(len(second), -1)
    differences = np.abs(other_values - values)
    return [
        {
            "sizes": rounded(np.abs(other_values[:, kept, k]).mean(axis=0), DIGITS),
            "differences": rounded(differences[:, kept, k].mean(axis=0), DIGITS),
            "rows": rounded(differences[rows, :, k].sum(axis=1), DIGITS),
            "predictions": rounded(predictions[rows, k], DIGITS),
        }
        for k in range(values.shape[2])
    ]
