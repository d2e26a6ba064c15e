"""The tables that are kept from fit on, looked up chunk by chunk, or for a few rows all at once."""

from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._solved import SolvedChunk
from skshapley._ensembles._tables import add_columns, look_up, owner_of

# Entries that are looked up at once, so that what is found stays in the cache
FEW_ENTRIES = 1 << 18
# Tables are made when more rows than these have come: their sums cost as much as 30 rows from games
FEW_ROWS = 10


class Places(NamedTuple):
    """The entries that belong to an instance: one for each output, column and group.

    Attributes
    ----------
    at : ndarray of shape (n_found, 1), int64
        The entry of pattern 0.
    group : ndarray of shape (n_found,), int64
        The group whose pattern is added.
    n_summed : int
        The entries from here on are those of single leaves, see `leaf_means`.
    own : ndarray of shape (n_found - n_summed, 1), int64
        Of these the entry of pattern 0 that is added.
    bit : ndarray of shape (n_found - n_summed, 1), int64
        The player that joins the pattern of the first entry.
    columns : sparse array of shape (n_subtotals, n_found)
        Sums the columns of one player, output and chunk.
    chunks : sparse array of shape (n_outputs * n_players, n_subtotals)
        Sums those of all chunks, one after another.
    """

    at: np.ndarray
    group: np.ndarray
    n_summed: int
    own: np.ndarray
    bit: np.ndarray
    columns: sparse.csr_array
    chunks: sparse.csr_array


