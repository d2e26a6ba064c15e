"""
Which sampler of permutations is best, and when
===============================================

A Shapley value is a mean over all orders in which players can enter. Mitchell, Cooper,
Frank & Holmes (2022) study which orders to evaluate. Their methods are samplers here.
This page compares them on one model with few players and one with many.
"""

# %%
# How evenly do the permutations spread?
# --------------------------------------
# The discrepancy of a set of permutations is the largest error of its mean, over all
# functions of a given smoothness. No model is involved (Eq 8 of the paper). With few
# players, sets that are chosen jointly (herding, SBQ) are much better. With many
# players, no set covers the permutations well. Blocks of orthogonal directions are then
# as good, and take almost no time.

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
            name: permutation_discrepancy(
                *draw_permutations(name, 100, d, random_state=0)
            )
            for name in names
        }
        for d in (5, 10, 30, 100)
    }
)
print(table.round(4).to_string())

# %%
# Does it matter for a model?
# ---------------------------
# Two networks have ten and thirty columns. Three rows of each are explained against
# thirty background rows. As in the paper, every evaluation averages over the whole
# background (``references="all"``). The true values come from all 1024 coalitions for
# ten players, and from a long run of least squares for thirty.


def errors(explain, truth, budgets, references="all", trials=4):
    """Return mean squared errors by evaluations (rows) and sampler (columns)."""
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
        ShapleyExplainer(
            model, sampler=sampler, max_rows=30 * (budget - 2) + 1, random_state=seed
        )
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
error_few = errors(few, truth_few, [9 * n + 2 for n in (2, 4, 8, 16, 32)])
error_many = errors(many, truth_many, [29 * n + 2 for n in (2, 6, 18)])

# %%
# With ten players, herding and SBQ are best from a few dozen permutations on. With
# thirty, they gain nothing. Most of the gain comes from pairing a permutation with its
# reverse ("antithetic"). Blocks of orthogonal directions add a little.

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for ax, error, d in ((axes[0], error_few, 10), (axes[1], error_many, 30)):
    error.plot(ax=ax, logx=True, logy=True, marker=".", legend=d == 10)
    ax.minorticks_off()
    ax.set_xticks(error.index, labels=error.index)
    ax.set(title=f"{d} players", xlabel="evaluations, each over the whole background")
axes[0].set_ylabel("mean squared error")

# %%
# A larger gain: one background row per permutation
# -------------------------------------------------
# By default, every permutation uses its own background row
# (``references="stratified"``). The same model rows then buy thirty times as many
# permutations. This gains more than any choice among the samplers with reverses.

own_few = errors(few, truth_few, [9 * 16 + 2], references="stratified")
own_many = errors(many, truth_many, [29 * 18 + 2], references="stratified")
gain = pd.DataFrame(
    {
        "10 players, all rows": error_few.loc[9 * 16 + 2],
        "10 players, one row each": own_few.loc[9 * 16 + 2],
        "30 players, all rows": error_many.loc[29 * 18 + 2],
        "30 players, one row each": own_many.loc[29 * 18 + 2],
    }
)
print(gain.map("{:.2g}".format).to_string())

# %%
# Recommendations
# ---------------
# - Keep the default background rows. Use "antithetic" if the estimation should stop
#   when it is
#   accurate enough: its pairs are independent, so standard errors are available at any time.
# - "orthogonal" is always close to the best, for any number of players, and costs
#   nothing.
# - Use "herding" and "sbq" for up to about fifteen players and at least a hundred
#   permutations on
#   the same background. They have standard errors with ``replicates=2`` or more.
# - "sobol" is in between.
