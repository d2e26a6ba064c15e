"""The terms of a sum: closed forms, each with what it sees of the input."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._tables._inputs import as_array, is_frame, take_rows
from skshapley.closed_forms._base import ClosedForm
from skshapley.exceptions import UnreadableModelError


@dataclass(frozen=True, eq=False)
class View:
    """The columns that a part of a model sees, each made of one column of the whole model's input.

    Attributes
    ----------
    source : ndarray of shape (D,), int
        The column of the input that each column is made of.
    width : int
        Number of columns d of the input.
    steps : tuple of fitted transformers
        They make the columns. Without any, the columns named by `source` are taken as they are.
    """

    source: NDArray[np.intp]
    width: int
    steps: tuple = ()

    def __call__(self, X: Any) -> Any:
        """Return the columns that the part sees, of a table ``(n, d)``."""
        if not self.steps:
            X = as_array(X) if is_frame(X) else X
            return X[:, self.source]
        X = take_rows(X, np.arange(X.shape[0]))  # a copy: some transformers write into their input
        for step in self.steps:
            X = step.transform(X)
        return X


@dataclass(frozen=True, eq=False)
class Part:
    """A term of a sum: a closed form, and what it sees of the input; None for all of it."""

    form: ClosedForm
    view: View | None = None

    def __call__(self, X: Any) -> Any:
        """Return the table that the form takes."""
        return X if self.view is None else self.view(X)

    def owners(self, column_player: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the player of each column that the form takes."""
        if self.view is None:
            return column_player
        if len(column_player) != self.view.width:
            raise UnreadableModelError(
                f"A part of the model was fitted on {self.view.width} columns, and the background"
                f" has {len(column_player)}",
                "explain it by sampling",
            )
        return column_player[self.view.source]
