"""AmortizedExplainer: attributions of many rows, learned from a few hundred sampled rows."""

from copy import copy
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from skshapley._estimators._attributor import Attributor
from skshapley._estimators._learner import Learner
from skshapley._records._outcome import Outcome
from skshapley._references import herded
from skshapley._references._columns import columns_of, is_category
from skshapley._run._evaluate import Evaluator, Requests
from skshapley._tables._arrow import Portable
from skshapley._tables._inputs import n_rows, take_rows
from skshapley._tables._keys import row_keys
from skshapley._tools._constraints import Constraint, Count, check_parameters
from skshapley._tools._random import generator
from skshapley._tools._texts import corrected
from skshapley.exceptions import PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.rewards import Game, InterventionalReward
from skshapley.rewards._game import empty_values

# With 8 columns and 500 training rows, the squared error is 1.7e-3 with one background
# row and 6.5e-4 with four. With 2,000 training rows, it is 4.8e-4 with one and 1.8e-4
# with sixteen.
N_REFERENCES = 4  # background rows of the first and last steps
# Weight of numeric columns in the distances of rows, beside steps and predictions.
COLUMNS_WEIGHT = 2.0
LEAST_TRAINING = 30  # rows; with fewer, nothing is learned
BLOCK_ROWS = 2**17  # mixed rows prepared at once
# Attributes taken from the explainer
FOLLOWED = (
    *("_background", "_common", "_entropy", "exact_", "reward_"),
    *("n_features_in_", "feature_names_in_"),
)


class Seen(NamedTuple):
    """Known quantities of rows that are not explained yet.

    Attributes
    ----------
    numbers : ndarray of shape (r, c)
        Numeric columns, NaN where missing.
    first, last : ndarray of shape (r, p, k)
        The contribution of each player to the empty coalition, and to all other
        players.
    v_empty, v_full : ndarray of shape (r, k)
    """

    numbers: np.ndarray
    first: np.ndarray
    last: np.ndarray
    v_empty: np.ndarray
    v_full: np.ndarray

    @property
    def base(self) -> np.ndarray:
        """Means of first and last steps, equally shifted to add up, ``(r, p, k)``."""
        middle = (self.first + self.last) / 2
        gap = self.v_full - self.v_empty - middle.sum(axis=1)
        return middle + gap[:, None] / middle.shape[1]


class Units(NamedTuple):
    """Units of the learner's inputs: numeric columns, responses and steps."""

    means: np.ndarray
    deviations: np.ndarray
    response: float
    step: float

    @classmethod
    def of(cls, seen: Seen) -> Self:
        """Return the units of training rows."""
        known = np.where(np.isfinite(seen.numbers), seen.numbers, np.nan)
        # A column without a finite number has the mean 0 instead of NaN.
        counts = np.maximum(np.isfinite(known).sum(axis=0), 1)
        means = np.nansum(known, axis=0) / counts
        deviations = np.sqrt(np.nansum((known - means) ** 2, axis=0) / counts)
        steps = np.concatenate([seen.first, seen.last]).var(axis=0).mean()
        # constant inputs stay unchanged
        response, step = (
            float(np.sqrt(v)) or 1.0 for v in (seen.v_full.var(axis=0).mean(), steps)
        )
        return cls(means, np.where(deviations > 0, deviations, 1.0), response, step)

    def __call__(self, seen: Seen) -> np.ndarray:
        """Return the learner's inputs, ``(r, c)``."""
        numbers = COLUMNS_WEIGHT * (seen.numbers - self.means) / self.deviations
        steps = np.concatenate([seen.first, seen.last], axis=1).reshape(
            len(numbers), -1
        )
        # Missing numbers take the mean, so they add nothing to distances.
        parts = [np.where(np.isfinite(numbers), numbers, 0.0), steps / self.step]
        return np.concatenate([*parts, seen.v_full / self.response], axis=1)


