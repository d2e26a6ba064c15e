"""Cache of evaluations: known values are filled in, and only the rest is evaluated."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from skshapley._run._evaluate import Evaluator, Requests
from skshapley._run._memory import Asked, Keys, Memory, packed

LEAST_TIED = 0.02  # of players and background rows: with fewer ties to look for them costs more


class Evaluated(NamedTuple):
    """Requests with their values.

    Attributes
    ----------
    values : ndarray of shape (u, k)
    sent : ndarray of shape (u,), bool
        Which were really evaluated.
    new : ndarray of shape (u,), bool
        Which the instance had not asked for before: budgets count these. Fewer are sent where
        coalitions are alike in the players that differ, which may not change what is asked next.
    """

    values: np.ndarray
    sent: np.ndarray
    new: np.ndarray


class Ledger:
    """Cache of the evaluations for each row of a block, so that none is repeated.

    Parameters
    ----------
    n_players, n_references : int
    rows : ndarray of int
        The instances of the block, contiguous.
    keep : bool
        Whether later calls may meet the same coalitions again. Up to `capacity` values of an
        instance are kept.
    differing : callable or None
        Returns which players of given instances differ from a given background row each, ``(n, p)``
        bool, or None. Against a single row coalitions that are alike in those are the same request.
    """

    capacity = 2**18

    def __init__(
        self,
        n_players: int,
        n_references: int,
        rows: np.ndarray,
        keep: bool = True,
        differing: Callable[[np.ndarray, np.ndarray], np.ndarray | None] | None = None,
    ) -> None:
        self._first_row, self._keep = rows[0], keep
        self._n_references, self._differing = n_references, differing
        keys, n = Keys(n_players, n_references, len(rows)), len(rows)
        self._known = Memory(keys, n, n_references, self.capacity)
        # without a look at what differs
        self._asked = Memory(keys, n, n_references, self.capacity)

    def evaluate(
        self, evaluator: Evaluator, requests: Requests, runs: np.ndarray | None = None
    ) -> Evaluated:
        """Return values, and which requests were sent, and new.

        Parameters
        ----------
        evaluator : Evaluator
        requests : Requests
        runs : ndarray of shape (w,), int, or None
            Lengths of stretches of requests that are surely different, each of one instance and
            against the same references; None: nothing is known.
        """
        asked = Asked.of(requests, self._first_row, runs)
        masks, new = self._masks(asked), None
        if masks is not None:
            new = self._new(asked)
            asked = asked.alike(masks)
        met = self._known.meet(asked)
        fresh = None if met.fresh.all() else np.flatnonzero(met.fresh)
        values = evaluator(requests._replace(bits=None), fresh)  # of use here alone
        if fresh is not None:
            values = self._known.completed(values, fresh, met)
        if self._keep:
            self._known.add(asked, met.fresh, values)
        return Evaluated(values, met.fresh, met.fresh if new is None else new)

    def _new(self, asked: Asked) -> np.ndarray:
        """Return which coalitions the instance had not asked for before, ``(u,)`` bool."""
        fresh = self._asked.meet(asked).fresh
        if self._keep:
            self._asked.add(asked, fresh)
        return fresh

    def _masks(self, asked: Asked) -> np.ndarray | None:
        """Return the players in which a coalition counts, as words ``(u, w)``; None for all."""
        references, rows = asked.references, asked.requests.rows
        if references is None or self._differing is None or not len(rows):
            return None
        # those of a walk come one after the other
        starts, homes = asked.starts, asked.homes(self._n_references)
        first = starts[np.concatenate([[True], homes[1:] != homes[:-1]])]
        differing = self._differing(rows[first], references[first])
        if differing is None:
            self._differing = None
            return None
        if differing.all():
            return None
        # an instance with next to no ties is spared, whoever stands beside it
        place = asked.place[first]
        share = np.bincount(place, differing.mean(axis=1)) / np.maximum(np.bincount(place), 1)
        spared = share > 1 - LEAST_TIED
        if spared[place].all():
            return None
        differing = differing | spared[place][:, None]
        return np.repeat(packed(differing), np.diff(np.append(first, len(rows))), axis=0)
