"""Patterns of a few instances, from what every code adds to them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Bytes that all codes may take, and those of an instance for each bit of its patterns
MOST_BYTES = 1 << 24
MOST_BYTES_PER_BIT = 40
# Words that are combined at once, so that they stay in the cache
CACHED_WORDS = 1 << 14


@dataclass(frozen=True, eq=False)
class Words:
    """The bits that each of some signs sets in the patterns of all groups.

    Attributes
    ----------
    words : ndarray of shape (n_signs, n_words), uint64
        The patterns side by side.
    n_groups : int
    dtype : dtype
        Of a pattern.
    """

    words: np.ndarray
    n_groups: int
    dtype: np.dtype

    def __call__(self, signs) -> np.ndarray:
        """Return the patterns of instances, ``(r, n_groups)``.

        Parameters
        ----------
        signs : ndarray of shape (r, n), int64
        """
        step = max(1, CACHED_WORDS // (signs.shape[1] * self.words.shape[1]))
        if len(signs) <= step:
            every = np.bitwise_or.reduce(self.words.take(signs, axis=0), axis=1)
        else:
            every = np.empty((len(signs), self.words.shape[1]), dtype=np.uint64)
            for first in range(0, len(signs), step):
                some = self.words.take(signs[first : first + step], axis=0)
                np.bitwise_or.reduce(some, axis=1, out=every[first : first + step])
        return every.view(self.dtype)[:, : self.n_groups]

    @classmethod
    def zeros(cls, n_signs, n_groups, dtype) -> "Words":
        """Return words without any bit; `bits` may be written."""
        n_words = -(-n_groups * dtype.itemsize // 8)
        return cls(np.zeros((n_signs, n_words), dtype=np.uint64), n_groups, dtype)

    def narrowed(self, n_bits) -> np.ndarray:
        """Return the first bits of every pattern, and behind them the highest: `bits`, as bytes."""
        if self.dtype.itemsize == 1:
            return self.bits
        highest = self.bits >> (8 * self.dtype.itemsize - 1) << n_bits
        return (self.bits & ((1 << n_bits) - 1) | highest).astype(np.uint8)

    @property
    def bits(self) -> np.ndarray:
        """The patterns side by side, ``(n_signs, n_groups)``, unsigned."""
        return self.words.view(f"u{self.dtype.itemsize}")[:, : self.n_groups]


@dataclass(frozen=True, eq=False)
class CodePatterns:
    """The patterns of instances by their codes, from `tabulate_codes`.

    Attributes
    ----------
    words : Words
        Of the codes of all rows, one row after the other.
    starts : ndarray of shape (n_rows,), int64
        Where the codes of each row begin.
    """

    words: Words
    starts: np.ndarray

    def __call__(self, codes) -> np.ndarray:
        """Return the patterns of instances, ``(n_groups, r)``, unsigned."""
        return self.words(codes.T + self.starts).T


def is_worth_codes(groups) -> bool:
    """Return whether the codes' table is small, and faster than the answers of all nodes."""
    bytes_per_code = groups.n_groups * groups.reader.dtype.itemsize
    of_instance = bytes_per_code * len(groups.n_codes)
    fits = bytes_per_code * int(groups.n_codes.sum()) <= MOST_BYTES
    return fits and of_instance <= MOST_BYTES_PER_BIT * groups.n_bits


def tabulate_codes(groups) -> CodePatterns:
    """Return the bits that each code sets in the patterns of some groups.

    Parameters
    ----------
    groups : Groups
    """
    sizes, dtype = groups.n_codes, groups.reader.dtype
    starts = np.cumsum(sizes) - sizes
    every = Words.zeros(int(sizes.sum()), groups.n_groups, dtype)
    changes = changes_by_row([groups.answers], sizes)
    for change, start, size in zip(changes, starts.tolist(), sizes.tolist(), strict=True):
        every.words[start : start + size] = words_of_row(change, size, groups.n_groups, dtype)
    return CodePatterns(every, starts)


def changes_by_row(answers, sizes) -> list[tuple[NDArray, ...]]:
    """Return of every code row which bits change at which codes, see `words_of_row`.

    Parameters
    ----------
    answers : list of Answers
    sizes : ndarray of shape (n_rows,), int64
        How many codes there are in each row.
    """
    parts, n = [], 0
    for one in answers:
        group, *others = _changes(one, sizes)
        parts.append([group + n, *others])
        n += len(one.starts)
    group, row, bit, low, high = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(row, kind="stable")
    bounds = np.searchsorted(row[order], np.arange(1, len(sizes)))
    of_rows = [np.split(part[order], bounds) for part in (group, bit, low, high)]
    return list(zip(*of_rows, strict=True))


def words_of_row(changes, size, n_groups, dtype) -> NDArray[np.uint64]:
    """Return the bits that each code of a row sets in all patterns, ``(size, n_words)``.

    On one code row, the nodes of a bit are set by codes up to the highest rank of one side and by
    those above the lowest rank of the other. So the bit changes at two codes at most, and all bits
    follow from their changes, code by code.

    Parameters
    ----------
    changes : tuple of ndarray
        Of each bit its group, its value, and the two codes after which it changes.
    size : int
        How many codes there are.
    n_groups : int
    dtype : dtype
        Of a pattern.
    """
    group, bit, low, high = changes
    changed = Words.zeros(size, n_groups, dtype)
    patterns = changed.words.view(f"u{dtype.itemsize}")
    flat, width = patterns.ravel(), patterns.shape[1]
    for code in (np.zeros_like(low), low + 1, high + 1):
        stays = code < size
        np.bitwise_xor.at(flat, (code * width + group)[stays], bit[stays])
    return np.bitwise_xor.accumulate(changed.words, axis=0, out=changed.words)


def _changes(answers, sizes) -> tuple[NDArray, ...]:
    """Return the group, row and value of each bit, and the two codes after which it changes.

    The first of them is -1 where no code but those above the second sets the bit.
    """
    n_answers = np.diff(answers.starts, append=len(answers.node))
    group = np.repeat(np.arange(len(n_answers)), n_answers)
    is_bit = answers.bit[:, 0] != 0
    group, node = group[is_bit], answers.node[is_bit]
    bit, right = answers.bit[is_bit, 0], answers.flip[is_bit, 0]
    row, rank = answers.row[node], answers.rank[node, 0].astype(np.int64)
    order = np.lexsort((bit, row, group))
    group, row, bit, right, rank = (part[order] for part in (group, row, bit, right, rank))
    new = (np.diff(group, prepend=-1) != 0) | (np.diff(row, prepend=-1) != 0)
    new[1:] |= bit[1:] != bit[:-1]
    first = np.flatnonzero(new)
    most = sizes[row] - 1
    low = np.maximum.reduceat(np.where(right, -1, rank), first)
    high = np.minimum.reduceat(np.where(right, rank, most), first)
    # Where they overlap, every code sets the bit
    return group[first], row[first], bit[first], np.minimum(low, high), high
