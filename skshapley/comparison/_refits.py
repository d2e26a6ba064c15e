"""Comparison of two models with their refits: differences that retraining cannot explain.

The differences of two models of one law vary as those of their refits do. The squared
differences are summed over rows (for a feature) or over features (for a row), and
compared with the sum of their variances over refits. The ratio has about an F
distribution. Its degrees of freedom come from unbiased estimates of the trace of the
covariance and of its square (Dempster 1958; Bai & Saranadasa 1996). For two models with
different numbers of refits, the degrees are those of Welch (1947).

References
----------
Dempster (1958), A high dimensional two sample significance test, Annals of Mathematical
Statistics 29. Bai & Saranadasa (1996), Effect of high dimension: by an example of a two
sample problem, Statistica Sinica 6 (equation 3.2). Welch (1947), The generalization of
"Student's" problem when several different population variances are involved,
Biometrika 34.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.special import fdtrc, fdtri

from skshapley._inference._means import adjusted
from skshapley._records._importance import check_confidence, flat, table_index
from skshapley._records._outcome import check_same, quantity
from skshapley._tools import OneOf, check_values
from skshapley.comparison._compare import check_names
from skshapley.explanation import Explanation

KINDS = {"kind": OneOf(("feature", "row", "value"))}


def _distribution(
    grams: np.ndarray,
    n_refits: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distribution of sums of squares if only the samples differ.

    Parameters
    ----------
    grams : ndarray of shape (m, b, b)
        Sums of products of the centred values of the b refits of both models, each
        divided by the root of its degrees of freedom.
    n_refits : tuple of int
        Number of refits of each model.

    Returns
    -------
    expected, numerator, denominator : ndarray of shape (m,)
        Expectations of the sums, and the degrees of freedom of their ratios to these.
    """
    traces = np.diagonal(grams, axis1=1, axis2=2)
    first = traces[:, : n_refits[0]].sum(axis=1)
    second = traces[:, n_refits[0] :].sum(axis=1)
    expected = first + second
    # scaled, so that squares neither overflow nor vanish
    unit = np.where(expected > 0, expected, 1.0)
    first = first / unit
    second = second / unit
    welch = first**2 / (n_refits[0] - 1) + second**2 / (n_refits[1] - 1)
    most = sum(n_refits) - 2
    degrees = np.clip(1 / np.where(welch > 0, welch, 1.0), min(n_refits) - 1, most)
    trace_of_square = ((grams / unit[:, None, None]) ** 2).sum(axis=(1, 2))
    factor = degrees / ((degrees - 1) * (degrees + 2))
    square_of_trace = factor * ((degrees + 1) - 2 * trace_of_square)
    trace_of_square = factor * (degrees * trace_of_square - 1)
    numerator = np.maximum(
        square_of_trace / np.fmax(trace_of_square, square_of_trace / most),
        1.0,
    )
    return expected, numerator, degrees * numerator


