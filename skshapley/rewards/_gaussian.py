"""Correlations of numeric columns, and moves of rows given some of their columns.

For x ~ N(mu, Sigma), a background row r and columns S,

    z = r + Sigma[:, S] Sigma[S, S]^-1 (x_S - r_S)

has z_S = x_S. Elsewhere, it has the conditional distribution of the other columns given
x_S, because the residuals of r do not depend on r_S. Growing sets share one Cholesky
factor. Sort the columns by their entry, and let Sigma = L L' and e = L^-1 (x - r). The
move for the first k columns is the first k columns of L times the first k entries of e.
This is one update of rank one per column.
"""

import numpy as np
from numpy.typing import NDArray

# Smallest weight of the identity. It separates equal columns by a millionth of their
# variance, so rounding stays below 1e-9, and contradicting copies are averaged.
LEAST_SHRINKAGE = 1e-6
# From this number of references, one matrix per coalition is cheaper than one update
# per column: with 8 references, 8,192 rows of 30 columns take 25 ms either way
FEW_REFERENCES = 8
CHUNK_BYTES = 2**24  # memory of the matrices that are factorised together
# Rows multiplied by a matrix in one call. BLAS rounds differently for other numbers of
# rows, and a result must not depend on the other rows.
BLOCK_ROWS = 16
LEAST_ROWS = 128  # smallest number of rows for common factors
MOST_COLUMNS = 128
MOST_FACTORS = 3
SHRINKAGES = (0.5, 0.8, 0.95, 1.0)  # towards the correlation of the factors
FOLDS = 4
# Twelve models are tried: three numbers of factors with four shrinkages. By the union
# bound, a useless one is chosen with a probability of at most 1.6 %.
CLEARLY = 3.0  # standard errors by which held-out rows must be likelier
ROUNDS = 20  # iterations of principal axes
MOST_COMMON = 0.999  # largest share of a column's variance due to common factors


class NormalMargins:
    """Means and standard deviations.

    Parameters
    ----------
    table : ndarray of shape (n, d)
    weights : ndarray of shape (n,)
        With sum 1.
    spread : ndarray of shape (d,) or None
        The standard deviations, if known.

    Attributes
    ----------
    spread : ndarray of shape (d,)
        The standard deviations; 1 for a constant column.
    """

    def __init__(self, table, weights, spread=None) -> None:
        # The mean of equal numbers may have a rounding error.
        constant = (table == table[:1]).all(axis=0)
        self._centre = np.where(constant, table[0], weights @ table)
        if spread is None:
            spread = np.sqrt(weights @ (table - self._centre) ** 2)
        self.spread = np.where(spread > 0, spread, 1.0)

    def standard(self, table) -> NDArray[np.float64]:
        """Return numbers in standard deviations from the mean."""
        return (table - self._centre) / self.spread

    def moved(self, rows, standard, moves) -> NDArray[np.float64]:
        """Return rows after a move in standard units.

        Parameters
        ----------
        rows, standard : ndarray of shape (n, d)
            The original rows, in numbers and in standard units.
        moves : ndarray of shape (n, d)
        """
        return rows + moves * self.spread


def learned_correlation(table, weights) -> tuple[NDArray[np.float64], float]:
    """Return the shrunk correlation of a table's columns, and the shrinkage.

    The shrinkage is Ledoit & Wolf's (2004) estimate of the optimal one. With weights,
    row i is scaled by sqrt(n w_i). A constant column has no correlation.

    Parameters
    ----------
    table : ndarray of shape (n, d), float64
    weights : ndarray of shape (n,)
        With sum 1.

    Returns
    -------
    correlation : ndarray of shape (d, d)
    shrinkage : float
        Weight of the identity.
    """
    from sklearn.covariance import ledoit_wolf_shrinkage

    # constant columns have no variance to estimate, and would bias the shrinkage
    rows = _scaled(table, weights)
    shrinkage = LEAST_SHRINKAGE
    varied = rows[:, rows.any(axis=0)]
    if varied.shape[1] > 1:
        # The estimate may be 0, which would leave equal columns inseparable.
        shrinkage = max(
            shrinkage,
            float(ledoit_wolf_shrinkage(varied, assume_centered=True)),
        )
    return shrunk_correlation(rows.T @ rows / len(rows), shrinkage), shrinkage


def sample_correlation(table, weights) -> NDArray[np.float64]:
    """Return the correlation of a table's columns, made positive definite."""
    rows = _scaled(table, weights)
    return shrunk_correlation(rows.T @ rows / len(rows), LEAST_SHRINKAGE)


def _scaled(table, weights) -> NDArray[np.float64]:
    """Return centred rows, scaled so that their mean product is the correlation."""
    rows = NormalMargins(table, weights).standard(table)
    return rows * np.sqrt(len(table) * weights)[:, None]


