"""The marginal likelihood of what was seen, and its gradient."""

import numpy as np
from scipy.linalg import lapack

from skshapley._odd._hyper import Hyper, log_prior
from skshapley._odd._kernel import JITTER
from skshapley._odd._pairs import Pairs


class Evidence:
    """Minus the log posterior density of the logarithms of the hyper-parameters.

    The scale of each output is profiled out; outputs count as one observation of the
    hyper-parameters together (their mean), since outputs of one model are far from independent.

    Parameters
    ----------
    pairs : Pairs
        Outputs that are zero at all of them do not count.
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs
        self._signs = np.ascontiguousarray(pairs.signs)
        self._signs_t = np.ascontiguousarray(pairs.signs.T)
        largest = np.abs(pairs.values).max(axis=0)
        self._values = pairs.values[:, largest > 0] / largest[largest > 0]

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return value and gradient at the vector `theta`, ``(p + 3,)`` or ``(p + 5,)``."""
        p, blocked = self.pairs.n_players, self.pairs.block is not None
        hyper = Hyper.from_vector(theta, p)
        parts = _Parts(self.pairs, self._signs, self._signs_t, hyper)
        found = misfit(parts.total(), self._values)
        if found is None:
            return 1e10, np.zeros_like(theta)
        value, pull = found
        prior, gradient = log_prior(theta, p, blocked)
        gradient -= 0.5 * parts.contract(pull)
        return value + prior, gradient


def misfit(covariance: np.ndarray, values: np.ndarray) -> tuple[float, np.ndarray] | None:
    """Return minus the log likelihood of values and `pull`, minus twice its slope by the matrix.

    The scale of each output is profiled out, and their mean is taken. None where the matrix, which
    is written over, is not positive definite.

    Parameters
    ----------
    covariance : ndarray of shape (n, n)
    values : ndarray of shape (n, k)
    """
    factor, failed = lapack.dpotrf(covariance, lower=1, clean=1, overwrite_a=1)
    if failed:
        return None
    n, k = values.shape
    solved, _ = lapack.dpotrs(factor, values, lower=1)
    fit = np.einsum("nk,nk->k", values, solved) + 1e-300
    value = 0.5 * n * np.log(fit).mean() + np.log(np.diag(factor)).sum()
    inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    inverse = inverse + np.tril(inverse, -1).T
    return float(value), (solved * (n / k / fit)) @ solved.T - inverse


class _Parts:
    """The matrices that make the covariance, kept for the gradient."""

    def __init__(self, pairs: Pairs, signs: np.ndarray, signs_t: np.ndarray, hyper: Hyper) -> None:
        self.pairs, self.signs, self.hyper = pairs, signs, hyper
        grown = np.exp((signs * hyper.reach) @ signs_t)
        shrunk = np.exp(hyper.log_norm) / grown
        grown *= np.exp(hyper.log_norm)
        self.sinh, self.cosh = (grown - shrunk) / 2, (grown + shrunk) / 2
        self.higher = (self.sinh - (signs * hyper.rho) @ signs_t) / hyper.higher_scale
        self.linear = (signs * hyper.share) @ signs_t
        self.linear_weight = self.higher_weight = None
        same = pairs.same_block
        if same is not None:
            self.linear_weight = 1 + hyper.linear_spread * same
            self.higher_weight = 1 + hyper.higher_spread * same

    def total(self) -> np.ndarray:
        """Return the covariance matrix."""
        hyper = self.hyper
        linear, higher = hyper.linear * self.linear, self.higher
        if self.linear_weight is not None:
            linear, higher = linear * self.linear_weight, higher * self.higher_weight
        out = linear + higher + hyper.size * self.pairs.size_table
        out[np.diag_indices_from(out)] += hyper.noise * self.pairs.roughness + JITTER * (
            1 + hyper.linear
        )
        return out

    def contract(self, pull: np.ndarray) -> np.ndarray:
        """Return sum_ij pull_ij d K_ij/d theta, for every entry of theta."""
        hyper, pairs = self.hyper, self.pairs
        on_linear = on_higher = pull
        if self.linear_weight is not None:
            on_linear, on_higher = pull * self.linear_weight, pull * self.higher_weight
        by_linear = self._by_player(on_linear)
        by_higher = by_linear if on_higher is on_linear else self._by_player(on_higher)
        diagonal = np.diag(pull)
        linear = hyper.linear * np.vdot(on_linear, self.linear)
        out = [
            hyper.linear * hyper.share * (by_linear - hyper.share @ by_linear)
            + hyper.reach * self._by_reach(on_higher, by_higher),
            [linear + JITTER * hyper.linear * diagonal.sum()],
            [hyper.noise * (diagonal @ pairs.roughness)],
            [hyper.size * np.vdot(pull, pairs.size_table)],
        ]
        if self.linear_weight is not None:
            own = pull * pairs.same_block
            out.append([hyper.linear * hyper.linear_spread * np.vdot(own, self.linear)])
            out.append([hyper.higher_spread * np.vdot(own, self.higher)])
        return np.concatenate(out)

    def _by_player(self, matrix: np.ndarray) -> np.ndarray:
        """Return s_j' matrix s_j for each player j, ``(p,)``."""
        return np.einsum("np,np->p", matrix @ self.signs, self.signs)

    def _by_reach(self, pull: np.ndarray, by_player: np.ndarray) -> np.ndarray:
        """Return sum_ij pull_ij d higher_ij/d a, ``(p,)``."""
        hyper = self.hyper
        rho, total = hyper.rho, hyper.reach.sum()
        grown, shrunk = np.exp(hyper.log_norm + total), np.exp(hyper.log_norm - total)
        flat = 1 - rho**2
        scale = (grown + shrunk) / 2 - rho * (grown - shrunk) / 2 - flat
        moved = self._by_player(pull * self.cosh) - rho * np.vdot(pull, self.sinh)
        return (moved - flat * by_player - np.vdot(pull, self.higher) * scale) / hyper.higher_scale
