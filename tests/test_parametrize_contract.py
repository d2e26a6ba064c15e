"""`parametrize_contract`: one test of each check, exemptions that are needed, pytest on demand."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skshapley.rewards import BaselineReward, Game
from skshapley.samplers import MonteCarlo
from skshapley.solvers import PermutationMean
from skshapley.testing import HybridGame, parametrize_contract
from skshapley.testing.contracts import CONTRACTS

GAME_CHECKS, _ = CONTRACTS["game"]
PAIR_CHECKS, _ = CONTRACTS["pair"]
REWARD_CHECKS, _ = CONTRACTS["reward"]
SAMPLER_CHECKS, _ = CONTRACTS["sampler"]
SOLVER_CHECKS, _ = CONTRACTS["solver"]


def ids(**components: Any) -> list[str]:
    return [case.id for case in parametrize_contract(**components).mark.args[1]]


def named(kind: str, checks: dict) -> list[str]:
    return [f"{kind}-{name}".replace(" ", "-") for name in checks]


def largest() -> Game:
    return HybridGame(lambda rows: rows.max(axis=1), np.eye(3), np.zeros((2, 3)))


def test_each_check_becomes_one_test() -> None:
    of_sampler = named("sampler", SAMPLER_CHECKS)
    of_both = named("solver", SOLVER_CHECKS) + named("pair", PAIR_CHECKS)
    of_reward, of_game = named("reward", REWARD_CHECKS), named("game", GAME_CHECKS)
    assert ids(sampler=MonteCarlo()) == ids(sampler="monte-carlo") == of_sampler
    assert ids(sampler=MonteCarlo(), solver=PermutationMean()) == of_sampler + of_both
    assert ids(reward=BaselineReward()) == of_reward
    assert ids(game=largest()) == ids(game=largest) == of_game
    assert len(set(of_sampler + of_both + of_reward + of_game)) == len(
        ids(sampler="exact", solver="linear", reward="baseline", game=largest)
    )


def test_games_are_created_once_and_lazily() -> None:
    times = []

    def make() -> Game:
        times.append(1)
        return largest()

    [first, second, *_] = parametrize_contract(game=make).mark.args[1]
    assert not times
    for case in (first, second):
        case.values[0]()
    assert len(times) == 1


@pytest.mark.parametrize(
    ("components", "kind", "message"),
    [
        ({}, TypeError, "a sampler, a solver, a reward or a game; got none"),
        ({"solver": "linear"}, TypeError, r"got solver=Linear\(\) without a sampler"),
        ({"sampler": MonteCarlo}, TypeError, r"got <class .*>; write MonteCarlo\(\)"),
        (
            {"reward": "nearest"},
            ValueError,
            "no reward named 'nearest'.*: choose one of 'base",
        ),
        (
            {"game": largest, "skip": {"pure": ""}},
            ValueError,
            r"skip for \['pure'\].*'game-purity'",
        ),
        (
            {"game": largest, "exempt": ["jobs"]},
            ValueError,
            r"exempt as a dict .*; got \['jobs'\]",
        ),
    ],
)
def test_invalid_arguments_are_refused(
    components: dict, kind: type, message: str
) -> None:
    with pytest.raises(kind, match=message):
        parametrize_contract(**components)


SUITE = """
from functools import partial

import numpy as np

from skshapley.testing import HybridGame, parametrize_contract

sound = HybridGame(partial(np.max, axis=1), np.eye(3), np.zeros((2, 3)))


class Higher(HybridGame):
    def full(self, rows):
        return super().full(rows) + 1

    def take(self, rows):
        return Higher(self.function, self.X[rows], self.background)


broken = Higher(partial(np.max, axis=1), np.eye(3), np.zeros((2, 3)))
ENDS = {"game-ends": "higher by nature"}


@parametrize_contract(game=broken, skip={"game-batch": "too slow"}, exempt=ENDS)
def test_excused(check):
    check()


@parametrize_contract(game=broken)
def test_broken(check):
    check()


@parametrize_contract(game=sound, exempt=ENDS)
def test_sound(check):
    check()
"""


def test_external_suites_pass(tmp_path: Path) -> None:
    """Exempt checks fail as expected; one that passes is reported, as one that fails is."""
    (tmp_path / "test_mine.py").write_text(SUITE)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        "test_mine.py",
    ]
    said = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False
    ).stdout
    for line in (
        "test_excused[game-ends] XFAIL (higher by nature)",
        "test_excused[game-batch] SKIPPED (too slow)",
        "test_broken[game-ends] FAILED",
        "test_sound[game-ends] FAILED",
        f"2 failed, {3 * len(GAME_CHECKS) - 4} passed, 1 skipped, 1 xfailed",
    ):
        assert line in said, said


@pytest.mark.slow
def test_pytest_is_imported_lazily() -> None:
    code = (
        "import sys; sys.modules['pytest'] = None; import skshapley.testing.contracts"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