def chosen_factors(table, weights) -> tuple[int, float]:
    """Return the number of common factors that predict held-out rows best, and the shrinkage.

    The correlation becomes a mixture of the table's correlation and the factors'
    correlation. The shrinkage is the weight of the latter. The normal likelihood of
    held-out rows is compared in four folds. Both numbers are 0 unless it exceeds the
    likelihood of `learned_correlation` by three standard errors.

    Parameters
    ----------
    table : ndarray of shape (n, d), float64
    weights : ndarray of shape (n,)
        With sum 1.
    """
    from scipy.stats import multivariate_normal  # slow to import

    n, d = table.shape
    rows = NormalMargins(table, weights).standard(table)
    if n < LEAST_ROWS or not 3 <= d <= MOST_COLUMNS or not rows.any(axis=0).all():
        return 0, 0.0
    # every fourth row, so that sorted tables do not put a group into one fold
    fold = np.arange(n) % FOLDS
    counts = range(
        1,
        min(MOST_FACTORS, (d - 1) // 2) + 1,
    )  # fewer than half the columns
    choices = [(count, shrinkage) for count in counts for shrinkage in SHRINKAGES]
    # Gains are kept by row: differences on the same rows vary less than likelihoods.
    gains = np.empty((len(choices), n))
    for k in range(FOLDS):
        test_rows = rows[fold == k]
        training_rows = rows[fold != k]
        mass = weights[fold != k] / weights[fold != k].sum()
        correlation = sample_correlation(training_rows, mass)
        plain, _ = learned_correlation(training_rows, mass)
        factors = {count: factor_correlation(correlation, count) for count in counts}
        without = multivariate_normal.logpdf(test_rows, cov=plain)
        for i, (count, shrinkage) in enumerate(choices):
            mixed = shrunk_correlation(correlation, shrinkage, factors[count])
            gains[i, fold == k] = (
                multivariate_normal.logpdf(test_rows, cov=mixed) - without
            )
    means = gains @ weights
    best = int(means.argmax())
    # standard error of the mean gain; the best of several gains is too large by chance
    error = np.sqrt(weights**2 @ (gains[best] - means[best]) ** 2)
    return choices[best] if means[best] > CLEARLY * error else (0, 0.0)


def factor_correlation(correlation, n_factors) -> NDArray[np.float64]:
    """Return the correlation of a factor model, fitted by iterated principal axes."""
    # start from squared multiple correlations: the share of a column that the others
    # explain
    common = 1 - 1 / np.diagonal(np.linalg.inv(correlation))
    for _ in range(ROUNDS):
        reduced = correlation.copy()
        np.fill_diagonal(reduced, common)
        sizes, axes = np.linalg.eigh(reduced)
        # `eigh` sorts ascending. Negative eigenvalues of the reduced matrix are
        # estimation errors.
        loadings = axes[:, -n_factors:] * np.sqrt(np.maximum(sizes[-n_factors:], 0.0))
        explained = (loadings**2).sum(axis=1)
        common = np.minimum(explained, MOST_COMMON)
    # a column with more than all of its variance in factors has no valid correlation
    loadings *= np.sqrt(MOST_COMMON / np.maximum(explained, MOST_COMMON))[:, None]
    implied = loadings @ loadings.T
    np.fill_diagonal(implied, 1.0)
    return implied


def shrunk_correlation(correlation, shrinkage, target=0.0) -> NDArray[np.float64]:
    """Return the correlation mixed with a target: another one, or the identity."""
    mixed = (1 - shrinkage) * correlation + shrinkage * target
    np.fill_diagonal(mixed, 1.0)
    return mixed


def moves(correlation, present, starts, gaps) -> NDArray[np.float64]:
    """Return the moves of rows given the present columns.

    Lines come in chains. Along a chain, columns are added to the present ones.

    Parameters
    ----------
    correlation : ndarray of shape (d, d)
        Positive definite.
    present : ndarray of shape (n, d), bool
        The given columns of each line.
    starts : ndarray of shape (m,), int
        The first line of each chain; the first is 0.
    gaps : ndarray of shape (m, q, d)
        Row to explain minus reference, in standard units, for each chain and each of
        its references.

    Returns
    -------
    moves : ndarray of shape (n, q, d)
        In standard units; for present columns they equal the gaps, up to rounding.
    """
    (n, d), q = present.shape, gaps.shape[1]
    ends = np.append(starts[1:], n)
    if q > FEW_REFERENCES:  # one matrix for each coalition serves all of them
        return regressed(correlation, present, np.repeat(gaps, ends - starts, axis=0))
    shifts = np.empty((n, q, d))
    # the moves of a chain have q x d numbers for each of its d columns
    chunk = max(1, CHUNK_BYTES // (8 * q * d * d))
    for i in range(0, len(starts), chunk):
        first = starts[i]
        chunk_rows = slice(i, i + chunk)
        lines = slice(first, ends[chunk_rows][-1])
        shifts[lines] = _along(
            correlation,
            present[lines],
            starts[chunk_rows] - first,
            gaps[chunk_rows],
        )
    return shifts


def _along(correlation, present, starts, gaps) -> NDArray[np.float64]:
    """Return the moves by one factor for each chain and one update for each column."""
    (n, d), m = present.shape, len(starts)
    size = present.sum(axis=1)
    line = np.arange(m)
    # in a growing chain, the column that is present most often entered first
    order = np.argsort(
        -np.add.reduceat(present, starts, axis=0, dtype=np.intp),
        kind="stable",
    )
    # all factors of a chunk in one call of LAPACK; columns are permuted by flat
    # positions
    factor = np.linalg.cholesky(
        correlation.take(order[:, :, None] * d + order[:, None, :])
    )
    # its columns (d, m, d), each in the order of the table
    columns = factor[line[:, None], np.argsort(order), np.arange(d)[:, None, None]]
    # All chains advance together, one column at a time.
    shifts = np.zeros((size.max() + 1, *gaps.shape))
    for k, so_far in enumerate(shifts[:-1]):
        entering = order[:, k]
        # the gap of the entering column that earlier columns do not explain
        left = gaps[line, :, entering] - so_far[line, :, entering]
        # Forward substitution: one entry of e = L^-1 (x - r) for each column that
        # enters.
        left /= factor[:, None, k, k]
        shifts[k + 1] = so_far + left[:, :, None] * columns[k][:, None]
    return shifts[size, np.repeat(line, np.diff(np.append(starts, n)))]


def regressed(correlation, known, moves) -> NDArray[np.float64]:
    """Return the regression of all columns on the moves of known ones, ``(n, q, d)``.

    Parameters
    ----------
    correlation : ndarray of shape (d, d)
        Positive definite.
    known : ndarray of shape (n, d), bool
    moves : ndarray of shape (n, q, d)
        Moves of unknown columns are ignored.
    """
    # rows with the same known columns share a factorisation; bytes sort faster than
    # bools
    patterns, index = np.unique(
        np.packbits(known, axis=1),
        axis=0,
        return_inverse=True,
    )
    conditions = np.unpackbits(
        patterns,
        axis=1,
        count=known.shape[1],
    ).astype(bool)
    conditions = conditions[:, :, None]
    shifts = np.empty(moves.shape)
    order = np.argsort(index.ravel(), kind="stable")
    ends = np.searchsorted(index.ravel()[order], np.arange(len(patterns) + 1))
    step = max(1, CHUNK_BYTES // (8 * correlation.size))
    for i in range(0, len(patterns), step):
        chunk = conditions[i : i + step]
        pairs = chunk & np.swapaxes(chunk, 1, 2)
        # Absent columns become identity rows, so systems of different sizes are solved
        # in one call.
        gains = np.linalg.solve(
            np.where(pairs, correlation, np.eye(len(correlation))),
            np.where(chunk, correlation, 0),
        )
        lines = order[ends[i] : ends[min(i + step, len(patterns))]]
        shifts[lines] = moves[lines] @ gains[index.ravel()[lines] - i]
    return shifts


def row_products(rows, matrix) -> NDArray[np.float64]:
    """Return rows ``(n, d)`` times a matrix ``(d, e)``; rounding does not depend on other rows."""
    (n, d), blocks = rows.shape, -(-len(rows) // BLOCK_ROWS)
    # Zero rows fill the last block, so each product has the same shape.
    filled = np.zeros((blocks * BLOCK_ROWS, d))
    filled[:n] = rows
    return (filled.reshape(blocks, BLOCK_ROWS, d) @ matrix).reshape(
        blocks * BLOCK_ROWS,
        -1,
    )[:n]


def chain_starts(present, *labels) -> NDArray[np.intp]:
    """Return the lines that begin a chain: where columns shrink or a label changes.

    Parameters
    ----------
    present : ndarray of shape (n, d), bool
    *labels : ndarray of shape (n,) or (n, q)
        Labels of the row to explain and the references.
    """
    # For booleans, <= means implication: each present column stays present.
    same = (present[:-1] <= present[1:]).all(axis=1)
    for label in labels:
        equal = label[1:] == label[:-1]
        same &= equal if equal.ndim == 1 else equal.all(axis=1)
    return np.flatnonzero(np.concatenate([[True], ~same]))


def squared_distances(correlation, present, gaps) -> NDArray[np.float64]:
    """Return the squared Mahalanobis distances in the present columns, ``(n, q)``.

    Parameters
    ----------
    correlation : ndarray of shape (d, d)
        Positive definite.
    present : ndarray of shape (n, d), bool
    gaps : ndarray of shape (n, q, d)
        Differences in standard units.
    """
    pairs = present[:, :, None] & present[:, None]
    # Absent columns become identity rows, so systems of different sizes are inverted in
    # one call.
    inverse = np.linalg.inv(np.where(pairs, correlation, np.eye(len(correlation))))
    return ((gaps @ np.where(pairs, inverse, 0.0)) * gaps).sum(axis=2)
