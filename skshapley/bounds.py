"""The published bounds on the error of Shapley estimates, as functions of arrays.

- Of Monte Carlo over permutations (Maleki et al. 2013): `hoeffding_permutations`,
  `chebyshev_permutations`.
- Of least squares on coalitions drawn by leverage scores (Musco & Witter 2025):
  `leverage_error`, `leverage_samples`.
- Of any weighted set of permutations (Mitchell et al. 2022): `quadrature_error`, with
`function_variation`; and of the similarity of directions and their permutations,
`dot_product_bounds`.
- Of values from neighbours in a graph (Chen et al. 2018): `graph_error`, with
  `graph_dependence` and `absolute_information`.
- Of projected stochastic gradient (Grah & Thouvenot 2020), as printed and as corrected:
  all others.
There, epsilon is a threshold for the *squared* norm of the error.

**Permutations and leverage scores.** A player's marginal contribution is a function f
of the permutation. In the space of a kernel K, the error of a weighted mean of f is at
most the discrepancy of the set times the norm of f, which the paper calls its
variation: Koksma and Hlawka's inequality of quadrature.

Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score
sampling, ICLR. Shapley values minimise, among vectors with the sum v(all) - v(empty),

    R^2 = sum_S w_S (v(S) - v(empty) - sum_{i in S} phi_i)^2,  w_S = 1 / (C(d, s) s (d - s)),

over the coalitions S of sizes s from 1 to d - 1. With the sum constraint, this is a
regression A beta = b with A'A = I/d on vectors of sum zero. Its leverage scores are
1/C(d, s), and a solution phi' has exactly the excess |phi' - phi|^2 / d.

The paper's theorem has unspecified constants. These functions specify them, for m
independently drawn coalitions and r = d - 1, the sum of the leverage scores. By a
matrix Chernoff bound (Tropp 2012, Theorem 1.1), the smallest eigenvalue of the sampled
Gram matrix is above 1/2 except with probability r (2/e)^(m/(2 r)). The sampled product
of A and the residuals has the mean square r R^2 / m, so Markov's inequality completes
the bound.

**Projected stochastic gradient** (Grah & Thouvenot 2020, section 4.2 and appendix). In
their notation:

- d is the number of players and T the number of evaluations;
- C is a bound on abs(v(S) - v(empty)), and D one on the norm of the attributions (the
  radius of the ball);
- F is the function that they minimise, mu its constant of strong convexity, B a bound
  on its stochastic gradient, kappa = B/mu, and gamma a constant step (half of
  `ProjectedSGD`'s ``step_size``);
- epsilon is a threshold for the *squared* norm of the error.

With

    S = sum_{l=1}^{d-1} d (sqrt(l) D + C) / (sqrt(l) (d - l))

the importance distribution has B = 2 (1 - 1/d) S. The conference paper and its preprint
do not always print the result of their own derivations. The functions therefore have
these versions:

"corrected"
    mu = 1 - 1/d as in the texts, and kappa = B/mu = 2 S. These bounds hold, though they
    are larger than necessary, since mu could be larger.
"sharp"
    mu = 2 (1 - 1/d), the smallest eigenvalue of the Hessian 2 X'WX of F on the
    hyperplane (the texts leave out the 2), and kappa = S.
"published"
    As printed in the conference paper, with kappa = 4 S.
"preprint"
    As printed in the preprint. kappa = 4 S as well, but its Markov bounds use kappa = 2
    S, with T + 1 for T if the step is constant, and its deviation bounds have 16
    kappa^2 for 4 kappa^2 and 8 D kappa for 4 D kappa.

Bounds on probabilities are clipped at 1. They are often useless: with d = 16, C = 1, D
= 4 and 30,000 evaluations the expected squared error is bounded by 28, while the
squared norm of the attributions themselves is below 1.

**Neighbours in a graph** (Chen et al. 2018). There, v_x(S) is the conditional mean of
log P(Y | x_S), and errors are means over rows X. They are bounded by the dependence of
player i on the players outside a set S of neighbours, in absolute mutual information
(their Eq 7)

    I_a(X; Y | Z) = E |log P(X, Y | Z) / (P(X | Z) P(Y | Z))|.
"""