class KeptTables:
    """The tables of some chunks, one after another in one array.

    Single leaves have theirs from fit on. The games of all other leaves are kept until so many
    rows have come that summing them into tables is worth it. No bit of the values depends on it.

    Parameters
    ----------
    chunks : iterable of (Groups, Chunk)
        Chunks of the same groups stand next to each other.
    n_outputs, n_players : int

    Attributes
    ----------
    chunks : list of (Groups, Chunk)
    entries : dict of Chunk to ndarray of shape (len(outputs), n_planes, n_groups * 2 ** n_bits)
        The table of each chunk; those of single leaves to be filled by the maker.
    """

    def __init__(self, chunks: Iterable[tuple[Groups, Chunk]], n_outputs, n_players) -> None:
        self.chunks, self.n_outputs, self.n_players = list(chunks), n_outputs, n_players
        sizes = [chunk.table_size for _, chunk in self.chunks]
        self._starts = np.cumsum([0, *sizes])
        self._flat = np.empty(self._starts[-1])
        self.entries = {
            chunk: self._flat[start : start + size].reshape(len(chunk.outputs), chunk.n_planes, -1)
            for start, size, (_, chunk) in zip(self._starts[:-1], sizes, self.chunks, strict=True)
        }
        self._solved: dict[Chunk, SolvedChunk] = {}
        self._n_rows = 0
        # How many values belong to one instance
        self._n_found = sum(len(chunk.outputs) * chunk.players.size for _, chunk in self.chunks)

    def take(self, solved: SolvedChunk) -> None:
        """Take the games of a chunk whose table is still to be made."""
        self._solved[solved.chunk] = solved

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
        # Threads that come first at the same time all make the tables: the same ones.
        solved, self._n_rows = self._solved, self._n_rows + codes.shape[1]
        if solved and self._n_rows > FEW_ROWS:
            for chunk, games in solved.items():
                games.table(self.entries[chunk])
            self._solved = solved = {}
        if not solved and self._n_found * codes.shape[1] <= FEW_ENTRIES:
            return self._values_of_few(codes)
        values = np.zeros((self.n_outputs, self.n_players, codes.shape[1]))
        patterns, of = np.empty((0, 0)), None
        for (groups, chunk), owner in zip(self.chunks, self._owners, strict=True):
            if groups is not of:
                of, patterns = groups, groups.patterns(codes)
            own = patterns[chunk.groups]
            if chunk in solved:
                found = solved[chunk].values(own)
            else:
                found = look_up(self.entries[chunk], own, chunk)
            add_columns(values, chunk.outputs, owner, found)
        return values

    def _values_of_few(self, codes) -> NDArray[np.float64]:
        """Return the values by one call for all tables, with the sums in the same order."""
        r = codes.shape[1]
        if not self.chunks:
            return np.zeros((self.n_outputs, self.n_players, r))
        places = self._places
        patterns = [groups.patterns(codes) for groups in self._groups]
        pattern = patterns[0] if len(patterns) == 1 else np.concatenate(patterns)
        slot = pattern.take(places.group, axis=0).astype(np.int64)
        single = slot[places.n_summed :]
        own = self._flat.take(places.own + single)
        single |= places.bit
        slot += places.at
        found = self._flat.take(slot)
        found[places.n_summed :] += own
        # First the columns of a chunk are summed, and then the chunks, as for many rows.
        values = places.chunks @ (places.columns @ found)
        return values.reshape(self.n_outputs, self.n_players, r)

    @cached_property
    def _owners(self) -> list[sparse.csr_array]:
        return [owner_of(chunk, self.n_players) for _, chunk in self.chunks]

    @cached_property
    def _groups(self) -> list[Groups]:
        """The groups of all blocks, in their order."""
        return list({id(groups): groups for groups, _ in self.chunks}.values())

    @cached_property
    def _places(self) -> Places:
        groups = self._groups
        offsets = np.cumsum([0] + [one.n_groups for one in groups])
        first = {id(one): int(offset) for one, offset in zip(groups, offsets[:-1], strict=True)}
        n_cells = self.n_outputs * self.n_players
        of_tables, of_singles = [], []
        for number, (one, chunk) in enumerate(self.chunks):
            n, size = chunk.n_groups, chunk.n_groups << chunk.n_bits
            member = first[id(one)] + chunk.groups.start + np.arange(n)
            cell = chunk.outputs[:, None, None] * self.n_players + chunk.players
            key = number * n_cells + cell
            start = self._starts[number] + (np.arange(n) << chunk.n_bits)
            if chunk.is_single_leaves:
                own = start + 2 * size * np.arange(len(chunk.outputs))[:, None, None]
                bit = 1 << np.arange(chunk.n_bits)[:, None]
                of_singles.append(_flat((own + size, member, key, own, bit), key.shape))
            else:
                plane = np.arange(len(key[..., 0].ravel())).reshape(*key.shape[:2], 1)
                of_tables.append(_flat((start + plane * size, member, key), key.shape))
        every = [part[:3] for part in of_tables + of_singles]
        at, group, key = (np.concatenate(some) for some in zip(*every, strict=True))
        n = sum(len(part[0]) for part in of_tables)
        none = np.empty(0, dtype=np.int64)
        own, bit = (np.concatenate([none, *(part[i] for part in of_singles)]) for i in (3, 4))
        columns, subtotals = _sums(key)
        cells = subtotals % n_cells
        return Places(
            at[:, None], group, n, own[:, None], bit[:, None], columns, _sums(cells, n_cells)[0]
        )


def _flat(arrays, shape) -> list[np.ndarray]:
    return [np.broadcast_to(array, shape).ravel() for array in arrays]


def _sums(owner, n=None) -> tuple[sparse.csr_array, NDArray[np.int64]]:
    """Return the matrix that adds each of some numbers to its owner, in order, and the owners.

    They are `n`, counted from 0, or by default those that own some. All numbers are added to zero
    first, so no bit tells these sums from those of `add_columns`.
    """
    order = np.argsort(owner, kind="stable")
    inorder = owner[order]
    owners = inorder[np.diff(inorder, prepend=-1) != 0] if n is None else np.arange(n)
    first = np.append(np.searchsorted(inorder, owners), len(owner))
    matrix = sparse.csr_array((np.ones(len(owner)), order, first), shape=(len(owners), len(owner)))
    return matrix, owners
