"""Shapley values from a Gaussian process on the odd part of the game.

The process, its kernel and the functional are those of `skshapley._odd`; the documentation, "The
odd-part Gaussian process", derives them. Here: what is done with an instance's pairs, from least
squares that leaves nothing to explain, to regression on what the process leaves where pairs are
many.
"""

import numpy as np

from skshapley._even import EvenLesson, even_pairs
from skshapley._odd import Hyper, Lesson, OddDesign, Pairs, Posterior, fit_hyper
from skshapley._tools._constraints import Count
from skshapley.indices import INDICES, Index
from skshapley.solvers._base import Estimate, Solver
from skshapley.solvers._gp_errors import background_errors, overlooked, standard_errors
from skshapley.solvers._gp_index import IndexCase
from skshapley.solvers._gp_pairs import EvenCase, merged
from skshapley.solvers._gp_straight import blended, remainder, straight

SHAPLEY = INDICES["shapley"]
WALKS_BELOW = 1.3  # pairs per player, below which nothing can be said of the error


class GaussianProcess(Solver):
    """Posterior mean of the Shapley values under a Gaussian prior on the odd interactions.

    Hyper-parameters are fitted to the values of one instance, all outputs together. An explainer
    fits those of a few background rows, its pilots, in ``fit``; instances take their mean (of the
    logarithms) and one of eight designs, so that eight matrices serve them all: milliseconds an
    instance instead of tenths of a second, for .7 to 2.2 times the squared error. Where least
    squares leaves no residual (additive and pairwise games) its solution is returned; where the
    pairs are more than a process can hold, least squares on what it leaves unexplained takes in the
    rest. Attributions add up exactly.

    Standard errors are posterior standard deviations, widened by the error of held-out predictions
    and by what a pair that was not seen may change. They are 0 where all pairs were seen; where
    least squares leaves no residual they are 1.5/m of the attributions' range, for m pairs beyond
    the players. They are NaN below 1.3 pairs per player.

    Parameters
    ----------
    pilots : int, default=2
        How many background rows are explained in ``fit`` for their hyper-parameters. 0: every
        instance has its own.

    References
    ----------
    Rasmussen & Williams (2006), Gaussian Processes for Machine Learning, chapters 2 and 5. O'Hagan
    (1991), Bayes-Hermite quadrature, J. Statistical Planning and Inference 29 (a linear functional
    of a process). Musco & Witter (2025), Provably accurate Shapley value estimation via leverage
    score sampling, ICLR (the regression on what is left).

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import shapley_values
    >>> from skshapley.solvers import GaussianProcess
    >>> result = shapley_values(
    ...     lambda S: np.tanh(S @ np.linspace(0.1, 0.4, 12)),
    ...     n_players=12,
    ...     solver=GaussianProcess(),
    ...     max_evals=120,
    ...     random_state=0,
    ... )
    >>> bool(np.isclose(result.values.sum(), np.tanh(3.0)))
    True
    """

    accepts = (OddDesign,)
    default_sampler = "odd"
    _constraints = {"pilots": Count(least=0, hint="0 fits every instance by itself")}

    def __init__(self, pilots: int = 2) -> None:
        self.pilots = pilots

    def gives(self, produced: type, index: Index) -> bool:
        """Return whether the design tells the values: by any index."""
        return issubclass(produced, OddDesign)

    def gives_pairs(self, produced: type, index: Index) -> bool:
        """Return whether the design tells interactions: of a symmetric index, any."""
        return issubclass(produced, OddDesign) and index.symmetric

    def _start(self, players: np.ndarray, lesson) -> None:
        self._cases = [self._case(own, lesson) for own in players]
        self._indexed = self._even = []
        if self.index != SHAPLEY:
            each = zip(self._cases, players, strict=True)
            self._indexed = [IndexCase(case, own, lesson, self.index) for case, own in each]
        if self.pairs is not None:
            self._even = [EvenCase(own, lesson, self.pairs) for own in players]

    def update(self, rows: np.ndarray, design: OddDesign, values: np.ndarray) -> None:
        """Keep the pairs of each instance."""
        for i, row in enumerate(rows):
            drawn = None if design.drawn is None else design.drawn[i]
            start = None if design.start is None else design.start[i]
            pairs, even = design.pairs(i, values[i]), None
            if self._even or self._indexed:
                even = even_pairs(design, i, values[i])
            if self._indexed:
                self._indexed[row].add(pairs, even, drawn, start, design.exact)
            else:
                self._cases[row].add(pairs, drawn, start, design.exact)
            if self._even:
                self._even[row].add(pairs, even, drawn, design.exact)

    def result(self) -> Estimate:
        """Return the posterior means and their standard errors."""
        solved = [case.solve() for case in self._indexed or self._cases]
        values, errors = (np.stack(part) for part in zip(*solved, strict=True))
        apart = np.stack([case.background_errors for case in self._indexed or self._cases])
        if self.index.adds_up:
            gap = self.v_full_ - self.v_empty_ - values.sum(axis=1)
            values = values + gap[:, None] / self.n_players_
        if not self._even:
            return Estimate(values, errors, apart)
        joint = [e.solve(case.theta) for e, case in zip(self._even, self._cases, strict=True)]
        pairs, spread = (np.stack(part) for part in zip(*joint, strict=True))
        return Estimate(
            np.concatenate([values, pairs], axis=1),
            np.concatenate([errors, spread], axis=1),
            np.concatenate([apart, np.full_like(pairs, np.nan)], axis=1),
        )

    def seen_errors(self) -> np.ndarray | None:
        """Return the standard errors ``(r, p, k)`` by what was seen, without what may not have."""
        return np.stack([case.seen_errors for case in self._cases])

    def lesson(self, earlier: Lesson | None = None) -> Lesson | None:
        """Return the fitted hyper-parameters of these instances, and of earlier ones."""
        taught = () if earlier is None else earlier.taught
        taught += tuple((c.players, c.theta) for c in self._cases if c.theta is not None)
        even: tuple[np.ndarray, ...] = () if earlier is None else getattr(earlier, "even", ())
        cases = self._even or [case.even for case in self._indexed if case.even is not None]
        even += tuple(case.theta for case in cases if case.theta is not None)
        if even:
            return EvenLesson(taught, even=even)
        return Lesson(taught) if taught else None

    def _case(self, players: np.ndarray, lesson: Lesson | None) -> "_Case":
        return _Case(players, lesson)