class AmortizedExplainer(Portable, Attributor):
    """Explain many rows of a costly model by a regression on a few hundred explained rows.

    In ``fit``, the given explainer explains `n_training_rows` background rows, and a
    kernel ridge regression learns their Shapley values. Every further row costs 8 p + 1
    model rows for p players; sampling needs thousands. The values are estimates with
    calibrated standard errors. They add up to the prediction, and ``settings.learned``
    marks them.

    Parameters
    ----------
    explainer : ShapleyExplainer or TreeExplainer
        Explains the rows to learn from, and rows that resemble none of them. If it is
        not fitted, a copy of it is fitted to the same background. Only Shapley values
        of the interventional or the baseline reward can be learned, without
        interactions. An exact explainer explains all rows itself, and nothing is
        learned.
    n_training_rows : int, default=500
        Number of background rows to learn from, or the number of distinct rows if that
        is smaller. With fewer than 30 rows, the explainer explains all rows. More rows
        give smaller errors and a longer ``fit``.

    Attributes
    ----------
    explainer_ : ShapleyExplainer or TreeExplainer
        The fitted explainer.
    training_rows_ : array or frame of shape (n, d)
        The rows to learn from.
    learner_ : object or None
        None if the explainer explains all rows.
    exact_ : ClosedForm or None
        The closed form of the explainer.
    reward_ : Reward
        The reward of the explainer.
    players_, background_, background_weights_, n_features_in_, feature_names_in_
        As for the explainer.

    See Also
    --------
    ShapleyExplainer : Explains each row by itself.

    Notes
    -----
    A row is described by its numeric columns, its prediction, and the first and last
    steps of each player. These are its contributions to the empty coalition and to all
    other players, averaged over four herded background rows. The mean of first and last
    steps, shifted so that it adds up, is a first estimate. The regression learns the
    difference. Leave-one-out residuals choose its width and penalty. The ratios of
    these residuals to the posterior deviations calibrate the standard errors: intervals
    of 1.64 standard errors contain 90 % of the values of similar rows. The variance of
    the learned values is subtracted. The explainer explains rows that are further from
    the training rows than these are from each other.

    References
    ----------
    Barber, Candes, Ramdas & Tibshirani (2021), Predictive inference with the
    jackknife+, Annals of Statistics 49. Rasmussen & Williams (2006), Gaussian processes
    for machine learning, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import AmortizedExplainer, ShapleyExplainer
    >>> X = np.random.default_rng(0).normal(size=(300, 5))
    >>> explainer = ShapleyExplainer(
    ...     lambda X: np.sin(X[:, 0] * X[:, 1]) + X[:, 2], random_state=0
    ... )
    >>> amortized = AmortizedExplainer(explainer, n_training_rows=200).fit(X[:200])
    >>> explanation = amortized.explain(X[200:])
    >>> int(np.median(explanation.n_model_rows))
    41
    >>> explanation.settings.learned
    '200 rows'
    """

    _constraints: dict[str, Constraint] = {"n_training_rows": Count()}

    @corrected
    def __init__(self, explainer, n_training_rows: int = 500) -> None:
        self.explainer = explainer
        self.n_training_rows = n_training_rows

    def fit(self, X, y=None) -> Self:
        """Fit the explainer if necessary, and learn from rows of X.

        Parameters
        ----------
        X : array or frame of shape (b, d)
            Rows like those to explain; also the background of an explainer that is not
            fitted.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        TypeError, ValueError
            For an explainer without learnable values, or invalid parameters or rows.
        """
        check_parameters(self, self._constraints)
        _check_learnable(self.explainer)
        explainer = self.explainer
        if not hasattr(explainer, "n_features_in_") and not hasattr(
            explainer, "documents_"
        ):
            explainer = copy(explainer).fit(X)
        if not explainer.players_.n_players:
            raise TypeError(
                "AmortizedExplainer explains the rows of tables, but its explainer was "
                "fitted on documents: let the explainer explain them."
            )
        self._follow(explainer)
        X = self._background.table(explainer, X)
        # Equal rows teach nothing new and cost the same.
        _, different = np.unique(row_keys(X), return_index=True)
        # A fixed seed: the training rows depend on the table, not on the random state
        # of the sampling.
        rows = generator(0, 9).permutation(np.sort(different))[: self.n_training_rows]
        self.training_rows_ = take_rows(X, np.sort(rows))
        self._learn()
        return self

    def _follow(self, explainer: Any) -> None:
        """Take over a fitted explainer, its background and its closed form or reward."""
        self.explainer_ = explainer
        for name in FOLLOWED:
            if hasattr(explainer, name):
                setattr(self, name, getattr(explainer, name))

    def _learn(self) -> None:
        """Explain the training rows, and learn from them."""
        self.learner_ = None
        if self.exact_ is not None or n_rows(self.training_rows_) < LEAST_TRAINING:
            return
        reward, n = self.reward_, n_rows(self.training_rows_)
        n_references = min(N_REFERENCES, reward.n_references_)
        rng = generator(self._entropy, 10)
        background = (
            reward.background_,
            n_references,
            reward.empty_,
            reward.weights_,
            rng,
        )
        self._references = herded(*background)
        known = self.explainer_.explain(self.training_rows_)
        seen = self._seen(reward.game(self.training_rows_), self.training_rows_)
        self._units = Units.of(seen)
        errors = known.standard_errors
        # Sampled values are noisy targets; their variances keep the learner from
        # fitting the noise.
        noise = (
            np.zeros(known.values.shape)
            if errors is None
            else np.nan_to_num(errors) ** 2
        )
        # Only the difference from the mean of first and last steps is learned; it is
        # small and smooth.
        wanted = known.values.reshape(seen.base.shape) - seen.base
        self.learner_ = Learner.fit(
            self._units(seen), wanted.reshape(n, -1), noise.reshape(n, -1)
        )
        self._common = replace(known.settings, learned=f"{n} rows")

    def explain(self, X) -> Explanation:
        """Explain the predictions for the rows of X.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            In the background's container, with its columns.

        Returns
        -------
        explanation : Explanation
            If ``n_model_rows`` of a row is larger than 8 p + 1, the explainer explained
            it.

        Raises
        ------
        ValueError, TypeError
            For other columns, dtypes or containers, before the model is called.
        ModelOutputError
            If the model returns NaN, or another shape.
        """
        check_is_fitted(self, "explainer_")
        if self.learner_ is None:
            return self.explainer_.explain(X)
        X = self._background.table(self.explainer_, X)
        seen = self._seen(self.reward_.game(X), X)
        r, p, k = seen.base.shape
        missing, scales = self.learner_(self._units(seen))
        outcome = Outcome.blank(r, k, np.arange(p)[:, None])
        values = seen.base + missing.reshape(r, p, k)
        # The learned part adds up to 0 except for rounding, which is shared equally.
        rounding = seen.v_full - seen.v_empty - values.sum(axis=1)
        outcome.values[:] = values + rounding[:, None] / p
        outcome.standard_errors[:] = (scales[:, None] * self.learner_.errors).reshape(
            r, p, k
        )
        outcome.v_empty[:], outcome.v_full[:] = seen.v_empty, seen.v_full
        # The first and the last step of each player against each background row, and
        # the row itself.
        cost = 2 * p * len(self._references) + 1
        outcome.n_evaluations[:] = outcome.n_model_rows[:] = cost
        # Rows unlike all training rows would have errors that nothing measured.
        far = np.flatnonzero(scales > self.learner_.reach)
        if len(far):
            self._hand_on(outcome, take_rows(X, far), far)
        return self._recorded(outcome, X)

    def _exact_outcome(self, table: Any) -> Outcome:
        return self.explainer_._exact_outcome(table)

    def _hand_on(self, outcome: Outcome, X: Any, far: np.ndarray) -> None:
        """Explain the rows X, at the positions `far` of an outcome, by the explainer."""
        try:
            explained = self.explainer_.explain(X)
        except PartialExplanationError as error:
            raise (
                error.__cause__ or error
            ) from None  # the record would contain only these rows
        shape = outcome.values[far].shape
        errors = explained.standard_errors
        outcome.values[far] = explained.values.reshape(shape)
        outcome.standard_errors[far] = (
            np.nan if errors is None else errors.reshape(shape)
        )
        outcome.n_evaluations[far] += explained.n_evaluations
        outcome.n_model_rows[far] += explained.n_model_rows
        outcome.converged[far] = explained.converged

    def _seen(self, game: Game, X: Any) -> Seen:
        """Return the descriptions of rows after 2 p evaluations against each background row."""
        r, p, k, references = (
            game.n_rows,
            game.n_players,
            game.n_outputs,
            self._references,
        )
        alone, q = np.eye(p, dtype=bool), len(references)
        # Each player alone and all but one: first and last steps of all permutations.
        coalitions = np.tile(np.concatenate([alone, ~alone]), (q, 1))
        named = np.repeat(references, 2 * p)[:, None]
        first, last = np.empty((2, r, p, k))
        full, empty = game.full(np.arange(r)), np.empty((r, k))
        step = max(1, BLOCK_ROWS // len(named))
        with Evaluator(game, getattr(self.explainer_, "n_jobs", None)) as evaluate:
            for start in range(0, r, step):
                rows = np.arange(start, min(start + step, r))
                n = len(rows)
                values = evaluate(
                    Requests(
                        np.repeat(rows, len(named)),
                        np.tile(coalitions, (n, 1)),
                        np.tile(named, (n, 1)),
                    )
                ).reshape(n, q, 2, p, k)
                nobody = game.empty(rows)[:, references, None]
                first[rows] = (values[:, :, 0] - nobody).mean(axis=1)
                last[rows] = full[rows, None] - values[:, :, 1].mean(axis=1)
                empty[rows] = empty_values(game, rows)
        return Seen(_numbers(X), first, last, empty, full)

    def _redrawn(self, entropy: int) -> Self:
        """Return a copy of this explainer, as if it were fitted with this entropy."""
        other = copy(self)
        if entropy != self._entropy and self.exact_ is None:
            other._follow(self.explainer_._redrawn(entropy))
            other._learn()
        return other

    @property
    def estimator(self) -> Any:
        """The explained model."""
        return self.explainer.estimator

    @property
    def random_state(self) -> Any:
        """The random state of the explainer, the source of all random draws."""
        return getattr(self.explainer, "random_state", None)

    @property
    def _output_names(self) -> list | None:
        return self.explainer_._output_names


def _check_learnable(explainer: Any) -> None:
    """Raise an error unless the explainer has Shapley values from background rows."""
    if not isinstance(explainer, Attributor) or isinstance(
        explainer, AmortizedExplainer
    ):
        raise TypeError(
            "AmortizedExplainer takes explainer as a ShapleyExplainer or "
            f"TreeExplainer; got {explainer!r}: pass ShapleyExplainer(model)."
        )
    for name, plain in (("index", "shapley"), ("interactions", False)):
        value = getattr(explainer, name, plain)
        if value != plain:
            raise ValueError(
                "AmortizedExplainer learns Shapley values, but its explainer has "
                f"{name}={value!r}: leave it at {plain!r}, or let the explainer "
                "explain all rows."
            )
    reward = getattr(explainer, "reward", "interventional")
    plain = isinstance(reward, InterventionalReward) and reward.link is None
    if not plain and reward not in ("interventional", "baseline"):
        raise ValueError(
            'AmortizedExplainer learns values of the rewards "interventional" and '
            f'"baseline", but its explainer has reward={reward!r}: choose one of '
            "these, or let the explainer explain all rows."
        )


def _numbers(X: Any) -> np.ndarray:
    """Return the numeric columns of a table, ``(r, c)``; none of a sparse one."""
    columns = [] if sparse.issparse(X) else columns_of(X)
    numbers = [column for column in columns if not is_category(column)]
    return np.column_stack([np.empty((n_rows(X), 0)), *numbers])
