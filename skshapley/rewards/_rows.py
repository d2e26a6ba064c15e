"""Hybrid rows: the instance where a player is present, a background row where it is absent.

Each column of instances and background is joined once into a pool; a block of hybrid rows is then
one gather. Columns are gathered, never cast, so that dtypes and categories reach the model as they
came.
"""

from abc import ABC, abstractmethod

import numpy as np
import pandas as pd

from skshapley._inputs import is_frame

CHUNK_ROWS = 8192
BLEND_BYTES = 2**17


def row_pool(X, background, column_player) -> "RowPool":
    """Return the pool that fits the container of the background."""
    if not is_frame(background):
        return ArrayPool(np.asarray(X), np.asarray(background), column_player)
    if not isinstance(background, pd.DataFrame):
        return NarwhalsPool(X, background, column_player)
    kinds = set(background.dtypes) | set(X.dtypes)
    if len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype):
        return UniformFramePool(X, background, column_player)
    return FramePool(X, background, column_player)


class RowPool(ABC):
    """Instances ``(r, d)`` and background ``(b, d)`` in one container.

    Parameters
    ----------
    X, background : array or frame
    column_player : ndarray of shape (d,), int
    """

    def __init__(self, X, background, column_player):
        self.X, self.background, self.column_player = X, background, column_player
        self.n_background = len(background)
        n_columns = len(column_player)
        self._columns = None if (column_player == np.arange(n_columns)).all() else column_player

    @property
    def bytes_per_row(self):
        """Memory of one hybrid row, roughly."""
        return 24 * len(self.column_player)

    def hybrid(self, coalitions, rows, references):
        """Return hybrid rows in the background's container.

        Parameters
        ----------
        coalitions : ndarray of shape (n, p), bool
        rows : ndarray of shape (n,), int
        references : ndarray of shape (n, q), int

        Returns
        -------
        hybrid : array or frame of n q rows
        """
        present = coalitions if self._columns is None else coalitions[:, self._columns]
        return self._gather(present, rows, references)

    @abstractmethod
    def _gather(self, present, rows, references):
        """Return hybrid rows; `present` is ``(n, d)``, by column."""

    @abstractmethod
    def differs(self) -> np.ndarray:
        """Return where an instance differs from some background row, ``(r, d)`` bool."""

    @abstractmethod
    def take(self, rows) -> "RowPool":
        """Return the pool of some instances."""


class ArrayPool(RowPool):
    """Numpy arrays of one dtype."""

    def _gather(self, present, rows, references):
        n, q = references.shape
        one = rows[0] == rows[-1] and (rows == rows[0]).all()
        instance = (self.X[rows[:1]] if one else self.X[rows])[:, None, :]
        hybrid = np.take(self.background, references.ravel(), axis=0)
        kind = np.result_type(hybrid, self.X)
        if hybrid.dtype != kind:
            hybrid = hybrid.astype(kind)
        _blend(hybrid.reshape(n, q, -1), instance.astype(kind, copy=False), present[:, None, :])
        return hybrid

    def differs(self):
        """Return where an instance differs from some background row, ``(r, d)`` bool."""
        first = self.background[:1]
        constant = _same(self.background, first).all(axis=0)
        return ~(constant & _same(self.X, first))

    def take(self, rows):
        """Return the pool of some instances."""
        return type(self)(self.X[rows], self.background, self.column_player)


class UniformFramePool(ArrayPool):
    """Pandas frames whose columns share one numpy dtype: gathered as an array, given as a frame."""

    def __init__(self, X, background, column_player, names=None):
        self._names = background.columns if names is None else names
        super().__init__(np.asarray(X), np.asarray(background), column_player)

    def _gather(self, present, rows, references):
        return pd.DataFrame(super()._gather(present, rows, references), columns=self._names)

    def take(self, rows):
        """Return the pool of some instances."""
        return type(self)(self.X[rows], self.background, self.column_player, self._names)


class FramePool(RowPool):
    """Pandas frames of any dtypes, column by column."""

    def __init__(self, X, background, column_player):
        super().__init__(X, background, column_player)
        self._pools = [
            pd.concat([X[name], background[name]], ignore_index=True).array
            for name in background.columns
        ]

    def _gather(self, present, rows, references):
        q = references.shape[1]
        instance, reference = np.repeat(rows, q), references.ravel() + len(self.X)
        columns = {
            name: self._pools[j].take(np.where(np.repeat(present[:, j], q), instance, reference))
            for j, name in enumerate(self.background.columns)
        }
        return pd.DataFrame(columns)

    def differs(self):
        """Return where an instance differs from some background row, ``(r, d)`` bool."""
        return np.column_stack([_column_differs(pool, len(self.X)) for pool in self._pools])

    def take(self, rows):
        """Return the pool of some instances."""
        return type(self)(self.X.iloc[rows], self.background, self.column_player)


class NarwhalsPool(RowPool):
    """Frames of other libraries (polars), column by column through narwhals."""

    def __init__(self, X, background, column_player):
        import narwhals as nw

        super().__init__(X, background, column_player)
        frames = [nw.from_native(part, eager_only=True) for part in (X, background)]
        self._pool = nw.concat(frames, how="vertical")

    def _gather(self, present, rows, references):
        q = references.shape[1]
        instance, reference = np.repeat(rows, q), references.ravel() + len(self.X)
        columns = [
            self._pool[name][
                np.where(np.repeat(present[:, j], q), instance, reference).tolist()
            ].alias(name)
            for j, name in enumerate(self._pool.columns)
        ]
        return columns[0].to_frame().with_columns(*columns[1:]).to_native()

    def differs(self):
        """Return where an instance differs from some background row, ``(r, d)`` bool."""
        pools = [self._pool[name].to_pandas().array for name in self._pool.columns]
        return np.column_stack([_column_differs(pool, len(self.X)) for pool in pools])

    def take(self, rows):
        """Return the pool of some instances."""
        import narwhals as nw

        X = nw.from_native(self.X, eager_only=True)[np.asarray(rows).tolist()].to_native()
        return type(self)(X, self.background, self.column_player)


def _blend(hybrid, instance, present):
    """Put `instance` into `hybrid` ``(n, q, d)`` where present, in place.

    Numbers are blended by their bits, a cache-sized piece at a time: a masked copy would
    mispredict a branch for every other number and cost three times as much.
    """
    n, q, d = hybrid.shape
    if hybrid.dtype.kind not in "biuf" or hybrid.dtype.itemsize > 8:
        np.copyto(hybrid, instance, where=present)
        return
    word = np.dtype(f"u{hybrid.dtype.itemsize}")
    bits, fill = hybrid.view(word), instance.view(word)
    step = max(1, BLEND_BYTES // (q * d * word.itemsize))
    for start in range(0, n, step):
        index = slice(start, start + step)
        piece = bits[index]
        mask = present[index].astype(word)
        np.negative(mask, out=mask)
        change = piece ^ (fill if len(fill) == 1 else fill[index])
        change &= mask
        piece ^= change


def _same(values, first):
    """Return where values equal `first`; missing equals missing."""
    return (values == first) | (pd.isna(values) & pd.isna(first))


def _column_differs(pool, r):
    """Return for the r instances at the head of a pool whether they differ from its background."""
    codes = pd.factorize(pool, use_na_sentinel=False)[0]
    background = codes[r:]
    return (codes[:r] != background[0]) | (background != background[0]).any()