class _Case:
    """The pairs of one instance, and the solution of those seen so far.

    Parameters
    ----------
    players : ndarray of int
        The players that matter to it.
    lesson : Lesson or None
        Where its hyper-parameters come from; None for its own.
    """

    def __init__(self, players: np.ndarray, lesson: Lesson | None) -> None:
        self.players, self._lesson = players, lesson
        self._parts: list[Pairs] = []
        self._drawn: list[np.ndarray] = []
        self._start: np.ndarray | None = None
        self._enumerated = False
        self._solution: tuple[np.ndarray, np.ndarray] | None = None
        self._apart: np.ndarray | float = np.nan
        self._seen: np.ndarray | float = np.nan
        self.theta: np.ndarray | None = None

    def add(
        self, pairs: Pairs, drawn: np.ndarray | None, start: np.ndarray | None, enumerated: bool
    ) -> None:
        """Take in pairs, after which the solution is to be found anew."""
        self._parts.append(pairs)
        self._drawn.append(np.full(len(pairs), np.nan) if drawn is None else drawn)
        if start is not None and np.isfinite(start).all():
            self._start = start
        self._enumerated = enumerated
        self._solution = None

    def solve(self) -> tuple[np.ndarray, np.ndarray]:
        """Return attributions and standard errors, ``(p, k)`` each."""
        if self._solution is None:
            self._solution = self._solve()
        return self._solution

    def _solve(self) -> tuple[np.ndarray, np.ndarray]:
        pairs, drawn = merged(self._parts), np.concatenate(self._drawn)
        values, errors, residual = straight(pairs, self._enumerated)
        self.background_errors, self.seen_errors = np.full_like(values, np.nan), errors.copy()
        if residual.any() and not self._enumerated:
            rest = pairs.outputs(residual)
            values[:, residual], errors[:, residual] = self._process(rest, drawn)
            self.background_errors[:, residual] = self._apart
            self.seen_errors[:, residual] = self._seen
        return values, errors

    def _process(self, pairs: Pairs, drawn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        placed = np.isnan(drawn)
        core = pairs if placed.all() else pairs.take(placed)
        posterior = self.posterior(core)
        self._apart = background_errors(posterior)
        values = posterior.shapley()
        n_pairs = len(core) - 1
        if core.block is None and n_pairs < WALKS_BELOW * core.n_players:
            return values, np.full_like(values, np.nan)
        errors = standard_errors(posterior, self.theta)
        if placed.all() and core.block is None:
            values, errors = blended(posterior, values, errors)
        elif not placed.all():
            values, errors = remainder(
                posterior, values, errors, pairs.take(~placed), drawn[~placed]
            )
            self._seen = errors  # those drawn at random show what they saw of a jump
            return values, errors
        self._seen = errors
        return values, overlooked(posterior, errors)

    def posterior(self, pairs: Pairs) -> Posterior:
        """Return the posterior under the lesson's hyper-parameters, or this instance's own."""
        if self._lesson is not None:
            theta = self._lesson.mean(self.players, blocked=pairs.block is not None)
            if theta is not None:
                return Posterior(self._lesson.process(pairs, theta), pairs.values)
        self.theta = self._start = fit_hyper(pairs, self._start)
        return Posterior.of(pairs, Hyper.from_vector(self.theta, pairs.n_players))
