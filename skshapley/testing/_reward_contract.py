"""Checks for every reward: parameters, fit, groups, outputs, costs and games.

A reward is fitted to a small table of numbers, and a function of its columns is the
model. Numbers are compared up to rounding: `rtol` is relative to the largest value
compared. All checks take `rtol`, so that they have the same signature.
"""

from collections.abc import Callable, Container
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from skshapley._estimators._explainer import ShapleyExplainer
from skshapley._tools import all_coalitions
from skshapley.exceptions import ModelOutputError
from skshapley.rewards import Game, Players, Response, Reward
from skshapley.testing._checks import Counted, checks_named, run_checks
from skshapley.testing._game_contract import GAME_CHECKS, RTOL, assert_close, values_of
from skshapley.testing.games import brute_force

NAMES = ["x0", "x1", "x2", "x3"]
# Its columns are not adjacent, so a reward that takes a slice of columns fails.
GROUPS = {"pair": ["x0", "x2"]}
OUTPUTS = 3
# All different, so a reward that ignores or reorders weights fails.
WEIGHTS = np.array([0.1, 0.2, 0.25, 0.3, 0.15])
# The row for which a model returns NaN
FLAW = 99.0


def check_reward_parameters(reward: Reward, rtol: float = RTOL) -> None:
    """A reward is a parameter object: clones equal it, and no call changes a parameter."""
    fresh = clone(reward)
    before = fresh.get_params()
    assert repr(fresh) == repr(reward), f"a clone is {fresh!r}"
    assert _fitted(fresh) is fresh, "fit does not return the reward itself"
    _asked(fresh.game(_instances()))
    for name, value in fresh.get_params().items():
        assert value is before[name], f"fit or game changed {name}"
    assert repr(clone(fresh)) == repr(reward), (
        f"after a fit, a clone is {clone(fresh)!r}"
    )


def check_reward_attributes(reward: Reward, rtol: float = RTOL) -> None:
    """The attributes of a fitted reward match its games: background, costs, players, outputs."""
    for output, groups in ((None, None), (1, GROUPS), ("predicted", GROUPS)):
        fitted = _fitted(clone(reward), output=output, groups=groups)
        game = fitted.game(_instances())
        response = fitted.response_
        counts = {
            "n_references": fitted.n_references_,
            "rows_per_value": fitted.rows_per_value_,
            "n_players": _players(groups).n_players,
            "n_outputs": OUTPUTS if output is None else 1,
            "n_rows": len(_instances()),
        }
        for name, expected in counts.items():
            value = getattr(game, name)
            assert value == expected, (
                f"the game has {name}={value} instead of {expected}"
            )
        assert response.n_outputs == game.n_outputs, (
            f"response_ has {response.n_outputs} outputs"
        )
        label = fitted.masked_columns_
        assert isinstance(label, str), f"masked_columns_ is {label!r} instead of a str"


def check_reward_inputs(reward: Reward, rtol: float = RTOL) -> None:
    """Background, weights and rows are not changed."""
    for framed in (False, True):
        tables = _background(framed), WEIGHTS.copy(), _instances(framed)
        before = deepcopy(tables)
        _worths(reward, tables[2], background=tables[0], weights=tables[1])
        for name, now, then in zip(
            ("background", "weights", "X"),
            tables,
            before,
            strict=True,
        ):
            assert np.array_equal(now, then), f"fit, game or a call changed {name}"


def check_reward_groups(reward: Reward, rtol: float = RTOL) -> None:
    """A group is present or absent as a whole: a coalition of groups includes all their columns."""
    players = _players(GROUPS)
    coalitions = all_coalitions(players.n_players)
    expected = _worths(reward, coalitions=coalitions[:, players.column_player])
    assert_close(
        _worths(reward, coalitions=coalitions, groups=GROUPS),
        expected,
        rtol,
        "a group and its columns",
    )


def check_reward_outputs(reward: Reward, rtol: float = RTOL) -> None:
    """A single output equals its column; the predicted output is the largest one of each row."""
    X = _instances()
    for output, columns in (
        (1, np.ones(len(X), dtype=int)),
        ("predicted", _model(X).argmax(1)),
    ):
        assert_close(
            _worths(reward, output=output),
            np.take_along_axis(_worths(reward), columns[:, None, None], axis=2),
            rtol,
            f"output={output!r}",
        )


def check_reward_order(reward: Reward, rtol: float = RTOL) -> None:
    """The order of the background rows, with their weights, does not matter."""
    order = np.array([3, 0, 4, 2, 1])
    assert_close(
        _worths(reward, background=_background()[order], weights=WEIGHTS[order]),
        _worths(reward),
        rtol,
        "a background in another order",
    )


