"""A sample of the rows of a source, spread evenly over their predictions."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from skshapley._tables._inputs import n_rows, take_rows
from skshapley._tools._random import Stream, generator
from skshapley.batches._fingerprint import answers
from skshapley.batches._sources import OWNER, Batch, Piece, Source, Wanted, batches

BATCH_ROWS = 4096  # rows per call of the model


def sampled(explainer: Any, source: Source, wanted: Wanted, n: int, entropy: int) -> Source:
    """Return a source of `n` of the rows, or of all rows if there are fewer.

    This is systematic sampling (Cochran 1977, Sampling techniques, chapter 8). The rows are sorted
    by their prediction, and every (N / n)-th is taken from a random start. Every row has the same
    probability, so means over the sample estimate means over all rows without weights. Every
    stratum of n' N / n consecutive predictions has n' rows in the sample.

    Parameters
    ----------
    explainer : Attributor
    source : Source
        It is read twice.
    wanted : Wanted
    n : int
    entropy : int
    """
    if source.once:
        raise ValueError(
            f"{OWNER} got n_sample={n} and an iterator, which can be read only once: pass a table,"
            f" a list of tables, or a path."
        )
    found = [_predictions(explainer, batch) for batch in batches(source, wanted, BATCH_ROWS)]
    predicted = np.concatenate(found) if found else np.empty((0, 1))
    total = len(predicted)
    n = min(n, total)
    column = int(np.argmax(np.nan_to_num(predicted.var(axis=0)))) if total else 0
    order = np.argsort(predicted[:, column], kind="stable")
    start = generator(entropy, Stream.SAMPLE).random()
    positions = np.sort(order[((start + np.arange(n)) * (total / max(n, 1))).astype(np.intp)])

    def read(wanted: Wanted) -> Iterator[Piece]:
        first = 0
        for X, index in source.read(wanted):
            stop = first + n_rows(X)
            here = positions[slice(*np.searchsorted(positions, (first, stop)))]
            if len(here):
                own = pd.Index(here) if index is None else index[here - first]
                yield take_rows(X, here - first), own
            first = stop

    return replace(source, read=read, n_rows=n)


def _predictions(explainer: Any, batch: Batch) -> np.ndarray:
    """Return the predictions of a batch, ``(r, k)``."""
    found = answers(explainer, batch.X)
    found = explainer.explain(batch.X).predictions if found is None else found
    return np.asarray(found, dtype=float).reshape(len(batch), -1)
