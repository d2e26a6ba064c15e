"""Cohorts of rows that a model treats alike, found by a small tree."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from skshapley._records._importance import flat
from skshapley._tools._params import Count, check_values
from skshapley.explanation import Explanation

# A mean over 50 of 1,000 rows has 14 % of the standard deviation of a row.
LEAST_SHARE = 0.05  # of the rows, in each cohort


def find_cohorts(explanation: Explanation, n_cohorts: int = 4) -> pd.Series:
    """Return a label for each row, by splits of the data that separate attributions best.

    The splits come from a small regression tree with the data as inputs and all
    attributions as targets. Labels are the rules, for the ``cohorts`` of
    `Explanation.importance` and of the displays.

    Parameters
    ----------
    explanation : Explanation
        Data other than numbers and truth values are split into one value and the
        others.
    n_cohorts : int, default=4
        Largest number of cohorts; each has at least a twentieth of the rows.

    Returns
    -------
    cohorts : Series of str
        With the index of the explanation.

    Raises
    ------
    ValueError
        For an empty explanation, or an n_cohorts below 2.

    Notes
    -----
    Cohorts differ more on the rows that define them than on other rows. Find them on
    one half of the rows, and compare them on the other half by their rules.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.comparison import find_cohorts
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> explainer = ShapleyExplainer(lambda X: np.where(X[:, 0] > 1, X[:, 1], 0)).fit(
    ...     X[:50]
    ... )
    >>> find_cohorts(explainer.explain(X), n_cohorts=2).value_counts()
    x0 <= 1.2    89
    x0 > 1.2     11
    Name: count, dtype: int64
    """
    check_values("find_cohorts", {"n_cohorts": n_cohorts}, {"n_cohorts": Count(2)})
    if not len(explanation):
        raise ValueError(
            "find_cohorts needs at least one row; got an empty explanation."
        )
    inputs, names = _inputs(explanation.data)
    least = max(1, int(np.ceil(LEAST_SHARE * len(explanation))))
    tree = DecisionTreeRegressor(
        max_leaf_nodes=n_cohorts, min_samples_leaf=least, random_state=0
    ).fit(inputs, flat(explanation.values))
    rules = _rules(tree.tree_, names, 0, {})
    return pd.Series(
        [rules[leaf] for leaf in tree.apply(inputs)], index=explanation.index
    )


def _inputs(data: pd.DataFrame) -> tuple[np.ndarray, list[tuple[str, object]]]:
    """Return numbers ``(r, m)``, and the column and the value of each."""
    columns: list[np.ndarray] = []
    names: list[tuple[str, object]] = []
    for name, column in data.items():
        numbers = column
        if column.dtype == object:
            numbers = pd.to_numeric(column, errors="coerce")
        if pd.api.types.is_numeric_dtype(numbers) and numbers.count() == column.count():
            columns.append(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
            names.append((str(name), None))
            continue
        # One indicator for each value, as the tree splits numbers only.
        for value in pd.unique(column.dropna()):
            columns.append((column == value).fillna(False).to_numpy(dtype=np.float64))
            names.append((str(name), value))
    return np.column_stack(columns), names


def _rules(
    tree: Any, names: list[tuple[str, object]], node: int, bounds: dict[tuple, str]
) -> dict[int, str]:
    """Return the rule of each leaf below a node, with only the last bounds of each number."""
    left, right = tree.children_left[node], tree.children_right[node]
    if left < 0:
        return {node: " & ".join(bounds.values()) or "all"}
    name, value = names[tree.feature[node]]
    at = f"{tree.threshold[node]:.3g}"
    below, above = f"{name} <= {at}", f"{name} > {at}"
    if value is not None:
        below, above = f"{name} != {value}", f"{name} = {value}"
    # A later bound on the same number is tighter, and replaces the earlier one.
    rules = _rules(tree, names, left, bounds | {(name, value, "below"): below})
    return rules | _rules(tree, names, right, bounds | {(name, value, "above"): above})
