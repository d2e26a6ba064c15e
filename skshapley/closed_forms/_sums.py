"""Sums of what can be read: the attributions of a sum are the sums of the attributions."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skshapley._ensembles import concatenate
from skshapley.closed_forms._base import ClosedForm
from skshapley.closed_forms._parts import Part
from skshapley.closed_forms._read_sums import read_parts
from skshapley.closed_forms._trees import Trees


class Sum(ClosedForm):
    """A sum of closed forms, each of some of the columns or of columns made of them.

    Parameters
    ----------
    parts : sequence of Part
        Each with as many outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor, VotingRegressor
    >>> from sklearn.linear_model import Ridge
    >>> from skshapley.closed_forms import read_model
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(5, max_depth=3, random_state=0)
    >>> model = VotingRegressor([("forest", forest), ("ridge", Ridge())]).fit(X, y)
    >>> form = read_model(model, "predict").fit(X)
    >>> form.label
    'trees and linear terms'
    >>> total = form.base_values_ + form.attributions(X[:3]).sum(axis=1)
    >>> bool(abs(total[:, 0] - model.predict(X[:3])).max() < 1e-9)
    True
    """

    def __init__(self, parts: Any) -> None:
        self.parts = _with_trees_merged(parts)
        self.n_outputs = self.parts[0].form.n_outputs

    @classmethod
    def read(cls, model: Any, method: str, ask: Callable[..., ClosedForm]) -> "ClosedForm | None":
        """Return a model that is a sum of others, or wraps one; None for a model that is neither.

        Raises
        ------
        UnreadableModelError
            If one of the others cannot be read, or they are not added up.
        """
        found = read_parts(model, method, ask)
        return cls(found) if isinstance(found, list) else found

    @property
    def label(self) -> str:  # type: ignore[override]
        """What the parts are read from."""
        return " and ".join(dict.fromkeys(part.form.label for part in self.parts))

    def combined(self, matrix: Any, constant: Any = 0.0) -> "Sum":
        """Return linear combinations of the outputs, part by part."""
        first, *rest = self.parts
        parts = [replace(first, form=first.form.combined(matrix, constant))]
        return Sum(parts + [replace(part, form=part.form.combined(matrix)) for part in rest])

    def _fit(self) -> NDArray[np.float64]:
        players, n_players = self.column_player_, self.n_players_
        return sum(
            part.form.fit(
                part(self.background_), self.weights_, part.owners(players), n_players, self.n_jobs_
            ).base_values_
            for part in self.parts
        )  # type: ignore[return-value]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of what the parts say, ``(r, k)``."""
        return self._sum(lambda form, rows: form.predict(rows), X)

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self._sum(lambda form, rows: form.attributions(rows), X)

    def pairs(self, X: Any) -> NDArray[np.float64]:
        """Return the Shapley interaction index of every pair of players, ``(r, p, p, k)``."""
        return self._sum(lambda form, rows: form.pairs(rows), X)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        return self._sum(lambda form, table: form.references(table, rows), X)

    def _sum(self, of: Callable[..., NDArray[np.float64]], X: Any) -> NDArray[np.float64]:
        first, *rest = self.parts
        total = of(first.form, first(X))
        for part in rest:
            total = total + of(part.form, part(X))
        return total

    def cost(self) -> float:
        """Return what an instance costs, in calls of the model for one row."""
        return sum(part.form.cost() for part in self.parts)

    def state(self) -> list:
        """Return what the parts consist of, and the columns that they see."""
        seen = [None if part.view is None else part.view.source.tolist() for part in self.parts]
        return [*seen, *(item for part in self.parts for item in part.form.state())]


def _with_trees_merged(parts: Any) -> list[Part]:
    """Return parts of which those are one ensemble whose trees compare in the same way.

    The trees of a bag of 100 are looked up together, and not 100 times.
    """
    kept: list[Part] = []
    alike: dict[tuple, list] = {}
    for part in parts:
        trees = getattr(part.form, "trees", None)
        if trees is None or trees.encode is not None or (part.view and part.view.steps):
            kept.append(part)
        else:
            width = trees.n_features if part.view is None else part.view.width
            key = width, trees.strict, trees.single_precision, trees.absent
            alike.setdefault(key, []).append(part)
    merged = [group[0] if len(group) == 1 else _one_ensemble(group) for group in alike.values()]
    return merged + kept


def _one_ensemble(parts: list[Part]) -> Part:
    ensembles = []
    for part in parts:
        trees = part.form.trees  # type: ignore[attr-defined]
        if part.view is not None:
            feature = np.where(trees.feature < 0, -1, part.view.source[trees.feature])
            trees = replace(trees, feature=feature, n_features=part.view.width)
        ensembles.append(replace(trees, methods=(), raw_response=None))
    return Part(Trees(concatenate(ensembles)))
