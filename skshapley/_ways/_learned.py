"""Values learned from the values of training rows.

The ridge is the posterior mean of a Gaussian process, so one matrix gives the
prediction, its leave-one-out residuals in closed form, and the posterior variance.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.special import ndtri
from sklearn.utils import gen_batches

from skshapley._records._outcome import Outcome
from skshapley._references import herded
from skshapley._references._herd import columns_of, is_category
from skshapley._run._evaluate import Evaluator, Requests
from skshapley._tables import n_rows, take_rows
from skshapley._tools import generator
from skshapley._ways._base import Way
from skshapley.exceptions import PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.rewards import Game
from skshapley.rewards._game import empty_values

# Kernel ridge regression learns these targets better than boosted trees and
# perceptrons: on the bank table, the squared errors are 1.1e-2, 2.7e-2 and 7.3e-2.
# Weight of linear functions of a mean input, relative to the Matern kernel
LINEAR = 0.1
WIDTHS = 2.0 ** np.arange(
    -1,
    6,
)  # squared, in median squared distances of training rows
# Relative to 1, the Matern kernel of a row with itself. Each of the seven widths needs
# one decomposition, which serves all six penalties.
PENALTIES = 10.0 ** np.arange(-5, 1)
SEARCH_ROWS = 1000  # rows on which width and penalty are chosen
CONFIDENCE = 0.9  # confidence of the calibrated intervals
# Share of the squared residuals; the rest may be noise. Coverage was 89-91 % on six
# tables.
LEAST_OWN = 0.5
ROUNDING = 1e-6  # error of exactly learned targets, relative to their spread
KERNEL_ROWS = 512  # rows per block of kernels


@dataclass(frozen=True, eq=False)
class Ridge:
    """A fitted ridge with a Matern kernel of smoothness 5/2 and a linear one.

    Attributes
    ----------
    inputs : ndarray of shape (n, c)
    width : float
        Squared length scale.
    inverse : ndarray of shape (n, n)
        Inverse of the penalised kernel matrix.
    mean : ndarray of shape (m,)
    coefficients : ndarray of shape (n, m)
    errors : ndarray of shape (m,)
        Standard error of each target at a posterior deviation of 1.
    reach : float
        Largest posterior deviation of a training row, when it is left out.
    """

    inputs: np.ndarray
    width: float
    inverse: np.ndarray
    mean: np.ndarray
    coefficients: np.ndarray
    errors: np.ndarray
    reach: float

    @classmethod
    def fit(cls, inputs: np.ndarray, targets: np.ndarray, noise: np.ndarray) -> Self:
        """Fit the ridge and calibrate its errors.

        Parameters
        ----------
        inputs : ndarray of shape (n, c)
            In units in which one kernel width suits all columns.
        targets : ndarray of shape (n, m)
        noise : ndarray of shape (n, m)
            Variances of the targets.

        Notes
        -----
        Residuals and posterior variances are computed with each row left out (Rasmussen
        & Williams 2006, Eq 5.12). Their ratios are conformal scores: their quantile
        over the training rows is valid for a similar new row (Barber et al. 2021,
        Predictive inference with the jackknife+).
        """
        mean = targets.mean(axis=0)
        centred = targets - mean
        width, penalty = _chosen(inputs[:SEARCH_ROWS], centred[:SEARCH_ROWS])
        kernel = _kernel(*_parts(inputs, inputs), width)
        kernel.flat[:: len(kernel) + 1] += penalty
        inverse = cho_solve(cho_factor(kernel), np.eye(len(kernel)))
        coefficients = inverse @ centred
        # leave-one-out variances, ridge included (Rasmussen & Williams 2006, Eq 5.12)
        left_out = 1 / np.diag(inverse)
        residuals = coefficients * left_out[:, None]
        variances = np.maximum(left_out - penalty, 1e-12)[:, None]
        # the conformal level of n scores: one more row may be the largest
        level = min(CONFIDENCE * (1 + 1 / len(inputs)), 1.0)
        scores = np.quantile(
            np.abs(residuals) / np.sqrt(variances),
            level,
            axis=0,
            method="higher",
        )
        # converted to standard errors, which users multiply by normal quantiles
        total = (scores / ndtri((1 + CONFIDENCE) / 2)) ** 2
        # Residuals contain the sampling noise of their targets, which is no error of
        # the prediction.
        of_noise = (noise / variances).mean(axis=0)
        of_ridge = np.maximum(total - of_noise, LEAST_OWN * total)
        of_ridge = np.maximum(of_ridge, (ROUNDING * targets.std()) ** 2)
        return cls(
            inputs,
            width,
            inverse,
            mean,
            coefficients,
            np.sqrt(of_ridge),
            float(np.sqrt(variances.max())),
        )

    def __call__(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions ``(r, m)`` and posterior deviations ``(r,)``.

        Parameters
        ----------
        inputs : ndarray of shape (r, c)
        """
        predictions = np.empty((len(inputs), len(self.mean)))
        explained = np.empty(len(inputs))
        for block in gen_batches(len(inputs), KERNEL_ROWS):
            kernel = _kernel(*_parts(inputs[block], self.inputs), self.width)
            predictions[block] = self.mean + kernel @ self.coefficients
            explained[block] = np.einsum("rn,rn->r", kernel @ self.inverse, kernel)
        # the kernel at a point with itself: 1 for the Matern part
        prior = 1 + LINEAR * (inputs**2).mean(axis=1)
        return predictions, np.sqrt(np.maximum(prior - explained, 1e-12))


