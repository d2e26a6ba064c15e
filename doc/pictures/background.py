"""Draw one flower against all flowers and against one kind, for the page on backgrounds."""

import matplotlib.pyplot as plt
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from skshapley import ShapleyExplainer

X, y = load_iris(return_X_y=True, as_frame=True)
kind = y.map({0: "setosa", 1: "versicolor", 2: "virginica"})
X.columns = [name.removesuffix(" (cm)") for name in X.columns]
model = LogisticRegression(max_iter=1000).fit(X, kind == "virginica")
backgrounds = {"against all flowers": X, "against versicolor": X[kind == "versicolor"]}
_, panels = plt.subplots(2, figsize=(7, 6), layout="constrained")
for (title, rows), ax in zip(backgrounds.items(), panels, strict=True):
    explanation = ShapleyExplainer(model).fit(rows).explain(X[133:134])
    explanation.plot.waterfall(0, ax=ax)
    ax.set_title(title)
