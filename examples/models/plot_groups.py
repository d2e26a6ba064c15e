"""
Columns that belong together
============================

Each of ten properties of the cell nuclei has three columns: its mean, its standard
error and its worst value over the image. The three are correlated and divide their
credit. As *groups*, the columns are ten players instead of thirty. This is cheaper,
more precise and easier to read.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skshapley import ShapleyExplainer
from skshapley.plots import BarDisplay

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y == 0, random_state=0)
model = HistGradientBoostingClassifier(max_iter=40, random_state=0).fit(
    X_train, y_train
)

properties = sorted(
    {name.removeprefix("mean ") for name in X if name.startswith("mean ")}
)
groups = {
    name: [f"mean {name}", f"{name} error", f"worst {name}"] for name in properties
}
groups["area"]

# %%
# Both explanations have the same budget:

options = dict(sampler="antithetic", max_rows=6_000, max_background=40, random_state=0)
single = ShapleyExplainer(model, **options).fit(X_train).explain(X_test.iloc[:40])
grouped = (
    ShapleyExplainer(model, groups=groups, **options)
    .fit(X_train)
    .explain(X_test.iloc[:40])
)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
BarDisplay.from_explanation(single, ax=axes[0])
BarDisplay.from_explanation(grouped, ax=axes[1])

# %%
# The mean standard errors of both, relative to the mean size of an attribution:

for explanation in (single, grouped):
    ratio = explanation.standard_errors.mean() / abs(explanation.values).mean()
    print(f"{len(explanation.feature_names)} players: {ratio:.1%}")
