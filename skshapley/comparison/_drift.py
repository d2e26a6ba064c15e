"""Drift: attributions of one period after another, on a control chart."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from skshapley._inference._means import Means, Tally
from skshapley._inference._simultaneous import critical_changes, varying
from skshapley._records._importance import cohort_masks, label_series
from skshapley._records._inferred import check_confidence, flat, player_index, units
from skshapley._tools._constraints import check_values
from skshapley.comparison._compare import KIND
from skshapley.comparison._scores import Rows, Stored
from skshapley.explanation import Explanation

ROUNDING = 1e-9  # of the largest attribution


@dataclass(frozen=True, eq=False, repr=False)
class Drift:
    """Means of attributions by period, between the limits that a baseline sets.

    Use `drift` to make one.

    Attributes
    ----------
    kind : {"attribution", "importance"}
        Whether means are of attributions, or of their sizes.
    baseline : list
        The periods that set the limits.
    table : DataFrame
        A line for each period, output (where there are several) and feature: ``period``,
        ``[output,] feature``, ``n_rows``, ``mean``, ``centre`` (of the baseline), ``low``,
        ``high``, ``alarm`` (whether the mean is beyond them; never in the baseline).
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
        """The lines of the table that are beyond their limits."""
        return self.table[self.table["alarm"]].reset_index(drop=True)

    def __repr__(self) -> str:
        n, periods = int(self.table["alarm"].sum()), self.table["period"].nunique()
        return f"<Drift of {self.kind}s over {periods} periods: {n} alarms>"


def drift(
    explanation: "Explanation | Stored",
    periods: Any,
    *,
    baseline: Any = None,
    kind: str = "attribution",
    confidence: float = 0.95,
) -> Drift:
    """Return how attributions move over time, beside what chance would move.

    The limits of a period are those of an x-bar chart, for as many rows as it has, by how the rows
    of the baseline vary. They are simultaneous: if nothing changes, then no mean of any feature in
    any period is beyond them, with the given confidence.

    Parameters
    ----------
    explanation : Explanation or ExplanationDataset
        A dataset is read batch by batch.
    periods : str or array-like of shape (r,)
        A column of the data, or a label for each instance, which sort by time.
    baseline : label or list of labels, default=None
        The periods that nothing was wrong in. None: the first.
    kind : {"attribution", "importance"}, default="attribution"
        Whether means are of attributions, or of their sizes without the bias of noise.
    confidence : float, default=0.95
        The chance of no alarm where nothing changes.

    Returns
    -------
    drift : Drift

    Raises
    ------
    ValueError, TypeError
        For other periods or baselines, a baseline of fewer than two rows, or no confidence.

    Notes
    -----
    Attributions move when the data do, even where the model is as right as ever, and need not move
    when the target does. An alarm says where to look.

    References
    ----------
    Shewhart (1931), Economic control of quality of manufactured product.

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
    rows = Rows(explanation, "drift")
    unit = units(flat(rows.sample.values), len(rows.sample.feature_names))
    tallies: dict[Any, Tally] = {}
    for batch, masks in _batches(rows, periods):
        scores = (flat(batch.values) if kind == "attribution" else rows.sizes(batch)) / unit
        for label, mask in masks.items():
            tallies.setdefault(label, Tally()).add(scores[mask])
    ordered = pd.Series(list(tallies), dtype=object)
    known = ordered[ordered != "missing"]
    order = [*known.sort_values().tolist(), *(["missing"] if "missing" in tallies else [])]
    means = {label: Means(*tallies[label].means()) for label in order}
    base = _baseline_labels(baseline, order)
    table = _chart(means, base, confidence, unit, player_index(rows.sample))
    return Drift(kind, base, table)


def _batches(rows: Rows, periods: Any) -> Iterator[tuple[Explanation, dict]]:
    """Yield the batches with the rows of each period, as a mask by label."""
    if isinstance(periods, str):
        for batch in rows.batches:
            yield batch, cohort_masks(batch, periods, "drift", "period")
        return
    labels, start = label_series(periods, "drift", "period"), 0
    for batch in rows.batches:
        own = labels.iloc[start : start + len(batch)]
        yield batch, cohort_masks(batch, own, "drift", "period")
        start += len(batch)
    if start != len(labels):
        raise ValueError(f"drift needs a period for each of {start} instances; got {len(labels)}.")


def _baseline_labels(baseline: Any, order: list) -> list:
    """Return the periods of the baseline, or refuse those that there are not."""
    if baseline is None:
        return order[:1]
    labels = list(baseline) if isinstance(baseline, list | tuple | set) else [baseline]
    unknown = [label for label in labels if label not in order]
    if unknown or not labels:
        raise ValueError(f"drift got baseline={baseline!r}: choose among the periods {order}.")
    return labels


def _chart(
    means: dict[Any, Means], base: list, confidence: float, unit: np.ndarray, index: pd.Index
) -> pd.DataFrame:
    """Return the table of all periods."""
    n = sum(means[label].n for label in base)
    if n - len(base) < 1:
        raise ValueError(f"drift needs a baseline of two rows or more; got {n:g} in {base}.")
    # how single rows vary within the periods of the baseline, and where its centre is
    parts = [means[label] for label in base]
    within = [own.covariance * own.n * (own.n - 1) for own in parts if own.n > 1]
    spread = np.sum(within, axis=0) / (n - len(base))
    centre = np.sum([own.values * own.n for own in parts], axis=0) / n
    later = [label for label in means if label not in base]
    sizes = np.array([means[label].n for label in later])
    critical = critical_changes(spread, n, n - len(base), sizes, confidence)
    # what does not vary but by rounding rings for what is more than rounding
    half = np.where(varying(spread), critical * np.sqrt(np.diag(spread)), ROUNDING)
    lines = []
    for label, own in means.items():
        width = half * np.sqrt(1 / own.n + (0 if label in base else 1 / n))
        outside = (np.abs(own.values - centre) > width) & (label not in base)
        part = pd.DataFrame(
            {
                "n_rows": int(own.n),
                "mean": own.values * unit,
                "centre": centre * unit,
                "low": (centre - width) * unit,
                "high": (centre + width) * unit,
                "alarm": outside,
            },
            index=index,
        ).reset_index()
        part.insert(0, "period", label)
        lines.append(part)
    return pd.concat(lines, ignore_index=True)
