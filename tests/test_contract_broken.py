"""Games and rewards that break their contracts: every check detects its violation."""

import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from skshapley.rewards import Game, InterventionalReward, Reward
from skshapley.testing import HybridGame, check_game, check_reward
from skshapley.testing.contracts import CONTRACTS

GAME_CHECKS, _ = CONTRACTS["game"]
REWARD_CHECKS, _ = CONTRACTS["reward"]

X = np.array([[1.0, 2.0, 0.5, 1.0], [0.0, -1.0, 2.0, 3.0], [1.0, 0.0, -2.0, 1.0]])
BACKGROUND = np.array(
    [[1.0, 0.0, 0.0, 1.0], [0.5, 1.0, 1.0, 1.0], [1.0, -1.0, 2.0, 1.0]]
)
WEIGHTS = [0.5, 0.2, 0.3]


def bumpy(rows: np.ndarray) -> np.ndarray:
    """Two outputs with interactions; the value of a row does not depend on the others."""
    a, b, c, d = rows.T
    return np.stack([a * b + np.abs(c) * d, np.sin(a) - b * c * d], axis=1)


class Sound(HybridGame):
    """A game that keeps the contract, says which players differ, and shares something large."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.shared = np.arange(2000.0)

    def differing(self, rows: np.ndarray, references: np.ndarray) -> np.ndarray:
        return self.X[rows] != self.background[references]

    def take(self, rows: np.ndarray) -> "Sound":
        part = type(self)(
            self.function, self.X[rows], self.background, self.reference_weights
        )
        part.shared = self.shared
        return part


def within_a_function() -> Callable:
    def bumpy_again(rows) -> np.ndarray:
        return bumpy(rows)

    return bumpy_again


def game(kind: type[Sound] = Sound, **attributes: Any) -> Sound:
    made = kind(bumpy, X, BACKGROUND, WEIGHTS)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def with_methods(**methods: Callable) -> Sound:
    """A game with other methods; it cannot be pickled."""
    return game(type("Broken", (Sound,), methods))


def with_values(change: Callable) -> Sound:
    """A game with values changed by a function of game, values, coalitions, rows and references."""

    def call(self, coalitions, rows, references=None) -> np.ndarray:
        values = Sound.__call__(self, coalitions, rows, references)
        return change(self, values, coalitions, rows, references)

    return with_methods(__call__=call)


# --- what a broken game does ----------------------------------------------------------


def count_calls(self, values, coalitions, rows, references) -> np.ndarray:
    self.calls = getattr(self, "calls", 0) + 1
    return values + self.calls


def add_the_first(self, values, coalitions, rows, references) -> np.ndarray:
    """The first coalitions that it ever sees change all values."""
    self.first = getattr(self, "first", coalitions.sum())
    return values + self.first


def clear_coalitions(self, values, coalitions, rows, references) -> np.ndarray:
    """Remove the last player, which does not affect the first row."""
    coalitions[rows == 0, :, 3] = False
    return values


def clear_references(self, values, coalitions, rows, references) -> np.ndarray:
    if references is not None:
        references[...] = 0
    return values


def without_outputs(self, values, coalitions, rows, references) -> np.ndarray:
    return values[..., 0]


def in_single_precision(self, values, coalitions, rows, references) -> np.ndarray:
    return values.astype(np.float32)


def set_nan(self, values, coalitions, rows, references) -> np.ndarray:
    values[0, 0] = np.nan
    return values


def equal_weights(self, values, coalitions, rows, references) -> np.ndarray:
    if references is not None:
        return values
    b = self.n_references
    everyone = np.broadcast_to(np.arange(b), (*coalitions.shape[:2], b))
    return Sound.__call__(self, coalitions, rows, everyone)


def first_reference_only(self, values, coalitions, rows, references) -> np.ndarray:
    if references is None:
        return values
    return Sound.__call__(self, coalitions, rows, references[:, :, :1])


def off_at_the_ends(
    end: bool, self, values, coalitions, rows, references
) -> np.ndarray:
    return values + (coalitions == end).all(axis=2, keepdims=True)


def off_against_all(self, values, coalitions, rows, references) -> np.ndarray:
    return values + (coalitions.all(axis=2, keepdims=True) & (references is None))


def centred(self, values, coalitions, rows, references) -> np.ndarray:
    return values - values.mean()


def by_position(self, values, coalitions, rows, references) -> np.ndarray:
    return values + np.arange(len(rows))[:, None, None]


class Unweighted(Sound):
    """Forgets its weights on the way."""

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self.reference_weights = np.full(3, 1 / 3)


class Twice(Sound):
    """Stores the shared data under another name, too."""

    def take(self, rows: np.ndarray) -> Sound:
        part = super().take(rows)
        part.mine = part.shared
        return part


class ForAll(Sound):
    """Stores the shared data in the class, so clearing it affects all games."""

    kept: Any = None

    @property
    def shared(self) -> Any:
        return ForAll.kept

    @shared.setter
    def shared(self, content: Any) -> None:
        ForAll.kept = content


class Alone(Sound):
    """Changes its values when it receives the shared data again."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "shared" and vars(self).get(name, 0) is None:
            self.reference_weights = np.full(3, 1 / 3)
        super().__setattr__(name, value)


