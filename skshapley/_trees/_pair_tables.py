"""Interactions of pairs of players by tables of the leaves."""

from collections.abc import Iterator

import numpy as np

from skshapley._trees._leaf_games import leaf_interactions, runs_of_leaves
from skshapley._trees._tables import ROWS, Table

# Numbers in the tables of leaves in one step
BATCH = 1 << 20


def pair_tables(block, chunk, masks, law, n_players, index) -> Iterator[Table]:
    """Yield the tables of the interactions of players ``i < j`` in a chunk.

    There are tables for each number of path players of a leaf. The sums are those of an
    array ``(n_outputs, n_players, n_players)``.

    Parameters
    ----------
    block : GroupedTrees
    chunk : Chunk
    masks, law : ndarray
        From `References.law`.
    n_players : int
    index : Index
    """
    for k, run, of_run in runs_of_leaves(chunk.n_path):
        h = law[of_run].reshape(-1, 1 << k)
        # A leaf has k (k - 1) / 2 pairs, each with a table of 2^k entries or one number
        # per row looked up.
        step = max(1, 2 * BATCH // max(1, k * (k - 1) * max(ROWS, 1 << k)))
        for at in range(run.start, run.stop if k > 1 else run.start, step):
            leaves = slice(at, min(at + step, run.stop))
            batch = h[at - run.start : leaves.stop - run.start]
            entries = leaf_interactions(np.ascontiguousarray(batch.T), index)
            values = block.trees.value[np.ix_(chunk.leaves[leaves], chunk.outputs)]
            terms = entries.swapaxes(1, 2) * values.T[:, None, :, None]
            players = chunk.leaf_players[leaves].T
            first, second = (players[places] for places in np.triu_indices(k, 1))
            # Only i < j is stored. The caller adds the transpose, which halves the
            # tables.
            keys = np.minimum(first, second) * n_players + np.maximum(first, second)
            keys = chunk.outputs[:, None, None] * n_players**2 + keys
            # Few of the p^2 pairs meet in one run of leaves, so sums are kept for these
            # pairs only.
            targets, to = np.unique(keys.ravel(), return_inverse=True)
            output, pair, leaf = np.indices(keys.shape).reshape(3, -1)
            number = np.arange(len(batch))
            yield Table(
                entries=terms.reshape(-1, batch.size),
                start=number << k,
                group=chunk.groups.start + chunk.leaf_group[leaves],
                flag=0 * number,
                owner=np.stack([leaf, output * len(entries) + pair, to]),
                n_sums=len(targets),
                masks=masks[leaves],
                places=targets,
            )
