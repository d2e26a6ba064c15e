"""Shapley values from sources independent of the measured methods.

Enumeration up to 16 players; shap's interventional TreeExplainer for trees of more; the
closed form of a sum of products for kernel machines, sums of products and radial games;
the distribution of a sum of independent weights for threshold games; for perceptrons
with one hidden layer and more inputs, millions of walks through that layer, with their
standard error. All are kept in benchmarks/.cache.
"""

import hashlib
from pathlib import Path

import numpy as np
from scipy.special import expit

CACHE = Path(__file__).parents[1] / ".cache"
ENUMERATED = 16
STEPS, ENOUGH = (
    60_000_000,
    2e-7,
)  # of pairs of walks an instance; relative squared error
GRID = 2**14


def kept(name, background, instances, compute):
    """Return compute(instances) ``(r, p)``, from the cache if it is there."""
    key = hashlib.sha256(background.tobytes() + instances.tobytes()).hexdigest()[:16]
    path = CACHE / "truths" / f"{name}-{key}.npy"
    if not path.exists():
        values = compute(instances)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, values)
    return np.load(path)


def shap_trees(model, background, instances):
    """Return shap's exact values ``(r, p)``."""
    import shap

    explainer = shap.TreeExplainer(
        model, background, feature_perturbation="interventional"
    )
    values = np.asarray(explainer.shap_values(instances, check_additivity=False))
    return values[..., 1] if values.ndim == 3 else values


def tree_truth(model, background, instances, total):
    """Return shap's exact values, if their sum equals the prediction.

    It may not be: an input that lies within a rounding of a threshold goes another way
    than in scikit-learn's trees. On the forest of diabetes that cost 8e-4 of the
    squared norm.
    """
    values = shap_trees(model, background, instances)
    gap = (
        np.abs(values.sum(axis=1) - total).max() / np.linalg.norm(values, axis=1).min()
    )
    if gap > 3e-4:  # sums in single precision are off by less
        raise ValueError(
            f"shap's values miss the prediction by {gap:.1e} of their norm."
        )
    return values


def kernel_factors(model, instances, background):
    """Return the factors exp(-gamma (z_j - s_j)^2) of instances and background, ``(n, m, p)``."""
    vectors, gamma = model.support_vectors_, model._gamma
    return tuple(
        np.exp(-gamma * (Z[:, None, :] - vectors) ** 2) for Z in (instances, background)
    )


