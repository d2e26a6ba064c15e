"""The exponential of a linear predictor: generalised linear models with a log link."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley.closed_forms._base import ClosedForm, as_dense
from skshapley.closed_forms._curve import LinearCurve
from skshapley.closed_forms._linear import LinearTerms
from skshapley.closed_forms._product_form import ProductForm
from skshapley.closed_forms._products import ProductGames, cost_of_products
from skshapley.closed_forms._read_linear import kinds, not_linear

LOG_LINK = {"PoissonRegressor", "GammaRegressor"}


class Exponential(LinearCurve, ProductForm):
    """A response ``exp(X @ coef + intercept)``, a product over the columns.

    Parameters
    ----------
    coef : array-like of shape (d,)
    intercept : float
    outputs : array-like of shape (1, k), default=((1.0,),)
        What the exponential adds to each output.
    constant : array-like of shape (k,), default=(0.0,)
        What each output is without it.

    References
    ----------
    Owen (1972), Multilinear extensions of games, Management Science 18.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.closed_forms import Exponential
    >>> form = Exponential([np.log(2), np.log(3)], 0.0).fit(np.array([[0.0, 0.0]]))
    >>> form.attributions(np.array([[1.0, 1.0]]))[0, :, 0].round(2)
    array([2., 3.])
    """

    label = "the exponential of linear terms"

    @classmethod
    def read(cls, model: Any, method: str, ask: Callable[..., ClosedForm]) -> ClosedForm | None:
        """Return a generalised linear model; None for a model of another kind."""
        names = kinds(model)
        if not names & (LOG_LINK | {"TweedieRegressor"}):
            return None
        if method != "predict":
            raise not_linear(model, method, "predict")
        # of TweedieRegressor, "auto" is the identity for normal targets only
        link = getattr(model, "link", "log")
        if link == "identity" or (link == "auto" and model.power <= 0):
            return LinearTerms(model.coef_[:, None], [model.intercept_])
        return cls(model.coef_, model.intercept_)

    def _fit(self) -> NDArray[np.float64]:
        self.rows_ = as_dense(self.background_)
        # factors are relative to the mean row: those of large columns would overflow
        self.mean_ = self.weights_ @ self.rows_
        typical = np.exp(self.mean_ @ self.coef + self.intercept)
        self.games_ = ProductGames(self._factors, typical * self.outputs, self.n_players_)
        return self.weights_ @ self.predict(self.background_)

    def _factors(self, rows: NDArray[np.float64], terms: slice) -> NDArray[np.float64]:
        """Return the factors of the players, ``(p, r, 1)``."""
        exponents = np.zeros((self.n_players_, len(rows), 1))
        for column, owner in enumerate(self.column_player_):
            exponents[owner, :, 0] += self.coef[column] * (rows[:, column] - self.mean_[column])
        return np.exp(exponents, out=exponents)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the response, ``(r, k)``."""
        linear = as_dense(X) @ self.coef + self.intercept
        return np.exp(linear)[:, None] @ self.outputs + self.constant

    @property
    def cost_(self) -> float:  # type: ignore[override]
        """Cost of explaining an instance, in calls of the model for one row; known after `fit`."""
        return cost_of_products(len(self.weights_), self.n_players_, len(self.coef))
