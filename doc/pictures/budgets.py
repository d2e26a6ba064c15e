"""Draw true and stated errors by the budget, for the page on precision."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.neural_network import MLPRegressor

from skshapley import ShapleyExplainer

X, y = make_friedman1(1000, n_features=10, random_state=0)
y = (y - y.mean()) / y.std()
network = MLPRegressor(hidden_layer_sizes=(20,), max_iter=1000, random_state=0).fit(
    X, y
)
table, rows = X[:100], X[100:110]
truth = (
    ShapleyExplainer(network, sampler="exact", max_rows=10**6).fit(table).explain(rows)
)
budgets = [1_000, 2_000, 4_000, 8_000, 16_000, 32_000]
true_errors, stated_errors = [], []
for budget in budgets:
    explainer = ShapleyExplainer(network, max_rows=budget, random_state=0).fit(table)
    explanation = explainer.explain(rows)
    true_errors.append(np.sqrt(((explanation.values - truth.values) ** 2).mean()))
    stated_errors.append(np.sqrt((explanation.standard_errors**2).mean()))
_, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.loglog(budgets, true_errors, "o-", label="true error")
ax.loglog(budgets, stated_errors, "s--", label="stated standard error")
ax.set(xlabel="budget (model rows per explained row)", ylabel="root mean square")
ax.legend()
