"""
Which training points help, and which harm
==========================================

The players are the training points. The worth of a coalition is the score of a model
fitted to it. Points with wrong labels then have negative values. For nearest
neighbours, all values are exact and cost no more than sorting distances.
"""

# %%
# The data are handwritten threes and eights. One label in eight is flipped, as in
# careless annotation.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier

from skshapley import DataShapley

X, y = load_digits(return_X_y=True)
X, y = X[np.isin(y, [3, 8])] / 16, y[np.isin(y, [3, 8])]
X, X_val, y, y_val = train_test_split(X, y, test_size=0.5, random_state=0)
wrong = np.random.default_rng(0).random(len(y)) < 1 / 8
noisy = np.where(wrong, 11 - y, y)  # 3 for 8, 8 for 3

nearest = KNeighborsClassifier(5)
valued = DataShapley(nearest).fit(X, noisy, X_val, y_val)
print(
    f"{len(y)} points, {wrong.sum()} wrong; the values add up to "
    f"{valued.values_.sum():.3f},"
)
print("the score of all of them over that of none.")

# %%
# The lowest values belong to the wrong labels. Checking the points from the lowest
# value up finds them before the others. Checking them in random order would follow the
# diagonal.

figure, axes = plt.subplots(1, 2, figsize=(11, 3.6), layout="constrained")
bins = np.linspace(valued.values_.min(), valued.values_.max(), 40)
axes[0].hist(valued.values_[~wrong], bins, color="#2B83BA", label="correct label")
axes[0].hist(
    valued.values_[wrong], bins, color="#E07B00", alpha=0.8, label="flipped label"
)
axes[0].set(xlabel="value of a training point", ylabel="points")
axes[0].legend(frameon=False)
order = np.argsort(valued.values_)
looked_at = np.arange(1, len(y) + 1) / len(y)
axes[1].plot(looked_at, np.cumsum(wrong[order]) / wrong.sum(), color="#E07B00")
axes[1].plot([0, 1], [0, 1], ":", color="grey")
axes[1].set(
    xlabel="share of points checked, lowest values first",
    ylabel="share of errors found",
)

# %%
# These eight points harm most, shown with their given labels:

figure, axes = plt.subplots(1, 8, figsize=(11, 1.8), layout="constrained")
for ax, point in zip(axes, order, strict=False):
    ax.imshow(X[point].reshape(8, 8), cmap="Greys")
    ax.set_title(f"“{noisy[point]}”")
    ax.set_axis_off()

# %%
# Does it help to remove them?
# ----------------------------
# If the points with the highest values are removed, the score falls at once. If those
# with the lowest values are removed, it rises.

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
shares = np.linspace(0, 0.5, 16)
for sign, label in ((-1, "highest first"), (1, "lowest first")):
    first = np.argsort(sign * valued.values_, kind="stable")
    scores = []
    for share in shares:
        rest = first[round(share * len(first)) :]
        scores.append(nearest.fit(X[rest], noisy[rest]).score(X_val, y_val))
    ax.plot(shares, scores, marker=".", label=label)
ax.set(xlabel="share of the training points removed", ylabel="accuracy")
ax.legend(frameon=False)

# %%
# Any model, and groups of points
# -------------------------------
# Other models are fitted again for every coalition. Groups of points limit the cost.
# Which of six annotators is careless? The sixth one flips four labels in ten. Six
# players have 64 coalitions, and all of them are evaluated, so these values are exact.

annotator = np.arange(len(y)) % 6
careless = (annotator == 5) & (np.random.default_rng(1).random(len(y)) < 0.4)
labels = np.where(careless, 11 - y, y)
by_annotator = DataShapley(LogisticRegression(), groups=annotator, max_evals=64)
by_annotator.fit(X, labels, X_val, y_val)
for name, value in zip(by_annotator.players_, by_annotator.values_, strict=True):
    print(f"annotator {name}: {value:+.3f}")
