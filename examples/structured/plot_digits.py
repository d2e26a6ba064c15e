"""
Pixels on a grid: which parts of a digit matter
===============================================

Neighbouring pixels belong together. On a grid graph, regression C-Shapley uses only
squares of pixels. L-Shapley uses each pixel with its four neighbours. Both cost a fixed
number of evaluations per pixel. This example explains a network that classifies
handwritten digits, and compares the rankings of the pixels by *masking curves*.
Finally, the players are tiles of pixels: squares, and strokes.
"""

# sphinx_gallery_thumbnail_number = 3

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import label
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from skshapley import ShapleyExplainer, shapley_values
from skshapley.diagnostics import masking_curve
from skshapley.plots import HeatMapDisplay, MaskingCurveDisplay
from skshapley.rewards import TileReward
from skshapley.samplers import ConnectedRegression, ConnectedShapley, LocalShapley

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X / 16, y, random_state=0)
model = MLPClassifier((50,), max_iter=600, random_state=0).fit(X_train, y_train)
print(f"accuracy: {model.score(X_test, y_test):.3f}")

# %%
# Sixty-four players on a grid
# ----------------------------
# The reward is the log-probability of the predicted class. An absent pixel takes its
# mean over the training images. The costs are known before the model is called.

GRID = ("grid", (8, 8))
samplers = {
    "C-Shapley, regression": ConnectedRegression(GRID, order=4),
    "L-Shapley, k = 1": LocalShapley(GRID, order=1),
    "antithetic permutations": "antithetic",
    "leverage": "leverage",
}
images = X_test[:100]
explanations = {}
for name, sampler in samplers.items():
    cost = getattr(sampler, "n_evaluations", lambda p: 4 * p)(64)
    explainer = ShapleyExplainer(
        model,
        reward="baseline",
        response_method="predict_log_proba",
        output="predicted",
        sampler=sampler,
        max_rows=cost - 1,  # v(empty), against the mean, is known
        random_state=0,
    ).fit(X_train)
    explanations[name] = explainer.explain(images)
    print(
        f"{name:24s} {explanations[name].n_evaluations.mean():6.0f} evaluations an "
        "image"
    )

# %%
figure, axes = plt.subplots(1, 4, figsize=(12, 2.6), layout="constrained")
for (name, explanation), ax in zip(explanations.items(), axes, strict=True):
    HeatMapDisplay.from_explanation(explanation, shape=(8, 8), row=3, ax=ax)
    ax.set_title(name, fontsize=9)

# %%
# Which ranking is better?
# ------------------------
# Mask the pixels with the highest ranks, and follow the log-odds of the predicted
# class. A lower curve means a better ranking. The bands are 95 % intervals of the mean
# over the images.

curves = {
    name: masking_curve(explainer, explanation, images)
    for name, explanation in explanations.items()
}
MaskingCurveDisplay.from_curves(curves)

# %%
# Tiles as players
# ----------------
# Groups of columns are players, so tiles of 2 x 2 pixels form a graph with 4 x 4 nodes.
# With so few players, C-Shapley of order 2 is cheap too.

tiles = {
    f"tile {i}, {j}": [8 * (2 * i + a) + 2 * j + b for a in (0, 1) for b in (0, 1)]
    for i in range(4)
    for j in range(4)
}
sampler = ConnectedShapley(("grid", (4, 4)), order=2)
explainer = ShapleyExplainer(
    model,
    reward="baseline",
    response_method="predict_log_proba",
    output="predicted",
    groups=tiles,
    sampler=sampler,
    max_rows=sampler.n_evaluations(16) - 1,
).fit(X_train)
by_tile = explainer.explain(images[3:4])
HeatMapDisplay.from_explanation(by_tile, shape=(4, 4), image=images[3].reshape(8, 8))

# %%
# Other segmentations, and the content of absent tiles
# ----------------------------------------------------
# `TileReward` takes one image and tiles of any shape. Here, the tiles are the dark
# strokes of the digit, and the paper is one more player. The values depend on the
# content of absent tiles: white paper, a blur of the image, or the pixels of other
# digits. With other digits, responses are averaged.

image = images[3].reshape(8, 8)
dark, _ = label(image > 0.5)
for name, absent in {
    "white paper": 0.0,
    "a blur": "blur",
    "fifty other digits": X_train[:50].reshape(-1, 8, 8),
}.items():
    reward = TileReward(
        model,
        image,
        tiles=2 * dark + (np.indices((8, 8))[0] > 3),
        absent=absent,
        response_method="predict_log_proba",
        output="predicted",
    )
    explanation = reward.explanation(shapley_values(reward))
    display = HeatMapDisplay.from_explanation(
        explanation, shape=reward.labels, image=image
    )
    display.ax_.set_title(f"absent: {name}", fontsize=9)
plt.show()
