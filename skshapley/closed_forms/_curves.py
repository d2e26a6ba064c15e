"""Curves of linear terms: the exponential, the logistic function, and any other function."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from skshapley._tables import n_rows, take_rows
from skshapley._tools import working_bytes
from skshapley.closed_forms._base import SHAPLEY, ClosedForm, sampling_ns
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._products import BLOCK_SHARE, ProductForm
from skshapley.closed_forms._waves import (
    MOST_ENUMERATED,
    MOST_REACH,
    NODES,
    coalition_weights,
    logistic_pairs,
    logistic_values,
    n_waves,
    reach_of,
    shrunk,
    sums_of_coalitions,
)
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import Index

# Nanoseconds of a wave of one player at one node, and of one enumerated coalition; 6 to
# 100 players
WAVE_NS, ENUMERATED_NS = 10.0, 15.0
MOST_PAIRED = 32  # columns; .3 s per row against 100 background rows
# Background rows to estimate the cost
COST_ROWS = 64
CURVE_NS = 27.0  # time of a curve for one number of one coalition
MOST_CURVED = 20  # players; 2 ** 20 coalitions of each background row


class TermsCurve(ClosedForm):
    """A response ``curve(terms) @ outputs + constant``; subclasses compute its values.

    Parameters
    ----------
    terms : ClosedForm
        With k' outputs, and without interactions.
    outputs : array-like of shape (k, n)
        Factor of each column of the curve in each output.
    constant : array-like of shape (n,)

    Attributes
    ----------
    _curve : callable
        Takes the terms ``(n, k')``, and returns the response ``(n, k)``.
    """

    # An index is a distribution of the number of other present players.
    indices = None
    _curve: Callable[..., Any]

    def __init__(self, terms: Any, outputs: Any, constant: Any) -> None:
        self.terms = terms
        self.outputs = np.asarray(outputs, dtype=np.float64)
        self.constant = constant + np.zeros(self.outputs.shape[1])
        self.n_outputs = self.outputs.shape[1]

    def combined(self, matrix: Any, constant: Any = 0.0) -> Self:
        """Return linear combinations of the outputs."""
        form = copy(self)
        TermsCurve.__init__(
            form,
            self.terms.combined(np.eye(self.terms.n_outputs)),
            self.outputs @ matrix,
            self.constant @ matrix + constant,
        )
        return form

    def used_columns(self, n_columns: int) -> NDArray[np.bool_]:
        """Return the columns that the terms use, ``(d,)``."""
        return self.terms.used_columns(n_columns)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the response, ``(r, k)``."""
        return self._curve_of(self.terms.predict(X)) + self.constant

    def _curve_of(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the curve of sums ``(..., k')``, without the constant, ``(..., k)``."""
        values = self._curve(sums.reshape(-1, sums.shape[-1])) @ self.outputs
        return values.reshape(*sums.shape[:-1], self.n_outputs)

    def _fit_terms(self) -> None:
        self.terms.fit(
            self.background_,
            self.weights_,
            self.column_player_,
            self.n_players_,
        )
        self.scores_ = self.terms.predict(self.background_)


class LinearCurve(TermsCurve):
    """A response ``curve(X @ coef + intercept)``; subclasses define the curve.

    Parameters
    ----------
    coef : array-like of shape (d,)
    intercept : float
    outputs : array-like of shape (1, k), default=((1.0,),)
        Factor of the curve in each output.
    constant : array-like of shape (k,), default=(0.0,)
        Constant of each output.
    """

    def __init__(
        self,
        coef: Any,
        intercept: float,
        outputs: Any = ((1.0,),),
        constant: Any = (0.0,),
    ) -> None:
        self.coef: NDArray[np.float64] = np.asarray(coef, dtype=np.float64)
        self.intercept = float(intercept)
        super().__init__(
            LinearTerms(self.coef[:, None], [intercept]),
            outputs,
            constant,
        )

    def of_columns(self, matrix: Any, shift: Any) -> Self:
        """Return the same response of the columns X in ``X @ matrix + shift``."""
        return type(self)(
            matrix @ self.coef,
            self.intercept + shift @ self.coef,
            self.outputs,
            self.constant,
        )


class Exponential(LinearCurve, ProductForm):
    """A response ``exp(X @ coef + intercept)``, a product over the columns.

    Parameters
    ----------
    coef : array-like of shape (d,)
    intercept : float
    outputs : array-like of shape (1, k), default=((1.0,),)
        Factor of the exponential in each output.
    constant : array-like of shape (k,), default=(0.0,)
        Constant of each output.

    References
    ----------
    Owen (1972), Multilinear extensions of games, Management Science 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import Exponential
    >>> form = Exponential([np.log(2), np.log(3)], 0.0).fit(np.array([[0.0, 0.0]]))
    >>> form.attributions(np.array([[1.0, 1.0]]))[0, :, 0].round(2)
    array([2., 3.])
    """

    label = "the exponential of linear terms"
    _curve = staticmethod(np.exp)

    def _fit(self) -> NDArray[np.float64]:
        base_values = super()._fit()
        # factors are relative to the mean row; otherwise, large columns would overflow
        self.mean_ = self.weights_ @ self.rows_
        return base_values

    @property
    def _weights_of_terms(self) -> NDArray[np.float64]:
        return np.exp(self.mean_ @ self.coef + self.intercept) * self.outputs

    def _products(self, rows, terms, owners, n) -> NDArray[np.float64]:
        exponents = np.zeros((n, len(rows), 1))
        for column, owner in enumerate(owners):
            # Sums of exponents cannot overflow; products of exponentials of large
            # columns can.
            exponents[owner, :, 0] += self.coef[column] * (
                rows[:, column] - self.mean_[column]
            )
        return np.exp(exponents, out=exponents)


class Logistic(LinearCurve):
    """A response ``1 / (1 + exp(-(X @ coef + intercept)))``, the probability of two classes.

    Parameters
    ----------
    coef : array-like of shape (d,)
    intercept : float
    outputs : array-like of shape (1, k), default=((1.0,),)
        Factor of the probability in each output.
    constant : array-like of shape (k,), default=(0.0,)
        Constant of each output.

    Notes
    -----
    The logistic function is a sum of waves, and a wave of a sum is the product of the
    columns' waves. Each wave is therefore a game of products. The error of the values
    is 1e-13.

    References
    ----------
    Owen (1972), Multilinear extensions of games, Management Science 18. Trefethen &
    Weideman (2014), The exponentially convergent trapezoidal rule, SIAM Review 56.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import Logistic
    >>> form = Logistic([np.log(3), np.log(3)], 0.0).fit(np.array([[0.0, 0.0]]))
    >>> form.attributions(np.array([[1.0, 1.0]]))[0, :, 0].round(2)
    array([0.2, 0.2])
    """

    label = "the logistic function of linear terms"
    _curve = staticmethod(expit)

    def _fit(self) -> NDArray[np.float64]:
        # `cached_property` stores its value here and would return that of an earlier
        # background.
        self.__dict__.pop("steps_", None)  # results for another background
        self._fit_terms()
        # The number of waves grows with the largest score, and so does the rounding
        # error of their sum.
        largest = float(np.abs(self.scores_).max())
        if largest > MOST_REACH:
            raise UnreadableModelError(
                f"log-odds of background rows are up to {largest:.3g}, too large for "
                "exact probabilities",
                'pass response_method="log_odds"',
            )
        return super()._fit()

    def _steps(self, X: Any) -> NDArray[np.float64]:
        """Return each player's contribution to the score of a typical row, ``(r, p)``."""
        return self.terms.attributions(X)[:, :, 0]

    @cached_property
    def steps_(self) -> NDArray[np.float64]:
        """Each player's contribution to the score of each background row, ``(b, p)``."""
        return self._steps(self.background_)

    @property
    def pair_indices(self) -> frozenset[str] | None:  # type: ignore[override]
        """Any index for few columns; with 60 columns, a row would take seconds."""
        return None if len(self.coef) <= MOST_PAIRED else frozenset()

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        means = np.stack(
            [
                self.weights_ @ self._single(steps, slice(None))
                for steps in self._steps(X)
            ]
        )
        return means[:, :, None] * self.outputs

    def _single(self, steps: NDArray[np.float64], rows: Any) -> NDArray[np.float64]:
        """Return the values of one row against background rows, ``(q, p)``."""
        return logistic_values(
            self.scores_[rows, 0],
            steps - self.steps_[rows],
            self.index,
        )

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        rows = np.asarray(rows)
        single = [self._single(steps, rows) for steps in self._steps(X)]
        return np.stack(single)[..., None] * self.outputs[0]

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        pairs = [
            np.tensordot(
                self.weights_,
                logistic_pairs(self.scores_[:, 0], steps - self.steps_, index),
                1,
            )
            for steps in self._steps(X)
        ]
        p = self.n_players_
        return np.reshape(pairs, (-1, p, p, 1)) * self.outputs[0]

    @property
    def cost_(self) -> float:  # type: ignore[override]
        """Cost of explaining a row, in model rows of sampling; known after `fit`."""
        rows = np.arange(min(len(self.weights_), COST_ROWS))
        steps = self._steps(take_rows(self.background_, rows))
        start = self.scores_[rows, 0]
        # Neighbouring background rows stand in for rows to explain, which are not known
        # in fit.
        steps = shrunk(start, np.roll(steps, 1, axis=0) - steps)
        differing = (steps != 0).sum(axis=1)
        widest = int(differing.max())
        if widest <= MOST_ENUMERATED:
            game_ns = ENUMERATED_NS * 2**widest
        else:
            mean = differing.mean()
            n_nodes = min((mean + 1) / 2, NODES[1])
            game_ns = WAVE_NS * n_waves(reach_of(start, steps)) * mean * n_nodes
        return len(self.weights_) * game_ns / sampling_ns(self.n_players_)


class Curve(TermsCurve):
    """A response ``curve(terms)`` of a sum over the players, from all coalitions.

    Parameters
    ----------
    terms : ClosedForm
        With k' outputs, and without interactions.
    curve : callable
        Takes the terms ``(n, k')``, and returns the response ``(n, k)``.
    outputs : array-like of shape (k, n)
        Factor of each column of the curve in each output.
    constant : array-like of shape (n,), default=0.0

    Notes
    -----
    A row costs 2 ** p values of the curve for each background row, and no call of the
    model. If sampling costs less, the model is sampled.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import Curve, LinearTerms
    >>> form = Curve(LinearTerms([[1.0], [1.0]], [0.0]), np.square, [[1.0]])
    >>> form.fit(np.array([[0.0, 0.0]])).attributions(np.array([[1.0, 2.0]]))[0, :, 0]
    array([3., 6.])
    """

    pair_indices = None

    def __init__(
        self,
        terms: ClosedForm,
        curve: Callable[..., Any],
        outputs: Any,
        constant: Any = 0.0,
    ) -> None:
        super().__init__(terms, outputs, constant)
        self._curve = curve
        self.label = f"a function of {terms.label}"

    def _fit(self) -> NDArray[np.float64]:
        if self.n_players_ > MOST_CURVED:
            raise UnreadableModelError(
                f"All coalitions of {self.n_players_} players are too many"
            )
        self._fit_terms()
        self.steps_ = self.terms.attributions(self.background_)
        return super()._fit()

    def _games(self, steps: Any, rows: Any) -> NDArray[np.float64]:
        """Return the games ``(q, 2 ** p, k)`` of one row against background rows."""
        return self._curve_of(
            sums_of_coalitions(self.scores_[rows], steps - self.steps_[rows])
        )

    def _means(self, X: Any) -> Iterator[Any]:
        """Yield the mean game ``(2 ** p, k)`` of each row over the background."""
        # One background row has 2^p coalitions, so memory decides how many rows go
        # together.
        size = 8 * 2**self.n_players_ * self.scores_.shape[1]
        depth = max(1, int(working_bytes(BLOCK_SHARE) // size))
        blocks = [slice(i, i + depth) for i in range(0, len(self.weights_), depth)]
        for steps in self.terms.attributions(X):
            yield sum(
                np.tensordot(self.weights_[block], self._games(steps, block), 1)
                for block in blocks
            )

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        weights = coalition_weights(self.n_players_, self.index).T
        return np.stack([weights @ game for game in self._means(X)])

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        weights = coalition_weights(self.n_players_, self.index).T
        rows = np.asarray(rows)
        return np.stack(
            [weights @ self._games(steps, rows) for steps in self.terms.attributions(X)]
        )

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        p, k = self.n_players_, self.n_outputs
        pairs = np.zeros((n_rows(X), p, p, k))
        weights = coalition_weights(p - 1, index).T
        for row, game in enumerate(self._means(X)):
            for player in range(p):  # its interactions are values of its contributions
                # Coalitions are binary numbers: the middle axis is the player's bit,
                # the axis after it the lower bits.
                halves = game.reshape(-1, 2, 2**player, k)
                gain = (halves[:, 1] - halves[:, 0]).reshape(-1, k)
                pairs[row, player, np.arange(p) != player] = weights @ gain
        return pairs

    @property
    def cost_(self) -> float:  # type: ignore[override]
        """Cost of explaining a row, in model rows of sampling; known after `fit`."""
        games = len(self.weights_) * 2.0**self.n_players_ * self.scores_.shape[1]
        return games * CURVE_NS / sampling_ns(self.n_players_)
