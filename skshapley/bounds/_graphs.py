"""Bounds of Shapley values from neighbours in a graph, after Chen et al. (2018).

There, v_x(S) is the conditional mean of log P(Y | x_S), and errors are means over rows
X. They are bounded by the dependence of player i on the players outside a set S of
neighbours, in absolute mutual information (their Eq 7)

    I_a(X; Y | Z) = E |log P(X, Y | Z) / (P(X | Z) P(Y | Z))|.
"""

from itertools import chain, combinations

import numpy as np

from skshapley.bounds._estimators import Numbers, one_of

VALUES = ("local", "connected")


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
        remaining_axes = tuple(set(range(joint.ndim)) - set(axes))
        return joint.sum(axis=remaining_axes, keepdims=True)

    together = over([*first, *second, *given])
    separate = over([*first, *given]) * over([*second, *given])
    # By convention 0 log 0 = 0: combinations that never occur add nothing.
    positive = together > 0
    ratio = np.divide(
        together * over(given), separate, out=np.ones(together.shape), where=positive
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
    beyond = [j for j in range(joint.ndim) if j not in {player, response, *inner}]
    conditions = [(subset, (*subset, response)) for subset in _subsets(inner)]
    # All subsets on both sides: 25 ms of CPU for nine binary players. Two further
    # players multiply the time by six.
    dependences = [
        absolute_information(joint, [player], outside, condition)
        for outside in _subsets(beyond)[1:]
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
    one_of("graph_error", "method", method, VALUES)
    local = 2 if whole else 4
    return (local + 2 * (method == "connected")) * np.asarray(epsilon, dtype=float)
