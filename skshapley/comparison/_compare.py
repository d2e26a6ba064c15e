"""Comparison of two explanations by differences of means, and cohorts to compare.

Cohorts are rows that a model treats alike, found by a small tree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeRegressor

from skshapley._inference._means import Means, adjusted, intervals, p_values
from skshapley._records._importance import (
    ROUNDING,
    check_confidence,
    flat,
    flat_errors,
    noise_of,
    table_index,
    units,
)
from skshapley._records._outcome import check_same, quantity
from skshapley._records._summary import gap_shows
from skshapley._tools import Count, OneOf, check_values
from skshapley.explanation import Explanation

# Rows read from disk to estimate the sizes of all attributions. The median of so many
# normal sizes is known to 1.2 %.
SAMPLE_ROWS = 10_000


class Rows:
    """The rows of an explanation, batch by batch.

    Parameters
    ----------
    source : Explanation, or an iterable of Explanation
    owner : str
        Who takes it, for errors.
    """

    def __init__(self, source: Explanation | Iterable[Explanation], owner: str) -> None:
        if isinstance(source, Explanation):
            self.batches: Iterable[Explanation] = [source]
            self.sample = source
        elif hasattr(source, "read"):
            self.batches = source
            self.sample = source.read(max_rows=SAMPLE_ROWS)
        else:
            raise TypeError(
                f"{owner} takes an Explanation or an ExplanationDataset; got "
                f"{source!r}."
            )
        if not len(self.sample):
            raise ValueError(
                f"{owner} needs at least one row; got an empty explanation."
            )
        self._noise = noise_of(self.sample)

    def sizes(self, batch: Explanation) -> np.ndarray:
        """Return the debiased sizes of attributions, ``(n, k p)``."""
        return self._noise.sizes(flat(batch.values), flat_errors(batch))


def ends(batch: Explanation) -> np.ndarray:
    """Return base values, gaps and predictions, ``(n, 3 k)``."""
    return np.hstack(
        [
            part.reshape(len(batch), -1)
            for part in (batch.base_values, batch.efficiency_gap, batch.predictions)
        ],
    )


def check_names(owner: str, names: tuple[str, str]) -> None:
    """Raise ValueError unless the names of two explanations are different str."""
    pair = isinstance(names, tuple | list) and len(names) == 2 and names[0] != names[1]
    if not pair or not all(isinstance(name, str) for name in names):
        raise ValueError(f"{owner} takes names as two different str; got {names!r}.")


KIND = {"kind": OneOf(("importance", "attribution"))}
BASE = "base value"
GAP = "unexplained"


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Differences of two explanations by feature, with standard errors.

    Use `compare` to make one.

    Attributes
    ----------
    names : tuple of str
        Of the first and of the second explanation.
    n_rows : tuple of int
        Number of rows of each.
    feature_names : ndarray of shape (p,), str
    output_names : ndarray of shape (k,), or None
    first, second : Means
        Means of attributions ``(k p)``, of their sizes ``(k p)``, of base values, gaps
        and predictions ``(k)`` each.
    pairs : Means or None
        Means of the differences of paired rows.
    unit : ndarray of shape (2 k p + 3 k,)
        The units of the means, so that squares do not overflow.
    gap : bool
        Whether some attributions do not add up.
    refits : bool
        Whether both have refits, which the errors do not include.
    index : Index
        Of the attributions.
    """

    names: tuple[str, str]
    n_rows: tuple[int, int]
    feature_names: np.ndarray
    output_names: np.ndarray | None
    first: Means
    second: Means
    pairs: Means | None
    unit: np.ndarray
    gap: bool
    refits: bool
    index: pd.Index

    @property
    def paired(self) -> bool:
        """Whether both have the same rows, so that differences are computed row by row."""
        return self.pairs is not None

    @property
    def prediction_difference(self) -> float | np.ndarray:
        """Mean prediction of the second minus the first; ``(k,)`` for several outputs."""
        of_predictions = slice(
            -1 if self.output_names is None else -len(self.output_names),
            None,
        )
        change = self._change(of_predictions).values * self.unit[of_predictions]
        return float(change[0]) if self.output_names is None else change

    def to_frame(
        self,
        kind: Literal["importance", "attribution"] = "importance",
        *,
        confidence: float = 0.95,
        simultaneous: bool = True,
    ) -> pd.DataFrame:
        """Return the differences, the largest first.

        Parameters
        ----------
        kind : {"importance", "attribution"}, default="importance"
            "importance": mean absolute attributions, without the bias of noise.
            "attribution": mean attributions. With the additional lines ``base value``
            and (if attributions do not add up) ``unexplained``, the differences add up
            to `prediction_difference`.
        confidence : float, default=0.95
            Confidence of the intervals.
        simultaneous : bool, default=True
            Whether the intervals hold for all features (and outputs) simultaneously, or
            for each separately.

        Returns
        -------
        differences : DataFrame
            Index: output (if there are several) and feature. Columns: the names of both
            explanations; ``difference``, the second minus the first; its
            ``standard_error``, by the choice of rows and by estimation; ``low``,
            ``high``; ``p_value`` of no difference, and ``p_adjusted``: if lines up to q
            are selected, a share of at most q is false on average (Benjamini &
            Yekutieli 2001).

        Raises
        ------
        ValueError
            For an invalid kind or confidence.
        """
        check_values("Comparison.to_frame", {"kind": kind}, KIND)
        check_confidence("Comparison.to_frame", confidence, simultaneous)
        m = len(self.index)
        which = slice(m, 2 * m) if kind == "importance" else slice(0, m)
        change = self._change(which)
        low, high = intervals(change, confidence, simultaneous)
        p = p_values(change, two_sided=True)
        table = (
            self._differences(which, self.index)
            .assign(
                low=low * self.unit[which],
                high=high * self.unit[which],
                p_value=p,
                p_adjusted=adjusted(p),
            )
            .sort_values("difference", key=abs, ascending=False, kind="stable")
        )
        if kind == "importance":
            return table
        # With the remaining lines, the differences sum to the prediction difference.
        # They have no test, because they belong to the explainers, not to features.
        names = [BASE, GAP] if self.gap else [BASE]
        index = pd.Index(names, name="feature")
        if self.output_names is not None:
            index = pd.MultiIndex.from_product(
                [names, self.output_names],
                names=["feature", "output"],
            ).swaplevel()
        ends = self._differences(slice(2 * m, 2 * m + len(index)), index)
        return pd.concat([table, ends])

    def _change(self, own: slice) -> Means:
        """Return the differences of some means."""
        if self.pairs is not None:
            return self.pairs.part(own)
        return self.second.part(own).minus(self.first.part(own))

    def _differences(self, own: slice, index: pd.Index) -> pd.DataFrame:
        """Return some means of both explanations, and their differences."""
        change = self._change(own)
        unit = self.unit[own]
        return pd.DataFrame(
            {
                self.names[0]: self.first.values[own] * unit,
                self.names[1]: self.second.values[own] * unit,
                "difference": change.values * unit,
                "standard_error": change.errors * unit,
            },
            index=index,
        )

    def __repr__(self) -> str:
        rows = f"{self.n_rows[0]} and {self.n_rows[1]} rows{', paired' if self.paired else ''}"
        hint = "; compare_refits includes retraining" if self.refits else ""
        return f"<Comparison of {self.names[0]!r} and {self.names[1]!r}: {rows}{hint}>"


