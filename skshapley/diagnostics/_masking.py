"""Masking and removal curves: how the response falls when features are masked in order.

Chen, Song, Wainwright & Jordan (2018), section 5: the change in log-odds of the
predicted class against the share of masked features, averaged over rows.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from skshapley._run._evaluate import Evaluator, Requests
from skshapley.explanation import Explanation
from skshapley.rewards import FunctionGame, Game

# Steps of 5 %: both curves together need 42 coalitions for each row.
FRACTIONS = tuple(step / 20 for step in range(21))
HALF_WIDTH = 1.96


@dataclass(frozen=True, eq=False)
class MaskingCurve:
    """Changes of the response as the first features are masked, or only they are kept.

    Attributes
    ----------
    fractions : ndarray of shape (q,)
        Fractions of the features, from the highest rank on.
    deletion : ndarray of shape (r, q)
        Change of each row's response if this fraction is masked. Lower is better.
    insertion : ndarray of shape (r, q)
        Change of each row's response if only this fraction is kept. Higher is better.

    Examples
    --------
    >>> from skshapley.diagnostics import masking_curve
    >>> curve = masking_curve(
    ...     lambda S: S @ [3.0, 1.0], [3.0, 1.0], fractions=(0, 0.5, 1)
    ... )
    >>> curve.deletion
    array([[ 0., -3., -4.]])
    >>> curve.insertion
    array([[-4., -1.,  0.]])
    """

    fractions: np.ndarray
    deletion: np.ndarray
    insertion: np.ndarray

    def frame(self) -> pd.DataFrame:
        """Return the means over rows with 95 % bands.

        Returns
        -------
        frame : DataFrame
            Columns ``kind`` ("deletion", "insertion"), ``fraction``, ``mean``, ``low``,
            ``high``. The band is the interval of the mean over rows; NaN for a single
            row.
        """
        parts = []
        for kind in ("deletion", "insertion"):
            change = pd.DataFrame(getattr(self, kind))
            mean, half = change.mean(), HALF_WIDTH * change.sem()
            columns = {"mean": mean, "low": mean - half, "high": mean + half}
            parts.append(
                pd.DataFrame({"kind": kind, "fraction": self.fractions, **columns})
            )
        return pd.concat(parts, ignore_index=True)

    def area(self) -> pd.Series:
        """Return the mean area under each curve, by the trapezoid rule, as one number to compare.

        Returns
        -------
        area : Series
            The areas of "deletion" and "insertion".
        """
        means = {
            "deletion": self.deletion.mean(axis=0),
            "insertion": self.insertion.mean(axis=0),
        }
        return pd.Series(
            {kind: np.trapezoid(m, self.fractions) for kind, m in means.items()}
        )


def masking_curve(
    explainer, values, X=None, *, fractions=FRACTIONS, n_jobs=None
) -> MaskingCurve:
    """Test a ranking of features: mask the first ones and measure the response.

    If a ranking is good, the response falls fast when the features that rank first are
    masked (deletion), and rises fast when only they are kept (insertion).

    In each row, features rank by their signed values, the largest first. A masked
    feature is an absent player: it takes background values, or is removed from the
    text.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer, callable, or list of callables
        The source of the response. For an explainer of a classifier, the response is
        the log-odds of the class predicted for the row. For another explainer, it is
        the explained response. A callable is a game of one row, such as a
        `TokenReward`; a list has one game for each row.
    values : Explanation, or array-like of shape (r, p), or list of arrays of shape (p,)
        The values by which features rank. For one game, an array of shape ``(p,)`` is
        enough.
    X : array or frame of shape (r, d), default=None
        The rows. Required with an explainer, and not allowed otherwise.
    fractions : sequence of float, default=(0, 0.05, ..., 1)
        Fractions of the features to mask. The number of features is rounded.
    n_jobs : int, default=None
        Number of workers, with an explainer.

    Returns
    -------
    curve : MaskingCurve

    Raises
    ------
    ValueError
        If the numbers of rows or players differ, if fractions are not in [0, 1], or if
        the explainer has several outputs.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley, section 5 and
    Figure 2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.diagnostics import masking_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=1000).fit(X, y)
    >>> explainer = ShapleyExplainer(model, output="predicted").fit(X[::10])
    >>> curve = masking_curve(explainer, explainer.explain(X[:5]), X[:5])
    >>> curve.deletion.shape
    (5, 21)
    """
    fractions = np.asarray(fractions, dtype=np.float64)
    if fractions.ndim != 1 or not ((fractions >= 0) & (fractions <= 1)).all():
        raise ValueError(
            f"masking_curve got fractions={fractions.tolist()}: choose numbers in [0, "
            "1]."
        )
    values = _by_instance(values)
    if hasattr(explainer, "explain"):
        game = _log_odds_game(explainer, X)
        if {len(v) for v in values} != {game.n_players} or len(values) != game.n_rows:
            raise ValueError(
                f"masking_curve got values of {len(values)} rows with"
                f" {sorted({len(v) for v in values})} players: pass values of shape"
                f" ({game.n_rows}, {game.n_players}), one for each row of X and player."
            )
        changes = _changes(game, values, fractions, n_jobs)
    else:
        games = [explainer] if callable(explainer) else list(explainer)
        if X is not None or len(games) != len(values):
            raise ValueError(
                f"masking_curve got {len(games)} games, values of {len(values)} rows "
                f"and {'no X' if X is None else 'X'}: pass one game for each row, and "
                "X only with an explainer."
            )
        pairs = zip(games, values, strict=True)
        curves = [
            _changes(FunctionGame(row_game, len(attribution)), [attribution], fractions)
            for row_game, attribution in pairs
        ]
        changes = np.concatenate(curves)
    return MaskingCurve(fractions, changes[:, 0], changes[:, 1])


def _changes(game: Game, values, fractions, n_jobs=None) -> NDArray[np.float64]:
    """Return the changes of the response by deletion and by insertion, ``(r, 2, q)``."""
    if game.n_outputs > 1:
        raise ValueError(
            f"masking_curve got a response of {game.n_outputs} outputs: choose one of "
            'them, such as output="predicted".'
        )
    rows = np.arange(game.n_rows)
    coalitions = np.stack([_coalitions(v, fractions) for v in values])
    repeated = np.repeat(rows, coalitions.shape[1])
    requests = Requests(repeated, coalitions.reshape(-1, game.n_players), None)
    with Evaluator(game, n_jobs) as evaluator:
        worth = evaluator(requests).reshape(game.n_rows, 2, -1)
    return worth - game.full(rows)[:, None]


def _by_instance(values) -> list[NDArray[np.float64]]:
    """Return one array ``(p,)`` for each row."""
    values = values.values if isinstance(values, Explanation) else values
    if np.ndim(values[0]) == 0:
        values = [values]
    values = [np.asarray(row, dtype=np.float64) for row in values]
    if any(row.ndim != 1 for row in values):
        raise ValueError(
            f"masking_curve got values with rows of shape {values[0].shape}: pass one "
            "value for each player, shape (r, p); for several outputs, pass "
            "values.output(name)."
        )
    return values


def _log_odds_game(explainer, X) -> Game:
    """Return the game of the rows, with the measured response as its only output."""
    check_is_fitted(explainer, "reward_")
    if X is None:
        raise ValueError("masking_curve got X=None with an explainer: pass the rows.")
    # Probabilities near 1 hardly change with a few masked features; log-odds do (Chen
    # et al., 2018).
    if hasattr(explainer.estimator, "predict_proba"):
        explainer = explainer._with(response_method="log_odds", output="predicted")
    return explainer.reward_.game(X)


def _coalitions(values, fractions) -> NDArray[np.bool_]:
    """Return the coalitions of deletion, then of insertion, ``(2 q, p)``."""
    # Ties keep the order of the columns, so equal values give the same curve in every
    # run.
    rank = np.argsort(np.argsort(-values, kind="stable"))
    first = rank < np.round(fractions * len(values))[:, None]
    return np.concatenate([~first, first])


def removal_curve(
    estimator,
    values,
    X,
    y,
    X_val,
    y_val,
    *,
    scoring=None,
    n_steps=10,
    highest_first=True,
) -> pd.DataFrame:
    """Return the score of the model as training points are removed in the order of their values.

    With good values, the curve falls fast if the points of the highest values are
    removed first. It stays or rises if the points of the lowest values are removed
    first (Ghorbani & Zou 2019, section 4).

    Parameters
    ----------
    estimator : estimator
        Cloned and fitted `n_steps` times.
    values : array of shape (n,)
        Value of each training point, e.g. ``DataShapley.values_``.
    X, y : training data, ``(n, d)`` and ``(n,)``
    X_val, y_val : validation data
    scoring : str, callable or None, default=None
        As in scikit-learn. None: the estimator's own score.
    n_steps : int, default=10
        Number of points on the curve. Up to half of the training points are removed.
    highest_first : bool, default=True
        Whether the points of the highest values are removed first.

    Returns
    -------
    curve : DataFrame
        Columns ``removed`` (fraction of the training points) and ``score``. The curve
        ends before only one class is left.

    References
    ----------
    Ghorbani & Zou (2019), Data Shapley: equitable valuation of data for machine
    learning, ICML, section 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skshapley import DataShapley
    >>> from skshapley.diagnostics import removal_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KNeighborsClassifier()
    >>> values = DataShapley(model).fit(X[::2], y[::2], X[1::2], y[1::2]).values_
    >>> curve = removal_curve(
    ...     model, values, X[::2], y[::2], X[1::2], y[1::2], n_steps=3
    ... )
    >>> curve.removed.tolist()
    [0.0, 0.25, 0.5]
    """
    values = np.asarray(values)
    if values.shape != (len(y),):
        raise ValueError(
            f"removal_curve got values of shape {values.shape} for {len(y)} training "
            f"points: pass one value for each, shape ({len(y)},)."
        )
    scorer = check_scoring(estimator, scoring=scoring)
    order = np.argsort(-values if highest_first else values, kind="stable")
    lines = []
    for fraction in np.linspace(0, 0.5, n_steps):
        remaining = np.sort(order[round(fraction * len(y)) :])
        y_kept = _safe_indexing(y, remaining)
        # Most classifiers refuse training points of a single class.
        if len(np.unique(y_kept)) == 1:
            break
        model = clone(estimator).fit(_safe_indexing(X, remaining), y_kept)
        lines.append((float(fraction), float(scorer(model, X_val, y_val))))
    return pd.DataFrame(lines, columns=["removed", "score"])