from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "absolute_information",
    "chebyshev_permutations",
    "condition_number",
    "deviation_probability",
    "dot_product_bounds",
    "expected_error",
    "function_variation",
    "gradient_norm",
    "graph_dependence",
    "graph_error",
    "hoeffding_permutations",
    "least_evals",
    "leverage_error",
    "leverage_samples",
    "markov_probability",
    "quadrature_error",
    "strong_convexity",
]

# One number, or one for each entry of the given arrays
Numbers = np.float64 | NDArray[np.float64]


def one_of(owner, parameter, value, choices) -> None:
    """Raise ValueError unless a value is one of the choices."""
    if value not in choices:
        raise ValueError(f"{owner} got {parameter}={value!r}: choose one of {choices}.")


def hoeffding_permutations(epsilon, delta, spread, *, n_players=1) -> Numbers:
    """Return the number of permutations for Monte Carlo by Hoeffding's inequality.

    Then P(abs error >= epsilon) <= delta, for all `n_players` p simultaneously:
    n >= spread^2 log(2 p/delta) / (2 epsilon^2).

    Parameters
    ----------
    epsilon, delta : array-like
        Error, in the units of the game, and probability.
    spread : array-like
        Largest minus smallest marginal contribution of a player.
    n_players : int, default=1
        Number of players for a simultaneous bound on their errors (a union bound).

    Returns
    -------
    n_permutations : ndarray or float
        A whole number.

    References
    ----------
    Maleki, Tran-Thanh, Hines, Rahwan & Rogers (2013), Bounding the estimation error of
    sampling-based Shapley value approximation with/without stratifying,
    arXiv:1306.4265.

    Examples
    --------
    >>> from skshapley.bounds import hoeffding_permutations
    >>> float(hoeffding_permutations(0.01, 0.05, 1.0))
    18445.0
    """
    epsilon, delta, spread = (
        np.asarray(a, dtype=float) for a in (epsilon, delta, spread)
    )
    return np.ceil(spread**2 * np.log(2 * n_players / delta) / (2 * epsilon**2))


def chebyshev_permutations(epsilon, delta, variance, *, n_players=1) -> Numbers:
    """Return the number of permutations for Monte Carlo by Chebyshev's inequality.

    Then P(abs error >= epsilon) <= delta, for all `n_players` p simultaneously:
    n >= p variance / (delta epsilon^2).

    Parameters
    ----------
    epsilon, delta : array-like
        As for `hoeffding_permutations`.
    variance : array-like
        Variance of the marginal contribution of a player in a random permutation.
    n_players : int, default=1
        As for `hoeffding_permutations`.

    Returns
    -------
    n_permutations : ndarray or float
        A whole number.

    References
    ----------
    Maleki, Tran-Thanh, Hines, Rahwan & Rogers (2013), arXiv:1306.4265.

    Examples
    --------
    >>> from skshapley.bounds import chebyshev_permutations
    >>> float(chebyshev_permutations(0.01, 0.05, 0.1))
    20000.0
    """
    epsilon, delta, variance = (
        np.asarray(a, dtype=float) for a in (epsilon, delta, variance)
    )
    return np.ceil(n_players * variance / (delta * epsilon**2))


def quadrature_error(discrepancy, variation) -> Numbers:
    """Return a bound on the error of a weighted mean over permutations: D V.

    Parameters
    ----------
    discrepancy : array-like
        D, of the set and its weights: `skshapley.diagnostics.permutation_discrepancy`.
    variation : array-like
        V, of the averaged function, for the same kernel: `function_variation`.

    Returns
    -------
    error : ndarray or float
        In the units of the variation.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3.3.

    Examples
    --------
    >>> from skshapley.bounds import quadrature_error
    >>> float(quadrature_error(0.5, 3.0))
    1.5
    """
    return np.asarray(discrepancy, dtype=float) * np.asarray(variation, dtype=float)


