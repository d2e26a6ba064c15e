"""Draw attributions over time of a Weibull model, for the page on survival."""

import numpy as np
import pandas as pd

from skshapley import ShapleyExplainer

TIMES = np.array([30.0, 90.0, 180.0, 365.0, 730.0, 1095.0])


def survival(X):
    """Return the probability of surviving beyond each time."""
    hazard = np.exp(0.05 * (X["age"] - 60) + 0.8 * X["smoker"] - 0.4 * X["fitness"])
    curves = np.exp(-hazard.to_numpy()[:, None] * (TIMES / 1500) ** 0.8)
    return pd.DataFrame(curves, columns=TIMES)


rng = np.random.default_rng(0)
patients = pd.DataFrame(
    {
        "age": rng.normal(60, 10, 200),
        "smoker": rng.integers(0, 2, 200),
        "fitness": rng.normal(size=200),
    }
)
explanation = (
    ShapleyExplainer(survival, random_state=0).fit(patients).explain(patients[:5])
)
explanation.plot.over_outputs(0)
