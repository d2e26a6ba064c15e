"""The sampler, solver and reward of the tutorials keep the contracts and their promises."""

import doctest
import importlib.util
import sys
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from skshapley import ShapleyExplainer
from skshapley._tools._params import installed as installed_components
from skshapley.readers import READERS, TreeReader
from skshapley.samplers import Classical, draw_permutations
from skshapley.solvers import PermutationMean
from skshapley.testing import (
    check_consistent,
    check_standard_errors,
    check_unbiased,
    parametrize_contract,
)
from skshapley.testing.games import brute_force

FOLDER = Path(__file__).parents[1] / "doc" / "extending"


@cache
def tutorial(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(
        spec
    )  # pickle looks there
    spec.loader.exec_module(module)
    return module


Rotations = tutorial("rotations").Rotations
ShareTheGap = tutorial("share_the_gap").ShareTheGap
NearestReward = tutorial("nearest").NearestReward


@pytest.mark.parametrize(
    "path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem
)
def test_examples_of_the_tutorials_run(path):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(tutorial(path.stem), optionflags=flags)
    assert not failed


# Workers are the engine's business, which test_contract.py sees to.
WORKERS = {"pair-jobs": "workers are started in test_contract.py"}


@parametrize_contract(Rotations(), PermutationMean(), skip=WORKERS)
def test_the_sampler_keeps_its_contract(check) -> None:
    check()


def test_the_sampler_is_unbiased_with_honest_errors():
    check_unbiased(Rotations(), PermutationMean())
    check_standard_errors(Rotations(), PermutationMean(), lambda p: 20 * p * p)


def test_every_player_enters_once_at_each_position():
    permutations, _ = draw_permutations(Rotations(), 10, 5, random_state=0)
    for unit in permutations.reshape(2, 5, 5):
        np.testing.assert_array_equal(
            np.sort(unit, axis=0), np.arange(5)[:, None] + np.zeros(5)
        )


@parametrize_contract(
    Classical(),
    ShareTheGap(),
    skip=WORKERS,
    exempt={
        "pair-linearity": "two games and their sum have other variances, hence other shares"
    },
)
def test_the_solver_keeps_its_contract(check) -> None:
    check()


@parametrize_contract(
    reward=NearestReward(3),
    exempt={"reward-order": "of rows that are equally near, the first ones are taken"},
)
def test_the_reward_keeps_its_contract(check) -> None:
    check()


def test_the_solver_is_consistent_with_honest_errors():
    check_consistent(Classical(), ShareTheGap())
    check_standard_errors(Classical(), ShareTheGap(), lambda p: 60 * p)


def neighbours_worth(predict, x, background, k):
    """v(S) by its definition, one coalition after the other."""
    scale = background.std(axis=0)

    def worth(coalitions):
        values = []
        for present in coalitions:
            apart = (((background - x) / scale)[:, present] ** 2).sum(axis=1)
            rows = background[np.argsort(apart, kind="stable")[:k]].copy()
            rows[:, present] = x[present]
            values.append(predict(rows if present.any() else background).mean())
        return np.array(values)

    return worth


@pytest.mark.parametrize("label", [0, 2])
@pytest.mark.parametrize("k", [1, 7])
def test_the_reward_agrees_with_its_definition(k, label):
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    explainer = ShapleyExplainer(model, reward=NearestReward(k), output=label).fit(
        X[::2]
    )
    found = explainer.explain(X[1:6:2])

    def predict(rows):
        return model.predict_proba(rows)[:, label]

    for x, values in zip(X[1:6:2], found.values, strict=True):
        expected = brute_force(neighbours_worth(predict, x, X[::2], k), 4)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_the_reward_gives_credit_to_a_copy():
    column = np.random.default_rng(0).normal(size=200)
    X = np.column_stack([column, column])
    explainer = ShapleyExplainer(lambda rows: rows[:, 0], reward=NearestReward(1)).fit(
        X
    )
    first, second = explainer.explain(np.array([[2.0, 2.0]])).values[0]
    assert abs(first - second) < 0.2 < second  # the nearest row is near 2, not at it
    exact = (
        ShapleyExplainer(lambda rows: rows[:, 0]).fit(X).explain(np.array([[2.0, 2.0]]))
    )
    assert abs(exact.values[0, 1]) < 1e-12


def test_the_reward_works_in_groups_for_several_outputs():
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    options = {"reward": NearestReward(5), "groups": {"petal": list(X.columns[2:])}}
    alone = ShapleyExplainer(model, **options).fit(X).explain(X[:6:2])
    assert alone.values.shape == (3, 3, 3)
    np.testing.assert_allclose(alone.values.sum(axis=2), 0, atol=1e-12)
    total = alone.base_values + alone.values.sum(axis=1)
    np.testing.assert_allclose(total, model.predict_proba(X[:6:2]), atol=1e-12)


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Another package with a component of each role among its entry points."""
    info = tmp_path / "others-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: others\nVersion: 1.0\n"
    )
    (info / "entry_points.txt").write_text(
        "[skshapley.samplers]\nrotations = rotations:Rotations\n"
        "antithetic = rotations:Rotations\n"
        "[skshapley.solvers]\nshare-the-gap = share_the_gap:ShareTheGap\n"
        "[skshapley.rewards]\nnearest = nearest:NearestReward\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    installed_components.cache_clear()
    yield
    installed_components.cache_clear()


def test_components_of_another_package_have_names(installed):
    X = np.random.default_rng(0).normal(size=(30, 4))

    def explained(**parameters):
        explainer = ShapleyExplainer(
            lambda rows: rows.prod(axis=1), random_state=0, **parameters
        )
        return explainer.fit(X[:20]).explain(X[20:22])

    for parameter, name, component in (
        ("sampler", "rotations", Rotations()),
        ("solver", "share-the-gap", ShareTheGap()),
        ("reward", "nearest", NearestReward()),
    ):
        by_name = explained(**{parameter: name})
        by_object = explained(**{parameter: component})
        np.testing.assert_array_equal(by_name.values, by_object.values)
    # the names of this package win
    assert "Antithetic" in str(explained(sampler="antithetic").settings.sampler)
    with pytest.raises(ValueError, match="'rotations'"):
        explained(sampler="rotation")


def test_an_external_display_draws_and_returns_its_numbers():
    RangeDisplay = tutorial("ranges").RangeDisplay
    X = np.random.default_rng(0).normal(size=(6, 3))
    explainer = ShapleyExplainer(lambda Z: Z @ [1.0, -2.0, 0.0]).fit(X[:2])
    display = RangeDisplay.from_estimator(explainer, X)
    values = explainer.explain(X).values
    np.testing.assert_allclose(display.frame()["high"], values.max(axis=0))
    assert display.figure_ is display.ax_.figure
    drawn = [segment[:, 0] for segment in display.ax_.collections[0].get_segments()]
    np.testing.assert_allclose(
        drawn, np.stack([values.min(axis=0), values.max(axis=0)], axis=1)
    )


def test_an_external_tree_reader_is_one_line_in_the_table(monkeypatch):
    stumps = tutorial("stumps")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    model = stumps.Stumps().fit(X, X @ [1.0, 2.0, 0.0, -1.0])
    monkeypatch.setitem(READERS, "stumps.Stumps", TreeReader(stumps.read_stumps))
    explainer = ShapleyExplainer(model).fit(X[:20])
    explanation = explainer.explain(X[20:25])
    assert explanation.settings.closed_form == "trees"
    truth = [
        brute_force(partial(worth, model, X[row], X[:20]), 4) for row in range(20, 25)
    ]
    np.testing.assert_allclose(explanation.values, np.array(truth)[:, :, 0], atol=1e-12)


def worth(model, row, background, coalitions):
    """Return the mean response over mixed rows, for each coalition, ``(m, 1)``."""
    hybrid = np.where(coalitions[:, None, :], row, background)
    return (
        model.predict(hybrid.reshape(-1, 4))
        .reshape(len(coalitions), -1)
        .mean(axis=1)[:, None]
    )
