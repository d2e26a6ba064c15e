"""Batches and the ledger, separately."""

import numpy as np
import pytest
import sklearn
from joblib import parallel_config

from skshapley._run._evaluate import Evaluator, Ledger, Requests
from skshapley.exceptions import ModelOutputError
from skshapley.rewards import Game
from skshapley.rewards._game import Unvalued
from skshapley.testing import parametrize_contract

BATCH_ROWS = 8192


class Numbered(Game):
    """v(S) = a number determined by row, coalition and references; counts its evaluations."""

    n_outputs = 2

    def __init__(self, n_players, n_references=1, bytes_per_row=8, numbers=None):
        self.numbers = np.arange(50) if numbers is None else numbers
        self.n_rows, self.n_players, self.n_references = (
            len(self.numbers),
            n_players,
            n_references,
        )
        self.reference_weights = np.full(n_references, 1 / n_references)
        self.rows_per_value, self.bytes_per_row = n_references, bytes_per_row
        self.calls = []

    def __call__(self, coalitions, rows, references=None):
        self.calls.append(len(rows))
        digits = np.random.default_rng(1).random(self.n_players)
        number = (
            np.where(coalitions, digits, 0).sum(axis=2)
            + 100.0 * self.numbers[rows][:, None]
        )
        named = np.arange(self.n_references) if references is None else references
        number = number + 1e6 * (1 + named).mean(axis=-1) * (~coalitions).sum(axis=2)
        return np.stack([number, -number], axis=2)

    def take(self, rows):
        part = Numbered(
            self.n_players, self.n_references, self.bytes_per_row, self.numbers[rows]
        )
        part.calls = self.calls
        return part

    def empty(self, rows):
        each = np.tile(np.arange(self.n_references)[:, None], (len(rows), 1, 1))
        return self(np.zeros((*each.shape[:2], self.n_players), dtype=bool), rows, each)

    def full(self, rows):
        return self(np.ones((len(rows), 1, self.n_players), dtype=bool), rows)[:, 0]


@parametrize_contract(game=Numbered(5, n_references=3))
def test_the_game_of_these_tests_keeps_its_contract(check) -> None:
    check()


def requests(n, p, n_rows=4, b=None, q=1, seed=0, first_row=0):
    """Return n random requests, with repetitions among them where there are few coalitions."""
    rng = np.random.default_rng(seed)
    rows = first_row + np.sort(rng.integers(n_rows, size=n))
    references = None if b is None else rng.integers(b, size=(n, q))
    return Requests(rows, rng.random((n, p)) < 0.5, references)


def truth(game, wanted):
    references = None if wanted.references is None else wanted.references[:, None]
    values = game(wanted.coalitions[:, None], wanted.rows, references)[:, 0]
    game.calls.clear()
    return values


def distinct(wanted):
    parts = [wanted.rows[:, None], wanted.coalitions]
    parts += [] if wanted.references is None else [wanted.references]
    return len(np.unique(np.concatenate(parts, axis=1), axis=0))


# --- the evaluator --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n_references", "bytes_per_row", "memory", "width"),
    [
        (1, 8, 1024, BATCH_ROWS),
        (100, 8, 1024, 81),
        (10_000, 8, 1024, 1),  # one value at least
        (1, 1024, 1, 128),  # an eighth of a megabyte
        (4, 1024, 1, 32),
    ],
)
def test_width_of_a_batch(n_references, bytes_per_row, memory, width):
    game = Numbered(5, n_references, bytes_per_row)
    with sklearn.config_context(working_memory=memory):
        assert Evaluator(game).batch_width(requests(3, 5)) == width


def test_width_of_a_batch_with_references_per_permutation():
    game = Numbered(5, n_references=100)
    assert Evaluator(game).batch_width(requests(3, 5, b=100)) == BATCH_ROWS
    assert Evaluator(game).batch_width(requests(3, 5, b=100, q=4)) == BATCH_ROWS // 4


