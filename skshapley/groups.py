"""Groups of columns that carry the same information, for the `groups` of explainers."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from skshapley._tables import as_pandas, ordered_numbers, refuse_no_table
from skshapley._tools import Count, check_values

__all__ = ["by_correlation"]


def by_correlation(X, n_groups: int) -> dict[str, dict[str, list]]:
    """Return nested groups of columns with large rank correlations.

    Columns are clustered by 1 - |Spearman's correlation|, with the mean distance
    between clusters (average linkage).

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Missing values are left out of the correlations. Dates and ordered categories
        have ranks; text and other categories count by their codes.
    n_groups : int
        The largest number of groups, columns without a group included.

    Returns
    -------
    groups : dict
        For the parameter `groups` of an explainer: ``{"a + b": {"a": ["a"], "b":
        ["b"]}, "c": {"c": ["c"]}}``.

    Raises
    ------
    ValueError
        Unless `n_groups` is a positive int.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from skshapley.groups import by_correlation
    >>> weight = np.arange(20.0)
    >>> X = pd.DataFrame({"weight": weight, "age": weight % 3, "height": weight**2})
    >>> by_correlation(X, 2)["weight + height"]
    {'weight': ['weight'], 'height': ['height']}
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    check_values("by_correlation", {"n_groups": n_groups}, {"n_groups": Count()})
    refuse_no_table(X, "by_correlation")
    frame = as_pandas(X)
    if frame.shape[1] == 1:
        clusters = np.ones(1, dtype=int)
    else:
        columns = [_as_numbers(frame.iloc[:, j]) for j in range(frame.shape[1])]
        correlation = (
            pd.DataFrame(np.column_stack(columns))
            .corr("spearman")
            .fillna(0.0)
            .to_numpy()
        )
        distances = np.clip(1 - np.abs(correlation), 0, None)
        np.fill_diagonal(distances, 0.0)
        tree = linkage(squareform(distances, checks=False), "average")
        # Not by "maxclust", which returns too few clusters in SciPy 1.13
        heights = np.append(-1.0, tree[:, 2])
        height = heights[max(frame.shape[1] - n_groups, 0)]
        clusters = fcluster(tree, height, "distance")
    groups: dict[str, Any] = {}
    for cluster in pd.unique(clusters):
        names = list(frame.columns[clusters == cluster])
        label = " + ".join(map(str, names[:3]))
        label += f" + {len(names) - 3} more" if len(names) > 3 else ""
        while label in groups:  # the name of a column, or of columns named alike
            label += "'"
        groups[label] = {name: [name] for name in names}
    return groups


def _as_numbers(column: pd.Series) -> NDArray[np.float64]:
    """Return a column as numbers: the codes of text and of categories without an order."""
    numbers = ordered_numbers(column)
    if np.isfinite(numbers).any():
        return numbers
    codes = pd.factorize(column)[0]
    return np.where(codes < 0, np.nan, codes)
