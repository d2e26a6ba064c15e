"""What estimators that call a model on background rows share: tables, counts, budget, the run."""

from typing import Any

import numpy as np

from skshapley._run._engine import Interrupted, Outcome, Plan, run
from skshapley._run._plan import make_plan
from skshapley._tables._inputs import (
    check_columns,
    check_container,
    check_frame,
    checked_weights,
    column_changes,
    column_names,
    is_frame,
    take_rows,
    validated,
)
from skshapley._tools._progress import progress
from skshapley._tools._random import entropy_from, generator
from skshapley.exceptions import PartialExplanationError
from skshapley.rewards import Players


class OnBackground:
    """Mixin of estimators that evaluate a model on hybrids of instances and background rows.

    Attributes
    ----------
    players_ : Players
    background_ : array or frame of shape (b, d)
    background_weights_ : ndarray of shape (b,)
        With sum 1.
    """

    sampler: Any
    solver: Any
    groups: Any
    max_evals: Any
    stopping: Any
    max_background: Any
    n_jobs: Any
    random_state: Any
    verbose: Any

    def _take_background(self, X, sample_weight):
        """Check the background and keep it, its weights and its players."""
        owner = type(self).__name__
        X = self._table(X, reset=True)
        weights = checked_weights(sample_weight, len(X), owner)
        self.players_ = Players.from_groups(self.groups, column_names(X), owner)
        self.background_, self.background_weights_ = self._sampled(X, weights)

    def _table(self, X, reset):
        """Return X checked, in its own container."""
        owner = type(self).__name__
        if not reset:
            check_container(X, self.background_, owner)
        if is_frame(X):
            check_frame(X, owner)
        try:
            X = validated(self, X, reset)
        except ValueError as error:
            changes = "" if reset or not is_frame(X) else column_changes(X, self.background_)
            if not changes:
                raise
            # scikit-learn's sentence, and the diff that it does not show
            raise ValueError(f"{str(error).rstrip()}\n{changes}") from None
        return X if reset else check_columns(X, self.background_, owner)

    def _sampled(self, X, weights):
        """Return the background's rows of positive weight, at most max_background, and weights."""
        rows = np.flatnonzero(weights)
        if self.max_background is not None and len(rows) > self.max_background:
            rng = generator(entropy_from(self.random_state, type(self).__name__), 1)
            rows = np.sort(rng.choice(rows, size=self.max_background, replace=False))
        return take_rows(X, rows), weights[rows] / weights[rows].sum()

    def _check_counts(self):
        """Refuse counts that are none."""
        limit, n_jobs, verbose = self.max_background, self.n_jobs, self.verbose
        rules = {
            "max_background": (limit is None or (_is_int(limit) and limit > 0), "a positive int"),
            "n_jobs": (n_jobs is None or (_is_int(n_jobs) and n_jobs != 0), "an int but 0"),
            "verbose": (isinstance(verbose, (int, np.integer)) and verbose >= 0, "an int >= 0"),
        }
        for name, (kept, choices) in rules.items():
            if not kept:
                choices = choices if name == "verbose" else f"None or {choices}"
                raise ValueError(
                    f"{type(self).__name__} takes {name} as {choices}; got {getattr(self, name)!r}."
                )

    def _plan(self, n_references, max_evals=None, unbiased=False) -> Plan:
        return make_plan(
            sampler=self.sampler,
            solver=self.solver,
            max_evals=self.max_evals if max_evals is None else max_evals,
            stopping=self.stopping,
            random_state=self.random_state,
            n_players=self.players_.n_players,
            n_references=n_references,
            owner=type(self).__name__,
            unbiased=unbiased,
        )

    def _run(self, game, plan, record, tasks=None) -> Outcome:
        """Spend the plan on the game's instances.

        Parameters
        ----------
        game : Game
        plan : Plan
        record : callable
            Makes what the user gets of the outcome of the first instances, if the run breaks off.
        tasks : callable or None
            Told the number of finished instances.

        Raises
        ------
        PartialExplanationError
            If an error or an interruption comes after some instances were finished.
        """
        try:
            with progress(game.n_rows, self.verbose) as bar:
                return run(game, plan, n_jobs=self.n_jobs, progress=(bar, tasks))
        except Interrupted as error:
            raise PartialExplanationError(
                f"Explaining stopped by {type(error.__cause__).__name__} after"
                f" {len(error.outcome.values)} of {game.n_rows} instances; the finished ones are in"
                f" this error's .explanation.",
                record(error.outcome),
            ) from error.__cause__


def _is_int(value):
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