@pytest.mark.parametrize("n_jobs", [None, 1, 2])
@pytest.mark.parametrize("n", [0, 1, 8, 9, 100])
def test_values_come_in_the_order_of_requests(n_jobs, n):
    game = Numbered(5, bytes_per_row=2**14)  # 8 to a batch
    wanted = requests(n, 5)
    expected = truth(game, wanted)
    index = np.random.default_rng(2).permutation(n)[: n // 2]
    with (
        sklearn.config_context(working_memory=1),
        parallel_config(backend="threading"),
        Evaluator(game, n_jobs) as evaluator,
    ):
        np.testing.assert_array_equal(evaluator(wanted), expected)
        assert max(game.calls, default=0) <= 8
        np.testing.assert_array_equal(evaluator(wanted.take(index)), expected[index])


def test_games_without_take_are_not_sent_to_workers():
    """Workers number rows from 0, so the whole game would answer for other rows."""

    class Whole(Numbered):
        take = Game.take

    with (
        parallel_config(backend="threading"),
        Evaluator(Whole(5), 2) as evaluator,
        pytest.raises(
            NotImplementedError, match=r"Whole has 50 rows to explain but no take"
        ),
    ):
        evaluator(requests(20, 5))


# --- the ledger -----------------------------------------------------------------------

KINDS = {
    "bits": {"p": 4},
    "bits of 64 players are hashed": {"p": 64},
    "many words": {"p": 130},
    "several references each": {"p": 2, "b": 3, "q": 2},
}


def repeated(n=400, p=4, **kind):
    """Return requests in any order; about half of them are repeated."""
    once = requests(n // 2, p, **kind)
    again = np.sort(np.random.default_rng(3).integers(n // 2, size=n))
    return once.take(again)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_request_is_evaluated_once(kind):
    wanted = repeated(**kind)
    game = Numbered(kind["p"], kind.get("b", 1))
    expected = truth(game, wanted)
    ledger = Ledger(np.arange(4))
    values, sent = ledger.evaluate(Evaluator(game), wanted)
    np.testing.assert_array_equal(values, expected)
    assert sum(game.calls) == sent.sum() == distinct(wanted) < len(sent)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_earlier_requests_are_cached(kind):
    game = Numbered(kind["p"], kind.get("b", 1))
    ledger = Ledger(np.arange(4))
    everything = requests(300, n_rows=4, **kind)
    parts = [everything.take(slice(0, 200)), everything.take(slice(100, 300))]
    for part in parts:
        expected = truth(game, part)
        values, sent = ledger.evaluate(Evaluator(game), part)
        np.testing.assert_array_equal(values, expected)
    assert not sent[:100].any()
    _, sent = ledger.evaluate(Evaluator(game), everything)
    assert not sent.any()


@pytest.mark.parametrize("p", [10, 100])
def test_rows_are_counted_from_the_first_of_the_block(p):
    game = Numbered(p)
    wanted = requests(50, p, n_rows=4, first_row=40)
    expected = truth(game, wanted)
    values, *_ = Ledger(np.arange(40, 44)).evaluate(Evaluator(game), wanted)
    np.testing.assert_array_equal(values, expected)


@pytest.mark.parametrize("p", [5, 100])
def test_capacity_limits_the_cache_of_a_row(p):
    """Row 0 requests too much to be cached; row 1 does not."""

    class Small(Ledger):
        capacity = 10

    coalitions = np.unique(np.random.default_rng(0).random((23, p)) < 0.5, axis=0)[:15]
    wanted = Requests(np.r_[np.zeros(11, int), np.ones(4, int)], coalitions, None)
    game, ledger = Numbered(p), Small(np.arange(2))
    expected = truth(game, wanted)
    for _ in range(2):
        values, sent = ledger.evaluate(Evaluator(game), wanted)
        np.testing.assert_array_equal(values, expected)
    np.testing.assert_array_equal(sent, wanted.rows == 0)


def test_requests_of_a_row_are_divided_independently_of_other_rows():
    """The last bits of a conditional game depend on the other requests of a call."""
    coalitions = np.random.default_rng(0).random((336, 5)) < 0.5
    rows = np.repeat([1, 3], [33, 303])
    calls = []
    for first in (0, 33):
        game = Numbered(5, bytes_per_row=2**20)
        game.parted_by_instance = True
        part = Requests(rows[first:], coalitions[first:], None)
        with sklearn.config_context(working_memory=8 * 28):
            Evaluator(game)(part)
        calls.append(game.calls)
    together, alone = calls
    assert alone == [28] * 10 + [23]
    assert together == [28, 5, *alone]


def test_missing_values_of_a_game_are_refused_or_filled_in():
    class Silent(Numbered):
        def __call__(self, coalitions, rows, references=None):
            values = super().__call__(coalitions, rows, references)
            values[~coalitions[..., 0]] = np.nan
            return values

    asked = requests(40, 5)
    known = np.flatnonzero(asked.coalitions[:, 0])
    game = Silent(5)
    with pytest.raises(
        ModelOutputError, match=r"Silent returned NaN for \d+ coalitions"
    ):
        Evaluator(game)(asked)
    assert np.isfinite(Evaluator(game)(asked.take(known))).all()
    game.unvalued = Unvalued(7.0)
    index = np.arange(39, -1, -1)
    values, plain = (
        Evaluator(game)(asked.take(index)),
        Evaluator(Numbered(5))(asked.take(index)),
    )
    silent = ~asked.coalitions[index, 0]
    np.testing.assert_array_equal(values[~silent], plain[~silent])
    assert (values[silent] == 7).all()
    np.testing.assert_array_equal(
        game.unvalued.coalitions, asked.coalitions[index][silent]
    )
