"""Shapley values and interactions of any cooperative game, without an estimator."""

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import bernoulli, comb

from skshapley._records._result import ShapleyResult
from skshapley._run._engine import run
from skshapley._run._plan import Request, Size
from skshapley._tools import Count, all_coalitions, corrected
from skshapley.indices import INDICES, Index, walsh
from skshapley.rewards import FunctionGame
from skshapley.samplers import Sampler
from skshapley.solvers import Solver
from skshapley.stopping import StoppingRule


@corrected
def shapley_values(
    reward: Callable[[np.ndarray], Any],
    *,
    n_players: int | None = None,
    sampler: str | Sampler = "auto",
    solver: str | Solver = "auto",
    max_evals: int | str = "auto",
    stopping: StoppingRule | None = None,
    random_state=None,
    n_jobs: int | None = None,
    index: str | Index = "shapley",
    interactions: bool | str = False,
) -> ShapleyResult:
    """Shapley values of a cooperative game.

    Parameters
    ----------
    reward : callable
        From boolean coalitions ``(m, n_players)`` to their values, ``(m,)`` or
        ``(m, k)``.
    n_players : int, optional
        Default: the attribute ``n_players`` of the reward.
    sampler : str or Sampler, default="auto"
        The choice of coalitions: a name of `samplers.SAMPLERS` or an instance. "auto":
        all coalitions if the budget covers them, otherwise the Gaussian-process
        estimator ("odd", "gp"). Antithetic permutations below four evaluations per
        player, and above 500 players.
    solver : str or Solver, default="auto"
        The estimator of values from coalitions: a name of `solvers.SOLVERS` or an
        instance. "auto": the default of the sampler.
    max_evals : int or "auto", default="auto"
        Largest number of coalitions to evaluate, the empty and the full one included.
    stopping : StoppingRule or None, default=None
        Stop earlier, when the standard errors are small enough.
    random_state : None, int, Generator or RandomState, default=None
    n_jobs : int or None, default=None
        Workers for the evaluations, through joblib. The result is the same for any
        number.
    index : str or Index, default="shapley"
        The kind of values: "shapley", "banzhaf", or an index such as
        `skshapley.indices.beta(16, 1)`. Only Shapley values always add up;
        ``efficiency_gap`` is the difference.
    interactions : bool or str, default=False
        Estimate interactions of all pairs too, from the same evaluations. True: the
        Shapley interaction index; or a name of `skshapley.indices.PAIR_INDICES`.

    Returns
    -------
    result : ShapleyResult
        Fields ``values`` ``(p,)`` or ``(p, k)``, ``standard_errors`` (same shape, or
        None), ``base_value`` v(empty), ``full_value`` v(all), ``n_evaluations``,
        ``converged`` and ``interactions``.

    Raises
    ------
    ValueError
        For unknown names or a budget that is too small, before the reward is called.
    TypeError
        If the solver does not accept the designs of the sampler.
    ModelOutputError
        If the reward returns another shape, NaN or infinity.

    References
    ----------
    Shapley (1953), A value for n-person games, Contributions to the Theory of Games II.

    Examples
    --------
    A glove game: player 0 has a left glove, players 1 and 2 a right one each.

    >>> from skshapley import shapley_values
    >>> result = shapley_values(lambda S: S[:, 0] & (S[:, 1] | S[:, 2]), n_players=3)
    >>> result.values.round(4)
    array([0.6667, 0.1667, 0.1667])
    """
    if not callable(reward):
        raise TypeError(
            "shapley_values takes a callable from boolean coalitions (m, n_players) to "
            f"values; got {reward!r}."
        )
    if n_players is None:
        n_players = getattr(reward, "n_players", None)
    if n_players is None or not Count().allows(n_players):
        raise ValueError(
            f"shapley_values needs n_players as a positive int; got {n_players!r}."
            f" Pass n_players=, or a reward that has it as an attribute."
        )
    request = Request.of(
        "shapley_values",
        sampler=sampler,
        solver=solver,
        max_evals=max_evals,
        stopping=stopping,
        random_state=random_state,
        interactions=interactions,
        index=index,
    )
    plan = request.plan(Size(int(n_players)))
    game = FunctionGame(reward, int(n_players))
    outcome = run(game, plan, n_jobs=n_jobs)
    name = None if plan.pairs is None else plan.pairs.name
    return ShapleyResult.from_outcome(outcome, game.one_output, name)


