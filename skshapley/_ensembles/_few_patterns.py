"""Patterns of a few instances in all groups, by what each of their values says to the nodes."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles._code_patterns import (
    MOST_BYTES,
    MOST_BYTES_PER_BIT,
    Words,
    tabulate_answers,
)
from skshapley._ensembles._readings import Readings, plan_readings


@dataclass(frozen=True, eq=False)
class FewPatterns:
    """The function from instances to their patterns.

    Attributes
    ----------
    codes : Codes
    answers : list of Answers
        Of each block: what is asked where there are no words.
    words : Words, or None
        Of all readings. None where they would take much room, or longer than the answers.
    readings : Readings, or None
    dtype : dtype
        Of a pattern.
    """

    codes: Any
    answers: list
    words: Words | None
    readings: Readings | None
    dtype: np.dtype

    @classmethod
    def of(cls, answers, codes, dtype) -> Self:
        """Return the function.

        Parameters
        ----------
        answers : list of Answers
        codes : Codes
        dtype : dtype
            With room for the bits of all answers.
        """
        readings = plan_readings(codes)
        if readings is None or not _is_worth_words(answers, readings, dtype.itemsize):
            return cls(codes, answers, None, None, dtype)
        words = [tabulate_answers(one, codes.sizes) for one in answers]
        return cls(codes, answers, _of_readings(words, readings, dtype), readings, dtype)

    def __call__(self, X) -> NDArray[Any]:
        """Return the patterns of instances, ``(r, n_groups)``.

        Parameters
        ----------
        X : ndarray of shape (r, n_features)
        """
        if self.words is not None and self.readings is not None:
            return self.words(self.readings(X))
        codes = self.codes(X)
        found = [one(codes) for one in self.answers]
        every = found[0] if len(found) == 1 else np.concatenate(found)
        return every.T.astype(np.dtype(f"u{self.dtype.itemsize}")).view(self.dtype)


def _is_worth_words(answers, readings, itemsize) -> bool:
    """Return whether the words are few, and faster than the answers of all nodes."""
    per_reading = itemsize * sum(len(one.starts) for one in answers)
    n_bits = sum(len(one.node) - len(one.starts) for one in answers)
    fits = per_reading * len(readings.codes) <= MOST_BYTES
    return fits and per_reading * readings.n_asked <= MOST_BYTES_PER_BIT * n_bits


def _of_readings(words, readings, dtype) -> Words:
    """Return the bits that each reading sets, from those that each code sets in every block."""
    n_groups = sum(one.n_groups for one in words)
    width = -(-n_groups * dtype.itemsize // 8) * 8 // dtype.itemsize
    every = np.zeros((len(readings.codes), width), dtype=f"u{dtype.itemsize}")
    first = 0
    for one in words:
        own = one.words.view(one.dtype)[:, : one.n_groups]
        for codes in readings.codes.T:
            every[:, first : first + one.n_groups] |= own[codes]
        first += one.n_groups
    return Words(every.view(np.uint64), n_groups, dtype)
