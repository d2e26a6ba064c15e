"""The loop of a run: ask, evaluate, tell, block by block.

The sizes of blocks depend on fixed numbers and the working memory. Within a block, rows
with the same number of players that matter form a cohort. The requests of all cohorts
are evaluated together.
"""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from skshapley._records._outcome import Outcome
from skshapley._run._cohort import Cohort
from skshapley._run._evaluate import Evaluator, Ledger, Requests
from skshapley._run._plan import Plan, design_bytes
from skshapley._run._schedule import ASK_BYTES
from skshapley._tools import working_bytes
from skshapley.exceptions import PartialExplanationError
from skshapley.rewards import Game
from skshapley.rewards._game import Known, empty_values
from skshapley.solvers._base import entries

# Model rows of a block of rows to explain. With 2**18, a thousand rows of a fast model
# take 1.5 times as long, and with 2**22 as long. The first block is smaller, so that a
# slow model shows its pace sooner; it serves ten rows of the default budget together.
BLOCK_MODEL_ROWS = 2**20
FIRST_MODEL_ROWS = 2**19
BLOCK_INSTANCES = 1024
BLOCK_SHARE = 1 / 2  # share of the working memory for a block of rows


def run(
    game: Game,
    plan: Plan,
    entropy: int,
    *,
    n_jobs: int | None = None,
    progress: Callable[[int], object] | None = None,
    evaluations: Callable[[int], object] | None = None,
    margins: np.ndarray | None = None,
    fill: Callable[["Block", Outcome, Evaluator], None] | None = None,
    record: Callable[[Outcome], Any] = lambda outcome: outcome,
) -> Outcome:
    """Execute a plan for every row of a game.

    Parameters
    ----------
    game : Game
    plan : Plan
    entropy : int
        Source of all random streams: by key for a row (`Game.keys`), by name for other
        streams.
    n_jobs : int or None
    progress : callable or None
        Called with the number of finished rows.
    evaluations : callable or None
        Called with the number of evaluated coalitions, for a game of few rows and slow
        values.
    margins : ndarray of shape (n_rows, p) or None
        Known Shapley values of the log-odds, if the values are probabilities of one
        class: a control variate. NaN for rows without.
    fill : callable, default=Block.fill
        Writes the values of a block to the outcome.
    record : callable
        Makes the explanation of the finished rows, if the run stops early.

    Returns
    -------
    outcome : Outcome

    Raises
    ------
    PartialExplanationError
        If an error or a KeyboardInterrupt (its cause) comes after the first block.
    """
    whole = game
    remainder = game.remainder() if plan.takes_parts else None
    game = game if remainder is None else remainder
    outcome = Outcome.blank(
        game.n_rows,
        game.n_outputs,
        entries(game.n_players, plan.request.pairs),
    )
    size = _block_size(game, plan)
    first = max(1, min(size, FIRST_MODEL_ROWS // plan.max_rows))
    starts = [0, *range(first, game.n_rows, size)]
    with Evaluator(game.means or game, n_jobs, evaluations) as evaluator:
        for start, stop in pairwise([*starts, game.n_rows]):
            rows = np.arange(start, stop)
            try:
                part = None if remainder is None else remainder.known(rows)
                (fill or Block.fill)(
                    Block(game, plan, entropy, rows, part, margins),
                    outcome,
                    evaluator,
                )
                outcome.v_empty[rows] = empty_values(whole, rows)
                outcome.v_full[rows] = whole.full(rows)
            except (Exception, KeyboardInterrupt) as error:
                # Nothing is finished yet, so there is no outcome to carry.
                if rows[0] == 0:
                    raise
                # Hours of finished rows are worth keeping.
                raise PartialExplanationError(
                    f"Explaining stopped by {type(error).__name__} after {rows[0]} of "
                    f"{game.n_rows} rows; the finished ones are in this error's "
                    ".explanation.",
                    record(outcome.head(rows[0])),
                ) from error
            if progress is not None:
                progress(int(rows[-1]) + 1)
    return outcome


def _block_size(game, plan) -> int:
    p = plan.size.n_players
    k = game.n_outputs
    b = game.n_references
    coalitions = 1
    draws = 1
    if p > 1:
        b = plan.bought.n_references
        draws = plan.bought.n_draws
        price = plan.bought.price
        coalitions = max(1, draws) * price.coalitions
        if not plan.sampler.traits.one_shot:
            # Other samplers make several designs, so only one of them is in memory at a
            # time.
            coalitions = min(
                coalitions,
                max(ASK_BYTES // p, price.unit * price.coalitions),
            )
    # records of solvers for each background row used
    record_bytes = (
        96 * min(b, draws) * p * k + 32 * len(entries(p, plan.request.pairs)) * k
    )
    bytes_an_instance = design_bytes(coalitions, p, k) + 8 * b * k + record_bytes
    by_memory = working_bytes(BLOCK_SHARE) // bytes_an_instance
    return max(
        1,
        int(min(by_memory, BLOCK_MODEL_ROWS // plan.max_rows, BLOCK_INSTANCES)),
    )


class Block:
    """Rows to explain that are processed together.

    Parameters
    ----------
    game : Game
    plan : Plan
    entropy : int
    rows : ndarray of shape (r,), int
        The rows to explain, contiguous.
    known : Known or None
        The known values of the part subtracted from the game.
    margins : ndarray or None
        As of `run`.

    Attributes
    ----------
    empty : ndarray of shape (r, b, k)
    v_empty, v_full : ndarray of shape (r, k)
    spent, asked : ndarray of shape (r,), int
        Evaluated model rows and coalitions.
    """

    def __init__(
        self,
        game: Game,
        plan: Plan,
        entropy: int,
        rows: np.ndarray,
        known: Known | None,
        margins: np.ndarray | None = None,
    ) -> None:
        self.game = game
        self.plan = plan
        self.entropy = entropy
        self.rows = rows
        self.known = known
        self.margins = margins
        self.empty = (game.means or game).empty(rows)
        self.v_empty = empty_values(game, rows)
        self.v_full = game.full(rows)
        self.spent, self.asked = np.zeros((2, len(rows)), dtype=np.int64)
        self._ledger = Ledger(rows)

    def fill(self, outcome: Outcome, evaluator: Evaluator) -> None:
        """Run all cohorts to their end and write the outcome."""
        cohorts = self._cohorts(outcome)
        while unfinished := [cohort for cohort in cohorts if cohort.schedule.open.size]:
            # One call for all cohorts: small requests would leave the batches of the
            # model half empty.
            batches: dict[int, list[tuple[Cohort, Requests]]] = {}
            for cohort in unfinished:
                part = cohort.ask()
                batches.setdefault(part.width, []).append((cohort, part))
            for width, batch in sorted(batches.items()):
                rows, coalitions, references = zip(
                    *[part for _, part in batch],
                    strict=True,
                )
                requests = Requests(
                    np.concatenate(rows),
                    np.concatenate(coalitions),
                    np.concatenate(references) if width else None,
                )
                # Few requests against the same single background row repeat: in a
                # default run 1 % of those of 20 columns and 4 % of 10. Keys would take
                # a fifth of the time.
                if width == 1 or all(c.sampler.traits.distinct for c, _ in batch):
                    values = evaluator(requests)
                    sent = np.ones(len(requests.rows), bool)
                else:
                    values, sent = self._ledger.evaluate(evaluator, requests)
                instances = requests.rows - self.rows[0]
                start = 0
                for cohort, part in batch:
                    of_cohort = slice(start, start + len(part.rows))
                    evaluated = instances[of_cohort][sent[of_cohort]]
                    counts = np.bincount(evaluated, minlength=len(self.rows))
                    # 0 for evaluations against the whole background
                    self.spent += (width or self.game.rows_per_value) * counts
                    self.asked += counts // cohort.n_groups
                    cohort.tell(values[of_cohort])
                    start = of_cohort.stop
            for cohort in unfinished:
                cohort.look()
        for cohort in cohorts:
            cohort.write(outcome)
        # The row itself is one model row; v(empty) of the background is paid in fit.
        outcome.n_model_rows[self.rows] = self.spent + 1
        outcome.n_evaluations[self.rows] = 2 + self.asked

    def _cohorts(self, outcome: Outcome) -> list[Cohort]:
        """Return the rows by their number of players, and settle rows of one player or none."""
        active = self.game.active(self.rows)
        # Some designs have a fixed number of players, as those learned for all rows.
        if self.plan.sampler.traits.needs_all_players:
            active = np.ones_like(active)
        counts = active.sum(axis=1)
        cohorts = []
        for count in sorted(set(counts.tolist())):
            members = np.flatnonzero(counts == count)
            players = np.nonzero(active[members])[1].reshape(len(members), count)
            if count > 1:
                cohorts.append(Cohort(self, members, players))
                continue
            # The only active player, if any, gets v(all) - v(empty).
            rows = self.rows[members]
            outcome.standard_errors[rows] = 0.0
            outcome.converged[rows] = True
            if count:
                player = players[:, 0]  # the first entries are single players
                outcome.values[rows, player] = (self.v_full - self.v_empty)[members]
                spread = self._spread_of_empty(members)
                outcome.background_errors[rows] = 0.0
                outcome.background_errors[rows, player] = spread
        return cohorts

    def _spread_of_empty(self, members: np.ndarray) -> np.ndarray:
        """Return the standard error of v(empty) as a mean over a sample, ``(r, k)``."""
        weights = self.game.reference_weights
        empty = self.empty[members]
        mean = (weights[:, None] * empty).sum(axis=1, keepdims=True)
        # Kish's effective sample size, b for equal weights.
        n = 1 / (weights @ weights)
        if n <= 1:
            return np.full(mean[:, 0].shape, np.nan)
        # the root of a sum of squares, even if the squares overflow
        spread = np.hypot.reduce(np.sqrt(weights)[:, None] * (empty - mean), axis=1)
        return spread / np.sqrt(n - 1)
