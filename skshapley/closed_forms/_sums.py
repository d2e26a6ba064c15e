"""Sums of closed forms: the attributions of a sum are the sums of the attributions."""

from collections.abc import Callable, Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import FunctionTransformer

from skshapley._tables import as_array, is_frame, take_rows
from skshapley._trees import TreeEnsemble, concatenate
from skshapley.closed_forms._base import SHAPLEY, ClosedForm
from skshapley.closed_forms._trees import Trees
from skshapley.exceptions import UnreadableModelError
from skshapley.indices import Index


@dataclass(frozen=True, eq=False)
class Part:
    """A term of a sum: a closed form, and its columns, each made from one input column.

    Attributes
    ----------
    form : ClosedForm
    source : ndarray of shape (D,), int, or None, default=None
        The input column of each column. None: the form uses all columns unchanged.
    width : int, default=0
        Number of columns d of the input, for a `source`.
    steps : tuple of fitted transformers, default=()
        The steps that make the columns. Without steps, the columns of `source` are
        unchanged.
    """

    form: ClosedForm
    source: NDArray[np.intp] | None = None
    width: int = 0
    steps: tuple = ()

    def __call__(self, X: Any) -> Any:
        """Return the input table of the form, from a table ``(n, d)``."""
        if self.source is None:
            return X
        if not self.steps:
            X = as_array(X) if is_frame(X) else X
            return X[:, self.source]
        # a copy, because some transformers write into their input
        X = take_rows(X, np.arange(X.shape[0]))
        for step in self.steps:
            X = step.transform(X)
        return X

    def owners(self, column_player: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return the player of each column of the form.

        Parameters
        ----------
        column_player : ndarray of shape (d,), int
            The player of each column of the input.
        """
        if self.source is None:
            return column_player
        if len(column_player) != self.width:
            raise UnreadableModelError(
                f"A part of the model was fitted on {self.width} columns, and the "
                f"background has {len(column_player)}"
            )
        return column_player[self.source]


def part_by(
    form: ClosedForm,
    function: Callable[..., Any],
    source: Any,
    width: int,
    *args: Any,
) -> Part:
    """Return a part with columns that a function makes, each from one column of X.

    Parameters
    ----------
    form : ClosedForm
    function : callable
        ``function(*args, X)`` returns an array of shape (n, D).
    source : array-like of shape (D,), int
        The input column of each column.
    width : int
        Number of columns d of X.
    *args : object
        First arguments of the function. It can be saved if they can.

    Returns
    -------
    part : Part
    """
    maker = FunctionTransformer(partial(function, *args))
    return Part(form, np.asarray(source), width, (maker,))


class Sum(ClosedForm):
    """A sum of closed forms, each of some of the columns or of columns made of them.

    Parameters
    ----------
    parts : sequence of Part
        Parts with equal numbers of outputs.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor, VotingRegressor
    >>> from sklearn.linear_model import Ridge
    >>> from skshapley.readers import read_model
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
        self.parts = _merged(parts)
        forms = [part.form for part in self.parts]
        self.n_outputs = forms[0].n_outputs
        self.label = " and ".join(dict.fromkeys(form.label for form in forms))
        self.additive = all(form.additive for form in forms)
        self.nests = all(form.nests or form.additive for form in forms)
        self.indices = _common(form.indices for form in forms)
        self.pair_indices = _common(form.pair_indices for form in forms)

    def combined(self, matrix: Any, constant: Any = 0.0) -> "Sum":
        """Return linear combinations of the outputs, part by part."""
        # in the first part only
        constants = [constant, *[0.0] * (len(self.parts) - 1)]
        return Sum(
            [
                replace(part, form=part.form.combined(matrix, shift))
                for part, shift in zip(self.parts, constants, strict=True)
            ]
        )

    def set_index(self, index: Index, levels: NDArray[np.intp] | None = None) -> None:
        """Set the index and the nested groups of all parts."""
        super().set_index(index, levels)
        for part in self.parts:
            part.form.set_index(index, levels)

    def for_run(self, n_rows: int | None, batch_rows: int) -> Self:
        """Return a copy with one method of each part for all batches of a run."""
        run = copy(self)
        run.parts = [
            replace(part, form=part.form.for_run(n_rows, batch_rows))
            for part in self.parts
        ]
        return run

    def expected_cost(self, column_player: Any, n_references: int) -> float:
        """Return the sum of the parts' costs."""
        return sum(
            p.form.expected_cost(p.owners(column_player), n_references)
            for p in self.parts
        )

    def used_columns(self, n_columns: int) -> NDArray[np.bool_]:
        """Return True for columns that any part uses, ``(d,)``."""
        used = np.zeros(n_columns, dtype=bool)
        for part in self.parts:
            columns = part.owners(np.arange(n_columns))
            used[columns[part.form.used_columns(len(columns))]] = True
        return used

    def usual_rows(self, n_players: int, n_references: int) -> float:
        """Return the fewest model rows of sampling that any part has."""
        return min(p.form.usual_rows(n_players, n_references) for p in self.parts)

    def _fit(self) -> NDArray[np.float64]:
        base_values = np.zeros(self.n_outputs)
        for part in self.parts:
            part.form.fit(
                part(self.background_),
                self.weights_,
                part.owners(self.column_player_),
                self.n_players_,
                self.n_jobs_,
            )
            base_values += part.form.base_values_
        return base_values

    @property
    def size(self) -> float:
        """The sum of the parts' sizes."""
        return sum(part.form.size for part in self.parts)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the sum of the parts' predictions, ``(r, k)``."""
        return self._sum(lambda form, rows: form.predict(rows), X)

    def _attributions(self, X: Any) -> NDArray[np.float64]:
        return self._sum(lambda form, rows: form.attributions(rows), X)

    def attributions_and_predictions(self, X: Any) -> tuple[Any, Any]:
        """Return the sums of the parts' values and predictions."""
        parts = [part.form.attributions_and_predictions(part(X)) for part in self.parts]
        values, predictions = zip(*parts, strict=True)
        return sum(values), sum(predictions)

    def pairs(self, X: Any, index: Index = SHAPLEY) -> NDArray[np.float64]:
        """Return the interactions of every pair of players, ``(r, p, p, k)``."""
        return self._sum(lambda form, rows: form.pairs(rows, index), X)

    def references(self, X: Any, rows: Any) -> NDArray[np.float64]:
        """Return the attributions against single background rows, ``(r, q, p, k)``."""
        return self._sum(lambda form, table: form.references(table, rows), X)

    def _sum(
        self,
        of: Callable[..., NDArray[np.float64]],
        X: Any,
    ) -> NDArray[np.float64]:
        return sum(of(part.form, part(X)) for part in self.parts)  # type: ignore[return-value]

    @property
    def cost_(self) -> float:  # type: ignore[override]
        """Cost of explaining a row, in calls of the model for one row."""
        return sum(part.form.cost_ for part in self.parts)


def _common(choices: Iterable[frozenset[str] | None]) -> frozenset[str] | None:
    """Return the common names of some sets; None allows any name."""
    sets = [names for names in choices if names is not None]
    return frozenset.intersection(*sets) if sets else None


def _merged(parts: Any) -> list[Part]:
    """Merge ensembles that compare in the same way, so that 100 bagged forests need one look-up."""
    single: list[Part] = []
    ensembles: dict[tuple, list[Part]] = {}
    for part in parts:
        form = part.form
        if not isinstance(form, Trees) or part.steps or form.trees.encode is not None:
            single.append(part)
            continue
        trees = form.trees
        width = part.width or trees.n_features
        # Ensembles that compare thresholds differently, or miss values differently,
        # share no table.
        ensembles.setdefault(
            (width, trees.strict, trees.single_precision, trees.absent),
            [],
        ).append(part)
    return [*map(_one_ensemble, ensembles.values()), *single]


def _one_ensemble(parts: list[Part]) -> Part:
    """Return the sum of parts that are trees as one part."""
    if len(parts) == 1:
        return parts[0]
    ensembles = []
    for part in parts:
        trees: TreeEnsemble = part.form.trees  # type: ignore[attr-defined]
        fields: Any = {"methods": (), "raw_response": None}
        if part.source is not None:
            feature = np.where(trees.feature < 0, -1, part.source[trees.feature])
            fields |= {"feature": feature, "n_features": part.width}
        ensembles.append(replace(trees, **fields))
    return Part(Trees(concatenate(ensembles)))
