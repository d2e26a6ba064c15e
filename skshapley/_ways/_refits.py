"""Values of a model and of its refits, for errors due to the training data."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from skshapley._records._importance import errors_of
from skshapley._tables import take_rows
from skshapley._tools import progress
from skshapley._ways._base import Way
from skshapley.exceptions import PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.stopping import RelativeError

# Sampling errors up to this share of the refit error increase it by at most 5 %.
SHARE = 1 / 3
# Most refit errors are 11 to 25 % of the values, so most rows need no further draws.
FIRST_RTOL = 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class Refits(Way):
    """Values of a model and of its refits, with the same random numbers.

    Attributes
    ----------
    main : Way
        Explains the model.
    refits : tuple of Way
        Explain its refits, with the entropy of `main`.
    source : str
        The refits in words, such as "10 half samples".
    """

    main: Way
    refits: tuple[Way, ...]
    source: str

    @classmethod
    def of(cls, main: Way, refits: Iterable[Way], source: str) -> Self:
        """Return the way of a model and its refits."""
        return cls(
            main.labels,
            main.reward,
            main.entropy,
            main.form,
            main=main,
            refits=tuple(refits),
            source=source,
        )

    def explain(self, X: Any, n_jobs: int | None, verbose: Any) -> Explanation:
        """Return the explanation of checked rows with the values of all refits.

        Raises
        ------
        PartialExplanationError
            If an error or an interruption comes after the model was explained; its
            explanation has the values of the finished refits.
        """
        refits: list[Explanation] = []
        with progress(1 + len(self.refits), verbose, unit="models") as report:
            explanation = self.main.explain(X, n_jobs, False)
            report(1)
            try:
                for way in self.refits:
                    way = way.stopped_by(RelativeError(FIRST_RTOL))
                    refits.append(way.explain(X, n_jobs, False))
                    report(1 + len(refits))
                self._refine(refits, X, n_jobs)
            except (Exception, KeyboardInterrupt) as error:
                cause = (
                    error.__cause__
                    if isinstance(error, PartialExplanationError)
                    else error
                )
                raise PartialExplanationError(
                    f"Explaining stopped by {type(cause).__name__} after {len(refits)} "
                    f"of {len(self.refits)} refits; the finished ones are in this "
                    "error's .explanation.",
                    self._joined(explanation, refits),
                ) from cause
        return self._joined(explanation, refits)

    def _refine(self, refits: list[Explanation], X: Any, n_jobs: int | None) -> None:
        """Explain rows again if their sampling errors are large beside the refit errors.

        Each row is decided by itself, so it has the same values in any table.
        """
        if all(way.stopped_by(RelativeError()) is way for way in self.refits):
            return
        values = np.stack([refit.values for refit in refits])
        axes = tuple(range(1, values.ndim - 1))
        variances = values.var(axis=0, ddof=1).sum(axis=axes)
        squares = [np.square(errors_of(refit)).sum(axis=axes) for refit in refits]
        # NaN errors count as large.
        precise = np.mean(squares, axis=0) <= SHARE**2 * variances
        rows = np.flatnonzero(~precise)
        if not len(rows):
            return
        for number, way in enumerate(self.refits):
            finer = way.explain(take_rows(X, rows), n_jobs, False)
            columns = {
                name: getattr(refits[number], name).copy()
                for name in ("values", "n_evaluations", "n_model_rows")
            }
            columns["values"][rows] = finer.values
            columns["n_evaluations"][rows] += finer.n_evaluations
            columns["n_model_rows"][rows] += finer.n_model_rows
            refits[number] = replace(refits[number], **columns)

    def _joined(self, main: Explanation, refits: list[Explanation]) -> Explanation:
        """Return the explanation of the model with the values and costs of refits."""
        costs = {
            name: sum(getattr(part, name) for part in (main, *refits))
            for name in ("n_evaluations", "n_model_rows")
        }
        values = (
            np.stack([refit.values for refit in refits], axis=2)
            if len(refits) > 1
            else None
        )
        return replace(
            main,
            refit_values=values,
            settings=replace(main.settings, refits=self.source),
            **costs,
        )

    def values(self, X: Any, n_jobs: int | None, verbose: Any) -> np.ndarray:
        """Return the values of the model; refits are not explained."""
        return self.main.values(X, n_jobs, verbose)

    def background_errors(self, X: Any, n_jobs: int | None) -> np.ndarray:
        """Return the errors due to the choice of the background; NaN where unknown."""
        return self.main.background_errors(X, n_jobs)

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return this way with one method of each model for all batches of a run."""
        refits = (way.for_run(n_rows, batch_rows) for way in self.refits)
        return self.of(self.main.for_run(n_rows, batch_rows), refits, self.source)

    def with_entropy(self, entropy: int) -> Self:
        """Return this way with other random numbers, the same for all models."""
        refits = (way.with_entropy(entropy) for way in self.refits)
        return self.of(self.main.with_entropy(entropy), refits, self.source)

    def state(self) -> dict[str, Any]:
        """Return the state of the model and of each refit."""
        ways = {"": self.main}
        ways |= {f"refit {number} ": way for number, way in enumerate(self.refits)}
        return {
            f"{prefix}{name}": content
            for prefix, way in ways.items()
            for name, content in way.state().items()
        }
