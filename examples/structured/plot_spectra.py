"""
Which bands of a spectrum
=========================

A spectrum of a hundred wavelengths has a hundred players, and neighbours say nearly the same. We
explain a calibration wavelength by wavelength, then by bands, and ask whether it helps to know that
wavelengths lie on a chain.
"""

# %%
# Simulated near-infrared spectra, as of mixtures of sugar, water and fat: broad overlapping bands
# on a sloping baseline, with noise. A support vector regression finds the share of sugar.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.svm import SVR

from skshapley import ShapleyExplainer
from skshapley.plots import HeatMapDisplay
from skshapley.samplers import ConnectedRegression, LocalShapley

rng = np.random.default_rng(0)
wavelength = np.linspace(1100, 2100, 100)
BANDS = {"sugar": [(1580, 60), (2080, 70)], "water": [(1450, 60), (1930, 70)], "fat": [(1730, 40)]}
pure = {
    name: sum(np.exp(-(((wavelength - centre) / width) ** 2)) for centre, width in bands)
    for name, bands in BANDS.items()
}
shares = rng.dirichlet([2, 4, 2], 300)
slope = rng.normal(0, 0.1, (300, 1)) * (wavelength - 1600) / 500
spectra = shares @ np.array(list(pure.values())) + slope + rng.normal(0, 0.005, (300, 100))
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
# The mixture with most sugar. Orange: the absorbance there speaks for more sugar than the mean has;
# blue: for less. The two bands of sugar do most; those of fat and water speak for sugar as well, as
# little is absorbed there.

sample = X.iloc[[200 + sugar[200:].argmax()]]
explainer = ShapleyExplainer(
    model, sampler="antithetic", max_rows=20_000, max_background=50, random_state=0
).fit(X[:200])
explanation = explainer.explain(sample)
print(f"sugar {explanation.predictions[0]:.2f}, on average {explanation.base_values[0]:.2f}")
curve = sample.to_numpy()[0]
ticks = {"xticks": range(0, 100, 20), "xticklabels": X.columns[::20]}
HeatMapDisplay.from_explanation(explanation, shape=100, image=curve).ax_.set(**ticks)

# %%
# By bands
# --------
# Ten bands of ten wavelengths are ten players, of which all 1024 coalitions are evaluated. These
# values are exact, and say in ten numbers what a hundred said above.

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
# Does the chain help?
# --------------------
# L- and C-Shapley look at neighbours only. That is enough where the *model* looks at neighbours
# only, as that of :doc:`words in a sentence <plot_sentence>`. This model compares whole spectra, so
# that distant wavelengths act on each other, and an error is left. That the *data* lie on a chain
# is no reason to take these samplers.

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
