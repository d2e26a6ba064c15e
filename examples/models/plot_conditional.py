"""
Correlated columns: interventional and conditional values
=========================================================

If columns are correlated, "the other columns are unknown" has two meanings. An
interventional reward fills absent columns with values of other people. A conditional
reward lets absent columns follow the present ones. Interventional values describe what
the model does with its columns. Conditional values describe what the columns reveal
about the response.
"""

# %%
# The rows that the model sees
# ----------------------------
# Two columns have a correlation of 0.9, and the row to explain is at (2, 1.2). Suppose
# that only the first column is known. The interventional reward takes the second from
# the background, which gives pairs that do not exist. The conditional reward moves each
# background row along the regression line, to the value of the first column.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from skshapley import ShapleyExplainer
from skshapley.diagnostics import conditional_error
from skshapley.rewards import CausalReward, ConditionalReward
from skshapley.samplers import Ordered

rng = np.random.default_rng(0)
covariance = np.array([[1.0, 0.9], [0.9, 1.0]])
rows = rng.multivariate_normal([0, 0], covariance, size=150)
instance = np.array([[2.0, 1.2]])


def rows_seen(reward):
    """Return the rows passed to the model if the first column is present."""
    seen = []

    def look(table):
        seen.append(table.copy())
        return table[:, 0]

    game = ShapleyExplainer(look, reward=reward).fit(rows).reward_.game(instance)
    seen.clear()
    game(np.array([[[True, False]]]), np.array([0]))
    return np.concatenate(seen)


figure, axes = plt.subplots(1, 2, figsize=(9.6, 4.2), sharey=True, layout="constrained")
for ax, reward in zip(axes, ["interventional", "conditional"], strict=True):
    ax.scatter(*rows.T, s=10, color="0.75", label="background")
    ax.scatter(
        *rows_seen(reward).T,
        s=10,
        color="tab:blue",
        alpha=0.6,
        label="rows passed to the model",
    )
    ax.scatter(
        *instance.T, s=70, marker="*", color="tab:red", zorder=3, label="explained row"
    )
    ax.set(title=reward, xlabel="first column, present")
axes[0].set_ylabel("second column, absent")
axes[0].legend(loc="upper left")

# %%
# Who gets the credit
# -------------------
# This model uses the second column only, and both columns of the explained row are 1.
# The values depend on the question:
#
# - The interventional reward gives all credit to the second column, for every
#   correlation.
# - The conditional reward also gives credit to the first column: half of what it
#   reveals about the
#   second.
# - If the first column causes the second, `Ordered` places causes first. The first
#   column then gets
#   all that it reveals.
# - If columns are set and not just observed, `CausalReward` gives credit only in the
#   direction of
#   the cause.


def second(table):
    return table[:, 1]


def values(rho, reward, **options):
    centred = np.array([[1.0, rho], [-1.0, -rho]])
    explainer = ShapleyExplainer(second, reward=reward, random_state=0, **options)
    return explainer.fit(centred).explain(np.ones((1, 2))).values[0]


def sigma(rho):
    return [[1.0, rho], [rho, 1.0]]


rhos = np.linspace(0, 0.95, 20)
kinds = {
    "interventional": lambda rho: values(rho, "interventional"),
    "conditional": lambda rho: values(rho, ConditionalReward(sigma(rho))),
    "conditional, first column first": lambda rho: values(
        rho, ConditionalReward(sigma(rho)), sampler=Ordered("antithetic", [(0, 1)])
    ),
    "causal, first causes second": lambda rho: values(
        rho, CausalReward([[0], [1]], covariance=sigma(rho))
    ),
    "causal, second causes first": lambda rho: values(
        rho, CausalReward([[1], [0]], covariance=sigma(rho))
    ),
}
styles = ["-", "-", "-", "o", "s"]  # two lines lie on others
figure, ax = plt.subplots(figsize=(7.4, 4.2), layout="constrained")
for (name, of), style in zip(kinds.items(), styles, strict=True):
    ax.plot(
        rhos,
        [of(rho)[0] for rho in rhos],
        style,
        label=name,
        markevery=3,
        fillstyle="none",
    )
ax.set(
    xlabel="correlation of the columns",
    ylabel="value of the first column,\nwhich the model ignores",
)
ax.legend()

# %%
# Which conditional reward?
# -------------------------
# A conditional reward needs a model of the dependence between columns, and no such
# model is perfect. `conditional_error` measures how well v(S) predicts the response of
# held-out rows. The data are ten measurements of diabetes patients, and some of them
# are correlated:

X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
model = HistGradientBoostingRegressor(max_iter=60, max_depth=3, random_state=0)
model.fit(X_train, y_train)
explainer = ShapleyExplainer(model).fit(X_train)
rewards = ["interventional", "conditional", "copula", "empirical", "surrogate"]
errors = conditional_error(explainer, rewards, X_test, n_coalitions=8, random_state=0)
errors.round(2)

# %%

figure, ax = plt.subplots(figsize=(7.4, 3), layout="constrained")
ax.errorbar(
    errors["error"], errors.index, xerr=1.96 * errors["standard_error"], fmt="o"
)
ax.invert_yaxis()
ax.set(
    xlabel="mean squared error of v(S) on rows left out, with 95 % intervals",
    xlim=(0, None),
)

# %%
# The intervals overlap because some patients are harder than others for every reward.
# The differences from the first reward, on the same patients and coalitions, are more
# precise:

errors[["difference", "difference_error"]].round(2)

# %%
# Two explanations of one patient
# -------------------------------
# The blood measurements (s1 to s6) are correlated. A conditional reward divides the
# credit of one measurement among those that are correlated with it. The two conditional
# rewards differ in places. With 331 rows, a surrogate is not precise, and the standard
# errors do not include this.

patient = X_test.iloc[[0]]
table = pd.DataFrame(
    {
        reward: ShapleyExplainer(model, reward=reward, random_state=0)
        .fit(X_train)
        .explain(patient)
        .values[0]
        for reward in ("interventional", "conditional", "surrogate")
    },
    index=X.columns,
)
figure, ax = plt.subplots(figsize=(7.4, 4), layout="constrained")
table.plot.barh(ax=ax, width=0.8)
ax.invert_yaxis()
ax.axvline(0, color="grey", lw=0.8)
ax.set_xlabel("points of progress")
