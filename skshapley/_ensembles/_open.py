"""Tables looked up at the groups alone that some coalition of an instance and a reference reaches.

A group is *closed* to an instance that fails a player above it whom every reference fails too: no
coalition comes to its leaves, and what its table holds for the instance is zero. Against a single
reference some five groups of six are closed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# References beyond which hardly any group is closed
MOST_REFERENCES = 64
# Share of the open groups from which on all are looked up
OPEN_SHARE = 0.5
# Players of a group that are looked up together
WIDTH = 8


def common_fails(groups, references) -> NDArray[Any] | None:
    """Return the players above each group whom all references fail, as bits of its pattern.

    Parameters
    ----------
    groups : Groups
    references : ndarray of shape (n_rows, b), unsigned
        Codes.

    Returns
    -------
    fails : ndarray of shape (n_groups,), unsigned, or None
        None where many groups are open: those of an instance that fails each player at even odds.
    """
    if references.shape[1] > MOST_REFERENCES:
        return None
    n_above = groups.paths.n_above[groups.roots]
    dtype = groups.reader.dtype
    above = (dtype.type(1) << n_above.astype(dtype)) - dtype.type(1)
    fails = np.bitwise_and.reduce(groups.patterns(references), axis=1) & above
    open_share = np.mean(0.5 ** np.bitwise_count(fails))
    return fails if open_share <= OPEN_SHARE else None


@dataclass(frozen=True, eq=False)
class OpenGroups:
    """What is looked up for an instance at the groups that are open to it.

    The players of a group are looked up in strips of some.

    Attributes
    ----------
    group : ndarray of shape (n_strips,), int64
    fails : ndarray of shape (n_strips, 1), unsigned
        See `common_fails`.
    at : ndarray of shape (n_strips, WIDTH), int64
        The entries of pattern 0.
    subtotal : ndarray of shape (n_strips, WIDTH), int64
        The sum that each entry is added to; those beyond the last player have one of their own.
    n_summed : int
        The strips from here on are those of single leaves.
    own : ndarray of shape (n_strips - n_summed,), int64
        Of these the entry of pattern 0 that is added to each.
    bit : ndarray of shape (n_strips - n_summed, WIDTH), int64
        The player that joins the pattern of each.
    cell : ndarray of shape (n_subtotals,), int64
        The output and player that each subtotal is added to, likewise.
    n_cells : int
    """

    group: np.ndarray
    fails: np.ndarray
    at: np.ndarray
    subtotal: np.ndarray
    n_summed: int
    own: np.ndarray
    bit: np.ndarray
    cell: np.ndarray
    n_cells: int

    def values(self, table, patterns) -> NDArray[np.float64]:
        """Return the sums of all cells, ``(n_cells, r)``, in the order of groups and chunks.

        Parameters
        ----------
        table : ndarray of shape (n_entries,)
        patterns : ndarray of shape (n_groups, r), unsigned
        """
        r, cell = patterns.shape[1], self.cell
        own = patterns.take(self.group, axis=0)
        strip = ((own & self.fails) == 0).ravel().nonzero()[0]
        pattern = own.ravel().take(strip).astype(np.int64)
        if r > 1:
            strip, row = np.divmod(strip, r)
        subtotal = self.subtotal.take(strip, axis=0)
        if r > 1:
            subtotal += (row * len(cell))[:, None]
            cell = (cell + np.arange(r)[:, None] * (self.n_cells + 1)).ravel()
        found = self._look_up(table, strip, pattern)
        subtotals = np.bincount(subtotal.ravel(), found.ravel(), minlength=r * len(self.cell))
        values: Any = np.bincount(cell, subtotals, minlength=r * (self.n_cells + 1))
        return values.reshape(r, -1)[:, :-1].T

    def _look_up(self, table, strip, pattern) -> NDArray[np.float64]:
        """Return the entries of strips in ascending order, ``(n, WIDTH)``."""
        at, n = self.at.take(strip, axis=0), int(strip.searchsorted(self.n_summed))
        if n == len(strip):
            at += pattern[:, None]
            return table.take(at)
        at[:n] += pattern[:n, None]
        single, pattern = strip[n:] - self.n_summed, pattern[n:]
        at[n:] += pattern[:, None] | self.bit.take(single, axis=0)
        found = table.take(at)
        found[n:] += table.take(self.own.take(single) + pattern)[:, None]
        return found


def in_strips(found, fails) -> OpenGroups:
    """Return the open groups of some tables.

    Parameters
    ----------
    found : Found
    fails : ndarray of shape (n_groups,), unsigned
    """
    none = np.empty((0, WIDTH), dtype=np.int64)
    ats, subtotals, groups, owns, bits = [none], [none], [], [none[:, 0]], [none]
    for at, subtotal, group, own, bit in found.entries:
        n_outputs, n_groups, n_columns = at.shape
        n_strips = -(-n_columns // WIDTH)
        pad = (0, 0), (0, 0), (0, -n_columns % WIDTH)
        ats.append(np.pad(at, pad).reshape(-1, WIDTH))
        padded = np.pad(subtotal, pad, constant_values=len(found.cells))
        subtotals.append(padded.reshape(-1, WIDTH))
        groups.append(np.tile(np.repeat(group, n_strips), n_outputs))
        if own is not None:
            owns.append(np.repeat(own.ravel(), n_strips))
            joining = np.pad(bit, pad[2]).reshape(-1, WIDTH)
            bits.append(np.tile(joining, (n_outputs * n_groups, 1)))
    group, own = np.concatenate(groups), np.concatenate(owns)
    return OpenGroups(
        group=group,
        fails=fails[group][:, None],
        at=np.concatenate(ats),
        subtotal=np.concatenate(subtotals),
        n_summed=len(group) - len(own),
        own=own,
        bit=np.concatenate(bits),
        cell=np.append(found.cells, found.n_cells),
        n_cells=found.n_cells,
    )