# A million coalitions: 8 MB for each output, and the reward is called 128 times.
MOST_PLAYERS = 20
BATCH = 8192  # coalitions per call of the reward

Sets = dict[tuple[int, ...], np.ndarray]  # players to values ``(k,)``


@corrected
def interaction_values(
    reward: Callable[[np.ndarray], Any],
    *,
    n_players: int,
    order: int = 2,
    index: str = "shapley",
) -> pd.DataFrame:
    """Interactions of all sets of at most `order` players, exactly, from all coalitions.

    Parameters
    ----------
    reward : callable
        From boolean coalitions ``(m, n_players)`` to their values, ``(m,)`` or
        ``(m, k)``.
    n_players : int
        At most 20.
    order : int, default=2
        Largest number of players in a set.
    index : str, default="shapley"
        "shapley", "banzhaf": the amount that a set adds beyond its parts, averaged over
        coalitions of the other players. "k-shapley": Shapley interactions divided among
        smaller sets, so that all add up to v(all) - v(empty). "shapley-taylor":
        differences at the empty coalition, and means over orders for the largest sets;
        these add up too. "faithful-shapley", "faithful-banzhaf": the best approximation
        of the game by a function of this order.

    Returns
    -------
    interactions : DataFrame
        Columns ``players`` (a tuple of positions), ``order``, ``output`` (if the reward
        has several), and ``value``.

    Raises
    ------
    ValueError
        For other indices or numbers, before the reward is called.
    ModelOutputError
        If the reward returns another shape, NaN or infinity.

    See Also
    --------
    shapley_values : Interactions of pairs from a sample of coalitions, by
        ``interactions=True``.

    References
    ----------
    Grabisch & Roubens (1999), An axiomatic approach to the concept of interaction among
    players in cooperative games, Int. J. Game Theory 28. Bordt & von Luxburg (2023),
    From Shapley values to generalized additive models and back, AISTATS ("k-shapley").
    Sundararajan, Dhamdhere & Agarwal (2020), The Shapley Taylor interaction index,
    ICML. Tsai, Yeh & Ravikumar (2023), Faith-Shap: the faithful Shapley interaction
    index, JMLR 24.

    Examples
    --------
    >>> from skshapley import interaction_values
    >>> found = interaction_values(lambda S: S.all(axis=1) * 6.0, n_players=3, order=3)
    >>> found.drop_duplicates("order").set_index("players")["value"].round(9)
    players
    (0,)         2.0
    (0, 1)       3.0
    (0, 1, 2)    6.0
    Name: value, dtype: float64
    """
    owner = interaction_values.__name__
    for name, value, most in (
        ("n_players", n_players, MOST_PLAYERS),
        ("order", order, n_players),
    ):
        if not Count().allows(value) or value > most:
            raise ValueError(
                f"{owner} takes {name} as an int from 1 to {most}; got {value!r}."
            )
    if not isinstance(index, str) or index not in ORDERED:
        names = ", ".join(f'"{name}"' for name in ORDERED)
        raise ValueError(f"{owner} takes index as one of {names}; got {index!r}.")
    game = FunctionGame(reward, n_players)
    cube = all_coalitions(n_players)
    row = np.zeros(1, dtype=int)
    parts = [
        game(cube[None, i : i + BATCH], row)[0] for i in range(0, len(cube), BATCH)
    ]
    values_of_index = ORDERED[index](np.concatenate(parts), order)
    k = game.n_outputs
    columns = {
        "players": [players for players in values_of_index for _ in range(k)],
        "order": np.repeat([len(players) for players in values_of_index], k),
        "output": np.tile(np.arange(k), len(values_of_index)),
        "value": np.concatenate(list(values_of_index.values())),
    }
    if game.one_output:
        del columns["output"]
    return pd.DataFrame(columns)


def _sets(p: int, order: int, least: int = 1) -> Iterator[tuple[int, ...]]:
    for size in range(least, order + 1):
        yield from combinations(range(p), size)


