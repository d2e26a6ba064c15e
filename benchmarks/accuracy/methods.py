"""The measured methods: our samplers and solvers, and explainers of other packages.

Every method takes a game, a budget of evaluations of a row and a seed, and returns
values ``(r, p)``, or None if the budget is too small for it.
"""

from dataclasses import dataclass
from math import comb

import numpy as np

from skshapley import ShapleyExplainer
from skshapley.samplers import Antithetic, Odd

ALL = {"references": "all"}


class Counted:
    """A task's response, which counts the rows that it is asked for."""

    def __init__(self, task):
        self.task, self.rows = task, 0

    def __call__(self, rows):
        self.rows += len(rows)
        return self.task.respond(self.task.model, rows)

    def response(self, estimator, rows):
        self.rows += len(rows)
        return self.task.respond(estimator, rows)

    def game(self, x):
        """Return the function from coalitions ``(m, p)`` to mean responses ``(m,)``."""

        def worth(coalitions):
            coalitions = np.atleast_2d(np.asarray(coalitions, dtype=bool))
            rows = np.where(coalitions[:, None], x, self.task.background)
            return (
                self(rows.reshape(-1, len(x))).reshape(len(coalitions), -1).mean(axis=1)
            )

        return worth


@dataclass
class Ours:
    """A sampler and a solver of this package."""

    sampler: object = "auto"
    solver: object = "auto"
    most_players = most_seeds = np.inf

    def __call__(self, counted, evals, seed):
        explainer = ShapleyExplainer(
            counted.task.model,
            response_method=counted.response,
            sampler=self.sampler,
            solver=self.solver,
            max_rows=(evals - 2) * len(counted.task.background) + 1,
            random_state=seed,
        )
        try:
            explainer.fit(counted.task.background)
            counted.rows = (
                0  # all rows to explain share those of `fit`, which the seconds include
            )
            found = explainer.explain(counted.task.instances)
        except ValueError as error:
            if "too small" in str(error):
                return None
            raise
        return found.values


@dataclass
class Peer:
    """Another package's method, a function of (counted, evals, seed)."""

    call: object
    most_players: float = np.inf
    most_seeds: float = np.inf

    def __call__(self, counted, evals, seed):
        return self.call(counted, evals, seed)


def shap_permutation(counted, evals, seed):
    """Both directions of floor(evals / 2p) permutations: one evaluation more than was paid for."""
    import shap

    background = counted.task.background
    masker = shap.maskers.Independent(background, max_samples=len(background))
    explainer = shap.PermutationExplainer(counted, masker, seed=seed)
    p = counted.task.n_players
    walks = evals // (2 * p)
    if not walks:
        return None
    found = explainer(
        counted.task.instances, max_evals=walks * (2 * p + 1), silent=True
    )
    return found.values


def shap_kernel(counted, evals, seed):
    import shap

    np.random.seed(seed)  # noqa: NPY002 - the only seed that it knows
    explainer = shap.KernelExplainer(counted, counted.task.background)
    values = explainer.shap_values(
        counted.task.instances, nsamples=evals - 2, l1_reg=False, silent=True
    )
    return np.asarray(values)


def lightshap(method):
    """Return the blocks that the package would choose, or the next smaller ones in the budget."""

    def call(counted, evals, seed):
        from lightshap import explain_any

        how, rounds = afforded(method, counted.task.n_players, evals)
        if how is None:
            return None
        found = explain_any(
            counted,
            counted.task.instances,
            bg_X=counted.task.background,
            method=method,
            how=how,
            max_iter=rounds,
            tol=0.0,
            random_state=seed,
            verbose=False,
        )
        shape = counted.task.instances.shape
        return found.shap_values.reshape(shape)

    return call


def afforded(method, p, evals):
    """Return LightSHAP's way and its number of rounds within `evals`, or None and 0."""
    if method == "permutation":
        rounds = (evals - 2 * p) // (2 * (p - 3))
        return ("sampling", rounds) if rounds >= 1 else (None, 0)
    for how, degree in (("h2", 2), ("h1", 1), ("sampling", 0)):
        enumerated = sum(2 * comb(p, k) for k in range(1, degree + 1))
        rounds = (evals - enumerated) // (2 * (p - 1 - 2 * degree))
        if rounds >= 1 and (how != "h2" or p <= 16):
            return how, rounds
    return None, 0


def shapiq(name, **parameters):
    """An approximator of shapiq, on games of means over the background."""

    def call(counted, evals, seed):
        from shapiq import approximator

        kind, p = getattr(approximator, name), counted.task.n_players
        values = []
        for row, x in enumerate(counted.task.instances):
            estimate = kind(n=p, random_state=1000 * seed + row, **parameters)
            try:
                found = estimate.approximate(evals, counted.game(x))
            except (IndexError, ValueError) as error:
                # ProxySPEX, where it finds less than two interactions; too small a
                # budget
                if isinstance(error, IndexError) or "budget" in str(error).lower():
                    return None
                raise
            values.append(found.get_n_order_values(1))
        return np.array(values)

    return call


# Those of the first group spread the same model rows over more coalitions, each against
# one background row or some; those of the second average every coalition over the whole
# background.
SPREAD = {
    "default": Ours(),
    "odd": Ours("odd"),
    "orthogonal": Ours("orthogonal"),
}
AVERAGED = {
    "odd, all rows": Ours(Odd(**ALL)),
    "leverage": Ours("leverage"),
    "kernel": Ours("kernel"),
    "sample reuse": Ours("square-root", "sample-reuse"),
    "permutations, all rows": Ours(Antithetic(**ALL)),
}
PEERS = {
    "shap permutation": Peer(shap_permutation),
    "shap kernel": Peer(shap_kernel),
    "lightshap permutation": Peer(lightshap("permutation")),
    "lightshap kernel": Peer(lightshap("kernel")),
    "shapiq permutation": Peer(shapiq("PermutationSamplingSV")),
    "shapiq kernel": Peer(shapiq("KernelSHAP", pairing_trick=True)),
    "shapiq SVARM": Peer(shapiq("SVARM"), most_players=61),
    "shapiq LeverageSHAP": Peer(shapiq("LeverageSHAP")),
    "shapiq OddSHAP": Peer(shapiq("OddSHAP")),
    "shapiq RegressionMSR": Peer(
        shapiq("RegressionMSR", index="SV", proxy_model="linear")
    ),
    "shapiq PolySHAP": Peer(
        shapiq("PolySHAP", max_order=2, pairing_trick=True), most_players=61
    ),
    "shapiq ProxySHAP": Peer(
        shapiq("ProxySHAP", max_order=1, index="SV", adjustment=True)
    ),
    "shapiq ProxySPEX": Peer(
        shapiq("ProxySPEX", index="SV", max_order=1), most_players=16, most_seeds=1
    ),
}
METHODS = SPREAD | AVERAGED | PEERS