def function_variation(values, gram) -> Numbers:
    """Return the norm of functions of permutations in the space of a kernel: sqrt(f' K^-1 f).

    Parameters
    ----------
    values : array-like of shape (n,) or (n, p)
        At all n = p! permutations, such as the marginal contributions of each player.
    gram : array-like of shape (n, n)
        The kernel between all permutations. It must be positive definite; of the
        paper's kernels, only Mallows' is.

    Returns
    -------
    variation : float or ndarray of shape (p,)

    Raises
    ------
    ValueError
        If the kernel is not positive definite.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, section 3.3.

    Examples
    --------
    >>> from itertools import permutations
    >>> import numpy as np
    >>> from skshapley.bounds import function_variation
    >>> from skshapley.samplers import MallowsKernel
    >>> orders = np.array(list(permutations(range(3))))
    >>> first = (orders[:, 0] == 0) * 1.0  # a player who wins if it is the first
    >>> function_variation(first, MallowsKernel()(orders, orders)).round(3)
    np.float64(1.316)
    """
    values = np.asarray(values, dtype=float)
    gram = np.asarray(gram, dtype=float)
    # Mallows' matrix of all permutations has the condition number 25 for 4 players, 517
    # for 5 and 23,000 for 6, so the factorisation loses at most five of sixteen digits.
    try:
        factor = np.linalg.cholesky(gram)
    except np.linalg.LinAlgError:
        raise ValueError(
            f"function_variation got a kernel matrix of shape {gram.shape} that is not "
            "positive definite: choose MallowsKernel, the paper's only positive "
            "definite kernel."
        ) from None
    return np.sqrt((np.linalg.solve(factor, values) ** 2).sum(axis=0))


