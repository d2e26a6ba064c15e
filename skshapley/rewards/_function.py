"""Any cooperative game given as a function of coalitions."""

from numbers import Real

import numpy as np
from numpy.typing import NDArray

from skshapley.exceptions import ModelOutputError
from skshapley.rewards._game import Game

LARGEST = 1e306  # leaves room for differences and sums


def as_floats(raw) -> np.ndarray | None:
    """Return `raw` as a float64 array; None if it holds anything but real numbers.

    numpy would read the text "1" as a number. It is refused, since class labels often look so.
    """
    values = np.asarray(raw)
    if values.dtype.kind == "O":
        real = all(isinstance(value, (Real, np.bool_)) for value in values.ravel())
    else:
        real = values.dtype.kind in "biuf"
    return values.astype(np.float64, copy=False) if real else None


def flaw(values: np.ndarray) -> tuple[str, np.ndarray] | None:
    """Return what is wrong with values, and where; None if nothing is."""
    wrong = ~(np.abs(values) <= LARGEST)
    if not wrong.any():
        return None
    finite = np.isfinite(values).all()
    return f"numbers beyond {LARGEST:.0e}" if finite else "NaN or infinity", wrong


class FunctionGame(Game):
    """The game of a function from boolean coalitions ``(m, p)`` to values ``(m,)`` or ``(m, k)``.

    It has one instance. The empty and the full coalition are evaluated once, when it is made.

    Parameters
    ----------
    function : callable
    n_players : int

    Raises
    ------
    ModelOutputError
        If the function returns NaN or infinity, or another number of values than coalitions.
    """

    n_rows = 1

    def __init__(self, function, n_players) -> None:
        self.function, self.n_players = function, n_players
        self.bytes_per_row = n_players
        ends = np.zeros((2, n_players), dtype=bool)
        ends[1] = True
        raw = function(ends)
        self.one_output = np.ndim(raw) < 2
        self.n_outputs = 1 if self.one_output else np.shape(raw)[1]
        self._ends = self._checked(raw, 2)

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the values of coalitions, ``(r, m, k)``."""
        r, m, p = coalitions.shape
        # a copy, since the function may write into it
        raw = self.function(np.array(coalitions).reshape(-1, p))
        return self._checked(raw, r * m).reshape(r, m, self.n_outputs)

    def _checked(self, raw, n) -> NDArray[np.float64]:
        """Return the values of n coalitions as ``(n, k)`` float64, or refuse them."""
        shape = (n,) if self.one_output else (n, self.n_outputs)
        if np.shape(raw) != shape:
            raise ModelOutputError(
                f"The reward returned values of shape {np.shape(raw)} for {n} coalitions, instead"
                f" of {shape}; it must return one value (or one row of values) per coalition."
            )
        values = as_floats(raw)
        if values is None:
            raise ModelOutputError(
                f"The reward returned values that are not numbers, such as {np.ravel(raw)[0]!r}; it"
                f" must return one number (or one row of numbers) per coalition."
            )
        wrong = flaw(values)
        if wrong is not None:
            raise ModelOutputError(
                f"The reward returned {wrong[0]} in {wrong[1].sum()} values of {n} coalitions;"
                f" every coalition needs a finite value, of at most {LARGEST:.0e}."
            )
        return values.reshape(n, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty), ``(r, 1, k)``."""
        return np.repeat(self._ends[None, :1], len(rows), axis=0)

    def full(self, rows) -> NDArray[np.float64]:
        """Return v(all), ``(r, k)``."""
        return np.repeat(self._ends[1:], len(rows), axis=0)