def _over_supersets(table: np.ndarray, players: tuple[int, ...], weights) -> np.ndarray:
    """Return the sum of table entries ``(2^p, k)`` over sets with some given players, ``(k,)``.

    `weights` are for sets with 0, 1, ... other players.
    """
    p = len(table).bit_length() - 1
    # in all_coalitions, the first player is the lowest bit and therefore the last axis
    place = [slice(None)] * p
    for player in players:
        # Sets with the player; its axis disappears.
        place[p - 1 - player] = 1  # type: ignore[call-overload]
    part = table.reshape(*[2] * p, -1)[tuple(place)].reshape(
        2 ** (p - len(players)), -1
    )
    # Number of other players in each set, by the bits of its position.
    sizes = np.bitwise_count(np.arange(len(part)))
    return np.asarray(weights)[sizes] @ part


def moebius(values: np.ndarray) -> np.ndarray:
    """Return the Moebius coefficient of each set from all values ``(2^p, k)``."""
    out = np.array(values, dtype=np.float64)
    half = 1
    while half < len(out):
        pairs = out.reshape(-1, 2, half, out.shape[1])
        # The middle axis is the player's bit: each set loses the part of its subset
        # without the player.
        pairs[:, 1] -= pairs[:, 0]
        half *= 2
    return out


def _means(values: np.ndarray, order: int, index: Index, least: int = 1) -> Sets:
    """Return the means of differences over coalitions of others, weighted by the index."""
    p = len(values).bit_length() - 1
    coefficients = walsh(values)
    moments = index.moments(p + 1)
    return {
        players: 2.0 ** len(players) * _over_supersets(coefficients, players, moments)
        for players in _sets(p, order, least)
    }


def _k_shapley(values: np.ndarray, order: int) -> Sets:
    """Return k-Shapley values: interactions plus a share of larger ones (Eq 7, B_1 = -1/2)."""
    single = _means(values, order, INDICES["shapley"])
    numbers = bernoulli(order)
    out = {}
    p = len(values).bit_length() - 1
    for players in single:
        absent = [j for j in range(p) if j not in players]
        out[players] = np.zeros(values.shape[1])
        for size in range(order - len(players) + 1):
            for further in combinations(absent, size):
                out[players] += numbers[size] * single[tuple(sorted(players + further))]
    return out


def _shapley_taylor(values: np.ndarray, order: int) -> Sets:
    p = len(values).bit_length() - 1
    alone = moebius(values)
    bit = 1 << np.arange(p)
    lower = {
        players: alone[bit[list(players)].sum()] for players in _sets(p, order - 1)
    }
    return lower | _means(values, order, Index("", 1.0, float(order)), least=order)


def _faithful_shapley(values: np.ndarray, order: int) -> Sets:
    """Return the faithful Shapley interactions (Tsai et al., Theorem 19)."""
    p = len(values).bit_length() - 1
    alone = moebius(values)
    out = {}
    for players in _sets(p, order):
        s = len(players)
        share = np.zeros(p - s + 1)  # for each number of other players
        share[0] = 1.0
        larger = np.arange(order + 1, p + 1)
        of_larger = comb(larger - 1, order) / comb(larger + order - 1, order + s)
        share[larger - s] += (
            (-1) ** (order - s) * s / (order + s) * comb(order, s) * of_larger
        )
        out[players] = _over_supersets(alone, players, share)
    return out


def _faithful_banzhaf(values: np.ndarray, order: int) -> Sets:
    """Return the projection on sets of this order in signs, converted to zeros and ones."""
    p = len(values).bit_length() - 1
    coefficients = walsh(values)
    out = {}
    for players in _sets(p, order):
        sizes = np.arange(p - len(players) + 1)
        # Sets above the order are dropped by the projection; signs convert from -1 and
        # 1 to 0 and 1.
        weights = np.where(len(players) + sizes <= order, (-1.0) ** sizes, 0.0)
        out[players] = 2.0 ** len(players) * _over_supersets(
            coefficients, players, weights
        )
    return out


ORDERED: dict[str, Callable[[np.ndarray, int], Sets]] = {
    "shapley": lambda values, order: _means(values, order, INDICES["shapley"]),
    "banzhaf": lambda values, order: _means(values, order, INDICES["banzhaf"]),
    "k-shapley": _k_shapley,
    "shapley-taylor": _shapley_taylor,
    "faithful-shapley": _faithful_shapley,
    "faithful-banzhaf": _faithful_banzhaf,
}