def product_truth(inside, outside, weights):
    """Return the Shapley values of sum_m w_m prod_j (inside if present, else outside), ``(r, p)``.

    phi_i = int_0^1 (a_i - b_i) prod_{j != i} (t a_j + (1 - t) b_j) dt, a polynomial of
    degree p - 1, averaged over the rows of `outside`.
    """
    p = inside.shape[2]
    t, share = np.polynomial.legendre.leggauss(p // 2 + 1)
    out = np.zeros((len(inside), p))
    for i, a in enumerate(inside):
        for b in outside:
            for at, part in zip((t + 1) / 2, share / 2, strict=True):
                mixed = at * a + (1 - at) * b
                before = np.cumprod(
                    np.hstack([np.ones((len(a), 1)), mixed[:, :-1]]), axis=1
                )
                back = np.hstack([np.ones((len(a), 1)), mixed[:, :0:-1]])
                after = np.cumprod(back, axis=1)[:, ::-1]
                out[i] += part * weights @ ((a - b) * before * after)
    return out / len(outside)


def enumerated(worth, p):
    """Return the Shapley values ``(p,)`` of a function of coalitions ``(m, p)``, by all of them."""
    from math import comb

    every = (np.arange(2**p)[:, None] >> np.arange(p)) & 1 == 1
    values = np.concatenate(
        [worth(part) for part in np.array_split(every, max(1, 2**p // 512))]
    )
    size = every.sum(axis=1)
    joins = np.array([0.0] + [1 / (s * comb(p, s)) for s in range(1, p + 1)])
    leaves = np.array([1 / ((p - s) * comb(p, s)) for s in range(p)] + [0.0])
    return values @ np.where(every, joins[size][:, None], -leaves[size][:, None])


def averaged(respond, x, background):
    """Return the function from coalitions ``(m, p)`` to mean responses ``(m,)``."""

    def worth(coalitions):
        rows = np.where(coalitions[:, None], x, background)
        return (
            respond(rows.reshape(-1, len(x))).reshape(len(coalitions), -1).mean(axis=1)
        )

    return worth


def threshold_truth(inside, outside, cut):
    """Return the Shapley values of 1[sum_{S} inside + sum_{not S} outside > cut], ``(p,)``.

    phi_i = int_0^1 P(i moves the sum over the cut, each other player being there with
    probability t) dt. The sums are put on a grid whose points lie evenly about the cut,
    their distribution comes from its characteristic function.
    """
    change, far = inside - outside, cut - outside.sum()
    step = np.abs(change).sum() / GRID
    step = abs(far) / (np.floor(abs(far) / step) + 0.5)
    grid = np.diff(
        np.rint(np.cumsum(change) / step), prepend=0.0
    )  # rounding does not add up
    omega = 2 * np.pi * np.arange(1, GRID // 2 + 1) / GRID
    turn = np.exp(1j * omega * grid[:, None])
    at_cut = np.exp(-1j * omega * np.floor(far / step)) / (np.exp(1j * omega) - 1)
    window = (turn - 1) * at_cut * np.where(omega < np.pi, 2.0, 1.0)
    out = np.zeros(len(change))
    for t, share in zip(
        *np.polynomial.legendre.leggauss(len(change) // 2 + 1), strict=True
    ):
        factor = (1 - t) / 2 + (1 + t) / 2 * turn
        others = factor.prod(axis=0) / factor
        out += share / 2 * (grid + (others * window).sum(axis=1).real) / GRID
    return out


def perceptron_truth(model, background, instances):
    """Return the mean over pairs of permutations for a perceptron with one layer of ReLUs.

    A step of a walk adds a row to the sums that enter the hidden layer; the reversed
    walk's sums are h(x) + h(z) minus the walk's. Every background row has equally many
    walks, until the error is ENOUGH or STEPS are made.
    """
    first, last, shift, bias = (
        part.astype(np.float32) for part in (*model.coefs_, *model.intercepts_)
    )
    link = expit if hasattr(model, "classes_") else np.positive

    def respond(sums):
        return link((np.maximum(sums, 0) @ last + bias)[..., 0].astype(float))

    out, start = [], background @ first + shift
    for i, x in enumerate(instances):
        rng = np.random.default_rng([20, i])
        total, squares, noise, n = 0.0, 0.0, np.inf, 0
        steps, ends = (x - background).astype(np.float32), x @ first + shift + start
        every = np.tile(np.arange(len(x)), (len(background), 1))
        while (n < 100 or noise > ENOUGH) and n * every.size < STEPS:
            order = rng.permuted(every, axis=1)
            sums = np.take_along_axis(steps, order, axis=1)[..., None] * first[order]
            sums[:, 0] += start
            np.cumsum(sums, axis=1, out=sums)
            walk, back = (
                respond(at) for at in (sums[:, :-1], ends[:, None] - sums[:, :-1])
            )
            low, high = respond(start), respond(sums[:, -1])
            forth = np.diff(walk, axis=1, prepend=low[:, None], append=high[:, None])
            reverse = -np.diff(back, axis=1, prepend=high[:, None], append=low[:, None])
            gains = np.empty(order.shape)
            np.put_along_axis(gains, order, (forth + reverse) / 2, axis=1)
            mean = gains.mean(axis=0)
            total, squares, n = total + mean, squares + mean**2, n + 1
            noise = (squares - total**2 / n).sum() / (total**2).sum()
        print(
            f"  truth of instance {i}: relative squared error {noise:.1e}", flush=True
        )
        out.append(total / n)
    return np.array(out)
