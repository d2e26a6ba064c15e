"""
How large a budget?
===================

Choose a precision, and let each row stop when it is reached. Or spend a fixed budget,
and look at the standard errors.
"""

# sphinx_gallery_thumbnail_number = 2

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skshapley import ShapleyExplainer
from skshapley.plots import BarDisplay, ConvergenceDisplay
from skshapley.stopping import StandardError

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y == 0, random_state=0)
network = MLPClassifier((16,), alpha=0.1, max_iter=1000, random_state=0)
model = make_pipeline(StandardScaler(), network).fit(X_train, y_train)

# %%
# A tenth of the budget is enough to see which features matter, but not to rank the last
# ones.

explainer = ShapleyExplainer(model, max_background=50, random_state=0).fit(X_train)
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for ax, budget in zip(axes, (6_500, 65_000), strict=True):
    explanation = (
        explainer.set_params(max_rows=budget).fit(X_train).explain(X_test.iloc[:1])
    )
    BarDisplay.from_explanation(explanation, row=0, ax=ax)
    ax.set_title(f"{budget:,} model rows")

# %%
# The error of two methods falls as their budgets grow:

methods = {
    name: ShapleyExplainer(model, sampler=name, max_background=50, random_state=0).fit(
        X_train
    )
    for name in ("antithetic", "monte-carlo")
}
budgets = [5_000, 10_000, 20_000, 40_000]
ConvergenceDisplay.from_estimator(methods, X_test.iloc[:1], budgets=budgets)

# %%
# Here, a row stops when its standard errors are at most 2 % of the range of its
# attributions. Simple rows stop early:

stopping = StandardError(rtol=0.02)
patient = ShapleyExplainer(
    model, stopping=stopping, max_background=50, random_state=0
).fit(X_train)
explanation = patient.explain(X_test.iloc[:20])
figure, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.scatter(explanation.predictions, explanation.n_model_rows)
ax.set(xlabel="probability of a malignant tumour", ylabel="model rows spent")
print(
    f"{explanation.converged.sum()} of {len(explanation)} rows reached the precision."
)
