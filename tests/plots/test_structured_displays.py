"""Displays of texts, images, signals and masking curves."""

import re
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb

from skshapley import ShapleyExplainer, shapley_values
from skshapley.diagnostics import masking_curve
from skshapley.plots import HeatMapDisplay, MaskingCurveDisplay, SentenceDisplay
from skshapley.rewards import TokenReward

DOCUMENT = "It is $not$ <b>heartwarming</b>.\nIt just sucks & bores."
WORTH = {"not": -2.0, "heartwarming": 1.0, "sucks": -1.0}


def judge(texts):
    return np.array([sum(WORTH[w] * text.count(w) for w in WORTH) for text in texts])


@pytest.fixture
def text_explanation():
    reward = TokenReward(judge, DOCUMENT)
    return reward.explanation(shapley_values(reward, sampler="local", max_evals=99))


def test_sentence_display_shows_the_whole_document(text_explanation):
    display = SentenceDisplay.from_explanation(text_explanation)
    frame = display.frame()
    assert "".join(frame["token"]) == DOCUMENT
    written = {text.get_text(): text for text in display.ax_.texts}
    assert list(written)[:3] == ["It", "is $", "not$ <"]
    face = {
        re.findall(r"\w+", w)[0]: t.get_bbox_patch().get_facecolor()
        for w, t in written.items()
    }
    red, _, blue, _ = face["heartwarming"]
    assert red > blue  # orange: positive
    red, _, blue, _ = face["sucks"]
    assert red < blue  # blue: negative
    assert face["is"] == pytest.approx((*to_rgb("#F2F2F2"), 1.0), abs=0.01)


def test_words_neither_overlap_nor_leave_the_axes(text_explanation):
    display = SentenceDisplay.from_explanation(text_explanation)
    display.figure_.draw_without_rendering()
    inside = display.ax_.get_window_extent()
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    assert all(box.x0 >= inside.x0 - 3 and box.x1 <= inside.x1 + 3 for box in boxes)
    lines = {}
    for box in boxes:
        lines.setdefault(round(box.y0), []).append((box.x0, box.x1))
    assert len(lines) >= 2  # the line break of the document is one of the picture
    for line in lines.values():
        assert all(one[1] < next_one[0] + 1 for one, next_one in pairwise(line))


def test_html_is_escaped_and_complete(text_explanation):
    html = SentenceDisplay.from_explanation(text_explanation)._repr_html_()
    assert "&lt;b&gt;" not in html.split(">heartwarming")[0][-8:]
    assert "<b>" not in html
    assert "sucks &amp;" in html
    assert html.count("<span") == len(text_explanation.feature_names)
    assert 'title="−2.00"' in html


def test_a_text_without_attributions_is_drawn():
    reward = TokenReward(lambda texts: np.zeros(len(texts)), "no matter")
    display = SentenceDisplay.from_explanation(
        reward.explanation(shapley_values(reward))
    )
    assert len(set(display._colours())) == 1


@pytest.fixture
def pixels():
    worth = np.arange(12) - 4.0
    explainer = ShapleyExplainer(
        lambda X: X @ worth, sampler="antithetic", random_state=0
    )
    return explainer.fit(np.zeros((1, 12))).explain(np.ones((2, 12)))


@pytest.mark.parametrize(
    ("shape", "image", "size"),
    [
        ((3, 4), None, (3, 4)),
        ((3, 4), np.zeros((9, 12)), (9, 12)),
        ((3, 4), np.zeros((6, 8, 3)), (6, 8)),
        (12, None, (1, 12)),
        (12, np.sin(np.arange(48)), (1, 48)),
    ],
)
def test_heat_map_lies_over_its_image(pixels, shape, image, size):
    display = HeatMapDisplay.from_explanation(pixels, shape=shape, image=image, row=1)
    painted = display.ax_.images[-1]
    grid = (1, shape) if isinstance(shape, int) else shape
    np.testing.assert_allclose(
        painted.get_array(), (np.arange(12) - 4.0).reshape(grid), atol=1e-9
    )
    assert painted.get_extent() == [-0.5, size[1] - 0.5, size[0] - 0.5, -0.5]
    assert painted.get_clim() == (-7, 7)
    frame = display.frame()
    assert (frame["row"] * grid[1] + frame["column"]).tolist() == list(range(12))


def test_heat_map_of_unnumbered_players_has_no_image():
    data = pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]})
    explainer = ShapleyExplainer(lambda X: (X["a"] == "x") * 1.0).fit(data[1:])
    display = HeatMapDisplay.from_estimator(explainer, data[:1], shape=(1, 2))
    assert display.image is None


@pytest.mark.parametrize("shape", [(3, 3), 11, (12,), (0, 12), (3.0, 4), "12"])
def test_heat_map_refuses_mismatched_shapes(pixels, shape):
    with pytest.raises(ValueError, match="for 12 players: choose"):
        HeatMapDisplay.from_explanation(pixels, shape=shape, row=0)


@pytest.mark.parametrize("kind", ["deletion", "insertion"])
def test_masking_curves_are_drawn_with_their_bands(kind):
    rng = np.random.default_rng(0)
    worth = list(rng.normal(size=(20, 4)))
    games = [lambda S, w=w: S @ w for w in worth]
    curves = {
        "values": masking_curve(games, worth),
        "noise": masking_curve(games, list(rng.normal(size=(20, 4)))),
    }
    display = MaskingCurveDisplay.from_curves(curves, kind=kind)
    lines = display.ax_.get_lines()
    for line, (name, curve) in zip(lines, curves.items(), strict=False):
        assert line.get_label() == name
        np.testing.assert_allclose(line.get_ydata(), getattr(curve, kind).mean(axis=0))
    assert len(display.ax_.collections) == 2
    assert set(display.frame()["method"]) == set(curves)
    MaskingCurveDisplay.from_curves(curves["values"])
    with pytest.raises(ValueError, match=r'kind as one of "deletion", "insertion"'):
        MaskingCurveDisplay.from_curves(curves, kind="both")


@pytest.mark.parametrize(
    ("shape", "image", "message"),
    [
        (
            (2, 2),
            np.zeros(4),
            r"shape \(4,\) and type float64: .* \(height, width, 3\)",
        ),
        ((2, 2), np.zeros((4, 4, 2)), r"shape \(4, 4, 2\)"),
        ((2, 2), np.zeros((0, 4)), r"shape \(0, 4\)"),
        ((2, 2), np.full((2, 2), "a"), "type <U1: choose numbers"),
        ((2, 2), [[None]], "type object"),
        (4, np.zeros((3, 3)), r"shape \(3, 3\) .* \(n,\) for players along a signal"),
        (
            (2, 2),
            np.full((2, 2, 3), 200.0),
            "colours from 200.0 to 200.0: choose floats",
        ),
        (
            (2, 2),
            np.full((2, 2, 3), 300),
            "with colours from 300 to 300: .* ints from 0 to 255",
        ),
        ((2, 2), np.full((2, 2, 3), np.nan), "with colours from nan"),
    ],
)
def test_heat_map_refuses_images(shape, image, message):
    explainer = ShapleyExplainer(lambda X: X.sum(axis=1)).fit(np.zeros((1, 4)))
    with pytest.raises(ValueError, match=f"plot.heat_map got an image .*{message}"):
        explainer.explain(np.ones((1, 4))).plot.heat_map(shape=shape, image=image)
