"""Tables looked up at the groups alone that some coalition of an instance and a reference reaches.

A group is *closed* to an instance that fails a player above it whom every reference fails too: no
coalition comes to its leaves, and what its table holds for the instance is zero. Against a single
reference some five groups of six are closed. So their tables are laid out anew: the bits of those
players become one, which says that the group is closed, and what a pattern of the other bits holds
stands side by side.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._answers import Answers
from skshapley._ensembles._few_patterns import BITS, FewPatterns, in_bytes

# References beyond which hardly any group is closed
MOST_REFERENCES = 64
# Share of the open groups from which on all are looked up
OPEN_SHARE = 0.5
# Players of a group that are looked up together
WIDTH = 8
# Tables that take more than so many times the room of those that they are made of are not made
MOST_ROOM = 2
# An array is compared with this one in half the time that Python's own zero takes
ZERO = np.zeros((), dtype=np.int8)


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
    patterns : FewPatterns
        Signed, negative where a group is closed.
    group : ndarray of shape (n_strips,), int64, or None
        That of each strip.
        None where every strip has a pattern of its own.
    start : ndarray of shape (n_strips,), int64
        The row of the table for pattern 0.
    table : ndarray of shape (n, WIDTH)
    cell : ndarray of shape (n_strips, WIDTH), int64
        The output and player that each entry is added to; those beyond the last player have a cell
        of their own.
    n_cells : int
    """

    patterns: FewPatterns
    group: np.ndarray | None
    start: np.ndarray
    table: np.ndarray
    cell: np.ndarray
    n_cells: int

    def values(self, X) -> NDArray[np.float64]:
        """Return the sums of all cells, ``(r, n_cells)``.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        """
        r, n, own = len(X), self.n_cells + 1, self.patterns(X)
        if self.group is not None:
            own = own.take(self.group, axis=1)
        own = own.ravel()
        strip = (own >= ZERO).nonzero()[0]
        pattern = own.take(strip)
        if r > 1:
            row, strip = np.divmod(strip, len(self.start))
        at = self.start.take(strip)
        at += pattern
        cell = self.cell.take(strip, axis=0)
        if r > 1:
            cell += (row * n)[:, None]
        found = self.table.take(at, axis=0)
        values: Any = np.bincount(cell.ravel(), found.ravel(), minlength=r * n)
        return values.reshape(r, n)[:, :-1]


def open_groups(table, found, fails, answers, codes) -> OpenGroups | None:
    """Return the open groups of some tables; None where they would take much more room.

    Parameters
    ----------
    table : ndarray of shape (n_entries,)
    found : Found
    fails : list of ndarray of shape (n_groups,), unsigned
        Of each block, see `common_fails`.
    answers : list of Answers
    codes : Codes
    """
    strips = _in_strips(found)
    every = np.concatenate(fails).astype(np.uint64)
    n_free = strips.n_bits - np.bitwise_count(every[strips.group])
    if WIDTH * int((1 << n_free).sum()) > MOST_ROOM * len(table):
        return None
    dtype = np.min_scalar_type((2 << int(n_free.max())) - 1)
    numbered = [_numbered(one, some, dtype) for one, some in zip(answers, fails, strict=True)]
    signed = np.dtype(f"i{dtype.itemsize}")
    patterns = FewPatterns.of(numbered, codes, signed)
    group: NDArray[np.int64] | None = strips.group
    start = np.cumsum(1 << n_free) - (1 << n_free)
    cell = strips.cell
    parts = (
        in_bytes(patterns, strips.group, n_free)
        if len(strips.group) <= MOST_ROOM * len(every)
        else None
    )
    if parts is not None:
        patterns, place, fixed = parts
        group, start, cell = None, start[place] + (fixed << BITS), cell[place]
    return OpenGroups(
        patterns=patterns,
        group=group,
        start=start,
        table=_laid_out(table, strips, every[strips.group], n_free),
        cell=cell,
        n_cells=found.n_cells,
    )


@dataclass(frozen=True, eq=False)
class _Strips:
    """The entries of all groups, in strips.

    Attributes
    ----------
    group, n_bits : ndarray of shape (n_strips,), int64
    at, cell : ndarray of shape (n_strips, WIDTH), int64
        The entries of pattern 0, and what they are added to.
    own : ndarray of shape (n_singles,), int64
        Of the last strips, those of single leaves, the entry of pattern 0 that is added to each.
    bit : ndarray of shape (n_singles, WIDTH), int64
        The player that joins the pattern of each.
    """

    group: np.ndarray
    n_bits: np.ndarray
    at: np.ndarray
    cell: np.ndarray
    own: np.ndarray
    bit: np.ndarray


def _in_strips(found) -> _Strips:
    none = np.empty((0, WIDTH), dtype=np.int64)
    ats, cells, owns, bits = [none], [none], [none[:, 0]], [none]
    groups, sizes = [none[:, 0]], [none[:, 0]]
    for at, cell, group, n_bits, own, bit in found.entries:
        n_outputs, n_groups, n_columns = at.shape
        n_strips = -(-n_columns // WIDTH)
        ats.append(_in_rows(at, 0))
        cells.append(_in_rows(cell, found.n_cells))
        groups.append(np.tile(np.repeat(group, n_strips), n_outputs))
        sizes.append(np.full(len(groups[-1]), n_bits))
        if own is not None:
            owns.append(np.repeat(own.ravel(), n_strips))
            bits.append(np.tile(_in_rows(bit, 0), (n_outputs * n_groups, 1)))
    parts = groups, sizes, ats, cells, owns, bits
    return _Strips(*(np.concatenate(part) for part in parts))


def _in_rows(columns, filled) -> NDArray[np.int64]:
    """Return the last axis in rows of WIDTH, the last of them filled up."""
    n = columns.shape[-1]
    rows = np.full((*columns.shape[:-1], -(-n // WIDTH) * WIDTH), filled)
    rows[..., :n] = columns
    return rows.reshape(-1, WIDTH)


def _numbered(answers, fails, dtype) -> Answers:
    """Return answers that set the bits of open groups: one for all of `fails`, the highest."""
    group = np.repeat(np.arange(len(fails)), np.diff(answers.starts, append=len(answers.node)))
    bit, fails = answers.bit[:, 0], fails[group]
    below = np.bitwise_count((bit - bit.dtype.type(1)) & ~fails).astype(dtype)
    closes = dtype.type(1) << dtype.type(8 * dtype.itemsize - 1)
    new = np.where(bit & fails, closes, dtype.type(1) << below)
    new[bit == 0] = 0
    return replace(answers, bit=new[:, None])


def _laid_out(table, strips, fails, n_free) -> NDArray[np.float64]:
    """Return the entries of all patterns of the free bits, ``(n, WIDTH)``."""
    size = 1 << n_free
    strip = np.repeat(np.arange(len(size)), size)
    free = (np.arange(len(strip)) - np.repeat(np.cumsum(size) - size, size)).astype(np.int32)
    pattern, fails = np.zeros_like(free), fails.astype(np.int32).take(strip)
    for bit in range(int(strips.n_bits.max())):
        is_free = 1 - (fails >> bit & 1)
        pattern |= (free & is_free) << bit
        free >>= is_free
    single = strip - (len(size) - len(strips.own))
    n = int(np.searchsorted(single, 0))
    single, joined = single[n:], strips.at.take(strip, axis=0)
    joined[:n] += pattern[:n, None]
    joined[n:] += pattern[n:, None] | strips.bit.take(single, axis=0)
    found = table.take(joined)
    found[n:] += table.take(strips.own.take(single) + pattern[n:])[:, None]
    return found
