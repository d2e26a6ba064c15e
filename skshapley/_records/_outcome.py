"""The outcome of a run: values, errors and costs of each row."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np


@dataclass(frozen=True, eq=False)
class Outcome:
    """Values, errors and costs of r instances.

    An *entry* is a set of players that values belong to: the p players one by one, unless a solver
    says otherwise.

    Attributes
    ----------
    values, standard_errors : ndarray of shape (r, e, k)
        Standard errors are NaN where there are none.
    background_errors : ndarray of shape (r, e, k)
        What the background leaves to chance, as a sample; NaN where that is not known.
    v_empty, v_full : ndarray of shape (r, k)
        Values of the empty and of the full coalition.
    n_evaluations : ndarray of shape (r,), int
        Evaluations, v(empty) and v(all) included, each against one background row or more.
    n_model_rows : ndarray of shape (r,), int
        Rows given to the model for this instance, v(empty) excluded, which is shared.
    converged : ndarray of shape (r,), bool
        Exact, or accurate enough for the stopping rule.
    entries : ndarray of shape (e, size), int
        The players of each entry, in order.
    methods : list of (Sampler, Solver)
        Those that were used, each class once; the last solver with what it kept of its run.
    """

    values: np.ndarray
    standard_errors: np.ndarray
    background_errors: np.ndarray
    v_empty: np.ndarray
    v_full: np.ndarray
    n_evaluations: np.ndarray
    n_model_rows: np.ndarray
    converged: np.ndarray
    entries: np.ndarray
    methods: list[tuple[Any, Any]] = field(default_factory=list)

    @classmethod
    def blank(cls, r: int, k: int, entries: np.ndarray) -> Self:
        """Return room for `r` instances and `k` outputs."""
        shape = r, len(entries), k
        return cls(
            np.zeros(shape),
            np.full(shape, np.nan),
            np.full(shape, np.nan),
            np.zeros((r, k)),
            np.zeros((r, k)),
            np.zeros(r, dtype=np.int64),
            np.zeros(r, dtype=np.int64),
            np.zeros(r, dtype=bool),
            entries,
        )

    @classmethod
    def exact(cls, values: np.ndarray, v_empty: np.ndarray, v_full: np.ndarray) -> Self:
        """Return the outcome of a closed form, with errors of 0 and no evaluations."""
        r, p, _ = values.shape
        return cls(
            values,
            np.zeros(values.shape),
            np.full(values.shape, np.nan),
            v_empty,
            v_full,
            np.zeros(r, dtype=np.int64),
            np.zeros(r, dtype=np.int64),
            np.ones(r, dtype=bool),
            np.arange(p)[:, None],
        )

    def with_pairs(self, pairs: np.ndarray) -> Self:
        """Return it with entries for pairs of players too, read as exactly.

        Parameters
        ----------
        pairs : ndarray of shape (r, p (p - 1)/2, k)
            In the order of ``np.triu_indices(p, 1)``.
        """
        p = self.values.shape[1]
        both = np.array(np.triu_indices(p, 1)).T
        return replace(
            self,
            values=np.concatenate([self.values, pairs], axis=1),
            standard_errors=np.concatenate([self.standard_errors, np.zeros_like(pairs)], axis=1),
            entries=np.concatenate([np.repeat(self.entries, 2, axis=1), both]),
        )

    @property
    def n_players(self) -> int:
        """The number of entries of a single player, which come first; 0 without any."""
        return int((self.entries == self.entries[:, :1]).all(axis=1).sum())

    @property
    def solver(self) -> Any:
        """The last solver, with any trace that it kept of its run, or None."""
        return self.methods[-1][1] if self.methods else None

    def used(self, sampler: Any, solver: Any) -> None:
        """Note that these were used; of their kind the last are kept."""
        kind = type(sampler), type(solver)
        others = [pair for pair in self.methods if (type(pair[0]), type(pair[1])) != kind]
        self.methods[:] = [*others, (sampler, solver)]

    def head(self, n: int) -> Self:
        """Return the first `n` instances."""
        shared = ("entries", "methods")
        return replace(self, **{k: v[:n] for k, v in vars(self).items() if k not in shared})
