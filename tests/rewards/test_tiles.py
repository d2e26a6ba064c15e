"""Images: tiles as players, on a grid or by labels, behind every kind of fill."""

import pickle

import numpy as np
import pytest
import sklearn
from scipy.ndimage import gaussian_filter
from sklearn.linear_model import LogisticRegression

from skshapley import shapley_values
from skshapley.plots import HeatMapDisplay
from skshapley.rewards import TileReward
from skshapley.samplers import LocalShapley
from skshapley.testing import brute_force

RNG = np.random.default_rng(0)
GREY = RNG.random((5, 7))
COLOUR = RNG.integers(0, 256, (4, 6, 3), dtype=np.uint8)
LABELS = np.array([[7, 7, -2], [7, 3, -2]])


def brightness(images):
    return images.reshape(len(images), -1).sum(axis=1, dtype=float)


def classes(images):
    return np.stack([brightness(images), corners(images)], axis=1)


def corners(images):
    """A product of two corners: not additive."""
    flat = images.reshape(len(images), -1).astype(float)
    return flat[:, 0] * flat[:, -1]


@pytest.mark.parametrize("grid", [(1, 1), (2, 3), (5, 7), (3, 2)])
def test_a_grid_divides_an_image_evenly(grid):
    reward = TileReward(brightness, GREY, tiles=grid)
    assert reward.grid == grid
    assert reward.n_players == grid[0] * grid[1]
    rows, columns = np.divmod(reward.labels, grid[1])
    assert (rows == rows[:, :1]).all()
    assert (columns == columns[:1]).all()
    for along, n in ((rows[:, 0], grid[0]), (columns[0], grid[1])):
        assert (np.diff(along) >= 0).all()
        sizes = np.bincount(along, minlength=n)
        assert np.ptp(sizes) <= 1
        assert sizes.min() >= 1


def test_tiles_are_ordered_by_label():
    reward = TileReward(
        brightness, np.arange(6.0).reshape(2, 3), tiles=LABELS, absent=0.0
    )
    assert reward.grid is None
    np.testing.assert_array_equal(reward.labels, [[2, 2, 0], [2, 1, 0]])
    np.testing.assert_allclose(shapley_values(reward).values, [7.0, 4.0, 4.0])


FILLS = {
    "number": (9, np.full((4, 6, 3), 9)),
    "colour": ([1, 2, 3], np.broadcast_to([1, 2, 3], (4, 6, 3))),
    "image": (COLOUR[::-1], COLOUR[::-1]),
    "mean": ("mean", np.broadcast_to(np.rint(COLOUR.mean(axis=(0, 1))), (4, 6, 3))),
    "blur": ("blur", np.rint(gaussian_filter(COLOUR.astype(float), (0.5, 0.5, 0)))),
}


@pytest.mark.parametrize(("absent", "seen"), FILLS.values(), ids=FILLS)
def test_absent_tiles_are_filled(absent, seen):
    reward = TileReward(brightness, COLOUR, tiles=(2, 2), absent=absent)
    coalitions = np.array([[1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 1]], dtype=bool)
    full, empty, some = reward.images(coalitions)[:, 0]
    assert full.dtype == some.dtype == COLOUR.dtype
    np.testing.assert_array_equal(full, COLOUR)
    np.testing.assert_array_equal(empty, seen)
    expected = seen.copy()
    expected[:2, :3], expected[2:, 3:] = COLOUR[:2, :3], COLOUR[2:, 3:]
    np.testing.assert_array_equal(some, expected)
    np.testing.assert_array_equal(
        reward(coalitions), brightness(np.stack([full, empty, some]))
    )


def test_several_fills_average_the_responses():
    background = RNG.random((3, 5, 7))
    reward = TileReward(corners, GREY, tiles=(2, 2), absent=background)
    single = [
        TileReward(corners, GREY, tiles=(2, 2), absent=image) for image in background
    ]
    expected = np.mean([brute_force(one, 4) for one in single], axis=0)
    result = shapley_values(reward)
    np.testing.assert_allclose(result.values, expected, atol=1e-12)
    assert reward.explanation(result).n_model_rows[0] == 3 * result.n_evaluations


