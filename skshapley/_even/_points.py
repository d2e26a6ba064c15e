"""What was seen of the even part of one instance's game, relative to the full coalition."""

import numpy as np

from skshapley._odd import OddDesign, Pairs


def even_pairs(design: OddDesign, instance: int, values: np.ndarray) -> Pairs:
    """Return the points of one instance with the even part of the values ``(m, k)``."""
    pairs = design.pairs(instance, values)
    even = (values[::2] + values[1::2]) / 2
    return Pairs(pairs.signs, even, pairs.block, pairs.blocks)


def relative(pairs: Pairs) -> Pairs:
    """Return the points but the full coalitions, with values less the full coalition's.

    No interaction depends on a constant. The full coalition is seen without noise, so that to take
    it from all others is to know nothing of the constant; each block has a constant of its own.

    Parameters
    ----------
    pairs : Pairs
        The full coalition is among them, once for each block.
    """
    full = pairs.signs.min(axis=1) > 0
    values = pairs.values[full]
    if pairs.block is not None:
        ends = np.empty((pairs.block.max() + 1, values.shape[1]))
        ends[pairs.block[full]] = values
        values = ends[pairs.block[~full]]
    rest = pairs.take(~full)
    return Pairs(rest.signs, rest.values - values, rest.block, rest.blocks)