def same_numbers(self, rows) -> Any:
    """Row numbers are kept: the whole game answers for its part."""
    part = Sound.take(self, np.arange(self.n_rows))
    part.n_rows = len(rows)
    return part


def in_ascending_order(method: Callable) -> Callable:
    return lambda self, rows: method(self, np.sort(rows))


def once_each(self, rows) -> Any:
    _, first = np.unique(rows, return_index=True)
    return Sound.take(self, rows[np.sort(first)])


def taken_with(**attributes: Any) -> Sound:
    """A game with changed attributes for some rows."""

    def take(self, rows) -> Any:
        part = Sound.take(self, rows)
        vars(part).update(attributes)
        return part

    return with_methods(take=take)


def of_the_whole(self, rows) -> Any:
    """Each part takes its own from the first game of all."""
    part = Sound.take(getattr(self, "whole", self), rows)
    part.whole = getattr(self, "whole", self)
    return part


def balanced(active: Callable) -> Sound:
    """The first player's references are above and below: it matters to none but all of them."""
    made = with_methods(active=active)
    made.function = partial(np.sum, axis=1, keepdims=True)
    made.X, made.background = np.zeros((3, 4)), np.zeros((2, 4))
    made.background[:, 0] = 1.0, -1.0
    made.reference_weights, made.n_references, made.n_outputs = np.full(2, 0.5), 2, 1
    return made


def nobody(self, rows) -> np.ndarray:
    return np.zeros((len(rows), self.n_players), dtype=bool)


def as_numbers(self, rows) -> np.ndarray:
    return Sound.active(self, rows) + 0


def no_differences(self, rows, references) -> np.ndarray:
    return np.zeros((len(rows), self.n_players), dtype=bool)


def one_less(self, rows, references) -> np.ndarray:
    return Sound.differing(self, rows, references)[:, 1:]


def as_the_first(self, rows, references) -> np.ndarray:
    return Sound.differing(self, rows, np.zeros_like(references))


def mean_for_each(self, rows) -> np.ndarray:
    return np.tile(
        self.reference_weights @ self._empty, (len(rows), self.n_references, 1)
    )


