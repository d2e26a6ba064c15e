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

    # An index is a law of how many of the others are present.
    indices = pair_indices = None
    games_: ProductGames
    rows_: NDArray[np.float64]

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self.games_.mean(as_dense(X), self.rows_, self.weights_, self.index)

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        return self.games_.mean(as_dense(X), self.rows_, self.weights_, index, pairs=True)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        return self.games_.single(as_dense(X), self.rows_[np.asarray(rows)], self.index)
