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
    fails : ndarray of shape (n_strips,), unsigned
        See `common_fails`.
    at : ndarray of shape (n_strips, WIDTH), int64
        The entries of pattern 0.
    subtotal : ndarray of shape (n_strips, WIDTH), int64
        The sum that each entry is added to; those beyond the last player have one of their own.
    cell : ndarray of shape (n_subtotals,), int64
        The output and player that each subtotal is added to, likewise.
    n_cells : int
    """

    group: np.ndarray
    fails: np.ndarray
    at: np.ndarray
    subtotal: np.ndarray
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
        own = patterns.T.take(self.group, axis=1)
        strip = ((own & self.fails) == 0).ravel().nonzero()[0]
        pattern = own.ravel().take(strip).astype(np.int64)
        if r > 1:
            row, strip = np.divmod(strip, len(self.group))
        at, subtotal = self.at.take(strip, axis=0), self.subtotal.take(strip, axis=0)
        at += pattern[:, None]
        if r > 1:
            subtotal += (row * len(cell))[:, None]
            cell = (cell + np.arange(r)[:, None] * (self.n_cells + 1)).ravel()
        found = table.take(at.ravel())
        subtotals = np.bincount(subtotal.ravel(), found, minlength=r * len(self.cell))
        values: Any = np.bincount(cell, subtotals, minlength=r * (self.n_cells + 1))
        return values.reshape(r, -1)[:, :-1].T


def in_strips(entries, fails, cell, n_cells) -> OpenGroups:
    """Return the open groups of some tables.

    Parameters
    ----------
    entries : list of tuple of ndarray
        For each chunk the entries of pattern 0 and the subtotals, ``(n_outputs, n_groups,
        n_columns)``, and the groups, ``(n_groups,)``.
    fails : ndarray of shape (n_groups,), unsigned
    cell : ndarray of shape (n_subtotals,), int64
        The cell of each subtotal.
    n_cells : int

    Returns
    -------
    open_groups : OpenGroups
    """
    ats, subtotals, groups = [], [], []
    for at, subtotal, group in entries:
        n_outputs, _, n_columns = at.shape
        pad = (0, 0), (0, 0), (0, -n_columns % WIDTH)
        ats.append(np.pad(at, pad).reshape(-1, WIDTH))
        padded = np.pad(subtotal, pad, constant_values=len(cell))
        subtotals.append(padded.reshape(-1, WIDTH))
        groups.append(np.tile(np.repeat(group, -(-n_columns // WIDTH)), n_outputs))
    group = np.concatenate(groups)
    return OpenGroups(
        group=group,
        fails=fails[group],
        at=np.concatenate(ats),
        subtotal=np.concatenate(subtotals),
        cell=np.append(cell, n_cells),
        n_cells=n_cells,
    )
