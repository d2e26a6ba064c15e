"""Drift: attributions by period, on a control chart."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import stdtrit

from skshapley._inference._means import limits_of_changes
from skshapley._records._importance import (
    check_confidence,
    cohort_masks,
    flat,
    label_series,
    table_index,
    units,
)
from skshapley._tools import check_values
from skshapley.comparison._compare import KIND, Rows
from skshapley.explanation import Explanation

ROUNDING = 1e-9  # share of the largest attribution: smaller changes are rounding errors
MOST_GROUPS = 2048  # a second or two for a thousand permutations of them


@dataclass(frozen=True, eq=False, repr=False)
class Drift:
    """Means of attributions by period, with the limits of a baseline.

    Use `drift` to make one.

    Attributes
    ----------
    kind : {"attribution", "importance"}
        Whether the means are of attributions or of their sizes.
    baseline : list
        The periods that set the limits.
    table : DataFrame
        A line for each period, output (where there are several) and feature:
        ``period``, ``[output,] feature``, ``n_rows``, ``mean``, ``centre`` (of the
        baseline), ``low``, ``high``, ``alarm`` (whether the mean is beyond them; never
        in the baseline).
    """

    kind: str
    baseline: list
    table: pd.DataFrame

    def to_frame(self) -> pd.DataFrame:
        """Return the table."""
        return self.table.copy()

    @property
    def output_names(self) -> np.ndarray | None:
        """Names of the outputs, or None for a single one."""
        return self.table["output"].unique() if "output" in self.table else None

    @property
    def alarms(self) -> pd.DataFrame:
        """The lines of the table outside their limits."""
        return self.table[self.table["alarm"]].reset_index(drop=True)

    def __repr__(self) -> str:
        periods = self.table["period"].nunique()
        return (
            f"<Drift of {self.kind}s over {periods} periods: {len(self.alarms)} alarms>"
        )


def drift(
    explanation: Explanation | Iterable[Explanation] | Mapping[Any, Explanation],
    periods: Any = None,
    *,
    baseline: Any = None,
    kind: str = "attribution",
    confidence: float = 0.95,
) -> Drift:
    """Return the changes of attributions over time, with limits for changes by chance.

    Without any change, all means of all features in all periods stay within their
    limits, with the given confidence. The limits come from permutations of the rows of
    all periods, so they hold for rare and heavy-tailed columns too. With more than two
    thousand rows, groups of successive rows are permuted; periods shorter than a group
    have no limits.

    Parameters
    ----------
    explanation : Explanation, ExplanationDataset or dict of Explanation
        A dataset is read batch by batch. A dict has an explanation for each period, by
        the model of this period, from `skshapley.RefitExplainer`. The limits then
        include the change by retraining alone.
    periods : str or array-like of shape (r,), default=None
        A column of the data, or a label for each row, which sort by time; categories
        have their own order. None for a dict, whose keys are the periods.
    baseline : label or list of labels, default=None
        The periods to compare with. None: the first period.
    kind : {"attribution", "importance"}, default="attribution"
        Mean attributions, or mean absolute attributions without the bias of noise.
    confidence : float, default=0.95
        The probability of no alarm if nothing changes.

    Returns
    -------
    drift : Drift

    Raises
    ------
    ValueError, TypeError
        For other periods or baselines, an invalid confidence, or too few rows to
        distinguish a change from chance.

    Notes
    -----
    Attributions change with the data even if the model stays accurate. They need not
    change with the target. An alarm shows where to look.

    References
    ----------
    Shewhart (1931), Economic control of quality of manufactured product. Westfall &
    Young (1993), Resampling-based multiple testing.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.comparison import drift
    >>> X = np.random.default_rng(0).normal(size=(400, 2))
    >>> X[300:, 1] += 1
    >>> explanation = ShapleyExplainer(lambda X: X @ [1.0, 2.0]).fit(X).explain(X)
    >>> months = np.repeat(["2026-01", "2026-02", "2026-03", "2026-04"], 100)
    >>> drift(explanation, months).alarms[["period", "feature"]]
        period feature
    0  2026-04      x1
    """
    check_values("drift", {"kind": kind}, KIND)
    check_confidence("drift", confidence, True)
    if isinstance(explanation, Mapping):
        return _of_models(explanation, periods, baseline, kind, confidence)
    rows = Rows(explanation, "drift")
    unit = units(flat(rows.sample.values), len(rows.sample.feature_names))
    counts: Counter[Any] = Counter()
    for _, masks in _batches(rows, periods):
        counts.update({label: int(mask.sum()) for label, mask in masks.items()})
    # "missing" is no time, so it comes last instead of being sorted.
    dated = [label for label in counts if label != "missing"]
    column = rows.sample.data[periods] if isinstance(periods, str) else periods
    dtype = getattr(column, "dtype", None)
    ordered = isinstance(dtype, pd.CategoricalDtype)
    order = [
        *pd.Series(dated, dtype=dtype if ordered else object).sort_values().tolist(),
        *(["missing"] if "missing" in counts else []),
    ]
    base = _baseline_labels(baseline, order)
    # sums over groups of successive rows of each period; the last group is incomplete
    size = -(-counts.total() // MOST_GROUPS)
    _check_rows(counts, base, confidence, size)
    sums = {label: np.zeros((counts[label] // size + 1, len(unit))) for label in order}
    n_added: Counter[Any] = Counter()
    for batch, masks in _batches(rows, periods):
        scores = (
            flat(batch.values) if kind == "attribution" else rows.sizes(batch)
        ) / unit
        for label, mask in masks.items():
            places = n_added[label] + np.arange(mask.sum())
            np.add.at(sums[label], places // size, scores[mask])
            n_added[label] += len(places)
    groups = {label: part[:-1] / size for label, part in sums.items()}

    limits = np.concatenate([groups[label] for label in base])
    centre = sum(sums[label].sum(axis=0) for label in base)
    centre = centre / sum(counts[label] for label in base)
    later = [label for label in order if label not in base and len(groups[label])]
    critical, errors = limits_of_changes(
        limits,
        [groups[label] for label in later],
        confidence,
    )
    errors_of = dict(zip(later, errors, strict=True))
    spread = limits.std(axis=0, ddof=1) if len(limits) > 1 else np.nan
    errors_of |= {label: spread / np.sqrt(max(len(groups[label]), 1)) for label in base}
    lines = []
    for label in order:
        mean = sums[label].sum(axis=0) / counts[label]
        # Rounding errors do not count as changes.
        width = np.maximum(critical * errors_of.get(label, np.nan), ROUNDING)
        part = {
            "n_rows": counts[label],
            "mean": mean * unit,
            "centre": centre * unit,
            "low": (centre - width) * unit,
            "high": (centre + width) * unit,
            "alarm": (np.abs(mean - centre) > width) & (label not in base),
        }
        lines.append(pd.DataFrame(part, index=table_index(rows.sample)))
    return Drift(
        kind,
        base,
        pd.concat(lines, keys=order, names=["period"]).reset_index(),
    )


def _of_models(
    explanations: Mapping[Any, Explanation],
    periods: Any,
    baseline: Any,
    kind: str,
    confidence: float,
) -> Drift:
    """Return the drift over periods with a model each; limits include retraining.

    The limits of the rows and of retraining are those of independent errors, so their
    squares add up. Retraining has Bonferroni's limits of Student's t.
    """
    without = [
        label for label, part in explanations.items() if part.refit_values is None
    ]
    if periods is not None or len(explanations) < 2 or without:
        raise ValueError(
            "drift takes a dict of at least two periods with refits, and no periods="
            f" beside it; got {len(explanations)} periods, of which {without} have no "
            f"refits, and periods={periods!r}: explain each period by "
            "RefitExplainer(model).fit(X, y).explain(rows)."
        )
    labels = np.repeat(
        np.array([*explanations], dtype=object),
        [len(part) for part in explanations.values()],
    )
    whole = Explanation.merge(explanations.values())
    plain = drift(whole, labels, baseline=baseline, kind=kind, confidence=confidence)
    refits = {label: _variances(part, kind) for label, part in explanations.items()}
    n_base = sum(len(explanations[label]) for label in plain.baseline)
    shares = {label: len(explanations[label]) / n_base for label in plain.baseline}
    base = sum(share**2 * refits[label] for label, share in shares.items())
    table = plain.table.copy()
    variances = np.concatenate([refits[label] for label in table["period"].unique()])
    base = np.tile(base, len(explanations))
    fewest = whole.refit_values.shape[2] - 1  # type: ignore[union-attr]
    # the degrees of freedom of a sum of two variances (Welch 1947)
    total = np.where(base + variances > 0, base + variances, 1.0)
    squares = (base / total) ** 2 + (variances / total) ** 2
    critical = stdtrit(
        fewest / np.where(squares > 0, squares, 1.0),
        1 - (1 - confidence) / (2 * len(table)),
    )
    centre = table["centre"].to_numpy()
    width = np.hypot(table["high"] - centre, critical * np.sqrt(base + variances))
    table["low"] = centre - width
    table["high"] = centre + width
    changes = np.abs(table["mean"].to_numpy() - centre)
    table["alarm"] = (changes > width) & ~table["period"].isin(plain.baseline)
    return Drift(kind, plain.baseline, table)


def _variances(explanation: Explanation, kind: str) -> np.ndarray:
    """Return the variances over refits of the mean attributions or sizes, ``(k p,)``."""
    refits: Any = explanation.refit_values
    values = refits if kind == "attribution" else np.abs(refits)
    return flat(values.mean(axis=0, keepdims=True).var(axis=2, ddof=1))[0]


def _batches(rows: Rows, periods: Any) -> Iterator[tuple[Explanation, dict]]:
    """Yield the batches with the rows of each period, as a mask by label."""
    column = isinstance(periods, str)
    labels = pd.Series() if column else label_series(periods, "drift", "period")
    start = 0
    for batch in rows.batches:
        batch_periods = periods if column else labels.iloc[start : start + len(batch)]
        yield batch, cohort_masks(batch, batch_periods, "drift", "period")
        start += len(batch)
    if not column and start != len(labels):
        raise ValueError(
            f"drift needs a period for each of {start} rows; got {len(labels)}."
        )


def _baseline_labels(baseline: Any, order: list) -> list:
    """Return the periods of the baseline, or raise ValueError for unknown ones."""
    if baseline is None:
        return order[:1]
    labels = list(baseline) if isinstance(baseline, list | tuple | set) else [baseline]
    if not labels or any(label not in order for label in labels):
        raise ValueError(
            f"drift got baseline={baseline!r}: choose among the periods {order}."
        )
    return labels


def _check_rows(counts: Counter, base: list, confidence: float, size: int) -> None:
    """Raise ValueError for a baseline and periods with too few groups to detect a change."""
    n = sum(counts[label] // size for label in base)
    most = max((counts[label] for label in counts.keys() - set(base)), default=0)
    # The smallest p-value of a permutation test is 1 / C(n + most, n): 1/20 for three
    # groups each.
    if comb(n + most // size, n) < 1 / (1 - confidence):
        least = next(n for n in range(2, 99) if comb(2 * n, n) >= 1 / (1 - confidence))
        n_rows = sum(counts[label] for label in base)
        raise ValueError(
            f"drift cannot separate a change from chance with a baseline of {n_rows} "
            f"rows, {base}, and periods of at most {most}: with "
            f"confidence={confidence} it needs {least * size} each."
        )
