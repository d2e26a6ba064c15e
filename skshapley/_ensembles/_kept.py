"""The tables that are kept from fit on, looked up chunk by chunk, or for a few rows all at once."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._open import OpenGroups, common_fails, in_strips
from skshapley._ensembles._tables import add_columns, look_up, owner_of

# Entries that are looked up at once, so that what is found stays in the cache
FEW_ENTRIES = 1 << 18


class KeptTables:
    """The tables of some chunks, one after another in one array.

    Parameters
    ----------
    chunks : iterable of (Groups, Chunk)
        Chunks of the same groups stand next to each other.
    n_outputs, n_players : int
    references : ndarray of shape (n_rows, b), unsigned, or None, default=None
        Codes of the references, where there are any.

    Attributes
    ----------
    chunks : list of (Groups, Chunk)
    entries : list of ndarray of shape (len(outputs), n_columns, n_groups * 2 ** n_bits)
        The table of each chunk, to be filled by the maker.
    """

    def __init__(
        self, chunks: Iterable[tuple[Groups, Chunk]], n_outputs, n_players, references=None
    ) -> None:
        self.chunks, self.n_outputs, self.n_players = list(chunks), n_outputs, n_players
        self.references = references
        sizes = [chunk.table_size for _, chunk in self.chunks]
        self._starts = np.cumsum([0, *sizes])
        self._flat = np.empty(self._starts[-1])
        self.entries = [
            self._flat[start : start + size].reshape(len(chunk.outputs), chunk.n_columns, -1)
            for start, size, (_, chunk) in zip(self._starts[:-1], sizes, self.chunks, strict=True)
        ]
        # How many entries belong to one instance
        self._n_found = sum(len(chunk.outputs) * chunk.players.size for _, chunk in self.chunks)

    def values(self, codes) -> NDArray[np.float64]:
        """Return the values of some instances.

        Parameters
        ----------
        codes : ndarray of shape (n_rows, r), unsigned

        Returns
        -------
        values : ndarray of shape (n_outputs, n_players, r)
            The same bits for any r.
        """
        if self._n_found * codes.shape[1] <= FEW_ENTRIES:
            return self._values_of_few(codes)
        values = np.zeros((self.n_outputs, self.n_players, codes.shape[1]))
        patterns, of = np.empty((0, 0)), None
        parts = zip(self.chunks, self.entries, self._owners, strict=True)
        for (groups, chunk), entries, owner in parts:
            if groups is not of:
                of, patterns = groups, groups.patterns(codes)
            found = look_up(entries, patterns[chunk.groups], chunk.n_bits)
            add_columns(values, chunk.outputs, owner, found)
        return values

    def _values_of_few(self, codes) -> NDArray[np.float64]:
        """Return the values by one call for all tables, with the sums in the same order."""
        r = codes.shape[1]
        if not self.chunks:
            return np.zeros((self.n_outputs, self.n_players, r))
        patterns = [groups.patterns(codes) for groups in self._groups]
        pattern = patterns[0] if len(patterns) == 1 else np.concatenate(patterns)
        if self._open is not None:
            values = self._open.values(self._flat, pattern)
        else:
            at, group, columns, chunks = self._places
            found = self._flat.take(at + pattern.take(group, axis=0).astype(np.int64))
            # First the columns of a chunk are summed, and then the chunks, as for many rows.
            values = chunks @ (columns @ found)
        return values.reshape(self.n_outputs, self.n_players, r)

    @cached_property
    def _owners(self) -> list[sparse.csr_array]:
        return [owner_of(chunk, self.n_players) for _, chunk in self.chunks]

    @cached_property
    def _groups(self) -> list[Groups]:
        """The groups of all blocks, in their order."""
        return list({id(groups): groups for groups, _ in self.chunks}.values())

    @cached_property
    def _open(self) -> OpenGroups | None:
        """The groups that are open to instances; None where that is most of them."""
        if self.references is None:
            return None
        found = [common_fails(groups, self.references) for groups in self._groups]
        fails = [some for some in found if some is not None]
        if not fails or len(fails) < len(found):
            return None
        cells, entries = self._entries
        n_cells = self.n_outputs * self.n_players
        return in_strips(entries, np.concatenate(fails), cells, n_cells)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray, sparse.csr_array, sparse.csr_array]:
        """The entries that belong to an instance, over outputs, groups and columns of each table.

        Returns
        -------
        at : ndarray of shape (n_found, 1), int64
            The entry of pattern 0.
        group : ndarray of shape (n_found,), int64
            The group whose pattern is added.
        columns : sparse array of shape (n_subtotals, n_found)
            Sums the columns of one player, output and chunk.
        chunks : sparse array of shape (n_outputs * n_players, n_subtotals)
            Sums those of all chunks, one after another.
        """
        cells, entries = self._entries
        members = [np.broadcast_to(group[:, None], at.shape) for at, _, group in entries]
        at, subtotal, group = (
            np.concatenate([part.ravel() for part in parts])
            for parts in ([one[0] for one in entries], [one[1] for one in entries], members)
        )
        columns = _sums(subtotal, len(cells))
        return at[:, None], group, columns, _sums(cells, self.n_outputs * self.n_players)

    @property
    def _entries(self) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray, np.ndarray]]]:
        """The entries that belong to an instance, table by table.

        Returns
        -------
        cells : ndarray of shape (n_subtotals,), int64
            The output and player that each subtotal of a table is added to, table by table.
        entries : list of tuple of ndarray
            The entries of pattern 0 and their subtotals, ``(len(outputs), n_groups, n_columns)``,
            and the groups, ``(n_groups,)``.
        """
        offsets = np.cumsum([0] + [one.n_groups for one in self._groups])
        first = {id(one): int(k) for one, k in zip(self._groups, offsets[:-1], strict=True)}
        n_cells = self.n_outputs * self.n_players
        cells, entries, n_subtotals = [], [], 0
        for start, (groups, chunk) in zip(self._starts, self.chunks, strict=False):
            n = len(chunk.outputs), *chunk.players.shape
            at = start + (np.arange(np.prod(n)).reshape(n) << chunk.n_bits)
            cell = chunk.outputs[:, None, None] * self.n_players + chunk.players
            used = np.bincount(cell.ravel(), minlength=n_cells) > 0
            subtotal = (n_subtotals - 1 + np.cumsum(used))[cell]
            cells.append(np.flatnonzero(used))
            n_subtotals += len(cells[-1])
            group = first[id(groups)] + chunk.groups.start + np.arange(chunk.n_groups)
            entries.append((at.swapaxes(1, 2), subtotal.swapaxes(1, 2), group))
        return np.concatenate(cells), entries


def _sums(owner, n) -> sparse.csr_array:
    """Return the matrix ``(n, len(owner))`` that adds each of some numbers to its owner, in order.

    All are added to zero first, so no bit tells these sums from those of `add_columns`.
    """
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(n + 1))
    return sparse.csr_array((np.ones(len(owner)), order, first), shape=(n, len(owner)))
