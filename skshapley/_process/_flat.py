"""Pairs and a process for games of p players without fitted hyper-parameters, made once.

All players have equal reaches, so pairs and process depend on p and the number of pairs
alone. Rows to explain give the players random names.
"""

from functools import lru_cache

import numpy as np

from skshapley._process._choice import choose_pairs
from skshapley._process._functionals import OddValues
from skshapley._process._odd import OddKernel
from skshapley._process._pairs import Pairs
from skshapley._process._process import Process

REACH, LOWEST, NOISE, SIZE = 2.0, 100.0, 0.01, 100.0


def flat_kernel(p: int) -> OddKernel:
    return OddKernel(np.full(p, REACH / p), LOWEST, NOISE, SIZE)
