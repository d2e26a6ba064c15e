"""Patterns of a few instances, from the answers of all nodes at once."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Answers:
    """Which answers set which bits of the patterns, from `plan_answers`.

    Attributes
    ----------
    row, rank : ndarray of shape (n_nodes,)
        How all nodes read the codes of an instance, see `Codes`; row 0 at a leaf.
    node : ndarray of shape (n_bits,), int64
        The node whose answer sets a bit; pattern by pattern.
    flip : ndarray of shape (n_bits, 1), bool
        Whether the bit is set where the instance goes right.
    bit : ndarray of shape (n_bits, 1), unsigned
    starts : ndarray of shape (n_groups,), int64
        Where the bits of each pattern begin.
    """

    row: np.ndarray
    rank: np.ndarray
    node: np.ndarray
    flip: np.ndarray
    bit: np.ndarray
    starts: np.ndarray

    def __call__(self, codes) -> np.ndarray:
        """Return the patterns of instances, ``(n_groups, r)``, unsigned."""
        goes_left = codes.take(self.row, axis=0) <= self.rank
        bits = (goes_left.take(self.node, axis=0) ^ self.flip) * self.bit
        return np.bitwise_or.reduceat(bits, self.starts, axis=0)


def plan_answers(groups) -> Answers:
    """Return which answers set which bits of the patterns of some groups.

    A bit for a node inside a group is set by an instance that goes left. A bit of the fail mask at
    the group's root is set by any node above that sends the instance away from the group.

    Parameters
    ----------
    groups : Groups

    Returns
    -------
    answers : Answers
    """
    paths, left, n = groups.paths, groups.trees.left, groups.n_groups
    # Every pattern starts with a bit of value zero, as reduceat knows no empty runs.
    owner, node, flip = [np.arange(n)], [groups.roots], [np.zeros(n, dtype=bool)]
    shift = [np.zeros(n, dtype=np.int64)]
    at, group = groups.roots, np.arange(n)
    while len(at):
        inside = paths.parent[at] >= 0
        at, group = at[inside], group[inside]
        above = paths.parent[at]
        owner.append(group)
        node.append(above)
        flip.append(left[above] == at)
        shift.append(paths.bit[above])
        at = above
    owner.append(groups.owner)
    node.append(groups.inner)
    flip.append(np.zeros(len(groups.inner), dtype=bool))
    shift.append(groups.position[groups.inner])
    owners = np.concatenate(owner)
    dtype = groups.reader.dtype
    bit = np.left_shift(dtype.type(1), np.concatenate(shift).astype(dtype))
    bit[:n] = 0
    order = np.argsort(owners, kind="stable")
    return Answers(
        row=np.maximum(groups.row, 0),
        rank=groups.rank[:, None],
        node=np.concatenate(node)[order],
        flip=np.concatenate(flip)[order, None],
        bit=bit[order, None],
        starts=np.searchsorted(owners[order], np.arange(n)),
    )
