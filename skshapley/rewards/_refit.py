"""The refit reward: the prediction of a model fitted to the columns of a coalition."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from os import PathLike, fspath
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_memory, has_fit_parameter

from skshapley._tables import (
    Portable,
    as_pandas,
    column_names,
    hashed,
    is_foreign,
    n_rows,
    narwhal,
    row_pool,
    take_columns,
    take_rows,
)
from skshapley._tools import Constraint, Count, OneOf, clipped_logit
from skshapley.rewards._game import Game, WrappedGame
from skshapley.rewards._methods import FUNCTION, unwrapped
from skshapley.rewards._response import Response, flat_classes
from skshapley.rewards._reward import Instances, ResponseGame, Reward

# What the absent columns are in a fit
MASKED = {
    "drop": "columns left out of each fit",
    "missing": "columns without values in each fit",
    "constant": "columns of one value in each fit",
}
HINTS = {
    "drop": 'if it names its columns, choose RefitReward(absent="constant")',
    "missing": (
        "if it refuses missing values, or columns without any value, choose "
        'RefitReward(absent="constant")'
    ),
    "constant": 'if it refuses constant columns, choose RefitReward(absent="drop")',
}
EMPTY = ("mean", "constant")
# An odd constant, so that the seed of the empty coalition is not 0
SEED = 0xD6E8FEB86659FD93


def fitted_clone(
    model: Any,
    table: Any,
    target: Any,
    weights: Any,
    seed: int,
) -> Any:
    """Return a clone of a model, fitted to a table.

    Parameters
    ----------
    model : estimator
        Not changed.
    table : array or frame of shape (b, d)
    target : array of shape (b,) or (b, k)
    weights : ndarray of shape (b,) or None
    seed : int
        The seed of parameters ``random_state`` that are not ints.
    """
    fresh = clone(model, safe=False)
    parameters = fresh.get_params() if hasattr(fresh, "get_params") else {}
    seeds = {
        name: seed
        for name, value in parameters.items()
        if name.split("__")[-1] == "random_state" and not isinstance(value, Integral)
    }
    if seeds:
        fresh.set_params(**seeds)
    fit_options = {} if weights is None else {"sample_weight": weights}
    fitted = fresh.fit(table, target, **fit_options)
    return fresh if fitted is None else fitted


def without_values(table: Any, columns: NDArray[np.intp]) -> Any:
    """Return a table with missing values in some of its columns, of kinds that allow them."""
    if is_foreign(table):
        import narwhals as nw

        frame = narwhal(table)
        kinds = list(frame.schema.items())
        names = [kinds[column] for column in columns]
        missing = [nw.lit(None, dtype=kind).alias(name) for name, kind in names]
        return frame.with_columns(*missing).to_native()
    if not isinstance(table, pd.DataFrame):
        masked = table.astype(
            table.dtype if table.dtype.kind in ("f", "O") else np.float64
        )
        masked[:, columns] = np.nan
        return masked
    # pandas would make objects of bools with missing values
    lost = table.iloc[:, columns]
    lost = lost.astype(dict.fromkeys(lost.columns[lost.dtypes == "bool"], float))
    empty = lost.iloc[:0].reindex(table.index)
    return pd.concat([table.drop(columns=empty.columns), empty], axis=1)[table.columns]


def with_constants(table: Any, row: Any, present: NDArray[np.bool_]) -> Any:
    """Return a table with the values of one row in its absent columns."""
    n = n_rows(table)
    pool = row_pool(table, row, np.arange(len(present)))
    return pool.hybrid(
        np.tile(present, (n, 1)),
        np.arange(n),
        np.zeros((n, 1), dtype=np.intp),
    )


def row_without_gaps(table: Any) -> Any:
    """Return a row of the first value of each column that is not missing."""
    places = pd.isna(as_pandas(table)).to_numpy().argmin(axis=0).tolist()
    columns = np.arange(len(places))
    row = take_rows(table, slice(0, 1))
    for column in np.flatnonzero(places):
        donor = take_rows(table, slice(places[column], places[column] + 1))
        row = with_constants(row, donor, columns != column)
    return row


@dataclass(eq=False, repr=False)
class RefitReward(Portable, Reward):
    """The prediction of the model after it is fitted to the present columns only.

    v(S) is the response of a clone of the model, fitted to the columns S of the table
    that ``fit(X, y)`` gets, at the columns S of the row to explain. v(all) is the
    response of the model itself. The model is not changed. No column is replaced, so no
    row is unlikely, and a copy of a column does not change the others' information.
    Values show the worth of columns if the model may be refitted.

    All rows that are explained together share the coalitions: one fit serves all rows.
    A fit is an evaluation, and each row costs one prediction of it. ``max_rows`` of an
    explainer is therefore the number of fits. With "auto", it is 20 fits for each
    player, or 256 if that is more.

    Parameters
    ----------
    absent : {"drop", "missing", "constant"}, default="drop"
        Absent columns are left out, or they stay, and all their values are missing or
        equal. A model that names its columns, as a `ColumnTransformer` does, needs one
        of the latter. "constant" also suits models that refuse missing values, or
        columns without any value. The constant is the column's first value.
    empty : {"mean", "constant"}, default="mean"
        v(empty). "mean": the mean target of a regressor, the class shares of
        probabilities, and "constant" for other responses. "constant": the prediction of
        the model fitted to constant columns.
    memory : None, str, path or joblib.Memory, default=None
        Where fitted clones are kept. Later rows then cost predictions only. None: they
        are not kept.
    batch_rows : int, default=8192
        Rows of a call of a fitted clone, at most.
    random_state : int, default=0
        With the coalition, it seeds each parameter ``random_state`` of the model that
        is not an int, so a coalition has the same fit in every run.

    See Also
    --------
    ConditionalReward : The information of columns for one fitted model.

    Notes
    -----
    Clones are fitted without the search of a `GridSearchCV`, by its best parameters.
    Standard errors describe the choice of coalitions, for these fits.

    Rows that are explained together share the coalitions and the hyper-parameters of
    the estimator. The values of a row alone and in company are equal if all coalitions
    are fitted. Otherwise, they differ by .6 to .8 standard errors. A stopping rule ends
    the fits early.

    References
    ----------
    Strumbelj, Kononenko & Robnik-Sikonja (2009), Explaining instance classifications
    with interactions of subsets of feature values, Data & Knowledge Engineering 68.
    Covert, Lundberg & Lee (2021), Explaining by removing, JMLR 22, section 4.2.

    Examples
    --------
    Two equal columns share the credit, whichever of them the model uses:

    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from skshapley import ShapleyExplainer
    >>> X = np.repeat(np.arange(10.0), 2).reshape(10, 2)
    >>> model = LinearRegression().fit(X, X[:, 0])
    >>> explainer = ShapleyExplainer(model, reward="refit").fit(X, X[:, 0])
    >>> explainer.explain(X[-1:]).values.round(2)
    array([[2.25, 2.25]])
    """

    absent: str = "drop"
    empty: str = "mean"
    memory: Any = None
    batch_rows: int = 8192
    random_state: int = 0

    needs_target = True
    joint = True
    _constraints = {
        "absent": OneOf(tuple(MASKED)),
        "empty": OneOf(EMPTY),
        "memory": Constraint(
            lambda memory: (
                memory is None
                or hasattr(memory, "cache")
                or isinstance(memory, str | PathLike)
            ),
            "None, a path or a joblib.Memory",
        ),
        "batch_rows": Count(),
        "random_state": Count(least=0),
    }

    def fit(
        self,
        response,
        background,
        weights,
        players,
        target=None,
        fit_weights=None,
    ) -> Self:
        """Store the training table, and call the model on its first row.

        Parameters
        ----------
        response : Response
        background : array or frame of shape (b, d)
        weights : ndarray of shape (b,)
        players : Players
        target : array of shape (b,) or (b, k)
        fit_weights : ndarray of shape (b,) or None, default=None
            The ``sample_weight`` of the fits; their sum matters for a penalty.

        Raises
        ------
        TypeError
            For a function, which cannot be fitted.
        ValueError
            For different weights and a model whose ``fit`` takes none.
        """
        model = unwrapped(response.estimator)
        if response.method == FUNCTION or not hasattr(model, "fit"):
            raise TypeError(
                f"RefitReward fits the model to some of the columns, and got {model!r}:"
                " pass an estimator with fit and predict, or choose another reward."
            )
        if not has_fit_parameter(model, "sample_weight"):
            fit_weights = None
        if fit_weights is None and np.ptp(weights) > 0:
            raise ValueError(
                f"RefitReward got rows of different sample_weight, but the fit of "
                f"{type(model).__name__} takes none: fit without sample_weight."
            )
        classes = flat_classes(response.estimator)
        if classes is not None and np.ndim(target) == 1:
            labels = np.unique(target).tolist()
            if labels != classes:
                raise ValueError(
                    f"RefitReward got a target with the classes {labels}, but the model"
                    f" was fitted to {classes}: pass the table that the model was "
                    "fitted to."
                )
        response.probe(take_rows(background, slice(0, 1)), " on a background row")
        self.response_ = response
        self.n_references_ = self.rows_per_value_ = 1
        self.masked_columns_ = MASKED[self.absent]
        self.model_ = clone(model, safe=False)
        self.players_ = players
        self.background_ = background
        self.constants_ = (
            None if self.absent == "drop" else row_without_gaps(background)
        )
        self.target_ = target
        self.weights_ = fit_weights
        self.v_empty_ = self._mean_response(response, target, weights)
        self.memory_ = check_memory(
            fspath(self.memory) if isinstance(self.memory, PathLike) else self.memory
        )
        return self

    def _mean_response(self, response, target, weights) -> NDArray[np.float64] | None:
        """Return the raw response without columns; None if it needs a fit."""
        scale = PROBABILITIES.get(response.method)
        classes = getattr(response.estimator, "classes_", None)
        if self.empty == "constant":
            return None
        if response.method == "predict" and classes is None:
            return np.atleast_1d(np.average(target, axis=0, weights=weights))
        if (
            scale is None
            or classes is None
            or np.ndim(classes[0])
            or np.ndim(target) > 1
        ):
            return None
        return scale(
            np.array([weights[np.asarray(target) == label].sum() for label in classes])
        )

    def game(self, X) -> "RefitGame":
        """Return the game of the rows X; the model is called on them once."""
        active = np.ones((n_rows(X), self.players_.n_players), dtype=bool)
        return RefitGame(self, Instances.of(self.response_, X, X, active))

    def predict(self, coalition: NDArray[np.bool_], X: Any) -> NDArray[np.float64]:
        """Return the raw response of one fit, ``(r, K)``.

        Parameters
        ----------
        coalition : ndarray of shape (p,), bool
        X : array or frame of shape (r, d)
        """
        if not coalition.any() and self.v_empty_ is not None:
            return np.tile(self.v_empty_, (n_rows(X), 1))
        present = coalition[self.players_.column_player]
        response = self.response_.of(
            self._fitted(self._masked(self.background_, present), coalition, present)
        )
        batches = [
            slice(start, start + self.batch_rows)
            for start in range(0, n_rows(X), self.batch_rows)
        ]
        return np.concatenate(
            [response(self._masked(take_rows(X, rows), present)) for rows in batches]
        )

    def _masked(self, table: Any, present: NDArray[np.bool_]) -> Any:
        """Return a table without the absent columns, or without their information."""
        if self.absent == "missing" and present.any():
            return without_values(table, np.flatnonzero(~present))
        if self.absent != "drop":
            return with_constants(table, self.constants_, present)
        if not present.any():
            return np.zeros((n_rows(table), 1))
        columns = np.flatnonzero(present)
        if is_foreign(table):  # scikit-learn 1.6 takes no columns of Arrow tables
            return narwhal(table)[:, columns.tolist()].to_native()
        return take_columns(columns, table)

    def _fitted(self, table: Any, coalition: Any, present: Any) -> Any:
        """Return the model fitted to a table, or raise ValueError with the hint that helps."""
        seed = int(
            hashed([np.packbits(coalition)[None]], SEED + self.random_state)[0] % 2**31
        )
        fit = self.memory_.cache(fitted_clone)
        try:
            return fit(self.model_, table, self.target_, self.weights_, seed)
        except Exception as error:
            names = np.array(column_names(self.background_), dtype=object)[present]
            raise ValueError(
                f"RefitReward could not fit {type(self.model_).__name__} to the columns "
                f"{names.tolist()}: {error} To continue, {HINTS[self.absent]}."
            ) from error


PROBABILITIES: dict[Any, Callable[[Any], Any]] = {
    "predict_proba": np.asarray,
    "predict_log_proba": np.log,
    "log_odds": clipped_logit,
}


class RefitGame(ResponseGame):
    """The game of the refit reward for given rows; they share the fitted reward."""

    @property
    def response(self) -> Response:
        """The response of the user's model."""
        return self.shared.response_

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the responses of the fits, ``(r, m, k)``; each coalition is fitted once."""
        r, m, p = coalitions.shape
        flat = coalitions.reshape(-1, p)
        row = np.repeat(rows, m)
        values = np.empty((r * m, self.n_outputs))
        sets, place = np.unique(flat, axis=0, return_inverse=True)
        for number, coalition in enumerate(sets):
            lines = np.flatnonzero(place.reshape(-1) == number)
            instances = row[lines]
            if coalition.all():
                values[lines] = self.full(instances)
                continue
            raw = self.shared.predict(coalition, take_rows(self.instances.X, instances))
            winners = self.instances.winners[instances]
            values[lines] = self.response.choose(raw, winners)
        return values.reshape(r, m, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty) of the rows, ``(r, 1, k)``."""
        return self(np.zeros((len(rows), 1, self.n_players), dtype=bool), rows)


