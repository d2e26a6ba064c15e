"""Partial orders of players, their decomposition, and uniform linear extensions.

A linear extension is an order of all players that respects the partial order. Two rules
derive one from a uniform permutation. If the order consists of unrelated parts, each
part keeps the positions of its players in the permutation. If it consists of
consecutive parts, the first part takes the first of their positions. Layers, forests
and all series-parallel orders decompose into single players this way. Indivisible rests
are drawn by counting, or by a Markov chain.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, log
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

MOST_IDEALS = 2**14  # sets closed downward; counting them takes a tenth of a second
# Distance of the chain from the uniform distribution, in total variation.
DISTANCE = 0.001
BLOCK_STEPS = 1024  # steps per block of random numbers


def is_order(graph: Any) -> bool:
    """Return True if `before_of` accepts the graph for some number of players."""
    return (
        all(map(_is_pair, graph)) or all(map(_is_layer, graph))
        if isinstance(graph, list | tuple)
        else _is_network(graph)
    )


def before_of(graph: Any, n_players: int, owner: str) -> NDArray[np.bool_]:
    """Return the transitive precedence of players, ``(p, p)`` bool.

    Parameters
    ----------
    graph : list of pairs, list of layers, or networkx.DiGraph
        Players are numbers. A pair is a tuple: its first player comes before its
        second. A layer is a list or a set, and comes before the next layer.
    n_players : int
    owner : str
        Owner of the parameter, for errors.

    Raises
    ------
    ValueError
        For unknown players, layers that do not contain each player once, and cycles.
    """
    if _is_network(graph):
        edges = list(graph.edges)
        labels = set(graph.nodes)
    elif all(map(_is_pair, graph)):
        edges, labels = list(graph), {player for pair in graph for player in pair}
    else:
        layers = [list(layer) for layer in graph]
        members = [player for layer in layers for player in layer]
        edges = [
            (a, b) for first, second in pairwise(layers) for a in first for b in second
        ]
        labels = set(members)
        if sorted(members) != list(range(n_players)):
            raise ValueError(
                f"{owner} got layers {graph!r} for {n_players} players: name each of"
                f" 0..{n_players - 1} once."
            )
    wrong = [player for player in labels if not _is_player(player, n_players)]
    if wrong:
        raise ValueError(
            f"{owner} got an order of player {wrong[0]!r}: number the {n_players} "
            "players from 0, in the order of columns or groups."
        )
    before = np.zeros((n_players, n_players), dtype=bool)
    for first, second in edges:
        before[first, second] = True
    # Warshall's algorithm: after the step of a player, all paths through earlier
    # players are closed.
    for player in range(n_players):
        before |= before[:, player, None] & before[player]
    circle = np.flatnonzero(np.diagonal(before))
    if len(circle):
        raise ValueError(
            f"{owner} got an order with a cycle, in which player {circle[0]} comes "
            "before itself: leave one of its pairs out."
        )
    return before


def _is_network(graph: Any) -> bool:
    return hasattr(graph, "nodes") and hasattr(graph, "edges") and graph.is_directed()


def _is_player(player: Any, n_players: float) -> bool:
    return (
        isinstance(player, Integral)
        and not isinstance(player, bool)
        and 0 <= int(player) < n_players
    )


def _is_pair(pair: Any) -> bool:
    is_tuple = isinstance(pair, tuple) and len(pair) == 2
    return is_tuple and all(_is_player(player, np.inf) for player in pair)


def _is_layer(layer: Any) -> bool:
    is_collection = isinstance(layer, list | set | frozenset | range | np.ndarray)
    return is_collection and all(_is_player(player, np.inf) for player in layer)


@dataclass(frozen=True, eq=False)
class Module:
    """A module of an order: other players are related to all of its members in the same way.

    Attributes
    ----------
    members : ndarray of shape (s,), int
    kind : {"parallel", "series", "prime"}
        Relation of its parts. A prime module has none; a single player is parallel.
    parts : tuple of Module
    before : ndarray of shape (s, s), bool
    """

    members: NDArray[np.intp]
    kind: str
    parts: tuple["Module", ...]
    before: NDArray[np.bool_]

    @cached_property
    def table(self) -> dict[int, tuple[list[int], NDArray]] | None:
        """The possible next players after each set that is closed downward; None if too many."""
        return _ideals(self.before)

    @property
    def has_prime(self) -> bool:
        """Whether the module is indivisible, or contains an indivisible module."""
        return self.kind == "prime" or any(part.has_prime for part in self.parts)

    def extended(
        self,
        permutations: NDArray[np.intp],
        rng: np.random.Generator,
    ) -> NDArray[np.intp]:
        """Return a linear extension for each permutation ``(n, p)``, uniform for uniform ones.

        Parameters
        ----------
        permutations : ndarray of shape (n, p), int
        rng : Generator
            Used only for indivisible modules.
        """
        places = np.argsort(permutations, axis=1)
        self._arrange(places, rng.spawn(len(permutations)) if self.has_prime else [])
        return np.argsort(places, axis=1)

    def _arrange(self, places: NDArray, rngs: list[np.random.Generator]) -> None:
        """Sort the players of the module within their positions, in place."""
        if self.kind != "parallel":
            module_places = np.sort(places[:, self.members], axis=1)
            if self.kind == "series":
                start = 0
                for part in self.parts:
                    rank = np.argsort(
                        np.argsort(places[:, part.members], axis=1),
                        axis=1,
                    )
                    end = start + len(part.members)
                    places[:, part.members] = np.take_along_axis(
                        module_places[:, start:end],
                        rank,
                        axis=1,
                    )
                    start = end
            else:
                table = self.table
                drawn = (
                    _chain(self.before, rngs)
                    if table is None
                    else _counted(table, rngs)
                )
                np.put_along_axis(places, self.members[drawn], module_places, axis=1)
        for part in self.parts:
            part._arrange(places, rngs)


def taken_apart(
    before: NDArray[np.bool_],
    members: NDArray[np.intp] | None = None,
) -> Module:
    """Return the decomposition of an order into nested modules.

    Parameters
    ----------
    before : ndarray of shape (p, p), bool
        Transitive.
    members : ndarray of int, or None
        The players of the module; None for all of them.
    """
    members = np.arange(len(before)) if members is None else members
    relation = before[np.ix_(members, members)]
    if len(members) == 1:
        return Module(members, "parallel", (), relation)
    comparable = relation | relation.T
    # Unrelated parts are components of the order; consecutive parts are components of
    # its complement.
    for kind, linked in (("parallel", comparable), ("series", ~comparable)):
        n_parts, part = connected_components(linked, directed=False)
        if n_parts > 1:
            # the first of a series has no predecessor, the second has the first, and so
            # on
            order = np.argsort(
                [relation[:, part == i].any(axis=1).sum() for i in range(n_parts)]
            )
            order = order if kind == "series" else np.arange(n_parts)
            return Module(
                members,
                kind,
                tuple(taken_apart(before, members[part == i]) for i in order),
                relation,
            )
    return Module(members, "prime", (), relation)


def _ideals(before: NDArray[np.bool_]) -> dict[int, tuple[list[int], NDArray]] | None:
    """Return the possible next elements, with counts, after each set that is closed downward.

    Sets are bits of an int. The result is None if there are too many sets.
    """
    s = len(before)
    predecessors = [
        sum(1 << int(i) for i in np.flatnonzero(column)) for column in before.T
    ]

    def next_players(done: int) -> list[int]:
        return [
            player
            for player in range(s)
            if not done >> player & 1 and not predecessors[player] & ~done
        ]

    level = ideals = [0]
    for _ in range(s):
        # the sets with one player more, each once
        level = list(
            dict.fromkeys(
                done | 1 << player for done in level for player in next_players(done)
            )
        )
        ideals = ideals + level
        # The chain takes over: its cost is a polynomial in the players.
        if len(ideals) > MOST_IDEALS:
            return None
    ways = {ideals.pop(): 1}
    table = {}
    for done in reversed(ideals):
        # Each next player is chosen in proportion to its number of completions, hence
        # uniformly overall.
        players = next_players(done)
        counts = [ways[done | 1 << player] for player in players]
        ways[done] = sum(counts)  # an exact int, which may be huge
        table[done] = players, np.cumsum([count / ways[done] for count in counts])
    return table


def _counted(table: dict, rngs: list[np.random.Generator]) -> NDArray[np.intp]:
    """Return one extension for each generator, with exact probabilities of the next player."""
    s = max(table).bit_length()
    drawn = np.empty((len(rngs), s), dtype=np.intp)
    for line, rng in zip(drawn, rngs, strict=True):
        done = 0
        for place, share in enumerate(rng.random(s)):
            nexts, shares = table[done]
            line[place] = nexts[
                min(np.searchsorted(shares, share, side="right"), len(nexts) - 1)
            ]
            done |= 1 << int(line[place])
    return drawn


def _chain(
    before: NDArray[np.bool_],
    rngs: list[np.random.Generator],
) -> NDArray[np.intp]:
    """Return one extension for each generator, by random exchanges of neighbours.

    Bubley & Dyer (1999): position i of s is chosen in proportion to i (s - i). Its
    player and the next one are exchanged with probability 1/2, if the order allows it.
    Two coupled chains coalesce at the rate 6 / (s^3 - s) per step, from a distance
    below s^2 / 2.
    """
    s, n = len(before), len(rngs)
    places = np.arange(1, s)
    law = np.cumsum(places * (s - places)) * 6 / (s**3 - s)
    # Enough steps that s^2 / 2 coupled distances shrink below `DISTANCE`.
    steps = ceil((s**3 - s) / 6 * log(s**2 / (2 * DISTANCE)))
    # players with fewer predecessors come first
    state = np.tile(np.argsort(before.sum(axis=0), kind="stable"), (n, 1))
    lines = np.arange(n)
    for start in range(0, steps, BLOCK_STEPS):
        chances = np.stack(
            [rng.random((min(BLOCK_STEPS, steps - start), 2)) for rng in rngs]
        )
        # Rounding may leave the last cumulated probability below 1.
        for place, head in zip(
            np.minimum(np.searchsorted(law, chances[:, :, 0], side="right"), s - 2).T,
            (chances[:, :, 1] < 0.5).T,
            strict=True,
        ):
            left, right = state[lines, place], state[lines, place + 1]
            swap = head & ~before[left, right]
            state[lines, place] = np.where(swap, right, left)
            state[lines, place + 1] = np.where(swap, left, right)
    return state
