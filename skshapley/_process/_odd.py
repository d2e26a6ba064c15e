"""The kernel of the odd part of a game, for Shapley values, and its slopes."""

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from skshapley._process._kernel import (
    JITTER,
    LONGEST,
    LOWEST,
    NOISE,
    SHORTEST,
    SIZE,
    Kernel,
)
from skshapley._process._pairs import Pairs

SIZE_PLACE, SIZE_START = (
    2,
    -2.0,
)  # started above the prior's mean, where the fit rarely finds a strong effect of the size
REACH_LEVEL_VARIANCE = 4.0


@dataclass(frozen=True, eq=False)
class OddKernel(Kernel):
    """Covariance of the odd part: single players, interactions of three and more, the size."""

    lowest_spread: float = 0.0
    higher_spread: float = 0.0

    scalars = (LOWEST, NOISE, SIZE)

    @classmethod
    def from_vector(cls, theta: np.ndarray, p: int) -> "OddKernel":
        """Return the kernel from the logarithms of its parameters, with or without spreads."""
        return cls(np.exp(theta[:p]), *np.exp(theta[p:]).tolist())

    @cached_property
    def higher_scale(self) -> float:
        """The normalizer: the summed variances of all odd interactions of three or more players."""
        total = self.reach.sum()
        both = np.exp(self.log_norm + total) - np.exp(self.log_norm - total)
        return float(both / 2 - self.rho.sum())

    def interactions(
        self, a: np.ndarray, b: np.ndarray, lowest: float, higher: float
    ) -> np.ndarray:
        """Return lowest sum_j w_j s_j t_j + higher [C sinh(...) - sum_j rho_j s_j t_j]/scale."""
        scale = higher / self.higher_scale
        out = self.folded(a, b, self.log_norm + np.log(scale / 2), -1)
        out += (a * (lowest * self.share - scale * self.rho)) @ b.T
        return out

    def apart(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the covariance of the part that depends on the size alone."""
        return self.size * size_covariance(a, b)

    def diagonal(self, signs: np.ndarray) -> np.ndarray:
        """Return the diagonal of `cross`, ``(n,)``."""
        return self.lowest + 1 + self.size * np.abs(signs.mean(axis=1))


def size_covariance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the covariances of an odd Brownian motion in (2 s - p)/p, ``(n_a, n_b)``."""
    p = a.shape[1]
    x, y = ((signs.sum(axis=1) + p).astype(int) // 2 for signs in (a, b))
    return _covariances_of_sizes(p).take(x, axis=0).take(y, axis=1)


@cache
def _covariances_of_sizes(p: int) -> np.ndarray:
    """Return the lesser of two sizes (2 s - p)/p, negative where signs differ, for all pairs."""
    sizes = np.linspace(-1, 1, p + 1)
    table = (abs(sizes[:, None] + sizes) - abs(sizes[:, None] - sizes)) / 2
    table.flags.writeable = False
    return table


class OddSlopes:
    """The odd kernel at given points as a function of its vector, ``(p + 3,)`` or ``(p + 5,)``.

    Parameters
    ----------
    points : Pairs
    """

    def __init__(self, points: Pairs) -> None:
        self.points, self.p = points, points.n_players
        self._signs, self._signs_t = points.signs, np.ascontiguousarray(points.signs.T)
        self._size = size_covariance(points.signs, points.signs)
        self._priors = OddKernel.priors(points.block is not None)
        reach = [[np.log(SHORTEST / self.p)], [np.log(LONGEST)]]
        self.bounds = np.hstack([np.tile(reach, self.p), self._priors[2:]]).T
        self.start = np.concatenate([np.full(self.p, -np.log(self.p)), self._priors[0]])
        if points.block is None:
            self.start[self.p + SIZE_PLACE] = SIZE_START

    def prior(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the log density of the prior, without its constant, and its gradient.

        log a_j ~ N(level, 1) with level ~ N(-log p, 4), entering through the mean of the log a_j.
        """
        p, (mean, variance) = self.p, self._priors[:2]
        level = theta[:p].mean()
        deviation, off, rest = theta[:p] - level, level + np.log(p), theta[p:] - mean
        value = deviation @ deviation + off**2 / REACH_LEVEL_VARIANCE + rest @ (rest / variance)
        reach = deviation + off / (REACH_LEVEL_VARIANCE * p)
        return float(value) / 2, np.concatenate([reach, rest / variance])

    def covariance(self, theta: np.ndarray) -> np.ndarray:
        """Return the covariance matrix; keep its parts for `contract`."""
        self._kernel = kernel = OddKernel.from_vector(theta, self.p)
        signs, signs_t, same = self._signs, self._signs_t, self.points.same_block
        grown = np.exp((signs * kernel.reach) @ signs_t)
        shrunk = np.exp(kernel.log_norm) / grown
        grown *= np.exp(kernel.log_norm)
        self._sinh, self._cosh = (grown - shrunk) / 2, (grown + shrunk) / 2
        self._higher = (self._sinh - (signs * kernel.rho) @ signs_t) / kernel.higher_scale
        self._linear = (signs * kernel.share) @ signs_t
        linear, higher = kernel.lowest * self._linear, self._higher
        if same is not None:
            linear = linear * (1 + kernel.lowest_spread * same)
            higher = higher * (1 + kernel.higher_spread * same)
        out = linear + higher + kernel.size * self._size
        out[np.diag_indices_from(out)] += kernel.noise_at(self.points)
        return out

    def contract(self, pull: np.ndarray) -> np.ndarray:
        """Return sum_ij pull_ij d K_ij/d theta, for every entry of the last theta."""
        kernel, same = self._kernel, self.points.same_block
        on_linear = on_higher = pull
        if same is not None:
            on_linear = pull * (1 + kernel.lowest_spread * same)
            on_higher = pull * (1 + kernel.higher_spread * same)
        by_linear = self._by_player(on_linear)
        by_higher = by_linear if same is None else self._by_player(on_higher)
        diagonal = np.diag(pull)
        lowest = kernel.lowest * (np.vdot(on_linear, self._linear) + JITTER * diagonal.sum())
        out = [
            kernel.lowest * kernel.share * (by_linear - kernel.share @ by_linear)
            + kernel.reach * self._by_reach(on_higher, by_higher),
            [lowest, kernel.noise * (diagonal @ self.points.roughness)],
            [kernel.size * np.vdot(pull, self._size)],
        ]
        if same is not None:
            own = pull * same
            out.append([kernel.lowest * kernel.lowest_spread * np.vdot(own, self._linear)])
            out.append([kernel.higher_spread * np.vdot(own, self._higher)])
        return np.concatenate(out)

    def _by_player(self, matrix: np.ndarray) -> np.ndarray:
        """Return s_j' matrix s_j for each player j, ``(p,)``."""
        return np.einsum("np,np->p", matrix @ self._signs, self._signs)

    def _by_reach(self, pull: np.ndarray, by_player: np.ndarray) -> np.ndarray:
        """Return sum_ij pull_ij d higher_ij/d a, ``(p,)``."""
        kernel = self._kernel
        rho, total = kernel.rho, kernel.reach.sum()
        grown, shrunk = np.exp(kernel.log_norm + total), np.exp(kernel.log_norm - total)
        flat = 1 - rho**2
        scale = (grown + shrunk) / 2 - rho * (grown - shrunk) / 2 - flat
        moved = self._by_player(pull * self._cosh) - rho * np.vdot(pull, self._sinh)
        moved -= flat * by_player + np.vdot(pull, self._higher) * scale
        return moved / kernel.higher_scale