# What breaks which check, and what is said of it
BROKEN: list[tuple[str, str, Game]] = [
    ("attributes", "rows_per_value is 0", game(rows_per_value=0)),
    ("attributes", "most_values is 2.5 instead of an int", game(most_values=2.5)),
    (
        "attributes",
        "weights of shape (2,)",
        game(reference_weights=np.array([0.5, 0.5])),
    ),
    (
        "attributes",
        "has the weight -0.4",
        game(reference_weights=np.array([1.2, -0.4, 0.2])),
    ),
    ("attributes", "have sum 0.9", game(reference_weights=np.array([0.5, 0.25, 0.15]))),
    ("shapes", "returned has shape (3, 6)", with_values(without_outputs)),
    ("shapes", "returned is float32", with_values(in_single_precision)),
    ("shapes", "returned is not finite", with_values(set_nan)),
    ("shapes", "empty has shape (3, 2)", with_methods(empty=Sound.full)),
    ("shapes", "full has shape (3, 3, 2)", with_methods(full=Sound.empty)),
    ("shapes", "active is int64", with_methods(active=as_numbers)),
    ("shapes", "differing has shape (3, 3, 3)", with_methods(differing=one_less)),
    (
        "shapes",
        "full of rows in another order",
        with_methods(full=in_ascending_order(Sound.full)),
    ),
    ("purity", "the same call again", with_values(count_calls)),
    ("purity", "in another order of calls", with_values(add_the_first)),
    ("purity", "changed its coalitions", with_values(clear_coalitions)),
    ("purity", "the same call again", with_values(clear_references)),
    ("pickling", "cannot be pickled", game(function=within_a_function())),
    ("pickling", "a pickled game differs", game(Unweighted)),
    ("pickling", "it carries that twice", game(Twice)),
    ("pickling", "takes that of the game, too", game(ForAll)),
    ("pickling", "apart from `shared`, a game", game(Alone)),
    ("take", "no take(rows), which workers need", with_methods(take=Game.take)),
    ("take", "values of take([2])", with_methods(take=same_numbers)),
    (
        "take",
        "values of take([2, 0])",
        with_methods(take=in_ascending_order(Sound.take)),
    ),
    ("take", "take([0, 2, 0]) has n_rows=2", with_methods(take=once_each)),
    ("take", "pass on `shared` unchanged", taken_with(shared=np.arange(2000.0))),
    ("take", "other weights", taken_with(reference_weights=np.full(3, 1 / 3))),
    ("take", "has rows_per_value=1 instead of 3", taken_with(rows_per_value=1)),
    ("take", "empty of take([2])", taken_with(_empty=np.zeros((3, 2)))),
    (
        "take",
        "differing of take([2]) is sometimes None",
        taken_with(differing=lambda rows, references: None),
    ),
    ("take", "a part of take([2])", with_methods(take=of_the_whole)),
    ("references", "against all references", with_values(equal_weights)),
    ("references", "against 3 references", with_values(first_reference_only)),
    (
        "ends",
        "empty(rows) and its coalition",
        with_values(partial(off_at_the_ends, False)),
    ),
    (
        "ends",
        "full(rows) and its coalition",
        with_values(partial(off_at_the_ends, True)),
    ),
    ("ends", "full(rows) and its coalition differs", with_values(off_against_all)),
    (
        "ends",
        "empty(rows) and its coalition, by reference",
        with_methods(empty=mean_for_each),
    ),
    ("active", "equal active players", with_methods(active=nobody)),
    ("active", "equal active players", balanced(nobody)),
    ("differing", "equal differing players", with_methods(differing=no_differences)),
    ("differing", "equal differing players", with_methods(differing=as_the_first)),
    ("batch", "asked alone", with_values(centred)),
    ("batch", "one coalition a line, in another order", with_values(by_position)),
]


def test_a_sound_game_passes() -> None:
    check_game(game())


def test_every_check_of_games_has_broken_games() -> None:
    assert {check for check, *_ in BROKEN} == set(GAME_CHECKS)


@pytest.mark.parametrize(("check", "message", "broken"), BROKEN)
def test_check_sees_a_broken_game(check: str, message: str, broken: Game) -> None:
    with pytest.raises(AssertionError, match=re.escape(message)):
        GAME_CHECKS[check](broken)


def test_skipped_checks_are_not_run() -> None:
    check_game(with_values(count_calls), skip=set(GAME_CHECKS) - {"attributes"})


def test_rounding_is_allowed_up_to_the_tolerance() -> None:
    rounded = with_methods(full=lambda self, rows: Sound.full(self, rows) * (1 + 1e-7))
    check_game(rounded, skip={"pickling"}, rtol=1e-6)
    with pytest.raises(AssertionError, match=r"full\(rows\) and its coalition"):
        check_game(rounded, skip={"pickling"})


