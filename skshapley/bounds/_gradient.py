r"""Bounds of projected stochastic gradient: Grah & Thouvenot (2020), section 4.2 and appendix.

In their notation:

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
"""

import numpy as np

from skshapley.bounds._estimators import Numbers, one_of

VERSIONS = ("corrected", "sharp", "published", "preprint")
STEPS = ("inverse", "sqrt", "constant")
LAWS = ("importance", "uniform")


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
    one_of("gradient_norm", "law", law, LAWS)
    radius, bound = np.asarray(radius, dtype=float), np.asarray(bound, dtype=float)
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
    n_players, radius, bound, *, law="importance", version="corrected"
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
    mu = strong_convexity(n_players, version=version)
    printed = 2 if version in ("published", "preprint") else 1
    return printed * gradient_norm(n_players, radius, bound, law=law) / mu


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
    n_evals = np.asarray(n_evals, dtype=float)
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
    epsilon, n_evals, n_players, radius, bound, **options
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
    epsilon, n_evals, n_players, radius, bound, **options
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
    step, early = options.get("step", "inverse"), options.get("version") == "preprint"
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
        n_players, version=options.get("version", "corrected")
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        count = np.ceil(np.log((target - floor) / (start - floor)) / np.log(rate))
    return np.where(target > floor, np.maximum(count - early, 0.0), np.inf)[()]