def compare(
    first: Explanation | Iterable[Explanation],
    second: Explanation | Iterable[Explanation],
    *,
    names: tuple[str, str] = ("first", "second"),
) -> Comparison:
    """Compare two groups, models or periods by their explanations.

    If both have the same rows in the same order, differences are computed row by row,
    which reduces their errors. The difference of the mean predictions of two groups is
    the sum over features of the differences of their mean attributions.

    Parameters
    ----------
    first, second : Explanation or ExplanationDataset
        Of the same features and outputs, by the same response method, reward and index.
        A dataset is read batch by batch.
    names : tuple of two str, default=("first", "second")
        Names of the two explanations.

    Returns
    -------
    comparison : Comparison

    Raises
    ------
    ValueError, TypeError
        For explanations of other features, outputs or settings such as the reward,
        without rows, or wrong names.

    See Also
    --------
    compare_refits : Differences of two models beyond the effect of retraining.

    Notes
    -----
    The part of a feature describes the model, not a cause: features correlated with a
    group may carry its difference. Errors describe the choice of rows and the
    estimation. They do not include retraining.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.comparison import compare
    >>> X = np.arange(200.0).reshape(100, 2) % 7
    >>> X[50:, 0] += 3.0
    >>> explanation = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(X[:50]).explain(X)
    >>> comparison = compare(
    ...     explanation[:50], explanation[50:], names=("before", "after")
    ... )
    >>> comparison.to_frame("attribution")["difference"].round(2)
    feature
    x0            3.04
    x1            0.08
    base value    0.00
    Name: difference, dtype: float64
    >>> round(comparison.prediction_difference, 2)
    3.12
    """
    check_names("compare", names)
    first_rows = Rows(first, "compare")
    second_rows = Rows(second, "compare")
    check_same("compare", quantity(first_rows.sample), quantity(second_rows.sample))
    values = np.concatenate(
        [flat(first_rows.sample.values), flat(second_rows.sample.values)]
    )
    k = values.shape[1] // len(first_rows.sample.feature_names)
    largest = max(
        float(np.abs(ends(rows.sample)).max()) for rows in (first_rows, second_rows)
    )
    # Powers of two: dividing by them is exact, and squares of values above 1e154 do not
    # overflow.
    unit = np.append(
        np.tile(units(values, len(first_rows.sample.feature_names)), 2),
        np.full(3 * k, np.ldexp(1.0, np.frexp(largest)[1])),
    )

    def scores(rows: Rows, batch: Explanation) -> np.ndarray:
        numbers = [flat(batch.values), rows.sizes(batch), ends(batch)]
        return _without_rounding(np.hstack(numbers) / unit)

    means = [
        Means.of_batches(scores(rows, part) for part in rows.batches)
        for rows in (first_rows, second_rows)
    ]
    pairs = None
    # `zip` would stop at the end of the shorter dataset, and report equal rows.
    if all(
        before is not None
        and after is not None
        and before.index.equals(after.index)
        and before.data.equals(after.data)
        for before, after in zip_longest(first_rows.batches, second_rows.batches)
    ):
        pairs = Means.of_batches(
            _without_rounding(scores(second_rows, b) - scores(first_rows, a))
            for a, b in zip(first_rows.batches, second_rows.batches, strict=True)
        )
    return Comparison(
        names=(names[0], names[1]),
        n_rows=(int(means[0].n), int(means[1].n)),
        feature_names=first_rows.sample.feature_names,
        output_names=first_rows.sample.output_names,
        first=means[0],
        second=means[1],
        pairs=pairs,
        unit=unit,
        gap=any(
            gap_shows(part)
            for rows in (first_rows, second_rows)
            for part in rows.batches
        ),
        refits=all(
            rows.sample.refit_values is not None for rows in (first_rows, second_rows)
        ),
        index=table_index(first_rows.sample),
    )