# --- rewards --------------------------------------------------------------------------


class Changed(InterventionalReward):
    """Its fit changes a parameter."""

    def fit(self, *args) -> Any:
        super().fit(*args)
        self.transformed = False
        return self


class Another(InterventionalReward):
    """Its fit returns another object."""

    def fit(self, *args) -> Any:
        return clone(self)._fit(*args)

    def _fit(self, *args) -> Any:
        return super().fit(*args)


class Grows(InterventionalReward):
    """Its fit changes the content of a parameter."""

    def __init__(self, seen=None, transformed=True) -> None:
        super().__init__(transformed)
        self.seen = seen

    def fit(self, *args) -> Any:
        self.seen.append(1)
        return super().fit(*args)


class Unlike(InterventionalReward):
    """Its clones have other parameters."""

    def __sklearn_clone__(self) -> Any:
        return Unlike(not self.transformed)


class Apart(InterventionalReward):
    """It shows another response than it evaluates."""

    def fit(self, response, *args) -> Any:
        super().fit(response, *args)
        self.response_ = copy(response)
        self.response_.column = None if response.column is not None else 0
        return self


class Rounded(InterventionalReward):
    """Its games have other players than it was given."""

    def game(self, X) -> Any:
        made = super().game(X)
        made.n_players = 4
        return made


class OneReference(InterventionalReward):
    """It reports one reference, but its games have more."""

    def fit(self, *args) -> Any:
        super().fit(*args)
        self.n_references_ = 1
        return self


class Cheaper(InterventionalReward):
    """It says that an evaluation takes one model row."""

    def fit(self, *args) -> Any:
        super().fit(*args)
        self.rows_per_value_ = 1
        return self


class Unlabelled(InterventionalReward):
    def fit(self, *args) -> Any:
        super().fit(*args)
        self.masked_columns_ = None
        return self


class Sorted(InterventionalReward):
    """It sorts its input in place."""

    def __init__(self, what="background", transformed=True) -> None:
        super().__init__(transformed)
        self.what = what

    def fit(self, response, background, weights, players) -> Any:
        if self.what == "background":
            np.asarray(background).sort(axis=0)
        if self.what == "weights":
            weights.sort()
        return super().fit(response, background, weights, players)

    def game(self, X) -> Any:
        if self.what == "X":
            np.asarray(X).sort(axis=0)
        return super().game(X)


class FirstColumns(InterventionalReward):
    """Of a group it lets only the first column come and go."""

    def fit(self, response, background, weights, players) -> Any:
        column_player = players.column_player.copy()
        for column in range(1, len(column_player)):
            if column_player[column] in column_player[:column]:
                column_player[column] = column_player[column - 1]
        return super().fit(
            response, background, weights, replace(players, column_player=column_player)
        )


class FirstOutput(InterventionalReward):
    """It takes the first output for the one that is asked for."""

    def fit(self, response, *args) -> Any:
        super().fit(response, *args)
        if response.column is not None:
            response.column = 0
        return self


class FirstWinner(InterventionalReward):
    """It uses the predicted class of the first row for all rows."""

    def game(self, X) -> Any:
        made = super().game(X)
        made.instances.winners[:] = made.instances.winners[0]
        return made


class Misplaced(InterventionalReward):
    """It sorts weights, but not the rows that bring them."""

    def fit(self, response, background, weights, players) -> Any:
        return super().fit(response, background, np.sort(weights), players)


class Centred(InterventionalReward):
    """It centres rows by their own mean."""

    def game(self, X) -> Any:
        return super().game(X - np.mean(X, axis=0))


class Moving(InterventionalReward):
    """The third game that it makes is another."""

    def game(self, X) -> Any:
        self.n_ = getattr(self, "n_", 0) + 1
        return super().game(X + (self.n_ > 2))


