"""Pairs and a process for games of p players without fitted hyper-parameters, made once.

All players have equal reaches, so pairs and process depend on p and the number of pairs
alone. Rows to explain give the players random names.
"""

import numpy as np

from skshapley._process._odd import OddKernel

REACH, LOWEST, NOISE, SIZE = 2.0, 100.0, 0.01, 100.0


def flat_kernel(p: int) -> OddKernel:
    return OddKernel(np.full(p, REACH / p), LOWEST, NOISE, SIZE)
