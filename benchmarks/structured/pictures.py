"""Saliency, and pictures of the pixels that rank first: Chen et al. (2018), Figures 3, 4 and 5."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import Pipeline

SHARE = 0.2  # of the pixels
ACTIVATED = 0.5
RED, BLUE = (0.9, 0.1, 0.1), (0.2, 0.3, 0.9)


def saliency(model, X):
    """Return abs(d log p / d x) of the predicted class ``(n, d)``: Simonyan et al. (2014).

    The model is a perceptron of one hidden layer, or that after whitened principal
    components.
    """
    network = model[-1] if isinstance(model, Pipeline) else model
    Z = model[:-1].transform(X) if isinstance(model, Pipeline) else X
    first, last = network.coefs_
    if last.shape[1] == 1:  # the log-odds of the second class
        last = np.hstack([np.zeros_like(last), last])
    chances = network.predict_proba(Z)
    slopes = last[:, chances.argmax(axis=1)].T - chances @ last.T
    slopes = (slopes * (Z @ first + network.intercepts_[0] > 0)) @ first.T
    if isinstance(model, Pipeline):
        pca = model[0]
        slopes = slopes / np.sqrt(pca.explained_variance_) @ pca.components_
    return np.abs(slopes)


def painted(image, values):
    """Return an image ``(h, w, 3)`` with the pixels of the largest values red, or blue if black."""
    flat = image.reshape(len(values), -1) * np.ones(3)
    top = np.argsort(-values, kind="stable")[: round(SHARE * len(values))]
    grey = image.ndim == 2
    active = (
        flat[top].mean(axis=1) > ACTIVATED if grey else np.ones(len(top), dtype=bool)
    )
    flat[top] = np.where(active[:, None], RED, BLUE)
    return flat.reshape(*image.shape[:2], 3)


def draw_rows(path, images, values):
    """Draw images ``(n, h, w)`` or ``(n, h, w, 3)`` above each method's first tiles.

    Parameters
    ----------
    path : Path
    images : ndarray
    values : dict
        By method, ``(n, p)``.
    """
    rows = {"original": None} | values
    fig, axes = plt.subplots(
        len(rows), len(images), figsize=(1.1 * len(images) + 1.2, 1.1 * len(rows)),
        layout="constrained",
    )  # fmt: skip
    for line, (method, found) in zip(axes, rows.items(), strict=True):
        for i, ax in enumerate(line):
            shown = images[i] if found is None else painted(images[i], found[i])
            ax.imshow(shown, cmap="gray", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
        line[0].set_ylabel(
            method.replace(" ", "\n", 1), fontsize=7, rotation=0, ha="right"
        )
    fig.savefig(path, dpi=70)
    plt.close(fig)


def draw_misread(path, images, values, titles):
    """Draw images that are not read rightly, each beside the pixels that rank first."""
    fig, axes = plt.subplots(1, 2 * len(images), figsize=(7, 2.1), layout="constrained")
    for i, (image, found) in enumerate(zip(images, values, strict=True)):
        axes[2 * i].imshow(image, cmap="gray", vmin=0, vmax=1)
        axes[2 * i].set_title(titles[i], fontsize=9)
        axes[2 * i + 1].imshow(painted(image, found))
    for ax in axes:
        ax.set_axis_off()
    fig.savefig(path, dpi=80)
    plt.close(fig)