def check_reward_instances(reward: Reward, rtol: float = RTOL) -> None:
    """The values of a row do not depend on the other rows of the game."""
    fitted = _fitted(clone(reward))
    X = _instances()
    whole = _asked(fitted.game(X))
    for rows, which in (
        ([2, 0], "of some instances"),
        ([0, 1, 2], "that is made again"),
    ):
        assert_close(_asked(fitted.game(X[rows])), whole[rows], rtol, f"a game {which}")


def check_reward_refit(reward: Reward, rtol: float = RTOL) -> None:
    """A second fit forgets the first: its background, weights, players and outputs."""
    again = clone(reward)
    _fitted(
        again,
        _background()[:3] + 1,
        output=0,
        groups=GROUPS,
        weights=np.full(3, 1 / 3),
    )
    _asked(again.game(_instances()))
    assert_close(
        _asked(_fitted(again).game(_instances())),
        _worths(reward),
        rtol,
        "after another fit",
    )


def check_reward_costs(reward: Reward, rtol: float = RTOL) -> None:
    """An evaluation costs at most `rows_per_value` model rows; against q references, q."""
    model = Counted(_model)
    game = _fitted(clone(reward), model=model).game(_instances())
    coalitions = all_coalitions(game.n_players)[None, 1:-1]
    rows = np.array([1])
    for q in (None,) if game.n_references == 1 else (None, 1, 2):
        references = (
            None if q is None else np.zeros((*coalitions.shape[:2], q), dtype=int)
        )
        model.n = 0
        values_of(game, coalitions, rows, references)
        most = coalitions.shape[1] * (game.rows_per_value if q is None else q)
        assert model.n <= most, (
            f"{model.n} model rows, where {most} are promised (q={q})"
        )


def check_reward_refused(reward: Reward, rtol: float = RTOL) -> None:
    """A model that returns NaN, for all rows or for one, raises ModelOutputError."""
    X = _instances()
    X[2] = FLAW
    models = {
        "every row": lambda X: np.full((len(X), OUTPUTS), np.nan),
        "an instance": lambda X: np.where(
            (np.asarray(X) == FLAW).all(axis=1, keepdims=True),
            np.nan,
            _model(X),
        ),
    }
    for who, model in models.items():
        accepted = f"the reward accepts a model that returns NaN for {who}"
        with np.testing.assert_raises(ModelOutputError, msg=accepted):
            _worths(reward, X, model=model)


def check_reward_explained(reward: Reward, rtol: float = RTOL) -> None:
    """`ShapleyExplainer` accepts the reward, and explains its game."""
    before = dict(vars(reward))
    X = _instances(framed=True)
    background = _background(framed=True)
    model, target = _model_for(reward, _model, background)
    explainer = ShapleyExplainer(model, reward=reward, sampler="exact", groups=GROUPS)
    explainer.fit(background, **target, sample_weight=WEIGHTS.copy())
    result = explainer.explain(X).values
    # `all_coalitions` sorts by binary code.
    bits = 2 ** np.arange(_players(GROUPS).n_players)
    for row, worths in zip(
        result,
        _worths(reward, X, background=_background(framed=True), groups=GROUPS),
        strict=True,
    ):
        assert_close(
            row,
            brute_force(lambda S, worths=worths: worths[S @ bits], len(bits)),
            rtol,
            "an explanation and the values of its game",
        )
    assert dict(vars(reward)) == before, (
        "the explainer changed the reward that it was given"
    )


def _game_check(
    check: Callable[[Game, float], None],
) -> Callable[[Reward, float], None]:
    """Return a check of games, applied to the game of a reward."""

    def check_reward_game(reward: Reward, rtol: float = RTOL) -> None:
        for output, groups, framed in (
            (None, None, False),
            (1, GROUPS, True),
            ("predicted", None, True),
        ):
            fitted = _fitted(
                clone(reward),
                _background(framed),
                output=output,
                groups=groups,
            )
            try:
                check(fitted.game(_instances(framed)), rtol)
            except AssertionError as error:
                error.add_note(
                    f"with output={output!r}, groups={groups}, framed={framed}"
                )
                raise

    check_reward_game.__doc__ = check.__doc__
    return check_reward_game


