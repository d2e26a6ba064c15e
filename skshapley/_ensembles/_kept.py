"""The tables that are kept from fit on, looked up chunk by chunk, or for a few rows all at once."""

from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._few_patterns import FewPatterns
from skshapley._ensembles._first_rows import FirstRows, LeafLaw
from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._open import OpenGroups, common_fails, open_groups
from skshapley._ensembles._places import Places, find_entries
from skshapley._ensembles._solved import SolvedChunk, single_table
from skshapley._ensembles._tables import add_columns, look_up, owner_of

# Entries that are looked up at once
FEW_ENTRIES = 1 << 21
# Instances for which it is worked out how a few are looked up, which takes as long as some hundred
FEW = 40
# Instances that are looked up where they are open, once that is known; more go by chunks faster
FEW_OPEN = 160
# Tables are made when more rows than these have come: they cost as much as some ten rows without
FEW_ROWS = 10
# The rows that a call without tables costs, even of a single one
CALL_ROWS = 2


class Tables(NamedTuple):
    """The tables of some chunks.

    Attributes
    ----------
    flat : ndarray
        One after another.
    entries : list of ndarray of shape (len(outputs), n_planes, n_groups * 2 ** n_bits)
        The same, chunk by chunk.
    """

    flat: np.ndarray
    entries: list[np.ndarray]


def make_tables(laws, index, grid) -> Tables:
    """Return the tables of some chunks.

    Parameters
    ----------
    laws : list of LeafLaw
    index : {"shapley", "banzhaf"}
    grid : float
        See `grid_of`.
    """
    ends = np.cumsum([0, *(one.chunk.table_size for one in laws)])
    flat, entries = np.empty(ends[-1]), []
    for one, (first, last) in zip(laws, pairwise(ends.tolist()), strict=True):
        chunk = one.chunk
        room = flat[first:last].reshape(len(chunk.outputs), chunk.n_planes, -1)
        if chunk.is_single_leaves:
            single_table(chunk, one.law, one.values, index, grid, room)
        else:
            SolvedChunk.of(chunk, one.masks, one.law, one.values, index, grid).table(room)
        entries.append(room)
    return Tables(flat, entries)


class KeptTables:
    """The tables of some chunks, one after another in one array.

    They are made when so many rows have come that it is worth it. The first rows are explained
    from the laws of the leaves, see `FirstRows`. No bit of the values depends on it.

    Parameters
    ----------
    chunks : iterable of (Groups, Chunk)
        Chunks of the same groups stand next to each other.
    n_outputs, n_players : int
    index : {"shapley", "banzhaf"}
    grid : float
        See `grid_of`.
    codes : Codes
    references : ndarray of shape (n_rows, b), unsigned, or None, default=None
        Codes of the references, where there are any.

    Attributes
    ----------
    chunks : list of (Groups, Chunk)
    tables : Tables or None
        None until they are made.
    n_rows : int
        The rows that have come, counted by what they cost.
    """

    def __init__(
        self,
        chunks: Iterable[tuple[Groups, Chunk]],
        n_outputs,
        n_players,
        index,
        grid,
        codes,
        references=None,
    ) -> None:
        self.chunks, self.index, self.grid = list(chunks), index, grid
        self.n_outputs, self.n_players = n_outputs, n_players
        self.codes, self.references = codes, references
        self.tables: Tables | None = None
        self._laws: dict[Chunk, LeafLaw] = {}
        self._first: FirstRows | None = None
        self.n_rows = 0
        # How many values belong to one instance
        self._n_found = sum(len(chunk.outputs) * chunk.players.size for _, chunk in self.chunks)

    def take(self, law: LeafLaw) -> None:
        """Take the law of the leaves of one of the chunks."""
        self._laws[law.chunk] = law

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
        if not self.chunks:
            return np.zeros((self.n_outputs, self.n_players, codes.shape[1]))
        laws = self._laws
        self.n_rows += max(CALL_ROWS, codes.shape[1])
        if self.tables is None and self.n_rows <= FEW_ROWS:
            return self._values_of_first([laws[chunk] for _, chunk in self.chunks], codes)
        values = np.zeros((self.n_outputs, self.n_players, codes.shape[1]))
        patterns, of, room = np.empty((0, 0)), None, self._room_of(codes.shape[1])
        parts = zip(self.chunks, self._made.entries, self._owners, strict=True)
        for (groups, chunk), entries, owner in parts:
            if groups is not of:
                of, patterns = groups, groups.patterns(codes)
            found = look_up(entries, patterns[chunk.groups], chunk, room)
            add_columns(values, chunk.outputs, owner, found)
        return values

    def _values_of_first(self, laws, codes) -> NDArray[np.float64]:
        """Return the values without tables."""
        first = self._first
        if first is None:
            ends = np.cumsum([groups.n_groups for groups in self._groups]).tolist()
            before = {id(one): n - one.n_groups for one, n in zip(self._groups, ends, strict=True)}
            starts = [before[id(groups)] + chunk.groups.start for groups, chunk in self.chunks]
            first = FirstRows.of(
                laws, starts, self.index, self.grid, self.n_outputs, self.n_players
            )
            self._first = first
        patterns = [groups.patterns(codes) for groups in self._groups]
        return first.values(np.concatenate(patterns))

    def values_of_few(self, X) -> NDArray[np.float64] | None:
        """Return the values by one call for all tables.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        values : ndarray of shape (r, n_players, n_outputs), or None
            None where the instances are many, or tables are still to be made.
        """
        r = len(X)
        if self.tables is None or self._n_found * r > FEW_ENTRIES:
            return None
        if r > FEW and (r > FEW_OPEN or not isinstance(self.__dict__.get("_way"), OpenGroups)):
            return None
        values = self._way.values(X).reshape(r, self.n_outputs, self.n_players)
        return np.ascontiguousarray(values.swapaxes(1, 2))

    def _room_of(self, r) -> NDArray[np.float64]:
        """Return room for what is found of r instances in any of the chunks."""
        sizes = [len(chunk.outputs) * chunk.players.size for _, chunk in self.chunks]
        return np.empty(max(sizes, default=0) * r)

    @cached_property
    def _owners(self) -> list[sparse.csr_array]:
        return [owner_of(chunk, self.n_players) for _, chunk in self.chunks]

    @cached_property
    def _groups(self) -> list[Groups]:
        """The groups of all blocks, in their order."""
        return list({id(groups): groups for groups, _ in self.chunks}.values())

    @property
    def _made(self) -> Tables:
        """The tables. Threads that come first at the same time all make them: the same ones."""
        laws, tables = self._laws, self.tables
        if tables is None:
            of_chunks = [laws[chunk] for _, chunk in self.chunks]
            self.tables = tables = make_tables(of_chunks, self.index, self.grid)
            self._laws, self._first = {}, None
        return tables

    @cached_property
    def _way(self) -> OpenGroups | Places:
        """How a few instances are looked up: where they are open, or everywhere."""
        flat, groups = self._made.flat, self._groups
        starts = np.cumsum([0, *(chunk.table_size for _, chunk in self.chunks)])[:-1]
        found = find_entries(self.chunks, starts, groups, self.n_outputs, self.n_players)
        answers = [one.answers for one in groups]
        if self.references is not None:
            fails = [common_fails(one, self.references) for one in groups]
            if not any(some is None for some in fails):
                way = open_groups(flat, found, fails, answers, self.codes)
                if way is not None:
                    return way
        dtype = max((one.reader.dtype for one in groups), key=lambda own: own.itemsize)
        patterns = FewPatterns.of(answers, self.codes, dtype, [one.patterns for one in groups])
        return Places.of(flat, found, patterns)
