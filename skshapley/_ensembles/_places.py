"""Which entries of the tables belong to an instance, and what they are added to."""

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._few_patterns import FewPatterns


class Entries(NamedTuple):
    """The entries in the table of a chunk that belong to an instance.

    Attributes
    ----------
    at : ndarray of shape (n_outputs, n_groups, n_columns), int64
        The entries of pattern 0.
    cell : ndarray of shape (n_outputs, n_groups, n_columns), int64
        The output and player that each is added to.
    group : ndarray of shape (n_groups,), int64
        Counted over all blocks.
    n_bits : int
        Of a pattern.
    own : ndarray of shape (n_outputs, n_groups, 1), int64, or None
        Of single leaves, see `leaf_means`, the entry of pattern 0 that is added to each.
    bit : ndarray of shape (n_columns,), int64, or None
        The player that joins the pattern of those in `at`.
    """

    at: np.ndarray
    cell: np.ndarray
    group: np.ndarray
    n_bits: int
    own: np.ndarray | None = None
    bit: np.ndarray | None = None


class Found(NamedTuple):
    """The entries of all tables, those of single leaves last.

    Attributes
    ----------
    entries : list of Entries
    n_summed : int
        The chunks from here on are single leaves.
    n_cells : int
    """

    entries: list[Entries]
    n_summed: int
    n_cells: int


def find_entries(chunks, starts, all_groups, n_outputs, n_players) -> Found:
    """Return the entries that belong to an instance.

    Parameters
    ----------
    chunks : list of (Groups, Chunk)
    starts : sequence of int
        Where the table of each chunk begins.
    all_groups : list of Groups
        In the order of the chunks.
    n_outputs, n_players : int
    """
    offsets = np.cumsum([0] + [one.n_groups for one in all_groups])
    first = {id(one): int(k) for one, k in zip(all_groups, offsets[:-1], strict=True)}
    of_tables, of_singles = [], []
    for begin, (groups, chunk) in zip(starts, chunks, strict=True):
        n, size = chunk.n_groups, chunk.n_groups << chunk.n_bits
        cell = (chunk.outputs[:, None, None] * n_players + chunk.players).swapaxes(1, 2)
        group = first[id(groups)] + chunk.groups.start + np.arange(n)
        at = begin + (np.arange(n) << chunk.n_bits)[:, None]
        plane = np.arange(len(chunk.outputs) * chunk.n_planes) * size
        plane = plane.reshape(len(chunk.outputs), 1, -1)
        if chunk.is_single_leaves:
            own, joint = at + plane[..., :1], np.broadcast_to(at + plane[..., 1:], cell.shape)
            bit = 1 << np.arange(chunk.n_bits)
            of_singles.append(Entries(joint, cell, group, chunk.n_bits, own, bit))
        else:
            of_tables.append(Entries(at + plane, cell, group, chunk.n_bits))
    return Found(of_tables + of_singles, len(of_tables), n_outputs * n_players)


class Places(NamedTuple):
    """The entries of all groups, one for each output, group and column.

    Attributes
    ----------
    table : ndarray of shape (n_entries,)
    patterns : FewPatterns
    at : ndarray of shape (n_found, 1), int64
        The entry of pattern 0.
    group : ndarray of shape (n_found,), int64
        The group whose pattern is added.
    n_summed : int
        The entries from here on are those of single leaves.
    own : ndarray of shape (n_found - n_summed, 1), int64
        Of these the entry of pattern 0 that is added.
    bit : ndarray of shape (n_found - n_summed, 1), int64
        The player that joins the pattern of the first entry.
    sums : sparse array of shape (n_outputs * n_players, n_found)
        Sums the entries of every output and player.
    """

    table: np.ndarray
    patterns: FewPatterns
    at: np.ndarray
    group: np.ndarray
    n_summed: int
    own: np.ndarray
    bit: np.ndarray
    sums: sparse.csr_array

    @classmethod
    def of(cls, table: np.ndarray, found: Found, patterns: FewPatterns) -> Self:
        """Return the places of all entries of a table."""
        every, singles = found.entries, found.entries[found.n_summed :]
        none = np.empty(0, dtype=np.int64)

        def joined(arrays, parts) -> NDArray[np.int64]:
            spread = (
                np.broadcast_to(array, one.at.shape).ravel()
                for array, one in zip(arrays, parts, strict=True)
            )
            return np.concatenate([none, *spread])

        cell = joined([one.cell for one in every], every)
        return cls(
            table=table,
            patterns=patterns,
            at=joined([one.at for one in every], every)[:, None],
            group=joined([one.group[:, None] for one in every], every),
            n_summed=sum(one.at.size for one in every[: found.n_summed]),
            own=joined([one.own for one in singles], singles)[:, None],
            bit=joined([one.bit for one in singles], singles)[:, None],
            sums=_sums(cell, found.n_cells),
        )

    def values(self, X) -> NDArray[np.float64]:
        """Return the sums of all cells, ``(r, n_cells)``.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        """
        table, slot = self.table, self.patterns(X).T.take(self.group, axis=0).astype(np.int64)
        if len(self.own):
            single = slot[self.n_summed :]
            own = table.take(self.own + single)
            single |= self.bit
        slot += self.at
        found = table.take(slot)
        if len(self.own):
            found[self.n_summed :] += own
        return (self.sums @ found).T


def _sums(owner, n) -> sparse.csr_array:
    """Return the matrix ``(n, len(owner))`` that adds each of some numbers to its owner."""
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(n + 1))
    return sparse.csr_array((np.ones(len(owner)), order, first), shape=(n, len(owner)))