def _chosen(inputs: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Return the width and penalty with the smallest squared leave-one-out residuals."""
    # distances are computed once for all widths
    squares, linear = _parts(inputs, inputs)
    unit = float(np.median(squares)) or 1.0
    best = (np.inf, 1.0, 1.0)
    for width in WIDTHS * unit:
        # one decomposition serves all penalties of a width
        values, vectors = eigh(_kernel(squares, linear, width))
        coordinates = vectors.T @ targets
        powers = vectors**2
        for penalty in PENALTIES:
            inverse = 1 / (np.maximum(values, 0) + penalty)
            residuals = (
                vectors @ (inverse[:, None] * coordinates) / (powers @ inverse)[:, None]
            )
            best = min(
                best,
                (float((residuals**2).sum()), float(width), float(penalty)),
            )
    return best[1:]


def _parts(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and the linear kernel, ``(r, n)`` each."""
    products = a @ b.T
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * products
    return np.maximum(squares, 0), products * (LINEAR / a.shape[1])


def _kernel(squares: np.ndarray, linear: np.ndarray, width: float) -> np.ndarray:
    """Return the kernel (1 + t + t^2 / 3) exp(-t) with t^2 = 5 squares / width, plus `linear`."""
    root = np.sqrt(squares * (5 / width))
    return (1 + root * (1 + root / 3)) * np.exp(-root) + linear


# With 8 columns and 500 training rows, the squared error is 1.7e-3 with one background
# row and 6.5e-4 with four. With 2,000 training rows, it is 4.8e-4 with one and 1.8e-4
# with sixteen.
N_REFERENCES = 4  # background rows of the first and last steps
# Weight of numeric columns in the distances of rows, beside steps and predictions.
COLUMNS_WEIGHT = 2.0
BLOCK_ROWS = 2**17  # mixed rows prepared at once


class RowTraits(NamedTuple):
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
    def of(cls, traits: RowTraits) -> Self:
        """Return the units of training rows."""
        numbers = np.where(np.isfinite(traits.numbers), traits.numbers, np.nan)
        # A column without a finite number has the mean 0 instead of NaN.
        counts = np.maximum(np.isfinite(numbers).sum(axis=0), 1)
        means = np.nansum(numbers, axis=0) / counts
        deviations = np.sqrt(np.nansum((numbers - means) ** 2, axis=0) / counts)
        steps = np.concatenate([traits.first, traits.last]).var(axis=0).mean()
        # constant inputs stay unchanged
        response, step = (
            float(np.sqrt(v)) or 1.0 for v in (traits.v_full.var(axis=0).mean(), steps)
        )
        return cls(means, np.where(deviations > 0, deviations, 1.0), response, step)

    def __call__(self, traits: RowTraits) -> np.ndarray:
        """Return the learner's inputs, ``(r, c)``."""
        numbers = COLUMNS_WEIGHT * (traits.numbers - self.means) / self.deviations
        steps = np.concatenate([traits.first, traits.last], axis=1).reshape(
            len(numbers),
            -1,
        )
        # Missing numbers take the mean, so they add nothing to distances.
        parts = [np.where(np.isfinite(numbers), numbers, 0.0), steps / self.step]
        return np.concatenate([*parts, traits.v_full / self.response], axis=1)


@dataclass(frozen=True, eq=False, kw_only=True)
class Learned(Way):
    """Values learned from the values of training rows.

    Attributes
    ----------
    behind : Way
        Explains the training rows, and rows unlike them.
    training_rows : array, sparse matrix or frame of shape (n, d)
    references : ndarray of shape (q,), int
        The background rows of the first and last steps.
    units : Units
    ridge : Ridge
    """

    behind: Way
    training_rows: Any
    references: np.ndarray
    units: Units
    ridge: Ridge

    @classmethod
    def of(cls, behind: Way, training_rows: Any, n_jobs: int | None) -> Self:
        """Explain the training rows, and learn from them.

        Parameters
        ----------
        behind : Way
            With a reward.
        training_rows : array, sparse matrix or frame of shape (n, d)
        n_jobs : int or None
        """
        reward = behind.reward
        n = n_rows(training_rows)
        references = herded(
            reward.background_,
            min(N_REFERENCES, reward.n_references_),
            reward.masked_.empty,
            reward.masked_.weights,
            generator(behind.entropy, 10),
        )
        explanation = behind.explain(training_rows, n_jobs, False)
        traits = traits_of(
            reward.game(training_rows),
            training_rows,
            references,
            n_jobs,
        )
        units = Units.of(traits)
        errors = explanation.standard_errors
        # Sampled values are noisy targets; their variances keep the learner from
        # fitting the noise.
        noise = (
            np.zeros(explanation.values.shape)
            if errors is None
            else np.nan_to_num(errors) ** 2
        )
        # Only the difference from the mean of first and last steps is learned; it is
        # small and smooth.
        targets = explanation.values.reshape(traits.base.shape) - traits.base
        ridge = Ridge.fit(units(traits), targets.reshape(n, -1), noise.reshape(n, -1))
        settings = replace(explanation.settings, learned=f"{n} rows")
        return cls(
            replace(behind.labels, settings=settings),
            reward,
            behind.entropy,
            behind=behind,
            training_rows=training_rows,
            references=references,
            units=units,
            ridge=ridge,
        )

    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of checked rows."""
        traits = traits_of(self.reward.game(X), X, self.references, n_jobs)
        r, p, k = traits.base.shape
        residuals, scales = self.ridge(self.units(traits))
        values = traits.base + residuals.reshape(r, p, k)
        # The learned part adds up to 0 except for rounding, which is shared equally.
        rounding = traits.v_full - traits.v_empty - values.sum(axis=1)
        errors = scales[:, None] * self.ridge.errors
        outcome = replace(
            Outcome.blank(r, k, np.arange(p)[:, None]),
            values=values + rounding[:, None] / p,
            standard_errors=errors.reshape(r, p, k),
            v_empty=traits.v_empty,
            v_full=traits.v_full,
        )
        # The first and the last step of each player against each background row, and
        # the row itself.
        cost = 2 * p * len(self.references) + 1
        outcome.n_evaluations[:] = outcome.n_model_rows[:] = cost
        # Rows unlike all training rows would have errors that nothing measured.
        far = np.flatnonzero(scales > self.ridge.reach)
        if len(far):
            try:
                explanation = self.behind.explain(take_rows(X, far), n_jobs, verbose)
            except PartialExplanationError as error:
                # the record would contain only these rows
                raise (error.__cause__ or error) from None
            errors = explanation.standard_errors
            errors = np.nan if errors is None else errors.reshape(len(far), p, k)
            outcome.values[far] = explanation.values.reshape(len(far), p, k)
            outcome.standard_errors[far] = errors
            outcome.n_evaluations[far] += explanation.n_evaluations
            outcome.n_model_rows[far] += explanation.n_model_rows
            outcome.converged[far] = explanation.converged
        return self.labels.explanation(outcome, X)

    def with_entropy(self, entropy: int) -> Self:
        """Return this way, learned with other random numbers."""
        return self.of(self.behind.with_entropy(entropy), self.training_rows, None)

    def state(self) -> dict[str, Any]:
        """Return the state of the way behind, and the training rows."""
        return {**self.behind.state(), "training rows": self.training_rows}


def traits_of(
    game: Game,
    X: Any,
    references: np.ndarray,
    n_jobs: int | None,
) -> RowTraits:
    """Return the descriptions of rows after 2 p evaluations against each background row."""
    r = game.n_rows
    p = game.n_players
    k = game.n_outputs
    alone = np.eye(p, dtype=bool)
    q = len(references)
    # Each player alone and all but one: first and last steps of all permutations.
    coalitions = np.tile(np.concatenate([alone, ~alone]), (q, 1))
    requested_references = np.repeat(references, 2 * p)[:, None]
    first, last = np.empty((2, r, p, k))
    full = game.full(np.arange(r))
    empty = np.empty((r, k))
    step = max(1, BLOCK_ROWS // len(requested_references))
    with Evaluator(game, n_jobs) as evaluate:
        for start in range(0, r, step):
            rows = np.arange(start, min(start + step, r))
            n = len(rows)
            values = evaluate(
                Requests(
                    np.repeat(rows, len(requested_references)),
                    np.tile(coalitions, (n, 1)),
                    np.tile(requested_references, (n, 1)),
                )
            ).reshape(n, q, 2, p, k)
            nobody = game.empty(rows)[:, references, None]
            first[rows] = (values[:, :, 0] - nobody).mean(axis=1)
            last[rows] = full[rows, None] - values[:, :, 1].mean(axis=1)
            empty[rows] = empty_values(game, rows)
    columns = [] if sparse.issparse(X) else columns_of(X)
    numbers = [column for column in columns if not is_category(column)]
    return RowTraits(
        np.column_stack([np.empty((r, 0)), *numbers]),
        first,
        last,
        empty,
        full,
    )
