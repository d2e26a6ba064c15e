"""Base classes of rewards, and the interventional reward: a mean over the background."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from skshapley._references import MOST_PLACES, RowOrder
from skshapley._tables import (
    CHUNK_ROWS,
    Portable,
    RowPool,
    n_rows,
    row_chunks,
    row_keys,
    row_pool,
    take_rows,
)
from skshapley._tools import Flag, Parametrised, working_bytes
from skshapley.rewards._game import LINK, Game, InfluenceGame, LinkedGame
from skshapley.rewards._masked import MaskedModel, Players, marked_players, prepare
from skshapley.rewards._perceptron import PerceptronLayers, holds_floats
from skshapley.rewards._response import Response

HYBRID_SHARE = 1 / 8  # share of the working memory for the mixed rows of one call


class Reward(Parametrised, ABC):
    """Base class of rewards, which define the worth v(S) of a coalition S of features.

    A reward has parameters only. `fit` takes the background, and `game` returns v for
    some rows.

    Attributes
    ----------
    n_references_ : int
        Number b of background rows of the game.
    rows_per_value_ : int
        Model rows of one evaluation, against all of them.
    response_ : Response
        The response of the model to evaluate.
    masked_columns_ : str
        Description of the mixed columns and the reason, for the record.
    link : None, str or callable
        A function of the mean response; its value is the worth of a coalition.
    takes : tuple of str
        The accepted kinds of tables: "sparse" matrices, tables with "gaps" (missing
        values), and with columns of "text".
    needs_target : bool
        Whether ``fit`` fits the model again. It then gets `target`, and `fit_weights`:
        the weights as they were passed, or None.
    joint : bool
        Whether all rows to explain share the coalitions, because one evaluation serves
        all of them.
    """

    n_references_: int
    rows_per_value_: int
    response_: Response
    masked_columns_: str = "raw columns"
    link: Any = None
    takes: ClassVar[tuple[str, ...]] = ("gaps", "text")
    needs_target: ClassVar[bool] = False
    joint: ClassVar[bool] = False

    @abstractmethod
    def fit(
        self,
        response: Response,
        background,
        weights,
        players: Players,
    ) -> "Reward":
        """Take the background.

        Parameters
        ----------
        response : Response
        background : array or frame of shape (b, d)
        weights : ndarray of shape (b,)
            With sum 1.
        players : Players
        """

    def for_table(self, background) -> "Reward":
        """Return the reward for a background; another one if this takes no such table.

        Parameters
        ----------
        background : array or frame of shape (b, d)
        """
        return self

    def sort_background(self, rng: np.random.Generator) -> None:
        """Sort the background so that any few consecutive rows represent all, if possible.

        Parameters
        ----------
        rng : numpy.random.Generator
        """

    def split(self, entropy: int) -> None:
        """Fit a part of the game with known Shapley values, if possible.

        Parameters
        ----------
        entropy : int
            Source of the random numbers that choose background rows.
        """

    @abstractmethod
    def game(self, X) -> Game:
        """Return the game of given rows.

        Parameters
        ----------
        X : array or frame of shape (r, d)
            The rows to explain, in the container of the background.
        """


class Instances(NamedTuple):
    """The rows to explain of a game, with their responses.

    Attributes
    ----------
    X : array, sparse matrix or frame of shape (r, D)
        In the mixed columns.
    raw : array, sparse matrix or frame of shape (r, d)
        In raw columns.
    active : ndarray of shape (r, p), bool
        The players with a raw column that differs from some background row.
    full : ndarray of shape (r, K)
        The response.
    winners : ndarray of shape (r,), int
        The column of each row's predicted class.
    labels : ndarray of shape (r,), int
        Positions of the rows in the table, for errors.
    keys : ndarray of shape (r,), uint64
        Hashes of the raw columns of each row.
    """

    X: Any
    raw: Any
    active: np.ndarray
    full: np.ndarray
    winners: np.ndarray
    labels: np.ndarray
    keys: np.ndarray

    @classmethod
    def of(cls, response: Response, X, raw, active: np.ndarray) -> "Instances":
        """Return rows with their responses; the model is called on them once."""
        full, winners = response.with_winners(X)
        labels = np.arange(len(full))
        return cls(X, raw, active, full, winners, labels, row_keys(raw))

    def take(self, rows) -> "Instances":
        """Return some of the rows."""
        X = take_rows(self.X, rows)
        # Taken once if both are the same table, also in memory of workers.
        raw = X if self.raw is self.X else take_rows(self.raw, rows)
        return Instances(X, raw, *(array[rows] for array in self[2:]))


class ResponseGame(Game):
    """Base class of games of a response to given rows.

    Parameters
    ----------
    shared : object
        The model, and all that the rows share.
    instances : Instances
    """

    def __init__(self, shared, instances: Instances) -> None:
        self.shared = shared
        self.instances = instances
        self.n_rows, self.n_players = instances.active.shape
        self.n_outputs = self.response.n_outputs

    @property
    def response(self) -> Response:
        """The response of the model."""
        return self.shared.response

    def full(self, rows) -> NDArray[np.float64]:
        """Return the response of the rows, ``(r, k)``."""
        instances = self.instances
        return self.response.choose(instances.full[rows], instances.winners[rows])

    def keys(self, rows) -> NDArray[np.uint64]:
        """Return hashes of the raw columns of the rows."""
        return self.instances.keys[rows]

    def active(self, rows) -> NDArray[np.bool_]:
        """Return the players with a possible effect."""
        return self.instances.active[rows]

    def take(self, rows) -> Self:
        """Return the game of some rows."""
        return type(self)(self.shared, self.instances.take(rows))


class InterventionalGame(ResponseGame):
    """The game of the interventional reward for given rows.

    Parameters
    ----------
    masked : MaskedModel
        With its responses on the background.
    instances : Instances
    order : RowOrder or None
    """

    def __init__(
        self,
        masked,
        instances: Instances,
        order: RowOrder | None = None,
    ) -> None:
        super().__init__(masked, instances)
        self.row_order = order
        # Each row may explain another class, so v(empty) depends on the row.
        self.v_empty = self.response.choose(
            np.broadcast_to(masked.v_empty, instances.full.shape),
            instances.winners,
        )
        self.n_references = self.rows_per_value = len(masked.weights)
        self.reference_weights = masked.weights
        self.bytes_per_row = masked.bytes_per_row

    @cached_property
    def _pool(self) -> RowPool:
        return self.shared.pool(self.instances.X)

    @cached_property
    def _raw_pool(self) -> RowPool:
        whole = self.shared.whole
        return self._pool if whole is None else whole.pool(self.instances.raw)

    def __call__(self, coalitions, rows, references=None) -> NDArray[np.float64]:
        """Return the mean response over the background, or over the references, ``(r, m, k)``."""
        r, m, p = coalitions.shape
        flat = coalitions.reshape(-1, p)
        repeated = np.repeat(rows, m)
        if references is None:
            weights = self.reference_weights
            rows_used = np.broadcast_to(
                np.arange(self.n_references),
                (r * m, self.n_references),
            )
        else:
            rows_used = references.reshape(r * m, -1)
            weights = np.full(rows_used.shape[1], 1 / rows_used.shape[1])
        outputs = self.against(flat, repeated, rows_used)
        # contiguous along the mean, so that rounding is equal in every batch
        weighted = np.ascontiguousarray(np.swapaxes(outputs, 1, 2)) * weights
        return weighted.sum(axis=-1).reshape(r, m, -1)

    def against(self, coalitions, rows, references) -> NDArray[np.float64]:
        """Return the response of each mixed row, ``(n, q, k)``, in calls of bounded size.

        Parameters
        ----------
        coalitions : ndarray of shape (n, p), bool
        rows : ndarray of shape (n,), int
        references : ndarray of shape (n, q), int
        """
        n, q = references.shape
        labels = self.instances.labels[rows]
        where = f" on mixtures of rows {labels[0]} to {labels[-1]}"
        most = working_bytes(HYBRID_SHARE) // self.bytes_per_row
        step = max(1, int(min(CHUNK_ROWS, most)) // n)
        winners = self.instances.winners[rows][:, None]
        parts = []
        for start in range(0, q, step):
            chunk = references[:, start : start + step]
            raw = self._responses(coalitions, rows, chunk, where)
            parts.append(self.response.choose(raw, winners))
        return np.concatenate(parts, axis=1)

    @cached_property
    def _layers(self) -> PerceptronLayers | None:
        if self.shared.layered and holds_floats(self._pool):
            return PerceptronLayers(self.response, self._pool)
        return None

    def _responses(self, coalitions, rows, references, where) -> NDArray[np.float64]:
        """Return the raw response of each mixed row, ``(n, q, K)``."""
        layers = self._layers
        if layers is not None:
            raw = layers.response(layers.outputs(coalitions, rows, references), where)
        else:
            raw = self.response(
                self._pool.hybrid(coalitions, rows, references),
                where,
            )
        return raw.reshape(*references.shape, -1)

    def empty(self, rows) -> NDArray[np.float64]:
        """Return the response on each background row, ``(r, b, k)``."""
        return self.response.choose(
            np.broadcast_to(self.shared.empty, (len(rows), *self.shared.empty.shape)),
            self.instances.winners[rows][:, None],
        )

    def differing(self, rows, references) -> NDArray[np.bool_] | None:
        """Return the players with a raw column that differs from the given background rows.

        Raw columns are compared, so that an explanation does not depend on the steps
        that run once.
        """
        unlike = self._raw_pool.unlike(rows, references)
        return (
            None
            if unlike is None
            else marked_players(unlike, self._raw_pool.column_player, self.n_players)
        )


class BackgroundReward(Portable, Reward):
    """Base class of rewards that average the response over mixed rows.

    Subclasses define how a row to explain and a background row are mixed (`_prepared`).

    Attributes
    ----------
    masked_columns_ : str
        The steps that run once, or the reason if there are none.
    masked_ : MaskedModel
        These steps, the transformed background, and the rest of the model.
    used_ : ndarray of shape (p,), bool
        False for players without an effect on the response, which get the value 0.
    pooled : bool
        Whether each value uses all background rows, as it does with a link.
    mixed : str
        Description of the mixed columns.
    """

    pooled: ClassVar[bool] = False
    mixed: ClassVar[str] = "raw columns"
    # the class of games of plain means
    _game_class: ClassVar[type[InterventionalGame]] = InterventionalGame
    masked_: Any

    def fit(self, response, background, weights, players) -> Self:
        """Store the background, and evaluate the model on it once: v(empty) against each row."""
        self.response_ = response
        self.background_ = background
        self.players_ = players
        self._set_sizes(len(weights))
        self.row_order_: RowOrder | None = None
        self.used_ = np.ones(players.n_players, dtype=bool)
        self.__dict__.pop("varies_", None)  # computed for another background
        raw = MaskedModel(
            response,
            background,
            weights,
            players.column_player,
            label=self.mixed,
        )
        self.masked_ = self._prepared(raw).evaluated()
        response.learn_from(self.masked_.response)
        self.masked_columns_ = self.masked_.label
        return self

    @cached_property
    def varies_(self) -> NDArray[np.bool_]:
        """Whether each column differs between background rows, ``(d,)``."""
        return np.any(
            [
                self._unlike_first(chunk).any(axis=0)
                for chunk, _ in row_chunks(self.background_, "")
            ],
            axis=0,
        )

    def _unlike_first(self, table) -> NDArray[np.bool_]:
        """Return True where rows ``(n, d)`` differ from the first background row, ``(n, d)``."""
        first = take_rows(self.background_, slice(0, 1))
        rows = np.arange(n_rows(table))
        return row_pool(table, first, self.players_.column_player).unlike(
            rows,
            np.zeros_like(rows),
        )

    def sort_background(self, rng) -> None:
        """Sort the background into balanced order; a very large one is reduced."""
        column_player = self.players_.column_player
        order = RowOrder.balanced(
            self.background_,
            self.masked_.empty,
            self.masked_.weights,
            column_player,
            rng,
            used=self.used_[column_player],
        )
        self.row_order_ = order
        if len(self.masked_.weights) > MOST_PLACES:
            _ = self.varies_  # computed from all rows, before the reduction
            rows = order.rows
            self.background_ = take_rows(self.background_, rows)
            weights = np.bincount(order.places) / len(order.places)
            self.masked_ = self.masked_.take(rows, weights)
            self._set_sizes(len(rows))

    def _set_sizes(self, n) -> None:
        """Set the sizes of the game against n background rows."""
        self.rows_per_value_ = n
        # Means over the background are inside the value, so samplers must not sample
        # rows.
        self.n_references_ = 1 if self.pooled or self.link is not None else n

    @abstractmethod
    def _prepared(self, raw: MaskedModel) -> MaskedModel:
        """Return the model with a pool that makes the rows, from the model in raw columns."""

    def game(self, X) -> Game:
        """Return the game of the rows X; the model is called on them once."""
        game = self._plain_game(X)
        return game if self.link is None else LinkedGame(game, self.link)

    def influences(self, X) -> InfluenceGame | None:
        """Return the game of the influence of parts of the background; None without a link.

        Parameters
        ----------
        X : array or frame of shape (r, d)
        """
        return (
            None if self.link is None else InfluenceGame(self._plain_game(X), self.link)
        )

    def _plain_game(self, X) -> InterventionalGame:
        """Return the game with values that are plain means over references."""
        active = self._active(X)
        masked = self.masked_
        table = masked.transform(X)
        # Raw columns stay beside transformed ones: equality of players is defined on
        # raw columns.
        instances = Instances.of(masked.response, table, X, active)
        return self._game_class(masked, instances, self.row_order_)

    def _active(self, X) -> NDArray[np.bool_]:
        """Return the players with a possible effect in each row, ``(r, p)``."""
        # The usual case needs no comparison: every column may have an effect.
        if self.varies_.all():
            return np.tile(self.used_, (n_rows(X), 1))
        varied = self._unlike_first(X) | self.varies_
        return self.players_.of_columns(varied) & self.used_


@dataclass(eq=False, repr=False)
class InterventionalReward(BackgroundReward):
    """The model's mean response if absent players take the values of background rows.

    v(S) = sum_b w_b f(x_S, background_b outside S). With one background row, this is
    the contrastive game of Grah & Thouvenot (2020), f(z(x*, r, S)).

    Parameters
    ----------
    transformed : bool, default=True
        Whether the first steps of a `sklearn.pipeline.Pipeline` transform the rows and
        the background only once, and rows are mixed afterwards. This is faster and
        gives the same values. It applies to steps that compute each column from one
        column: scalers, imputers, encoders, binners, and a ColumnTransformer of these.
        False: mix raw columns, and let the whole pipeline transform every row.
    link : None, "log", "logit" or callable, default=None
        A function of the mean: v(S) = link(sum_b w_b f(...)). Each value then needs the
        responses of many background rows: all of them, or a sample that the budget
        affords, whose choice the standard errors include. There is no closed form. With
        ``response_method="predict_proba"`` and "log", this is the score of Chen et al.
        (2018), section 2.1.

    Attributes
    ----------
    masked_columns_ : str
        The steps that run once, or the reason if there are none.
    masked_ : MaskedModel
        These steps, the transformed background, and the rest of the model.

    References
    ----------
    Janzing, Minorics & Bloebaum (2020), Feature relevance quantification in explainable
    AI: a causal problem, AISTATS. Strumbelj & Kononenko (2014), Knowledge and
    Information Systems 41.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley import ShapleyExplainer
    >>> from skshapley.rewards import InterventionalReward
    >>> explainer = ShapleyExplainer(
    ...     lambda X: X[:, 0] * X[:, 1], reward=InterventionalReward()
    ... )
    >>> explainer.fit(np.array([[0.0, 0.0], [0.0, 2.0]])).explain(
    ...     np.array([[1.0, 1.0]])
    ... ).values
    array([[1., 0.]])
    """

    transformed: bool = True
    link: Any = None

    _constraints = {"transformed": Flag(), "link": LINK}
    takes = ("sparse", "gaps", "text")

    def _prepared(self, raw) -> MaskedModel:
        """Return the model after the steps of a pipeline that work column by column."""
        return prepare(raw, self.players_.n_players, self.transformed)
