"""Sets of permutations made from scratch, and errors over trials: for this folder."""

import time
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from skshapley.samplers import (
    Antithetic,
    MallowsKernel,
    MonteCarlo,
    Orthogonal,
    draw_permutations,
)
from skshapley.samplers._kernels import (
    MostNews,
    bayesian_weights,
    greedy_permutations,
    least_alike,
)
from skshapley.samplers._permutation_sets import sobol_permutations

RESULTS = Path(__file__).parents[2] / "doc" / "results" / "permutations"
TRIALS, LEAST_TRIALS = 25, 3
CANDIDATES = 25
DRAWN = {
    "Monte Carlo": MonteCarlo(),
    "antithetic": Antithetic(),
    "orthogonal": Orthogonal(),
}


def one_set(method, n, p, rng):
    """Return a set ``(n, p)`` and its weights ``(n,)``, without the cache of samplers."""
    equal, kernel = np.full(n, 1 / n), MallowsKernel()
    if method == "herding":
        return herded(kernel, n, p, rng), equal
    if method == "SBQ":
        orders = greedy_permutations(
            kernel, n, p, rng, CANDIDATES, MostNews(kernel, n, p)
        )
        return orders, bayesian_weights(orders, kernel)
    if method == "Sobol":
        return sobol_permutations(rng, n, p, "sphere"), equal
    return draw_permutations(DRAWN[method], n, p, rng)


def herded(kernel, n, p, rng, candidates=CANDIDATES):
    """Return a set of herding ``(n, p)``."""
    return greedy_permutations(kernel, n, p, rng, candidates, least_alike)


def enough(trial, trials, start, seconds):
    """Whether to end after a number of trials that began at a CPU time."""
    return trial >= trials or (
        trial >= LEAST_TRIALS and time.process_time() - start >= seconds
    )


def mean_errors(estimates, truth=None):
    """Return the MSE (Eq 15) of trials ``(n, ..., p)`` and half of its 95 % interval over trials.

    Without a truth it is the variance over the trials.
    """
    estimates = np.asarray(estimates)
    n = len(estimates)
    centre, spread = (
        (estimates.mean(axis=0), n / (n - 1)) if truth is None else (truth, 1)
    )
    errors = spread * ((estimates - centre) ** 2).reshape(n, -1).mean(axis=1)
    return errors.mean(), student.ppf(0.975, n - 1) * errors.std(ddof=1) / np.sqrt(n)


def record(estimates, truth=None):
    """Return error, interval and number of trials as a line of a table."""
    error, half = mean_errors(estimates, truth)
    return {
        "mse": error,
        "low": error - half,
        "high": error + half,
        "trials": len(estimates),
    }


def summary(found, truth):
    """Return a record for each method and budget."""
    for (name, budget), estimates in found.items():
        yield {"method": name, "evaluations": budget} | record(estimates, truth)
