"""Patterns of a few instances in all groups, by what each of their values says to the nodes."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._code_patterns import (
    MOST_BYTES_PER_BIT,
    Words,
    changes_by_row,
    words_of_row,
)
from skshapley._ensembles._readings import Readings, plan_readings

# Bytes that the patterns of all readings may take
MOST_BYTES = 1 << 26
# Bits of a pattern of one byte, beside the one that says that a group is closed
BITS = 7


@dataclass(frozen=True, eq=False)
class FewPatterns:
    """The function from instances to their patterns.

    Attributes
    ----------
    codes : Codes
    ask : list of callable
        Return the patterns ``(n_groups, r)`` in each block from codes, where there are no words.
    words : Words, or None
        Of all readings. None where they would take much room, or longer than the answers.
    readings : Readings, or None
    dtype : dtype
        Of a pattern.
    """

    codes: Any
    ask: list
    words: Words | None
    readings: Readings | None
    dtype: np.dtype

    @classmethod
    def of(cls, answers, codes, dtype, ask=None) -> Self:
        """Return the function.

        Parameters
        ----------
        answers : list of Answers
        codes : Codes
        dtype : dtype
            With room for the bits of all answers.
        ask : list of callable or None, default=None
            None: the answers.
        """
        readings, ask = plan_readings(codes), answers if ask is None else ask
        if readings is None or not _is_worth_words(answers, readings, dtype.itemsize):
            return cls(codes, ask, None, None, dtype)
        words = tabulate_readings(answers, codes.sizes, readings, dtype)
        return cls(codes, ask, words, readings, dtype)

    def __call__(self, X) -> NDArray[Any]:
        """Return the patterns of instances, ``(r, n_groups)``.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        """
        if self.words is not None and self.readings is not None:
            return self.words(self.readings(X))
        codes = self.codes(X)
        found = [one(codes) for one in self.ask]
        every = found[0] if len(found) == 1 else np.concatenate(found)
        return every.T.astype(np.dtype(f"u{self.dtype.itemsize}")).view(self.dtype)


def _is_worth_words(answers, readings, itemsize) -> bool:
    """Return whether the words are few, and faster than the answers of all nodes."""
    per_reading = itemsize * sum(len(one.starts) for one in answers)
    n_bits = sum(len(one.node) - len(one.starts) for one in answers)
    fits = per_reading * len(readings.codes) <= MOST_BYTES
    return fits and per_reading * len(readings.starts) <= MOST_BYTES_PER_BIT * n_bits


def tabulate_readings(answers, sizes, readings, dtype) -> Words:
    """Return the bits that each reading sets, from those that the codes of its rows set.

    Parameters
    ----------
    answers : list of Answers
    sizes : ndarray of shape (n_rows,), int64
        How many codes there are in each row.
    readings : Readings
    dtype : dtype
    """
    n_groups = sum(len(one.starts) for one in answers)
    every = Words.zeros(len(readings.codes), n_groups, dtype)
    changes = changes_by_row(answers, sizes)
    starts = np.cumsum(sizes) - sizes
    ends = np.append(readings.starts[1:], len(readings.codes))
    for begin, end in zip(readings.starts.tolist(), ends.tolist(), strict=True):
        rows = starts.searchsorted(readings.codes[begin], "right") - 1
        for row, codes in zip(rows.tolist(), readings.codes[begin:end].T, strict=True):
            words = words_of_row(changes[row], int(sizes[row]), n_groups, dtype)
            every.words[begin:end] |= words.take(codes - starts[row], axis=0)
    return every


def in_bytes(patterns, group, n_free) -> tuple[FewPatterns, NDArray, NDArray] | None:
    """Return patterns of one byte, of groups in the order in which they are looked up.

    A group of more bits is taken apart by those beyond the first seven: into parts that are closed
    to all instances but those with certain values of these bits.

    Parameters
    ----------
    patterns : FewPatterns
        Negative where a group is closed.
    group : ndarray of shape (n,), int64
        The groups, each at most a few times.
    n_free : ndarray of shape (n,), int64
        How many bits the patterns of each have.

    Returns
    -------
    patterns : FewPatterns
    place, fixed : ndarray of shape (n_parts,), int64
        The place of each part in `group`, and the bits beyond the first seven.
    None where several features have a say in such a bit, or without words.
    """
    if patterns.words is None:
        return None
    n_parts = 1 << np.maximum(n_free - BITS, 0)
    place = np.repeat(np.arange(len(group)), n_parts)
    fixed = np.arange(len(place)) - np.repeat(np.cumsum(n_parts) - n_parts, n_parts)
    shut = _shut(patterns, group, n_free, n_parts, fixed)
    if shut is None:
        return None
    words = Words.zeros(len(patterns.words.words), len(place), np.dtype(np.int8))
    _copy_columns(patterns.words.narrowed(BITS), group[place], words.bits)
    words.bits[:, n_parts[place] > 1] |= shut.T.view(np.uint8) << np.uint8(BITS)
    return replace(patterns, words=words, dtype=words.dtype), place, fixed


def _shut(patterns, group, n_free, n_parts, fixed) -> NDArray[np.bool_] | None:
    """Return which readings shut the parts of groups that are taken apart, ``(n, n_readings)``.

    None where several features have a say in a bit that tells parts from each other.
    """
    apart, starts, bits = n_parts > 1, patterns.readings.starts, patterns.words.bits
    n_free, n_parts, fixed = n_free[apart], n_parts[apart], fixed[np.repeat(apart, n_parts)]
    own = np.ascontiguousarray(bits.take(group[apart], axis=1).T)
    place, feature = np.repeat(np.arange(len(own)), n_parts), np.arange(len(starts))
    feature = np.repeat(feature, np.diff(starts, append=len(bits)))
    shut = np.zeros((len(place), len(bits)), dtype=bool)
    for shift in range(BITS, int(n_free.max(initial=0))):
        is_set = (own >> shift & 1).astype(bool)
        asked = np.logical_or.reduceat(is_set, starts, axis=1)
        if (asked.sum(axis=1) > 1).any():
            return None
        # A part that wants the bit is shut by those readings of its feature that do not set it
        is_unset = (asked.argmax(axis=1)[:, None] == feature) & ~is_set
        some = np.flatnonzero(n_free[place] > shift)
        wanted = fixed[some] >> (shift - BITS) & 1
        shut[some] |= np.stack([is_set, is_unset])[wanted, place[some]]
    return shut


def _copy_columns(source, columns, out) -> None:
    """Write some columns of a table next to each other, run by run: most follow one another."""
    bounds = np.flatnonzero(np.diff(columns, prepend=-2, append=-2) != 1)
    for first, last in pairwise(bounds.tolist()):
        begin = columns[first]
        out[:, first:last] = source[:, begin : begin + last - first]
