"""Projection on the set K of projected stochastic gradient: a given sum, within a ball.

Grah & Thouvenot (2020), section 4.1: K = {phi : sum phi = v(M), ||phi|| <= D}. They
alternate projections (Dykstra, their Algorithm 2); K is a disc in a hyperplane, so
there is a closed form. Points are ``(r, p, k)``, one for every row and output; sums are
``(r, k)``.
"""

import numpy as np


def project_on_sum(points: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Project on the hyperplane sum = `total`.

    Parameters
    ----------
    points : ndarray of shape (r, p, k)
    total : ndarray of shape (r, k)

    Returns
    -------
    projected : ndarray of shape (r, p, k)
    """
    excess = points.sum(axis=1) - total
    return points - (excess / points.shape[1])[:, None]


def project(points: np.ndarray, total: np.ndarray, radius: float) -> np.ndarray:
    """Project on the hyperplane sum = `total` within the ball of `radius` around 0.

    The ball cuts the hyperplane in a disc around the point with all coordinates
    total/p, so the projection on the hyperplane is pulled radially towards that point.

    Parameters
    ----------
    points : ndarray of shape (r, p, k)
    total : ndarray of shape (r, k)
    radius : float
        At least ``abs(total) / sqrt(p)``: see `check_radius`. Infinite for no ball.

    Returns
    -------
    projected : ndarray of shape (r, p, k)

    Examples
    --------
    >>> import numpy as np
    >>> project(
    ...     np.array([[[3.0], [-1.0]]]), total=np.array([[0.0]]), radius=1.0
    ... ).ravel().round(4)
    array([ 0.7071, -0.7071])
    """
    p = points.shape[1]
    centre = (total / p)[:, None]
    offset = project_on_sum(points, total) - centre
    # Pythagoras: the disc's centre has this distance from the origin. Rounding may make
    # the product negative. Without squares, large numbers do not overflow.
    distance = total / np.sqrt(p)
    reach = np.sqrt(np.maximum((radius - distance) * (radius + distance), 0.0))
    length = np.hypot.reduce(offset, axis=1)
    shrink = np.divide(reach, length, out=np.ones_like(length), where=length > reach)
    return centre + offset * shrink[:, None]


def check_radius(total: np.ndarray, radius: float, p: int, owner: str) -> None:
    """Raise ValueError if no point of the ball has the sum `total`, ``(r, k)``."""
    least = np.abs(total).max(initial=0.0) / np.sqrt(p)
    if least > radius:
        raise ValueError(
            f"{owner} got radius={radius!r}, but attributions of {p} players with the "
            f"sum {np.abs(total).max():.6g} have a norm of at least {least:.6g}: give "
            "a larger radius, or None for no ball."
        )