@dataclass(eq=False, repr=False)
class FittedFunction(BaseEstimator):
    """Function of a table as an estimator; `fit` stores the mean target, which it adds.

    A table of fewer columns is filled with zeros. Clones call the same function.
    """

    function: Callable[[Any], np.ndarray]

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Store the mean target."""
        self.mean_ = np.average(y, axis=0, weights=sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the outputs, ``(n, 3)``."""
        rows = np.asarray(X, dtype=np.float64)
        filled = np.zeros((len(rows), len(NAMES)))
        filled[:, : rows.shape[1]] = rows
        return self.function(filled) + self.mean_

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.function)


def _model_for(
    reward: Reward,
    model: Callable[[Any], np.ndarray],
    background: Any,
) -> tuple[Any, dict[str, Any]]:
    """Return the model, and the argument y of `fit` for a reward that fits it again."""
    if not reward.needs_target:
        return model, {}
    target = np.asarray(background)[:, 0] ** 2
    return FittedFunction(model).fit(background, target), {"y": target}


def _background(framed: bool = False) -> Any:
    """Return background rows ``(5, 4)``; the last column is constant."""
    rows = np.random.default_rng(0).normal(size=(len(WEIGHTS), len(NAMES)))
    rows[:, 3] = 1.0
    return pd.DataFrame(rows, columns=NAMES) if framed else rows


def _instances(framed: bool = False) -> Any:
    """Return rows to explain ``(3, 4)``; two have entries in common with the background."""
    rows = np.random.default_rng(1).normal(size=(3, len(NAMES)))
    rows[0, 3] = 1.0
    rows[1, 0] = _background()[2, 0]
    rows[2] = (
        2.0,
        1.5,
        -0.5,
        0.5,
    )  # its largest output differs from that of the other rows
    return pd.DataFrame(rows, columns=NAMES) if framed else rows


def _model(X: Any) -> np.ndarray:
    """Return three outputs, ``(n, 3)``; the outputs of a row do not depend on its batch."""
    a, b, c, d = np.asarray(X, dtype=np.float64).T
    return np.stack(
        [a * b - d, np.sin(a) + np.abs(c) * d, b * c * d + np.tanh(a)],
        axis=1,
    )


def _players(groups: dict | None) -> Players:
    return Players.from_groups(groups, NAMES, "check_reward")


def _fitted(
    reward: Reward,
    background: Any = None,
    *,
    model: Callable[[Any], np.ndarray] = _model,
    weights: np.ndarray | None = None,
    output: Any = None,
    groups: dict | None = None,
) -> Any:
    """Return the reward, fitted."""
    background = _background() if background is None else background
    weights = WEIGHTS.copy() if weights is None else weights
    estimator, target = _model_for(reward, model, background)
    fit_data = {"target": target["y"], "fit_weights": weights} if target else {}
    return reward.fit(
        Response(estimator, output=output, owner="check_reward"),
        background,
        weights,
        _players(groups),
        **fit_data,
    )


def _worths(
    reward: Reward,
    X: Any = None,
    coalitions: np.ndarray | None = None,
    **fit: Any,
) -> np.ndarray:
    """Return the values ``(r, m, k)`` of the game that a clone of the reward makes."""
    return _asked(
        _fitted(clone(reward), **fit).game(_instances() if X is None else X),
        coalitions,
    )


def _asked(game: Game, coalitions: np.ndarray | None = None) -> np.ndarray:
    """Return the values of coalitions (by default all) for all rows, ``(r, m, k)``."""
    coalitions = all_coalitions(game.n_players) if coalitions is None else coalitions
    return values_of(
        game,
        np.repeat(coalitions[None], game.n_rows, axis=0),
        np.arange(game.n_rows),
    )


REWARD_CHECKS = checks_named("check_reward_", globals()) | {
    f"game {name}": _game_check(check) for name, check in GAME_CHECKS.items()
}


def check_reward(
    reward: Reward,
    *,
    skip: Container[str] = (),
    rtol: float = RTOL,
) -> None:
    """Check a reward: parameters, fit, groups, outputs, and the games that it makes.

    The reward is fitted to a small table of numbers, as an array and as a frame. For
    rewards of other tables, pass their games to `check_game`.

    Parameters
    ----------
    reward : Reward
        Not changed.
    skip : container of str, default=()
        Names of checks that do not apply, such as "order". Checks of its games have
        "game" before them, such as "game take".
    rtol : float, default=1e-9
        Allowed rounding, relative to the largest value.

    Raises
    ------
    AssertionError
        If the check fails.

    Examples
    --------
    >>> from skshapley.rewards import BaselineReward
    >>> from skshapley.testing import check_reward
    >>> check_reward(BaselineReward())
    """
    run_checks(REWARD_CHECKS, skip, reward, rtol)
