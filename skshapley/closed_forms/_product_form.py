"""What closed forms share whose games are sums of products over the players."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import ClosedForm, as_dense
from skshapley.closed_forms._products import SHAPLEY, ProductGames
from skshapley.indices import Index


class ProductForm(ClosedForm):
    """Base class of closed forms whose games are sums of products over the players.

    Attributes
    ----------
    games_ : ProductGames
    rows_ : ndarray of shape (b, d)
        The background.
    """

    games_: ProductGames
    rows_: NDArray[np.float64]

    def gives(self, index: Index) -> bool:
        """Return True: an index is a law of how many of the others are present."""
        return True

    def gives_pairs(self, index: Index) -> bool:
        """Return True, likewise."""
        return True

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self.games_.mean(as_dense(X), self.rows_, self.weights_, self.index)

    def pairs(self, X: Any) -> NDArray[np.float64]:
        """Return the Shapley interaction index of every pair of players, ``(r, p, p, k)``."""
        return self.pairs_by(X, SHAPLEY)

    def pairs_by(self, X: Any, index: Index) -> NDArray[np.float64]:
        """Return the interactions of every pair of players by an index, ``(r, p, p, k)``."""
        return self.games_.mean(as_dense(X), self.rows_, self.weights_, index, pairs=True)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        return self.games_.single(as_dense(X), self.rows_[np.asarray(rows)], self.index)
