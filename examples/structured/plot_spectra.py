"""
Which bands of a spectrum
=========================

A spectrum with a hundred wavelengths has a hundred players, and neighbours contain
nearly the same information. This example explains a calibration by wavelengths, and by
bands. Then it tests whether methods for chains are useful.
"""

# %%
# The simulated near-infrared spectra resemble mixtures of sugar, water and fat: broad
# overlapping bands on a sloping baseline, with noise. A support vector regression
# predicts the share of sugar.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.svm import SVR

from skshapley import ShapleyExplainer
from skshapley.plots import HeatMapDisplay
from skshapley.samplers import ConnectedRegression, LocalShapley

rng = np.random.default_rng(0)
wavelength = np.linspace(1100, 2100, 100)
BANDS = {
    "sugar": [(1580, 60), (2080, 70)],
    "water": [(1450, 60), (1930, 70)],
    "fat": [(1730, 40)],
}
pure = {
    name: sum(
        np.exp(-(((wavelength - centre) / width) ** 2)) for centre, width in bands
    )
    for name, bands in BANDS.items()
}
shares = rng.dirichlet([2, 4, 2], 300)
slope = rng.normal(0, 0.1, (300, 1)) * (wavelength - 1600) / 500
spectra = (
    shares @ np.array(list(pure.values())) + slope + rng.normal(0, 0.005, (300, 100))
)
X = pd.DataFrame(spectra, columns=[f"{w:.0f} nm" for w in wavelength])
sugar = shares[:, 0]
model = SVR(epsilon=0.005).fit(X[:200], sugar[:200])
print(f"R² on new mixtures: {model.score(X[200:], sugar[200:]):.3f}")

figure, ax = plt.subplots(figsize=(7, 3), layout="constrained")
ax.plot(wavelength, spectra[200:215].T, color="grey", lw=0.5)
for name, curve in pure.items():
    ax.plot(wavelength, curve, label=name)
ax.set(xlabel="wavelength, nm", ylabel="absorbance")
ax.legend(frameon=False)

# %%
# Wavelength by wavelength
# ------------------------
# This mixture has the most sugar. In orange regions, the absorbance raises the
# predicted sugar above the mean; in blue regions it lowers it. The two bands of sugar
# have the largest effects. The bands of fat and water also raise the prediction,
# because little is absorbed there.

sample = X.iloc[[200 + sugar[200:].argmax()]]
explainer = ShapleyExplainer(
    model, sampler="antithetic", max_rows=20_000, max_background=50, random_state=0
).fit(X[:200])
explanation = explainer.explain(sample)
print(
    f"sugar {explanation.predictions[0]:.2f}, on average "
    f"{explanation.base_values[0]:.2f}"
)
curve = sample.to_numpy()[0]
ticks = {"xticks": range(0, 100, 20), "xticklabels": X.columns[::20]}
HeatMapDisplay.from_explanation(explanation, shape=100, image=curve).ax_.set(**ticks)

# %%
# By bands
# --------
# Ten bands of ten wavelengths are ten players, and all 1024 coalitions are evaluated.
# The values are exact, and summarise the hundred values above in ten numbers.

bands = {
    f"{wavelength[start]:.0f} to {wavelength[start + 9]:.0f} nm": list(
        X.columns[start : start + 10]
    )
    for start in range(0, 100, 10)
}
by_band = ShapleyExplainer(
    model, groups=bands, max_rows=50 * 1024, max_background=50, random_state=0
).fit(X[:200])
HeatMapDisplay.from_estimator(by_band, sample, shape=10, image=curve).ax_.set(**ticks)

# %%
# Do methods for chains help?
# ---------------------------
# L- and C-Shapley use neighbours only. This is sufficient if the *model* uses
# neighbours only, as in :doc:`words in a sentence <plot_sentence>`. This model compares
# whole spectra, so distant wavelengths interact and an error remains. The fact that the
# *data* form a chain is no reason to use these samplers.

truth = explainer.set_params(max_rows=150_000).fit(X[:200]).explain(sample).values
samplers = {
    "antithetic permutations": "antithetic",
    "L-Shapley, k = 1": LocalShapley("chain", order=1),
    "L-Shapley, k = 2": LocalShapley("chain", order=2),
    "C-Shapley, regression": ConnectedRegression("chain", order=4),
}
for name, sampler in samplers.items():
    cost = getattr(sampler, "n_evaluations", lambda p: 4 * p - 3)(100)
    n_rows = 50 * (cost - 2) + 1
    explainer.set_params(sampler=sampler, max_rows=n_rows).fit(X[:200])
    found = explainer.explain(sample).values
    error = np.linalg.norm(found - truth) / np.linalg.norm(truth)
    print(f"{name:24s} {cost:5d} evaluations, relative error {error:.2f}")