class JointGame(WrappedGame):
    """The rows of another game as outputs of a single row: they share coalitions.

    Parameters
    ----------
    game : Game
        Of r rows and k outputs, without a background.
    """

    most_values = 1  # each evaluation may go to another worker

    def __init__(self, game: Game) -> None:
        super().__init__(game)
        self._inner_rows = np.arange(game.n_rows)
        self.n_outputs = game.n_rows * game.n_outputs
        self.n_rows = 1

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the values of all rows, ``(1, m, r k)``."""
        lines, m, p = coalitions.shape
        shared = np.broadcast_to(
            coalitions.reshape(-1, p),
            (len(self._inner_rows), lines * m, p),
        )
        values = self._game(shared, self._inner_rows)
        return np.swapaxes(values, 0, 1).reshape(lines, m, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return v(empty) of all rows, ``(1, 1, r k)``."""
        return np.repeat(
            super().empty(self._inner_rows).reshape(1, 1, -1),
            len(rows),
            axis=0,
        )

    def full(self, rows) -> NDArray[np.float64]:
        """Return v(all) of all rows, ``(1, r k)``."""
        return np.repeat(
            super().full(self._inner_rows).reshape(1, -1),
            len(rows),
            axis=0,
        )

    # one row, in which all players matter
    keys = Game.keys
    active = Game.active
    take: Any = Game.take
