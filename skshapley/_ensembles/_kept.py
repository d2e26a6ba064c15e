"""The tables that are kept from fit on, looked up chunk by chunk, or for a few rows all at once."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._open import OpenGroups, common_fails, in_strips
from skshapley._ensembles._places import Found, Places, find_entries
from skshapley._ensembles._solved import SolvedChunk
from skshapley._ensembles._tables import add_columns, look_up, owner_of

# Entries that are looked up at once, so that what is found stays in the cache
FEW_ENTRIES = 1 << 18
# Tables are made when more rows than these have come: their sums cost as much as 30 rows from games
FEW_ROWS = 10


class KeptTables:
    """The tables of some chunks, one after another in one array.

    Single leaves have theirs from fit on. The games of all other leaves are kept until so many
    rows have come that summing them into tables is worth it. No bit of the values depends on it.

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
    entries : dict of Chunk to ndarray of shape (len(outputs), n_planes, n_groups * 2 ** n_bits)
        The table of each chunk; those of single leaves to be filled by the maker.
    """

    def __init__(
        self, chunks: Iterable[tuple[Groups, Chunk]], n_outputs, n_players, references=None
    ) -> None:
        self.chunks, self.n_outputs, self.n_players = list(chunks), n_outputs, n_players
        self.references = references
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
                of, patterns = groups, groups.patterns(codes, tabulated=not solved)
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
        patterns = [groups.patterns(codes) for groups in self._groups]
        pattern = patterns[0] if len(patterns) == 1 else np.concatenate(patterns)
        way = self._places if self._open is None else self._open
        return way.values(self._flat, pattern).reshape(self.n_outputs, self.n_players, r)

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
        return in_strips(self._find(), np.concatenate(fails))

    @cached_property
    def _places(self) -> Places:
        return Places.of(self._find())

    def _find(self) -> Found:
        starts = self._starts[:-1]
        return find_entries(self.chunks, starts, self._groups, self.n_outputs, self.n_players)