def test_estimators_receive_flattened_images():
    X = RNG.random((40, 12))
    model = LogisticRegression().fit(X, X[:, 0] > 0.5)
    how = {"response_method": "decision_function", "tiles": (4, 3), "absent": 0.0}
    values = shapley_values(TileReward(model, X[0].reshape(4, 3), **how)).values
    np.testing.assert_allclose(values, model.coef_[0] * X[0], atol=1e-12)


def test_little_memory_changes_calls_but_not_values():
    calls = []

    def noted(images):
        calls.append(len(images))
        return corners(images)

    reward = TileReward(noted, GREY, tiles=(3, 3), absent=RNG.random((2, 5, 7)))
    coalitions = RNG.random((50, 9)) < 0.5
    usual = reward(coalitions)
    assert calls[1:] == [100]
    with sklearn.config_context(working_memory=20 * GREY.nbytes / 2**20):
        np.testing.assert_array_equal(reward(coalitions), usual)
    assert calls[2:] == [20] * 5


def test_the_explanation_draws_a_heat_map():
    reward = TileReward(classes, GREY, tiles=(2, 2), output="predicted")
    explanation = reward.explanation(shapley_values(reward))
    assert explanation.feature_names.tolist() == [
        "tile 0, 0",
        "tile 0, 1",
        "tile 1, 0",
        "tile 1, 1",
    ]
    assert explanation.settings.output == 0
    assert explanation.settings.reward == "TileReward(absent='mean')"
    np.testing.assert_allclose(explanation.data.iloc[0, 0], GREY[:3, :4].mean())
    both = TileReward(classes, GREY, tiles=(2, 2))
    assert both.explanation(shapley_values(both)).output_names.tolist() == [0, 1]
    on_a_graph = shapley_values(
        reward, sampler=LocalShapley(("grid", reward.grid)), max_evals=16
    )
    assert np.isfinite(on_a_graph.values).all()
    display = HeatMapDisplay.from_explanation(
        explanation, shape=reward.labels, image=GREY
    )
    painted = display.ax_.images[-1].get_array()
    np.testing.assert_allclose(painted, explanation.values[0][reward.labels])
    frame = display.frame()
    np.testing.assert_allclose(frame["row"], [1.0, 1.0, 3.5, 3.5])
    np.testing.assert_allclose(frame["column"], [1.5, 5.0, 1.5, 5.0])


def test_a_reward_can_be_pickled():
    reward = pickle.loads(pickle.dumps(TileReward(brightness, COLOUR, tiles=(2, 2))))
    np.testing.assert_array_equal(reward.image, COLOUR)


WRONG = {
    "image": ((np.zeros(3),), {}, "an image of shape .3,. and type float64"),
    "images": (
        (np.zeros((2, 4, 4, 3)),),
        {},
        "for several images, make a reward for each",
    ),
    "text": ((np.array([["a"]]),), {}, "type <U1"),
    "grid": (
        (GREY,),
        {"tiles": (6, 2)},
        r"tiles=\(6, 2\) for an image of 5 x 7 pixels: choose",
    ),
    "no grid": ((GREY,), {"tiles": (0, 2)}, r"tiles=\(0, 2\)"),
    "labels": ((GREY,), {"tiles": np.ones((5, 6), int)}, r"labels of shape \(5, 6\)"),
    "halves": ((GREY,), {"tiles": np.ones((5, 7))}, "or int labels of shape"),
    "fill": (
        (GREY,),
        {"absent": "black"},
        '"mean" or "blur"; got \'black\'',
    ),
    "shape": (
        (GREY,),
        {"absent": np.zeros((5, 6))},
        r"absent of shape \(5, 6\) for an image",
    ),
    "nobody": (
        (GREY,),
        {"absent": np.zeros((0, 5, 7))},
        r"absent of shape \(0, 5, 7\)",
    ),
    "type": (
        (COLOUR,),
        {"absent": 0.5},
        r"absent=0\.5 for an image of uint8, which cannot hold",
    ),
    "output": ((GREY,), {"output": 3}, "output=3, which the response does not have"),
}


@pytest.mark.parametrize(("given", "how", "message"), WRONG.values(), ids=WRONG)
def test_mismatched_shapes_are_refused(given, how, message):
    with pytest.raises(ValueError, match=message):
        TileReward(brightness, *given, **({"tiles": (2, 2)} | how))