class First(InterventionalReward):
    """It keeps the background of its first fit."""

    def fit(self, response, background, weights, players) -> Any:
        self.first_ = getattr(self, "first_", (background, weights))
        return super().fit(response, *self.first_, players)


class Costly(InterventionalReward):
    """An evaluation costs more than it and its games say."""

    def fit(self, *args) -> Any:
        super().fit(*args)
        self.rows_per_value_ = 1
        return self

    def game(self, X) -> Any:
        made = super().game(X)
        made.rows_per_value = 1
        return made


class Silent(InterventionalReward):
    """It makes numbers of NaN."""

    def fit(self, response, *args) -> Any:
        ask = response.estimator
        response.estimator = lambda rows: np.nan_to_num(ask(rows))
        return super().fit(response, *args)


class Tolerant(InterventionalReward):
    """It makes numbers of NaN once it is fitted."""

    def game(self, X) -> Any:
        ask = self.response_.estimator
        self.response_.estimator = lambda rows: np.nan_to_num(ask(rows))
        return super().game(X)


class Idle(InterventionalReward):
    """Its games report that no player has an effect."""

    def game(self, X) -> Any:
        made = super().game(X)
        made.instances.active[:] = False
        return made


class Itself(InterventionalReward):
    """It cannot be cloned, so that explainers fit the one that they are given."""

    def __sklearn_clone__(self) -> Any:
        return self


class Makes(InterventionalReward):
    """Its games are always the same one."""

    def __init__(self, made=None, transformed=True) -> None:
        super().__init__(transformed)
        self.made = made

    def game(self, X) -> Any:
        return self.made


ONE_OF_EACH = {case[0]: case for case in reversed(BROKEN)}
BROKEN_REWARDS: list[tuple[str, str, Reward]] = [
    ("parameters", "changed transformed", Changed()),
    ("parameters", "does not return the reward itself", Another()),
    ("parameters", "a clone is Unlike(transformed=False)", Unlike()),
    ("parameters", "after a fit, a clone is Grows(seen=[1])", Grows([])),
    ("attributes", "n_players=4 instead of 3", Rounded()),
    ("attributes", "n_references=5 instead of 1", OneReference()),
    ("attributes", "rows_per_value=5 instead of 1", Cheaper()),
    ("attributes", "response_ has 1 outputs", Apart()),
    ("attributes", "masked_columns_ is None", Unlabelled()),
    ("inputs", "changed background", Sorted("background")),
    ("inputs", "changed weights", Sorted("weights")),
    ("inputs", "changed X", Sorted("X")),
    ("groups", "a group and its columns", FirstColumns()),
    ("outputs", "output=1", FirstOutput()),
    ("outputs", "output='predicted'", FirstWinner()),
    ("order", "a background in another order", Misplaced()),
    ("instances", "a game of some instances", Centred()),
    ("instances", "a game that is made again", Moving()),
    ("refit", "after another fit", First()),
    ("costs", "are promised (q=None)", Costly()),
    ("refused", "returns NaN for every row", Silent()),
    ("refused", "returns NaN for an instance", Tolerant()),
    ("explained", "an explanation and the values of its game", Idle()),
    ("explained", "changed the reward that it was given", Itself()),
    *(
        (f"game {check}", message, Makes(one))
        for check, message, one in ONE_OF_EACH.values()
    ),
]


def test_every_check_of_rewards_has_broken_rewards() -> None:
    assert {check for check, *_ in BROKEN_REWARDS} == set(REWARD_CHECKS)


@pytest.mark.parametrize(("check", "message", "broken"), BROKEN_REWARDS)
def test_check_sees_a_broken_reward(check: str, message: str, broken: Reward) -> None:
    with pytest.raises(AssertionError, match=re.escape(message)):
        REWARD_CHECKS[check](broken)


def test_skipped_checks_of_rewards_are_not_run() -> None:
    with pytest.raises(AssertionError, match="are promised"):
        check_reward(Costly(), skip={"game take"})
    check_reward(Costly(), skip={"costs", "game take"})
