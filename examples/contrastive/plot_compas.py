"""
Why this person, and not those? Contrastive explanations of a risk score
========================================================================

Grah & Thouvenot (2020), Figure 1, explain why a model gives a 21-year-old a probability of 70 %
to be arrested again within two years, in contrast to people whom the same model does *not* expect
to be: their mean is 14 %. Age adds 46 points, the absence of prior offences takes 9 away. We
repeat it with a model of our own on ProPublica's COMPAS table.

Set ``SKSHAPLEY_DATA`` to a folder that holds ``compas_two_years.csv.gz`` (7214 people, from
https://github.com/propublica/compas-analysis, without names). Without it the same question is put
to scikit-learn's bundled breast tumours: why is this one called malignant, and not benign like
those?
"""

# %%
# A model, and who is to be explained
# -----------------------------------
# Ten columns as they were known on the day of the screening; nothing that came later, and not
# COMPAS's own score. Categories stay categories: rows that the model is asked about are put
# together column by column, and reach it with the dtypes that it was fitted on.

import os
from pathlib import Path

import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

from skshapley import ShapleyExplainer
from skshapley.plots import WaterfallDisplay

COLUMNS = [
    *("sex", "age", "age_cat", "race", "juv_fel_count", "juv_misd_count", "juv_other_count"),
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
# In contrast to whom?
# --------------------
# The background *is* the question. Against people whom the model does not expect to be arrested,
# attributions say what sets this person apart from them; they add up to the difference of this
# probability and their mean one. Ten players have 1024 coalitions, all of which are evaluated:
# these values are exact.

references = X_test[risk < 0.5].sample(100, random_state=0)
explainer = ShapleyExplainer(model, max_rows=100 * 1024, output=True).fit(references)
explanation = explainer.explain(X_test.loc[person])
print(f"predicted {explanation.predictions[0]:.2f}, references {explanation.base_values[0]:.2f}")
WaterfallDisplay.from_explanation(explanation)

# %%
# A single reference
# ------------------
# Each reference makes a game of its own (the paper's v(S) = f(z(x*, r, S)) - f(r)), and the
# values above are the mean of a hundred such games. One of them alone is the answer to "why not
# like this one?". Features in which the two agree get exactly nothing.

nearest = (risk[references.index] - risk[references.index].median()).abs().idxmin()
alone = ShapleyExplainer(model, output=True).fit(references.loc[[nearest]])
pair = alone.explain(X_test.loc[person])
comparison = pd.DataFrame(
    {"person": X_test.loc[person[0]], "reference": references.loc[nearest], "value": pair.values[0]}
)
print(comparison.to_string(float_format="{:.3f}".format))

# %%
# By projected stochastic gradient
# --------------------------------
# The paper's own solver, with some 300 of the 1024 coalitions, each against a hundred references.
# It has no standard errors, and least squares makes more of the same coalitions; both are one word
# away.

sketches = {"exact": explanation.values[0]}
for solver, sampler in (("sgd", "auto"), ("least-squares", "leverage")):
    sketch = ShapleyExplainer(
        model, output=True, solver=solver, sampler=sampler, max_rows=100 * 300, random_state=0
    ).fit(references)
    sketches[solver] = sketch.explain(X_test.loc[person]).values[0]
print(pd.DataFrame(sketches, index=X.columns).round(3).to_string())

# %%
# What this does not say
# ----------------------
# An attribution describes the *model*, under a chosen contrast; it is neither a cause of anyone's
# conduct nor a proof that the model is fair. Three warnings about this table in particular:
#
# - ``race``, ``sex`` and ``age`` are among the columns because ProPublica's analysis (2016) needs
#   them. A small attribution to ``race`` does not clear a model: ``priors_count`` and the charge
#   carry much of the same information, being records of policing as much as of conduct. To ask
#   how far a group is treated differently, compare errors between groups, not attributions.
# - ``age`` and ``age_cat`` say the same thing twice. A coalition with one and not the other is a
#   person who cannot exist, and the two share the credit. ``groups={"age": ["age", "age_cat"]}``
#   makes one player of them; references are mixed in columns as if features were independent.
# - The references decide. Contrasted with everybody, or with people of the same age, the same
#   person gets other values, all of them right: name the contrast whenever you show them.
#
# References
# ----------
# Grah & Thouvenot (2020), A projected stochastic gradient algorithm for estimating Shapley value
# applied in attribute importance, CD-MAKE. Angwin, Larson, Mattu & Kirchner (2016), Machine bias,
# ProPublica.
