"""The discrepancy of a set of permutations from all permutations.

Mitchell, Cooper, Frank & Holmes, "Sampling permutations for Shapley value estimation",
JMLR 23 (2022), section 3.3, Eq 8.
"""

import numpy as np

from skshapley._tools._params import resolve
from skshapley.samplers._kernels import KERNELS, PermutationKernel

# Entries of the kernel's matrix that are computed at once: 32 MB.
ENTRIES = 2**22


def permutation_discrepancy(permutations, weights=None, kernel="mallows") -> float:
    """Return the discrepancy of a set of permutations from the uniform distribution.

    The discrepancy measures how well a mean over these permutations represents the mean
    over all permutations; it is 0 for all of them together. It is the largest error of
    the weighted mean over all functions of unit norm in the kernel's space: D^2 = E - 2
    E sum(w) + w' K w, where E is the kernel's mean and K its matrix.

    Parameters
    ----------
    permutations : array-like of shape (n, p), int
        ``permutations[:, k]`` is the player that enters at step k.
    weights : array-like of shape (n,) or None, default=None
        Weights of the permutations. None: 1/n for each.
    kernel : {"mallows", "kendall", "spearman"} or PermutationKernel, default="mallows"
        Similarity of two permutations.

    Returns
    -------
    discrepancy : float

    Raises
    ------
    ValueError
        If rows are not permutations of 0..p-1, or the number of weights differs.

    References
    ----------
    Mitchell, Cooper, Frank & Holmes (2022), Sampling permutations for Shapley value
    estimation, JMLR 23, Eq 8.

    Examples
    --------
    All permutations together have a discrepancy of 0.

    >>> from itertools import permutations
    >>> from skshapley.diagnostics import permutation_discrepancy
    >>> permutation_discrepancy(list(permutations(range(4)))) < 1e-7
    True
    >>> permutation_discrepancy([[0, 1, 2, 3], [3, 2, 1, 0]])
    0.543...
    """
    permutations = np.asarray(permutations)
    whole = (
        permutations.ndim == 2 and permutations.size and permutations.dtype.kind in "iu"
    )
    if not whole or (np.sort(permutations) != np.arange(permutations.shape[1])).any():
        raise ValueError(
            f"permutation_discrepancy got permutations of shape {permutations.shape} "
            f"and dtype {permutations.dtype} that are not permutations: pass rows (n, "
            "p) that hold each of 0..p-1 once."
        )
    n, p = permutations.shape
    weights = np.full(n, 1 / n) if weights is None else np.asarray(weights, dtype=float)
    if weights.shape != (n,):
        raise ValueError(
            f"permutation_discrepancy got weights of shape {weights.shape} for {n} "
            f"permutations: pass one weight for each, shape ({n},), or None."
        )
    kernel = resolve(
        kernel, KERNELS, PermutationKernel, "permutation_discrepancy", "kernel"
    )
    features, mean = kernel.features(permutations), kernel.mean(p)
    rows = max(1, ENTRIES // n)
    square = mean - 2 * mean * weights.sum()
    for start in range(0, n, rows):
        chunk = slice(start, start + rows)
        square += (
            weights[chunk] @ kernel.matrix(features[:, chunk], features, p) @ weights
        )
    # Rounding may make a square of 0 negative: -1e-16 for all permutations of four
    # players ("mallows").
    return float(np.sqrt(max(square, 0.0)))