def dot_product_bounds(tau) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return bounds of the dot product of two permutations, by Kendall's tau.

    The rank vectors are centred and scaled to norm 1. The bounds hold up to a term
    O(1/p).

    Parameters
    ----------
    tau : array-like
        Kendall's tau, 1 - 2 n_dis / C(p, 2).

    Returns
    -------
    lower, upper : ndarray or float
        3 tau - 2 + 4 ((1 - tau)/2)^(3/2) and 3 tau + 2 - 4 ((1 + tau)/2)^(3/2).

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Theorem 2.

    Examples
    --------
    >>> from skshapley.bounds import dot_product_bounds
    >>> [part.round(3).tolist() for part in dot_product_bounds([-1.0, 0.0, 1.0])]
    [[-1.0, -0.586, 1.0], [-1.0, 0.586, 1.0]]
    """
    tau = np.asarray(tau, dtype=float)
    lower = 3 * tau - 2 + 4 * ((1 - tau) / 2) ** 1.5
    return lower, 3 * tau + 2 - 4 * ((1 + tau) / 2) ** 1.5


RATE = (1 - np.log(2)) / 2  # exponent of the Chernoff bound at one half


def leverage_error(n_samples, n_players, residual, delta) -> Numbers:
    """Return a bound on the squared error of least squares on leverage samples.

    With a probability of at least 1 - delta, |phi' - phi|^2 <= 4 d r R^2 / (m (delta - delta_0)),
    where delta_0 = r exp(-(1 - log 2) m / (2 r)) is the failure probability of the Gram matrix.

    Parameters
    ----------
    n_samples : array-like
        Coalitions m, drawn independently by their leverage scores.
    n_players : int
        Number of players d, at least 2.
    residual : array-like
        R^2, the weighted sum of squared residuals of the Shapley values: 0 for additive games.
    delta : array-like
        A probability.

    Returns
    -------
    error : ndarray or float
        In squared units of the game; infinite if there are too few samples for a bound.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling,
    ICLR, Theorem 1.1 and Corollary 4.1. Tropp (2012), User-friendly tail bounds for sums of random
    matrices, Foundations of Computational Mathematics 12.

    Examples
    --------
    >>> from skshapley.bounds import leverage_error
    >>> leverage_error([100, 1000, 10_000], 8, 0.01, 0.1).round(3)
    array([  inf, 0.022, 0.002])
    """
    samples = np.asarray(n_samples, dtype=float)
    residual = np.asarray(residual, dtype=float)
    rank = n_players - 1
    left = np.asarray(delta, dtype=float) - rank * np.exp(-RATE * samples / rank)
    # With too few samples, the failure probability exceeds delta and there is no bound.
    # For delta = .1, a bound needs 194 samples for 8 players, which have only 254
    # coalitions, and 490 for 16.
    positive = left > 0
    excess = np.where(
        positive,
        4 * rank / (samples * np.where(positive, left, 1.0)),
        np.inf,
    )
    return (n_players * excess * residual)[()]


def leverage_samples(epsilon, delta, n_players) -> Numbers:
    """Return the number of coalitions for a loss of at most 1 + epsilon times the smallest one.

    Then |A beta' - b|^2 <= (1 + epsilon) |A beta - b|^2 with a probability of at least
    1 - delta, that is |phi' - phi|^2 <= d epsilon R^2. It is O(d log(d / delta) + d / (delta
    epsilon)).

    Parameters
    ----------
    epsilon : array-like
        Positive.
    delta : array-like
        A probability: half for the Gram matrix and half for the residuals.
    n_players : int
        Number of players d, at least 2.

    Returns
    -------
    n_samples : ndarray or float
        A whole number.

    References
    ----------
    Musco & Witter (2025), Provably accurate Shapley value estimation via leverage score sampling,
    ICLR, Theorem 1.1.

    Examples
    --------
    >>> from skshapley.bounds import leverage_samples
    >>> leverage_samples([1.0, 0.1], 0.1, 8)
    array([ 560., 5600.])
    """
    epsilon = np.asarray(epsilon, dtype=float)
    delta = np.asarray(delta, dtype=float)
    rank = n_players - 1
    # The matrix must be well conditioned with probability 1 - delta / 2; the residuals
    # take the rest.
    return np.ceil(
        np.maximum(
            rank / RATE * np.log(2 * rank / delta),
            8 * rank / (delta * epsilon),
        ),
    )


VERSIONS = ("corrected", "sharp", "published", "preprint")
STEPS = ("inverse", "sqrt", "constant")


def gradient_norm(n_players, radius, bound, *, law="importance") -> Numbers:
    """Return B, a bound on the root mean square norm of the stochastic gradient of F.

    Importance distribution: 2 (1 - 1/d) S. Uniform distribution: 2 n sqrt(d - 1)/d
    (sqrt(d - 1) D + C) with n = 2^d - 2, which is infinite in double precision for more
    than a thousand players.

    Parameters
    ----------
    n_players : int
        Number of players d, at least 2.
    radius, bound : array-like
        D and C; they broadcast.
    law : {"importance", "uniform"}, default="importance"

    Returns
    -------
    norm : ndarray or float
        In the units of the game.

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 4.2, "Upper bound B".

    Examples
    --------
    >>> from skshapley.bounds import gradient_norm
    >>> round(float(gradient_norm(16, 4.0, 1.0)), 2)
    430.8
    """
    one_of("gradient_norm", "law", law, ("importance", "uniform"))
    radius = np.asarray(radius, dtype=float)
    bound = np.asarray(bound, dtype=float)
    d = n_players
    if law == "uniform":
        # From 1,019 players on, the bound exceeds double precision (at D = C = 1).
        # Infinity is a bound, too.
        with np.errstate(over="ignore"):
            n = np.exp2(float(d)) - 2
            return 2 * n * np.sqrt(d - 1) / d * (np.sqrt(d - 1) * radius + bound)
    size = np.arange(1, d)
    by_radius = np.sum(1 / (d - size))
    by_bound = np.sum(1 / (np.sqrt(size) * (d - size)))
    return 2 * (d - 1) * (by_radius * radius + by_bound * bound)


def strong_convexity(n_players, *, version="corrected") -> float:
    """Return mu, a constant of strong convexity of F on attributions with a fixed sum.

    Parameters
    ----------
    n_players : int
        Number of players d, at least 2.
    version : {"corrected", "sharp", "published", "preprint"}, default="corrected"

    Returns
    -------
    mu : float
        1 - 1/d, or twice that for "sharp".

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 4.2 and appendix 8.1.

    Examples
    --------
    >>> from skshapley.bounds import strong_convexity
    >>> strong_convexity(4), strong_convexity(4, version="sharp")
    (0.75, 1.5)
    """
    one_of("strong_convexity", "version", version, VERSIONS)
    return (2 if version == "sharp" else 1) * (1 - 1 / n_players)


def condition_number(
    n_players,
    radius,
    bound,
    *,
    law="importance",
    version="corrected",
) -> Numbers:
    """Return kappa, the ratio B/mu: 2 S for the importance distribution, and 4 S in print.

    Parameters
    ----------
    n_players : int
    radius, bound : array-like
        As for `gradient_norm`.
    law : {"importance", "uniform"}, default="importance"
    version : {"corrected", "sharp", "published", "preprint"}, default="corrected"

    Returns
    -------
    kappa : ndarray or float
        In the units of the game.

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 4.2, "Convergence rate".

    Examples
    --------
    >>> from skshapley.bounds import condition_number
    >>> [
    ...     round(float(condition_number(16, 4.0, 1.0, version=version)), 1)
    ...     for version in ("corrected", "sharp", "published")
    ... ]
    [459.5, 229.8, 919.1]
    """
    printed = 2 if version in ("published", "preprint") else 1
    return (
        printed
        * gradient_norm(n_players, radius, bound, law=law)
        / strong_convexity(n_players, version=version)
    )


def expected_error(
    n_evals,
    n_players,
    radius,
    bound,
    *,
    step="inverse",
    gamma=None,
    start_error=None,
    law="importance",
    version="corrected",
) -> Numbers:
    """Return a bound on the expected squared error of projected stochastic gradient.

    - "inverse", steps 2/(mu (t + 1)) and the weighted mean of the iterates: 4
      kappa^2/T.
    - "sqrt", steps 2 D/(B sqrt(t)) and the uniform mean of the iterates: 4 D
      kappa/sqrt(T).
    - "constant", steps gamma and the last iterate: (1 - gamma mu)^T start + gamma
      B^2/mu.

    Parameters
    ----------
    n_evals : array-like
        Number of evaluations T.
    n_players : int
        Number of players d, at least 2.
    radius, bound : array-like
        D and C; they broadcast.
    step : {"inverse", "sqrt", "constant"}, default="inverse"
    gamma : array-like, optional
        The constant step, less than 1/mu. It is for F, so it is half of the solver's
        ``step_size``.
    start_error : array-like, optional
        Squared distance of the equal shares from the solution; at most D^2, which is
        the default.
    law : {"importance", "uniform"}, default="importance"
    version : {"corrected", "sharp", "published", "preprint"}, default="corrected"

    Returns
    -------
    error : ndarray or float
        In squared units of the game.

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 4.2, "Convergence rate"; Lacoste-Julien,
    Schmidt & Bach (2012), arXiv:1212.2002 (inverse).

    Examples
    --------
    >>> from skshapley.bounds import expected_error
    >>> round(float(expected_error(30_000, 16, 4.0, 1.0)), 1)
    28.2
    """
    one_of("expected_error", "step", step, STEPS)
    kappa = condition_number(n_players, radius, bound, law=law, version=version)
    if step == "inverse":
        return 4 * kappa**2 / n_evals
    if step == "sqrt":
        return 4 * np.asarray(radius) * kappa / np.sqrt(n_evals)
    mu = strong_convexity(n_players, version=version)
    if gamma is None or not (np.min(gamma) > 0 and np.max(gamma) < 1 / mu):
        raise ValueError(
            f"expected_error got gamma={gamma!r} for a constant step: choose a number "
            f"between 0 and 1/mu = {1 / mu:.6g}."
        )
    gamma = np.asarray(gamma, dtype=float)
    start = np.asarray(radius) ** 2 if start_error is None else np.asarray(start_error)
    floor = gamma * gradient_norm(n_players, radius, bound, law=law) ** 2 / mu
    return (1 - gamma * mu) ** n_evals * start + floor


def markov_probability(
    epsilon,
    n_evals,
    n_players,
    radius,
    bound,
    **options,
) -> Numbers:
    """Return a bound on P(squared norm of the error >= epsilon), by Markov's inequality.

    Parameters
    ----------
    epsilon : array-like
        Threshold for the squared norm of the error, in squared units of the game.
    n_evals : array-like
    n_players : int
    radius, bound : array-like
    **options
        As for `expected_error`.

    Returns
    -------
    probability : ndarray or float
        At most 1.

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 4.2, "High-Probability bounds"; preprint,
    appendix.

    Examples
    --------
    >>> from skshapley.bounds import markov_probability
    >>> markov_probability(0.1, [1e4, 1e8], 16, 4.0, 1.0).round(4)
    array([1.    , 0.0845])
    """
    if options.get("version") == "preprint":  # its appendix states kappa = 2 S
        options["version"] = "corrected"
        n_evals = np.asarray(n_evals) + (options.get("step") == "constant")
    error = expected_error(n_evals, n_players, radius, bound, **options)
    return np.minimum(1.0, error / np.asarray(epsilon, dtype=float))


def deviation_probability(
    epsilon,
    n_evals,
    n_players,
    radius,
    bound,
    **options,
) -> Numbers:
    """Return the exponential "deviation" bound, as printed, which does not always hold.

    Use `markov_probability` for a bound that holds. This one is 2 exp(-(epsilon/A -
    2)^2/16) with A from `expected_error`. The texts derive it from "E Z <= A implies
    P(Z >= A (2 + 4 a)) <= 2 exp(-a^2)", which is not true for every Z >= 0: let Z be 14
    A with probability 1/14 and else 0, and a = 3, where the right side is 2.5e-4. It
    was proved only for function values under averaging with bounded gradients.

    Parameters
    ----------
    epsilon, n_evals : array-like
    n_players : int
    radius, bound : array-like
    **options
        As for `markov_probability`.

    Returns
    -------
    probability : ndarray or float
        At most 1.

    References
    ----------
    Grah & Thouvenot (2020), preprint, section 4.2; CD-MAKE, appendix 8.2.

    Examples
    --------
    >>> from skshapley.bounds import deviation_probability
    >>> deviation_probability(0.1, [1e4, 1e8], 16, 4.0, 1.0).round(4)
    array([1.    , 0.0047])
    """
    error = expected_error(n_evals, n_players, radius, bound, **options)
    if options.get("version") == "preprint":
        factor = {"inverse": 4.0, "sqrt": 2.0, "constant": 1.0}[
            options.get("step", "inverse")
        ]
        error = factor * error
    excess = np.maximum(np.asarray(epsilon, dtype=float) / error - 2, 0.0)
    return np.minimum(1.0, 2 * np.exp(-(excess**2) / 16))


def least_evals(epsilon, delta, n_players, radius, bound, **options) -> Numbers:
    """Return the smallest T for which Markov's bound on P(squared error >= epsilon) is delta.

    Parameters
    ----------
    epsilon : array-like
        As for `markov_probability`.
    delta : array-like
        A probability.
    n_players : int
    radius, bound : array-like
    **options
        As for `expected_error`.

    Returns
    -------
    n_evals : ndarray or float
        A whole number; infinite if a constant step never reaches it.

    References
    ----------
    Grah & Thouvenot (2020), CD-MAKE, section 4.2, "High-Probability bounds", solved for
    T.

    Examples
    --------
    >>> from skshapley.bounds import least_evals
    >>> float(least_evals(0.1, 0.05, 4, 1.0, 1.0))
    491262.0
    """
    target = np.asarray(epsilon, dtype=float) * np.asarray(delta, dtype=float)
    step = options.get("step", "inverse")
    early = options.get("version") == "preprint"
    if early:  # as for `markov_probability`
        options["version"] = "corrected"
    if step != "constant":
        error = expected_error(1, n_players, radius, bound, **options)
        return np.ceil((error / target) ** (2 if step == "sqrt" else 1))
    start, floor = (
        expected_error(n, n_players, radius, bound, **options) for n in (0, np.inf)
    )
    # The bound is (start - floor) rate^T + floor. Where the floor is above the target,
    # no T reaches it.
    rate = 1 - np.asarray(options["gamma"]) * strong_convexity(
        n_players,
        version=options.get("version", "corrected"),
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        count = np.ceil(np.log((target - floor) / (start - floor)) / np.log(rate))
    return np.where(target > floor, np.maximum(count - early, 0.0), np.inf)[()]


def absolute_information(joint, first, second, given=()) -> float:
    """Return the absolute mutual information I_a(first; second | given) of discrete variables.

    It is 0 only for independent variables, and never below the mutual information.

    Parameters
    ----------
    joint : array-like of shape (n_1, ..., n_m)
        The probability of each combination of values, with one axis per variable.
    first, second, given : sequence of int
        Axes, each at most once.

    Returns
    -------
    information : float
        In nats.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model
    interpretation for structured data, ICLR, Eq 7.

    Examples
    --------
    A bit and its copy:

    >>> import numpy as np
    >>> from skshapley.bounds import absolute_information
    >>> round(absolute_information(np.diag([0.5, 0.5]), [0], [1]), 3)  # log 2
    0.693
    """
    joint = np.asarray(joint, dtype=float)

    def over(axes) -> np.ndarray:
        """Return the probabilities of some variables, with axes of length 1 for all others."""
        return joint.sum(axis=tuple(set(range(joint.ndim)) - set(axes)), keepdims=True)

    together = over([*first, *second, *given])
    # By convention 0 log 0 = 0: combinations that never occur add nothing.
    ratio = np.divide(
        together * over(given),
        over([*first, *given]) * over([*second, *given]),
        out=np.ones(together.shape),
        where=together > 0,
    )
    return float((together * np.abs(np.log(ratio))).sum())


def graph_dependence(joint, player, near, response=-1) -> float:
    """Return epsilon of a player and its neighbours: the largest of their Eq 8.

    The supremum of I_a(X_i; X_V | X_U, Y) and I_a(X_i; X_V | X_U) over the sets U of
    neighbours without i, and the sets V of players that are not neighbours.

    Parameters
    ----------
    joint : array-like of shape (n_1, ..., n_d, n_y)
        The probability of each combination of the players' values and the response.
    player : int
    near : sequence of int
        Neighbours of the player, with or without itself.
    response : int, default=-1
        The axis of the response.

    Returns
    -------
    epsilon : float
        0 if the player is independent of all others, given any of its neighbours, with
        and without the response.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model
    interpretation for structured data, ICLR, Eq 8.

    Examples
    --------
    >>> import numpy as np
    >>> from skshapley.bounds import graph_dependence
    >>> joint = np.full((2, 2, 2), 1 / 8)  # three coins, of which one is the response
    >>> graph_dependence(joint, 0, [0])
    0.0
    """
    joint = np.asarray(joint, dtype=float)
    response = response % joint.ndim
    inner = [j for j in near if j != player]
    conditions = [(subset, (*subset, response)) for subset in _subsets(inner)]
    # All subsets on both sides: 25 ms of CPU for nine binary players. Two further
    # players multiply the time by six.
    dependences = [
        absolute_information(joint, [player], outside, condition)
        for outside in _subsets(
            [j for j in range(joint.ndim) if j not in {player, response, *inner}],
        )[1:]
        for condition in chain.from_iterable(conditions)
    ]
    return max(dependences, default=0.0)


def _subsets(items) -> list[tuple[int, ...]]:
    return list(
        chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))
    )


def graph_error(epsilon, *, method="local", whole=False) -> Numbers:
    """Return a bound on the mean absolute error of a player's value from neighbours.

    Parameters
    ----------
    epsilon : array-like
        From `graph_dependence`; for C-Shapley, the largest of it and of their Eq 10.
    method : {"local", "connected"}, default="local"
        L-Shapley: 4 epsilon. C-Shapley: 6 epsilon, with the coefficients of
        `skshapley.samplers.ConnectedShapley`. It does not hold for the printed
        coefficients, which give additive games (epsilon 0) an error.
    whole : bool, default=False
        Whether epsilon belongs to the whole neighbourhood. The bounds are then 2
        epsilon for L-Shapley and 4 epsilon for C-Shapley.

    Returns
    -------
    error : ndarray or float
        The mean over rows, in nats.

    References
    ----------
    Chen, Song, Wainwright & Jordan (2018), L-Shapley and C-Shapley: efficient model
    interpretation for structured data, ICLR, Theorems 1 and 2.

    Examples
    --------
    >>> from skshapley.bounds import graph_error
    >>> float(graph_error(0.1)), float(graph_error(0.1, whole=True))
    (0.4, 0.2)
    """
    one_of("graph_error", "method", method, ("local", "connected"))
    local = 2 if whole else 4
    return (local + 2 * (method == "connected")) * np.asarray(epsilon, dtype=float)
