"""Diagnostics of permutations, attributions and rewards.

**Rewards.** E[(f(X) - v(S))^2] over rows and coalitions, v being a function of x_S, is
smallest for v(S) = E[f(X) | X_S]: Frye, de Mijolla, Begley, Cowton, Stanley & Feige
(2021), Eq 9, their MSEv.

**Permutations.** Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley
value estimation", JMLR 23 (2022), section 3.3, Eq 8.

**Masking curves.** Chen, Song, Wainwright & Jordan (2018), section 5: the
change in log-odds of the predicted class against the share of masked features, averaged
over rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from skshapley._records._outcome import label
from skshapley._run._evaluate import Evaluator, Requests
from skshapley._tools import Count, check_values, entropy_from, generator, resolve
from skshapley.explanation import Explanation
from skshapley.rewards import FunctionGame, Game
from skshapley.rewards._refit import JointGame
from skshapley.rewards._surrogate import kernel_coalitions
from skshapley.samplers._kernels import KERNELS, PermutationKernel

__all__ = [
    "MaskingCurve",
    "conditional_error",
    "masking_curve",
    "permutation_discrepancy",
]


def conditional_error(
    explainer,
    rewards,
    X,
    *,
    n_coalitions=32,
    n_jobs=None,
    random_state=None,
) -> pd.DataFrame:
    """Compare rewards by the error of v(S) as a prediction of the response of held-out rows.

    The error is the mean of (f(x) - v(S))^2 over held-out rows x and coalitions S.
    Among all functions of the present columns, the conditional expectation has the
    smallest error. A smaller error therefore means a reward closer to E[f(X) | x_S].
    The error does not reach 0. An interventional reward with a larger error is not
    wrong: it answers another question.

    Parameters
    ----------
    explainer : fitted ShapleyExplainer
        It provides the model, response, output, groups and background.
    rewards : list of str or Reward, or dict of them
        Each is fitted to the explainer's background. The keys of a dict are their
        names.
    X : array or frame of shape (r, d)
        Rows that neither the background nor the training of the model has seen.
    n_coalitions : int, default=32
        Coalitions for each row: drawn by the Shapley kernel, equal for all rewards, and
        for all rows if a reward fits a model for each ("forest", "refit"). Each costs
        an evaluation with each reward.
    n_jobs : int, default=None
        Workers, through joblib.
    random_state : None, int, Generator or RandomState, default=None

    Returns
    -------
    errors : DataFrame
        A row for each reward, with columns ``error``; ``standard_error``, over rows;
        ``share``, relative to the error of the constant v(empty); ``difference``, to
        the first reward's error; and ``difference_error``, its standard error, which is
        smaller, because rows and coalitions are the same. Errors of several outputs are
        added.

    Notes
    -----
    With few background rows, the random error of their means is part of each error:
    about the variance of the response divided by their number. It is common to all
    rewards on one background.

    References
    ----------
    Frye, de Mijolla, Begley, Cowton, Stanley & Feige (2021), Shapley explainability on
    the data manifold, ICLR, Eq 9. Olsen, Glad, Jullum & Aas (2024), A comparative study
    of methods for estimating model-agnostic Shapley value explanations, Data Mining and
    Knowledge Discovery 38.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.diagnostics import conditional_error
    >>> X = np.random.default_rng(0).multivariate_normal(
    ...     [0, 0], [[1, 0.8], [0.8, 1]], size=400
    ... )
    >>> explainer = ShapleyExplainer(lambda X: X[:, 0] + X[:, 1]).fit(X[:200])
    >>> rewards = ["interventional", "conditional"]
    >>> errors = conditional_error(explainer, rewards, X[200:], random_state=0)
    >>> errors["share"].round(1).tolist()
    [0.3, 0.1]
    """
    check_values(
        "conditional_error",
        {"n_coalitions": n_coalitions},
        {"n_coalitions": Count()},
    )
    check_is_fitted(explainer, "reward_")
    by_name = dict(rewards) if isinstance(rewards, Mapping) else {}
    if isinstance(rewards, list | tuple):
        by_name = {label(reward): reward for reward in rewards}
    if not by_name or len(by_name) < len(rewards):
        raise ValueError(
            "conditional_error takes rewards as a list of different names or rewards, "
            f"or as a dict of them; got {rewards!r}.",
        )
    p = explainer.players_.n_players
    if p == 1:
        raise ValueError(
            "conditional_error got a single player, which has no coalitions between "
            "the empty and the full one: pass at least two columns or groups."
        )
    if len(X) < 2:
        raise ValueError(
            f"conditional_error needs at least 2 rows to estimate errors; got {len(X)}."
        )
    rng = generator(entropy_from(random_state, "conditional_error"), 1)
    # The same coalitions for all rewards: differences are then more precise than
    # errors.
    variants = {
        name: explainer._with(reward=reward) for name, reward in by_name.items()
    }
    if any(variant.reward_.joint for variant in variants.values()):
        # one fit of a coalition for all rows
        coalitions = np.tile(kernel_coalitions(rng, n_coalitions, p), (len(X), 1))
    else:
        coalitions = kernel_coalitions(rng, len(X) * n_coalitions, p)
    measured = {
        name: _squares(variant, X, coalitions, n_jobs)
        for name, variant in variants.items()
    }
    errors = pd.DataFrame({name: squares for name, (squares, _) in measured.items()})
    differences = errors.sub(errors.iloc[:, 0], axis=0)
    # the errors of v(empty)
    scale = pd.Series({name: constant for name, (_, constant) in measured.items()})
    return pd.DataFrame(
        {
            "error": errors.mean(),
            "standard_error": errors.sem(),
            "share": errors.mean() / scale.where(scale > 0),
            "difference": differences.mean(),
            "difference_error": differences.sem(),
        }
    ).rename_axis("reward")


def _squares(variant, X, coalitions, n_jobs) -> tuple[np.ndarray, float]:
    """Return the mean squared error of each row, and the error of the constant v(empty)."""
    game = variant.reward_.game(variant._background.table(variant, X))
    rows = np.arange(game.n_rows)
    full = game.full(rows)
    m = len(coalitions) // len(rows)
    if variant.reward_.joint:
        requests = Requests(np.zeros(m, dtype=np.intp), coalitions[:m], None)
        with Evaluator(JointGame(game), n_jobs) as evaluator:
            values = evaluator(requests).reshape(m, len(rows), -1).swapaxes(0, 1)
    else:
        requests = Requests(np.repeat(rows, m), coalitions, None)
        with Evaluator(game, n_jobs) as evaluator:
            values = evaluator(requests).reshape(len(rows), m, -1)
    empty = (game.reference_weights[:, None] * game.empty(rows)).sum(axis=1)
    squares = ((full[:, None] - values) ** 2).sum(axis=2).mean(axis=1)
    return squares, float(((full - empty) ** 2).sum(axis=1).mean())


# Entries of the kernel's matrix that are computed at once: 32 MB.
ENTRIES = 2**22


def permutation_discrepancy(permutations, weights=None, kernel="mallows") -> float:
    """Return the discrepancy of a set of permutations from the uniform distribution.

    The discrepancy measures how well a mean over these permutations represents the mean
    over all permutations; it is 0 for all of them together. It is the largest error of
    the weighted mean over all functions of unit norm in the kernel's space: D^2 = E - 2
    E sum(w) + w' K w, where E is the kernel's mean and K its matrix.

    Parameters
    ----------
    permutations : array-like of shape (n, p), int
        ``permutations[:, k]`` is the player that enters at step k.
    weights : array-like of shape (n,) or None, default=None
        Weights of the permutations. None: 1/n for each.
    kernel : {"mallows", "kendall", "spearman"} or PermutationKernel, default="mallows"
        Similarity of two permutations.

    Returns
    -------
    discrepancy : float

    Raises
    ------
    ValueError
        If rows are not permutations of 0..p-1, or the number of weights differs.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Eq 8.

    Examples
    --------
    All permutations together have a discrepancy of 0.

    >>> from itertools import permutations
    >>> from skshapley.diagnostics import permutation_discrepancy
    >>> permutation_discrepancy(list(permutations(range(4)))) < 1e-7
    True
    >>> permutation_discrepancy([[0, 1, 2, 3], [3, 2, 1, 0]])
    0.543...
    """
    permutations = np.asarray(permutations)
    whole = (
        permutations.ndim == 2 and permutations.size and permutations.dtype.kind in "iu"
    )
    if not whole or (np.sort(permutations) != np.arange(permutations.shape[1])).any():
        raise ValueError(
            f"permutation_discrepancy got permutations of shape {permutations.shape} "
            f"and dtype {permutations.dtype} that are not permutations: pass rows (n, "
            "p) that hold each of 0..p-1 once."
        )
    n, p = permutations.shape
    weights = np.full(n, 1 / n) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (n,):
        raise ValueError(
            f"permutation_discrepancy got weights of shape {weights.shape} for {n} "
            f"permutations: pass one weight for each, shape ({n},), or None."
        )
    kernel = resolve(
        kernel,
        KERNELS,
        PermutationKernel,
        "permutation_discrepancy",
        "kernel",
    )
    features = kernel.features(permutations)
    mean = kernel.mean(p)
    rows = max(1, ENTRIES // n)
    square = mean - 2 * mean * weights.sum()
    for start in range(0, n, rows):
        chunk = slice(start, start + rows)
        square += (
            weights[chunk] @ kernel.matrix(features[:, chunk], features, p) @ weights
        )
    # Rounding may make a square of 0 negative: -1e-16 for all permutations of four
    # players ("mallows").
    return float(np.sqrt(max(square, 0.0)))


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
            mean = change.mean()
            half = HALF_WIDTH * change.sem()
            parts.append(
                pd.DataFrame(
                    {
                        "kind": kind,
                        "fraction": self.fractions,
                        "mean": mean,
                        "low": mean - half,
                        "high": mean + half,
                    },
                ),
            )
        return pd.concat(parts, ignore_index=True)

    def area(self) -> pd.Series:
        """Return the mean area under each curve, by the trapezoid rule, as one number to compare.

        Returns
        -------
        area : Series
            The areas of "deletion" and "insertion".
        """
        curves = {"deletion": self.deletion, "insertion": self.insertion}
        return pd.Series(
            {
                kind: np.trapezoid(curve.mean(axis=0), self.fractions)
                for kind, curve in curves.items()
            },
        )


def masking_curve(
    explainer,
    values,
    X=None,
    *,
    fractions=FRACTIONS,
    n_jobs=None,
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
    values = values.values if isinstance(values, Explanation) else values
    if np.ndim(values[0]) == 0:
        values = [values]
    values = [np.asarray(row, dtype=np.float64) for row in values]
    if any(row.ndim != 1 for row in values):
        raise ValueError(
            f"masking_curve got values with rows of shape {values[0].shape}: pass one "
            "value for each player, shape (r, p); for several outputs, pass "
            "values.output(name).",
        )
    if hasattr(explainer, "explain"):
        check_is_fitted(explainer, "reward_")
        if X is None:
            raise ValueError(
                "masking_curve got X=None with an explainer: pass the rows.",
            )
        # Probabilities near 1 hardly change with a few masked features; log-odds do
        # (Chen et al., 2018).
        if hasattr(explainer.estimator, "predict_proba"):
            explainer = explainer._with(response_method="log_odds", output="predicted")
        game = explainer.reward_.game(explainer._table(X))
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
        changes = np.concatenate(
            [
                _changes(
                    FunctionGame(row_game, len(attribution)),
                    [attribution],
                    fractions,
                )
                for row_game, attribution in zip(games, values, strict=True)
            ],
        )
    return MaskingCurve(fractions, changes[:, 0], changes[:, 1])


def _changes(game: Game, values, fractions, n_jobs=None) -> NDArray[np.float64]:
    """Return the changes of the response by deletion and by insertion, ``(r, 2, q)``."""
    if game.n_outputs > 1:
        raise ValueError(
            f"masking_curve got a response of {game.n_outputs} outputs: choose one of "
            'them, such as output="predicted".'
        )
    rows = np.arange(game.n_rows)
    # Ties keep the order of the columns, so equal values give the same curve in every
    # run.
    order = np.argsort(-np.stack(values), axis=1, kind="stable")
    ranks = np.argsort(order, axis=1)[:, None]
    first = ranks < np.round(fractions * game.n_players)[:, None]
    coalitions = np.concatenate([~first, first], axis=1)
    requests = Requests(
        np.repeat(rows, coalitions.shape[1]),
        coalitions.reshape(-1, game.n_players),
        None,
    )
    with Evaluator(game, n_jobs) as evaluator:
        worth = evaluator(requests).reshape(game.n_rows, 2, -1)
    return worth - game.full(rows)[:, None]
