"""Images of 256 tiles against black: Mitchell et al. (2022), section 5.5 and Figure 15.

Figure 12 compares sets of 100 permutations on eight images, Figure 15 herding by lam,
Table 5 the time that sets take and the rest. Every trial has sets of its own, which all
images share.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.permutations.errors import (
    RESULTS,
    TRIALS,
    enough,
    herded,
    one_set,
    record,
)
from benchmarks.permutations.tasks import Tiles, walk_means
from skshapley.samplers import MallowsKernel, Sobol, draw_permutations

METHODS = ("Monte Carlo", "antithetic", "herding", "SBQ", "orthogonal", "Sobol")
PAIRS = "Sobol, pairs"  # ours
LAMS = (0.5, 1, 2, 4, 8, 16, 32)
TIMED = 3  # trials in which every image of a walk is given to the model


def images(quick, seconds):
    """Measure errors and times, and write table5, images, lam_of_images and the figures."""
    tiles = Tiles(2 if quick else 8)
    p, n, trials = tiles.n_players, 10 if quick else 100, 3 if quick else TRIALS
    print(f"accuracy {tiles.accuracy:.3f}", flush=True)
    found, times = sets_of_all(tiles, n, trials, seconds)
    write_errors(found, "method", "images")
    write_times(tiles, times, n)
    by_lam = {lam: [] for lam in LAMS}
    start, trial = time.process_time(), 0
    while not enough(trial, trials, start, seconds):
        for lam in LAMS:
            orders = herded(
                MallowsKernel(lam), n, p, np.random.default_rng([trial, p, n])
            )
            by_lam[lam].append(estimates(tiles, orders, np.full(n, 1 / n)))
        trial += 1
    write_errors(by_lam, "lam", "lam_of_images")
    draw_images(tiles, found)
    draw_lams()


def sets_of_all(tiles, n, trials, seconds):
    """Return estimates ``(image, p)`` and seconds of making the set, by method and trial."""
    p = tiles.n_players
    found = {method: [] for method in (*METHODS, PAIRS)}
    times = {method: [] for method in METHODS}
    start, trial = time.process_time(), 0
    while not enough(trial, trials, start, seconds):
        for method, of_method in found.items():
            rng, began = np.random.default_rng([trial, p, n]), time.process_time()
            if method == PAIRS:
                made = draw_permutations(Sobol(), n, p, rng)
            else:
                made = one_set(method, n, p, rng)
                times[method].append(time.process_time() - began)
            of_method.append(estimates(tiles, *made))
        trial += 1
    print("images", trial, "trials", flush=True)
    return found, times


def estimates(tiles, orders, weights):
    """Return the estimates of all images, ``(image, p)``."""
    return np.array(
        [
            walk_means(tiles.walk_worths(i, orders), orders, weights)
            for i in range(len(tiles.images))
        ]
    )


def write_errors(found, about, name):
    """Write the errors of each image."""
    records = [
        {"image": i, about: label} | record(np.array(of_label)[:, i])
        for label, of_label in found.items()
        for i in range(len(of_label[0]))
    ]
    pd.DataFrame(records).to_csv(
        RESULTS / f"{name}.csv", index=False, float_format="%.4g"
    )


def write_times(tiles, times, n):
    """Write Table 5: CPU seconds of sets, and of an image's model rows and means."""
    rest = []
    for trial in range(TIMED):
        orders, weights = one_set(
            "Monte Carlo", n, tiles.n_players, np.random.default_rng(trial)
        )
        start = time.process_time()
        worths = np.array(
            [tiles.model.predict_proba(rows)[:, 1] for rows in tiles.rows(0, orders)]
        )
        walk_means(np.log(worths / (1 - worths)), orders, weights)
        rest.append(time.process_time() - start)
    lines = [
        {"method": method, "mean": np.mean(of_method), "std": np.std(of_method, ddof=1)}
        for method, of_method in times.items()
    ]
    lines.append(
        {
            "method": "model and means",
            "mean": np.mean(rest),
            "std": np.std(rest, ddof=1),
        }
    )
    table = pd.DataFrame(lines)
    table.to_csv(RESULTS / "table5.csv", index=False, float_format="%.3g")
    print(table.to_string(), flush=True)


def draw_images(tiles, found):
    """Draw Figure 12: images, attributions of the method with the least error, and all errors."""
    frame = pd.read_csv(RESULTS / "images.csv")
    shown = [method for method in found if method in METHODS]
    fig, axes = plt.subplots(
        len(tiles.images), 3, figsize=(9, 1.7 * len(tiles.images)), layout="constrained",
        width_ratios=[1, 1, 3.2], squeeze=False,
    )  # fmt: skip
    for i, (image, values, bars) in enumerate(axes):
        errors = frame[frame["image"] == i].set_index("method").loc[shown]
        best = errors["mse"].idxmin()
        picture = tiles.images[i].reshape(tiles.shape)
        image.imshow(picture.squeeze(), cmap="gray")
        values.imshow(found[best][0][i].reshape(tiles.grid))
        values.set_title(best, fontsize=8)
        half = errors["high"] - errors["mse"]
        bars.bar(shown, errors["mse"], yerr=half, capsize=3)
        bars.tick_params(labelsize=7)
        for ax in (image, values):
            ax.set_axis_off()
    axes[0, 2].set_title("mean squared error, 95 % intervals", fontsize=9)
    fig.savefig(RESULTS / "figure12.png", dpi=70)
    plt.close(fig)


def draw_lams():
    """Draw Figure 15: an image's errors by lam, over those at lam 4; and the mean of all."""
    frame = pd.read_csv(RESULTS / "lam_of_images.csv")
    wide = frame.pivot_table(index="lam", columns="image", values="mse")
    wide = wide / wide.loc[4]
    fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
    for i in wide:
        ax.plot(wide.index, wide[i], marker=".", alpha=0.4, label=f"image {i}")
    ax.plot(wide.index, wide.mean(axis=1), color="k", marker="o", label="mean")
    ax.set_xscale("log", base=2)
    ax.set_xticks(wide.index, [f"{lam:g}" for lam in wide.index])
    ax.set(xlabel="lam", ylabel="mean squared error / at lam 4", ylim=(0, None))
    ax.legend(fontsize=7, ncols=3)
    fig.savefig(RESULTS / "figure15.png", dpi=80)
    plt.close(fig)
