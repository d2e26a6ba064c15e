"""Attempts at batches: explain a whole batch or its good rows, and compare with the files."""

from concurrent.futures import BrokenExecutor
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from skshapley._tools._texts import unaddressed
from skshapley.batches._document_source import explains_documents
from skshapley.batches._files import BatchFile
from skshapley.batches._fingerprint import predictions
from skshapley.batches._folder import Attempt
from skshapley.batches._sources import OWNER, Batch
from skshapley.exceptions import BatchError, PartialExplanationError
from skshapley.explanation import Explanation
from skshapley.rewards._tokens import side_by_side


class Attempts:
    """Explain batches, with random numbers by the content of rows.

    Parameters
    ----------
    explainer : Attributor
    entropy : int or None
        Entropy instead of the explainer's own.
    on_error : str
    """

    def __init__(self, explainer: Any, entropy: int | None, on_error: str) -> None:
        self.explainer, self.on_error = copy(explainer), on_error
        if entropy is not None and hasattr(explainer, "_redrawn"):
            self.explainer = explainer._redrawn(entropy)
        if hasattr(explainer, "verbose"):
            self.explainer.verbose = 0

    def explain(self, batch: Batch) -> Explanation:
        """Return the explanation of a batch, with the keys as its index."""
        made = self.explainer.explain(batch.X)
        return replace(made, data=made.data.set_axis(batch.index, axis=0))

    def attempt(self, batch: Batch) -> Attempt:
        """Explain a batch, or the good rows of it.

        Raises
        ------
        BatchError
            If there are bad rows and they are not to be skipped, or if workers die.
        """
        made, failures = self._halved(batch)
        pieces = [[part.first_row, part.first_row + len(part)] for part, _ in made]
        explanations = [explanation for _, explanation in made]
        if not made:
            return Attempt(None, [], failures)
        merge = side_by_side if explains_documents(self.explainer) else Explanation.merge
        whole = explanations[0] if len(made) == 1 else merge(explanations)
        return Attempt(whole, pieces, failures)

    def _halved(self, batch: Batch) -> tuple[list[tuple[Batch, Explanation]], list[dict]]:
        """Return pairs of good pieces and their explanations, and the failures."""
        try:
            return [(batch, self.explain(batch))], []
        except MemoryError:
            raise  # independent of the rows
        except Exception as error:
            cause = error.__cause__ if isinstance(error, PartialExplanationError) else error
            if not isinstance(cause, Exception):
                raise  # an interruption
            if self.on_error == "raise" or isinstance(cause, BrokenExecutor):
                raise self._failed(batch, cause) from error
            if len(batch) == 1:
                return [], [_failure(batch, cause)]
        middle = len(batch) // 2
        first, second = (
            self._halved(batch.take(*ends)) for ends in ((0, middle), (middle, len(batch)))
        )
        return first[0] + second[0], first[1] + second[1]

    def _failed(self, batch: Batch, cause: Exception) -> BatchError:
        how = f'with on_error="raise" (choose "skip" to set bad rows aside) cannot explain {batch}'
        if isinstance(cause, BrokenExecutor):
            how = f"lost the workers that were to explain {batch}"
        index = batch.index if batch.keyed else None
        return BatchError(f"{OWNER} {how}: {type(cause).__name__}: {cause}", batch.rows, index)

    def keeps(self, batch: Batch, found: BatchFile) -> bool:
        """Return True if the model's predictions for the rows are unchanged since the run.

        If the model fails now, a run that skips bad rows trusts the earlier predictions.
        """
        if found.part is None:
            return True
        parts = ((a - batch.first_row, b - batch.first_row) for a, b in found.record.pieces)
        try:
            # all None, or none
            said: list = [predictions(self.explainer, batch.take(*part).X) for part in parts]
        except MemoryError:
            raise
        except Exception as error:
            if self.on_error == "raise":
                raise self._failed(batch, error) from error
            return True
        if said[0] is None:
            return True
        before = found.part.parts()["predictions"].ravel()
        return np.array_equal(np.concatenate(said), before, equal_nan=True)

    def recovers(self, batch: Batch, failures: list[dict]) -> bool:
        """Return True if a row that was set aside can be explained now."""
        places = (failure["row"] - batch.first_row for failure in failures)
        return any(not self.attempt(batch.take(i, i + 1)).failures for i in places)


def _failure(batch: Batch, error: Exception) -> dict[str, Any]:
    key = str(batch.index[0]) if batch.keyed else None
    text = unaddressed(f"{type(error).__name__}: {error}")
    return {"row": batch.first_row, "key": key, "error": text}
