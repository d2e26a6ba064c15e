"""The tables that are kept from fit on, looked up chunk by chunk, or for a few rows all at once."""

from collections.abc import Iterable
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from skshapley._ensembles._few_patterns import FewPatterns
from skshapley._ensembles._groups import Chunk, Groups
from skshapley._ensembles._open import OpenGroups, common_fails, open_groups
from skshapley._ensembles._places import Places, find_entries
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
    codes : Codes
    references : ndarray of shape (n_rows, b), unsigned, or None, default=None
        Codes of the references, where there are any.

    Attributes
    ----------
    chunks : list of (Groups, Chunk)
    entries : list of ndarray of shape (len(outputs), n_planes, n_groups * 2 ** n_bits)
        The table of each chunk; those of single leaves to be filled by the maker.
    """

    def __init__(
        self, chunks: Iterable[tuple[Groups, Chunk]], n_outputs, n_players, codes, references=None
    ) -> None:
        self.chunks, self.n_outputs, self.n_players = list(chunks), n_outputs, n_players
        self.codes, self.references = codes, references
        sizes = [chunk.table_size for _, chunk in self.chunks]
        self._starts = np.cumsum([0, *sizes])
        self._flat = np.empty(self._starts[-1])
        self.entries = [
            self._flat[start : start + size].reshape(len(chunk.outputs), chunk.n_planes, -1)
            for start, size, (_, chunk) in zip(self._starts[:-1], sizes, self.chunks, strict=True)
        ]
        self._solved: list[SolvedChunk] = []
        self._n_rows = 0
        # How many values belong to one instance
        self._n_found = sum(len(chunk.outputs) * chunk.players.size for _, chunk in self.chunks)

    def take(self, solved: SolvedChunk) -> None:
        """Take the games of a chunk whose table is still to be made."""
        self._solved.append(solved)

    def room(self, chunk: Chunk) -> np.ndarray:
        """Return where the table of a chunk is written."""
        pairs = zip(self.chunks, self.entries, strict=True)
        return next(entries for (_, own), entries in pairs if own is chunk)

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
        solved = {one.chunk: one for one in self._solved}
        self._n_rows += codes.shape[1]
        if solved and self._n_rows > FEW_ROWS:
            for chunk, games in solved.items():
                games.table(self.room(chunk))
            solved, self._solved = {}, []
        values = np.zeros((self.n_outputs, self.n_players, codes.shape[1]))
        patterns, of, room = np.empty((0, 0)), None, self._room_of(codes.shape[1])
        parts = zip(self.chunks, self.entries, self._owners, strict=True)
        for (groups, chunk), entries, owner in parts:
            if groups is not of:
                of, patterns = groups, groups.patterns(codes)
            own = patterns[chunk.groups]
            if chunk in solved:
                found = solved[chunk].values(own)
            else:
                found = look_up(entries, own, chunk, room)
            add_columns(values, chunk.outputs, owner, found)
        return values

    def values_of_few(self, X) -> NDArray[np.float64] | None:
        """Return the values by one call for all tables, with the sums in the same order.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)

        Returns
        -------
        values : ndarray of shape (r, n_players, n_outputs), or None
            None where the instances are many, or tables are still to be made.
        """
        r = len(X)
        if self._solved or self._n_found * r > FEW_ENTRIES or not self.chunks:
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

    @cached_property
    def _way(self) -> OpenGroups | Places:
        """How a few instances are looked up: where they are open, or everywhere."""
        starts, groups = self._starts[:-1], self._groups
        found = find_entries(self.chunks, starts, groups, self.n_outputs, self.n_players)
        answers = [one.answers for one in groups]
        if self.references is not None:
            fails = [common_fails(one, self.references) for one in groups]
            if not any(some is None for some in fails):
                way = open_groups(self._flat, found, fails, answers, self.codes)
                if way is not None:
                    return way
        dtype = max((one.reader.dtype for one in groups), key=lambda own: own.itemsize)
        patterns = FewPatterns.of(answers, self.codes, dtype, [one.patterns for one in groups])
        return Places.of(self._flat, found, patterns)
