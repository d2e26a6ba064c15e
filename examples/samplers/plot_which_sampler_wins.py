"""
Which sampler of permutations wins, and when
============================================

A Shapley value is a mean over all orders in which players can enter. Mitchell, Cooper, Frank &
Holmes (2022) ask which orders to look at. Their answers are samplers here, and this page shows on
one model of few players and one of many when each of them is worth its while.
"""

# %%
# How evenly do they spread?
# --------------------------
# The discrepancy of a set of permutations is the worst error of its mean over all functions of
# some smoothness, without any model (Eq 8 of the paper). With few players, sets that are chosen
# as a whole (herding, SBQ) are far ahead. With many players there are so many permutations that
# all sets are far apart, and blocks of orthogonal directions do as well, in no time.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.diagnostics import permutation_discrepancy
from skshapley.samplers import SAMPLERS, draw_permutations

names = ["monte-carlo", "antithetic", "orthogonal", "sobol", "herding", "sbq"]
table = pd.DataFrame(
    {
        f"{d} players": {
            name: permutation_discrepancy(*draw_permutations(name, 100, d, random_state=0))
            for name in names
        }
        for d in (5, 10, 30, 100)
    }
)
print(table.round(4).to_string())

# %%
# Does it matter for a model?
# ---------------------------
# Two networks, one of ten columns and one of thirty, each explained for three rows against thirty.
# The whole background is averaged in every evaluation (``references="all"``), as in the paper.
# The truth is all 1024 coalitions for ten players, and a long run of least squares for thirty.


def errors(explain, truth, budgets, references="all", trials=4):
    """Mean squared error by evaluations (rows) and sampler (columns)."""
    found = {}
    for name in names:
        sampler = SAMPLERS[name](references=references)
        for budget in budgets:
            runs = [explain(sampler, budget, seed) for seed in range(trials)]
            found[budget, name] = np.mean((np.array(runs) - truth) ** 2)
    return pd.Series(found).unstack()[names]  # noqa: PD010


def explained(model, X):
    """Return a function from sampler, evaluations and seed to attributions of three rows."""
    return lambda sampler, budget, seed: (
        ShapleyExplainer(model, sampler=sampler, max_rows=30 * (budget - 2) + 1, random_state=seed)
        .fit(X[:30])
        .explain(X[40:43])
        .values
    )


X, y = load_diabetes(return_X_y=True)
model = MLPRegressor(
    hidden_layer_sizes=(20,), solver="lbfgs", alpha=10.0, max_iter=5000, random_state=0
)
few = explained(make_pipeline(StandardScaler(), model).fit(X, y), X)

X, y = load_breast_cancer(return_X_y=True)
model = MLPClassifier((30,), solver="lbfgs", alpha=1.0, max_iter=5000, random_state=0)
many = explained(make_pipeline(StandardScaler(), model).fit(X, y), X)

truth_few, truth_many = few("exact", 1024, 0), many("leverage", 2000, 99)
error_few = errors(few, truth_few, [9 * walks + 2 for walks in (2, 4, 8, 16, 32)])
error_many = errors(many, truth_many, [29 * walks + 2 for walks in (2, 6, 18)])

# %%
# With ten players herding and SBQ leave the others behind as soon as there are a few dozen walks.
# With thirty they have nothing to gain from, and a permutation with its reverse ("antithetic") is
# most of what there is to win; blocks of orthogonal directions add a little.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, error, d in ((axes[0], error_few, 10), (axes[1], error_many, 30)):
    error.plot(ax=ax, logx=True, logy=True, marker=".", legend=d == 10)
    ax.minorticks_off()
    ax.set_xticks(error.index, labels=error.index)
    ax.set(title=f"{d} players", xlabel="evaluations, each over the whole background")
axes[0].set_ylabel("mean squared error")

# %%
# What matters more
# -----------------
# Every walk against a background row of its own (``references="stratified"``, the default) buys
# thirty times as many walks for the same rows given to the model. That is worth more than any
# choice among the samplers that have reverses.

own_few = errors(few, truth_few, [9 * 16 + 2], references="stratified")
own_many = errors(many, truth_many, [29 * 18 + 2], references="stratified")
gain = pd.DataFrame(
    {
        "10 players, all rows": error_few.loc[9 * 16 + 2],
        "10 players, a row of its own": own_few.loc[9 * 16 + 2],
        "30 players, all rows": error_many.loc[29 * 18 + 2],
        "30 players, a row of its own": own_many.loc[29 * 18 + 2],
    }
)
print(gain.map("{:.2g}".format).to_string())

# %%
# In short
# --------
# - Keep the default references, and "antithetic" where standard errors are wanted while it runs:
#   its pairs are independent, so that it can stop when it is accurate enough.
# - "orthogonal" is never far from the best, for any number of players, and costs nothing.
# - "herding" and "sbq" for up to some fifteen players, when the budget is a hundred walks or more
#   on the same background. They have standard errors with ``replicates=2`` or more.
# - "sobol" is between them.
