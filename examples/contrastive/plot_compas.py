"""
Contrastive explanations of a risk score
========================================

Figure 1 of Grah & Thouvenot (2020) explains why a model gives a 21-year-old a
probability of 70 % to be arrested again within two years. The contrast is people for
whom the same model expects no arrest, with a mean of 14 %. Age adds 46 points, and the
absence of prior offences subtracts 9. This example repeats the analysis with another
model on ProPublica's COMPAS table.

Set ``SKSHAPLEY_DATA`` to a folder with ``compas_two_years.csv.gz`` (7214 people, from
https://github.com/propublica/compas-analysis, without names). Without it, the example
uses the breast tumours of scikit-learn. It then asks why one tumour is classified as
malignant, in contrast to benign ones.
"""

# %%
# The model and the person to explain
# -----------------------------------
# The ten columns were known on the day of the screening. Later information and the
# COMPAS score are excluded. Categories stay categories: rows for the model are combined
# column by column, with the dtypes that it was fitted on.

import os
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skshapley import ShapleyExplainer
from skshapley.plots import WaterfallDisplay

COLUMNS = [
    *(
        "sex",
        "age",
        "age_cat",
        "race",
        "juv_fel_count",
        "juv_misd_count",
        "juv_other_count",
    ),
    *("priors_count", "c_charge_degree", "c_charge_desc"),
]
path = Path(os.environ.get("SKSHAPLEY_DATA", ".")) / "compas_two_years.csv.gz"
has_compas = path.exists()

if has_compas:
    table = pd.read_csv(path)
    X, y = table[COLUMNS].copy(), table["two_year_recid"] == 1
    common = X["c_charge_desc"].map(X["c_charge_desc"].value_counts()) >= 50
    X["c_charge_desc"] = X["c_charge_desc"].where(common, "other")
    words = X.select_dtypes(exclude="number").columns
    X[words] = X[words].astype("category")
else:
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X, y = X.filter(like="mean "), y == 0  # True: malignant

X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0)
model = HistGradientBoostingClassifier(
    max_depth=3, learning_rate=0.05, categorical_features="from_dtype", random_state=0
).fit(X_train, y_train)
print(f"accuracy {model.score(X_test, y_test):.3f}, base rate {y_test.mean():.3f}")

risk = pd.Series(model.predict_proba(X_test)[:, 1], index=X_test.index)
candidates = X_test[risk > 0.5]
if has_compas:  # as in the paper: 21 years old, no prior offences
    candidates = candidates.query("age == 21 and priors_count == 0")
person = risk[candidates.index].sort_values().tail(1).index
print(X_test.loc[person].T.to_string())

# %%
# The contrast
# ------------
# The background *is* the question. Here, it contains people for whom the model expects
# no arrest. The attributions then show how this person differs from them. They add up
# to the person's probability minus the mean probability of the background. Ten players
# have 1024 coalitions. All of them are evaluated, so these values are exact.

references = X_test[risk < 0.5].sample(100, random_state=0)
explainer = ShapleyExplainer(model, max_rows=100 * 1024, output=True).fit(references)
explanation = explainer.explain(X_test.loc[person])
print(
    f"predicted {explanation.predictions[0]:.2f}, references "
    f"{explanation.base_values[0]:.2f}"
)
WaterfallDisplay.from_explanation(explanation)

# %%
# A single background row
# -----------------------
# Each background row defines its own game, in the paper v(S) = f(z(x*, r, S)) - f(r).
# The values above are the mean of a hundred such games. A single game answers the
# question "why not like this person?". Features with equal values in both rows get
# exactly 0.

nearest = (risk[references.index] - risk[references.index].median()).abs().idxmin()
alone = ShapleyExplainer(model, output=True).fit(references.loc[[nearest]])
pair = alone.explain(X_test.loc[person])
comparison = pd.DataFrame(
    {
        "person": X_test.loc[person[0]],
        "reference": references.loc[nearest],
        "value": pair.values[0],
    }
)
print(comparison.to_string(float_format="{:.3f}".format))

# %%
# Projected stochastic gradient
# -----------------------------
# The paper's own solver uses about 300 of the 1024 coalitions, each against a hundred
# background rows. It has no standard errors. Least squares is more accurate with the
# same coalitions. Each is selected by one word.

sketches = {"exact": explanation.values[0]}
for solver, sampler in (("sgd", "auto"), ("least-squares", "leverage")):
    sketch = ShapleyExplainer(
        model,
        output=True,
        solver=solver,
        sampler=sampler,
        max_rows=100 * 300,
        random_state=0,
    ).fit(references)
    sketches[solver] = sketch.explain(X_test.loc[person]).values[0]
print(pd.DataFrame(sketches, index=X.columns).round(3).to_string())

# %%
# Limits
# ------
# An attribution describes the *model*, under a chosen contrast. It is not a cause of
# anyone's conduct, and it does not prove that the model is fair. This table needs three
# warnings:
#
# - ``race``, ``sex`` and ``age`` are among the columns because ProPublica's analysis
#   (2016) needs
#   them. A small attribution to ``race`` does not clear a model: ``priors_count`` and the charge
#   carry much of the same information, because they record policing as much as conduct. To measure
#   unequal treatment, compare errors between groups, not attributions.
# - ``age`` and ``age_cat`` contain the same information. A coalition with only one of
#   them
#   describes a person who cannot exist, and the two divide the credit. Make them one player with
#   ``groups={"age": ["age", "age_cat"]}``.
# - The values depend on the background. With all people, or with people of the same
#   age, the same
#   person gets other values, and all of them are correct. Name the contrast whenever you show them.
#
# References
# ----------
# Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating
# Shapley value applied in attribute importance, CD-MAKE. Angwin, Larson, Mattu &
# Kirchner (2016), Machine bias, ProPublica.