def _without_rounding(scores: np.ndarray) -> np.ndarray:
    """Return scores in units of the largest; rounding errors of 0 are 0, without a test."""
    return np.where(np.abs(scores) <= ROUNDING, 0.0, scores)


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
    tree = DecisionTreeRegressor(
        max_leaf_nodes=n_cohorts,
        min_samples_leaf=max(1, int(np.ceil(LEAST_SHARE * len(explanation)))),
        random_state=0,
    ).fit(inputs, flat(explanation.values))
    rules = _rules(tree.tree_, names, inputs, 0, {})
    return pd.Series(
        [rules[leaf] for leaf in tree.apply(inputs)],
        index=explanation.index,
    )


def _inputs(data: pd.DataFrame) -> tuple[np.ndarray, list[tuple[str, object]]]:
    """Return numbers ``(r, m)``, and the column and the value of each."""
    columns: list[np.ndarray] = []
    names: list[tuple[str, object]] = []
    for name, column in data.items():
        is_object = column.dtype == object
        numbers = pd.to_numeric(column, errors="coerce") if is_object else column
        if pd.api.types.is_numeric_dtype(numbers) and numbers.count() == column.count():
            columns.append(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
            names.append((str(name), None))
            continue
        # One indicator for each value, as the tree splits numbers only.
        for value in pd.unique(column.dropna()):
            columns.append((column == value).fillna(False).to_numpy(dtype=np.float64))
            names.append((str(name), value))
    # Trees of scikit-learn sum and compare numbers of 32 bits, and refuse larger ones.
    numbers = np.column_stack(columns).clip(-1e30, 1e30).astype(np.float32)
    return numbers.astype(np.float64), names


def _rules(
    tree: Any,
    names: list[tuple[str, object]],
    inputs: np.ndarray,
    node: int,
    bounds: dict[tuple, str],
) -> dict[int, str]:
    """Return the rule of each leaf below a node, with only the last bounds of each number."""
    left = tree.children_left[node]
    right = tree.children_right[node]
    if left < 0:
        return {node: " & ".join(bounds.values()) or "all"}
    name, value = names[tree.feature[node]]
    numbers = inputs[:, tree.feature[node]]
    threshold = tree.threshold[node]
    is_below = numbers <= threshold
    missing = np.isnan(numbers)
    is_left = is_below | (missing & bool(tree.missing_go_to_left[node]))
    texts = (f"{threshold:.{n_digits}g}" for n_digits in range(3, 18))
    # the fewest digits that split the rows equally
    at = next(
        text for text in texts if np.array_equal(numbers <= float(text), is_below)
    )
    below = f"{name} <= {at}"
    above = f"{name} > {at}"
    if value is not None:
        below = f"{name} != {value}"
        above = f"{name} = {value}"
    elif np.isinf(threshold):  # missing values against all others
        below = f"{name} is not missing"
        above = f"{name} is missing"
    elif (missing & is_left).any():
        below += " (or missing)"
    elif missing.any():
        above += " (or missing)"
    # A later bound on the same number is tighter, and replaces the earlier one.
    rules = _rules(
        tree,
        names,
        inputs[is_left],
        left,
        bounds | {(name, value, "below"): below},
    )
    return rules | _rules(
        tree,
        names,
        inputs[~is_left],
        right,
        bounds | {(name, value, "above"): above},
    )
