"""Small backgrounds that represent a table, for any explainer."""

from typing import Any

import numpy as np
from scipy import sparse

from skshapley._references import herded
from skshapley._tables import as_pandas, checked_weights, is_frame, n_rows, take_rows
from skshapley._tools import Count, entropy_from, generator

__all__ = ["herd"]


def herd(X, n: int, *, predictions=None, sample_weight=None, random_state=None) -> Any:
    """Return `n` rows of a table that together resemble it, as a background.

    Rows are chosen one by one (kernel herding). The means of smooth functions of the
    columns and predictions over the chosen rows are then close to the means over the
    table. Attributions against 100 such rows have a tenth to a third of the squared
    error of attributions against 100 random rows. Centres of k-means are not rows of
    the table, and can be worse than both. The chosen rows have equal weights: fitted
    weights did not help.

    `ShapleyExplainer` does not need this function: it takes the whole table, at a cost
    that does not depend on its size.

    Parameters
    ----------
    X : array or frame of shape (b, d)
        Numbers, categories, text; missing values.
    n : int
        At most b.
    predictions : array of shape (b,) or (b, k), optional
        Predictions of the rows. The chosen rows then resemble the table in these too.
    sample_weight : array of shape (b,), optional
    random_state : None, int, Generator or RandomState, default=None

    Returns
    -------
    rows : array or frame of shape (n, d)
        In the container of `X`, with its index, in the order of choice.

    Raises
    ------
    ValueError
        If `n` is not an int from 1 to b, or predictions or weights have another length.

    References
    ----------
    Chen, Welling & Smola (2010), Super-samples from kernel herding, UAI.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from skshapley.background import herd
    >>> X, _ = load_iris(return_X_y=True, as_frame=True)
    >>> rows = herd(X, 10, random_state=0)
    >>> bool((abs(rows.mean() - X.mean()) < 0.2 * X.std()).all())
    True
    """
    if sparse.issparse(X):
        X = X.tocsr()
    elif not is_frame(X):
        X = np.asarray(X)
    b = n_rows(X)
    if not Count().allows(n) or n > b:
        raise ValueError(
            f"herd takes n as a positive int, at most the {b} rows of X; got {n!r}."
        )
    weights = checked_weights(sample_weight, b, "herd")
    if predictions is not None:
        predictions = (
            as_pandas(predictions).to_numpy() if is_frame(predictions) else predictions
        )
        predictions = np.asarray(predictions, dtype=np.float64)
        if (
            len(predictions) != b
            or predictions.ndim > 2
            or not np.isfinite(predictions).all()
        ):
            raise ValueError(
                "herd needs predictions as finite numbers, one row for each of the "
                f"{b} rows of X; got shape {predictions.shape}."
            )
        predictions = predictions.reshape(b, -1)
    rng = generator(entropy_from(random_state, "herd"), 1)
    return take_rows(X, herded(X, int(n), predictions, weights / weights.sum(), rng))