@dataclass(frozen=True, eq=False, repr=False)
class RefitComparison:
    """Differences of two models on the same rows, and the effect of retraining.

    Use `compare_refits` to make one.

    Attributes
    ----------
    names : tuple of str
        Of the first and of the second model.
    first, second : Explanation
        With refits, of the same rows.
    """

    names: tuple[str, str]
    first: Explanation
    second: Explanation

    @property
    def output_names(self) -> np.ndarray | None:
        """Names of the outputs, or None for a single one."""
        return self.first.output_names

    def to_frame(
        self,
        kind: Literal["feature", "row", "value"] = "feature",
        *,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Return the differences, with their sizes if only the training samples differ.

        Parameters
        ----------
        kind : {"feature", "row", "value"}, default="feature"
            "feature": root mean squared differences over the rows. "row": roots of the
            sums of squared differences over features (and outputs). "value": the
            difference of each attribution.
        confidence : float, default=0.95
            The probability that retraining alone stays within ``limit``: for all
            features (and outputs) together, or for each row or value.

        Returns
        -------
        differences : DataFrame
            Index: output (if there are several) and feature, or the row, or both.
            Columns: ``difference``; ``retraining``, its root mean square without a
            change; ``limit``; ``p_value``, and ``p_adjusted``: for features, the
            probability that any of them has such a difference without a change; for
            rows and values, if lines up to q are selected, a share of at most q is
            false on average (Benjamini & Yekutieli 2001).

        Raises
        ------
        ValueError
            For an invalid kind or confidence.
        """
        check_values("RefitComparison.to_frame", {"kind": kind}, KINDS)
        check_confidence("RefitComparison.to_frame", confidence, True)
        differences = flat(self.second.values) - flat(self.first.values)
        refits = np.concatenate(
            [_centred(explanation) for explanation in (self.first, self.second)]
        )
        players = table_index(self.first)
        if kind == "feature":
            squares = np.mean(differences**2, axis=0)
            grams = np.einsum("arj,brj->jab", refits, refits) / len(differences)
            table = self._table(
                squares,
                grams,
                players,
                # one chance of a false alarm for all features
                (1 - confidence) / len(players),
            )
            table["p_adjusted"] = np.minimum(len(players) * table["p_value"], 1.0)
            return table.sort_values("difference", ascending=False, kind="stable")
        if kind == "row":
            squares = np.sum(differences**2, axis=1)
            grams = np.einsum("arj,brj->rab", refits, refits)
            index = self.first.index
        else:
            squares = differences.ravel() ** 2
            flat_refits = refits.reshape(len(refits), -1)
            grams = np.einsum("am,bm->mab", flat_refits, flat_refits)
            rows = pd.DataFrame({"row": self.first.index.to_numpy()})
            lines = rows.merge(players.to_frame(index=False), how="cross")
            index = pd.MultiIndex.from_frame(lines)
        table = self._table(squares, grams, index, 1 - confidence)
        if kind == "value":
            table["difference"] = differences.ravel()
        table["p_adjusted"] = adjusted(table["p_value"].to_numpy())
        return table

    def _table(
        self,
        squares: np.ndarray,
        grams: np.ndarray,
        index: pd.Index,
        level: float,
    ) -> pd.DataFrame:
        """Return roots of sums of squares with their limits and p-values."""
        refits: Any = self.first.refit_values, self.second.refit_values
        expected, numerator, denominator = _distribution(
            grams,
            (refits[0].shape[2], refits[1].shape[2]),
        )
        varies = expected > 0
        ratio = squares / np.where(varies, expected, 1.0)
        return pd.DataFrame(
            {
                "difference": np.sqrt(squares),
                "retraining": np.sqrt(expected),
                "limit": np.sqrt(expected * fdtri(numerator, denominator, 1 - level)),
                # Values that no refit changes have no error.
                "p_value": np.where(
                    varies,
                    fdtrc(numerator, denominator, ratio),
                    np.where(squares > 0, 0.0, 1.0),
                ),
            },
            index=index,
        )

    def __repr__(self) -> str:
        first, second = self.names
        return f"<RefitComparison of {first!r} and {second!r}: {len(self.first)} rows>"


def _centred(explanation: Explanation) -> np.ndarray:
    """Return centred values of refits, over the root of their degrees, ``(b, r, k p)``."""
    values: Any = explanation.refit_values
    refits = np.moveaxis(values, 2, 0)
    centred = (refits - refits.mean(axis=0)) / np.sqrt(len(refits) - 1)
    return np.stack([flat(refit) for refit in centred])


def compare_refits(
    first: Explanation,
    second: Explanation,
    *,
    names: tuple[str, str] = ("first", "second"),
) -> RefitComparison:
    """Compare two models by explanations with refits, beyond the effect of retraining.

    The models are those of two months, for example, or two candidates. Two models of
    one method differ because their training samples differ, even if nothing else has
    changed. The comparison says which features, which rows and which values differ by
    more.

    Parameters
    ----------
    first, second : Explanation
        From `skshapley.RefitExplainer`, of the same rows, features and outputs, against
        the same background.
    names : tuple of two str, default=("first", "second")
        Names of the two models.

    Returns
    -------
    comparison : RefitComparison

    Raises
    ------
    ValueError, TypeError
        For explanations without refits, of other rows, features, outputs or settings
        such as the reward, or wrong names.

    Notes
    -----
    The training samples must be independent. If they overlap, the models differ by less
    than two independent ones, and the tests find fewer changes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skshapley import RefitExplainer
    >>> from skshapley.comparison import compare_refits
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.normal(size=(400, 3)), rng.normal(size=400)
    >>> y = X @ [1.0, 2.0, 0.0] + noise
    >>> y[200:] += X[200:, 2]
    >>> parts = []
    >>> for rows in (slice(0, 200), slice(200, 400)):
    ...     explainer = RefitExplainer(LinearRegression(), X[:100], random_state=0)
    ...     parts.append(explainer.fit(X[rows], y[rows]).explain(X[:50]))
    >>> table = compare_refits(*parts, names=("May", "June")).to_frame()
    >>> table.index[table["p_adjusted"] < 0.05].tolist()
    ['x2']
    """
    check_names("compare_refits", names)
    for name, explanation in zip(names, (first, second), strict=True):
        if getattr(explanation, "refit_values", None) is None or not len(explanation):
            raise TypeError(
                "compare_refits needs explanations with refits and at least one row; "
                f"got {type(explanation).__name__} without them for {name!r}: explain "
                "both models by RefitExplainer(model).fit(X, y).explain(rows)."
            )
    check_same("compare_refits", quantity(first), quantity(second))
    if not first.index.equals(second.index) or not first.data.equals(second.data):
        raise ValueError(
            "compare_refits needs explanations of the same rows; got "
            f"{len(first)} and {len(second)} rows with other labels or data: explain "
            "the same table by both explainers."
        )
    return RefitComparison((names[0], names[1]), first, second)
