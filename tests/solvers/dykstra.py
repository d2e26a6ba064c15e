"""Alternating projections, as published: a reference for the closed form."""

import numpy as np


def on_hyperplane(points: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Project on a hyperplane: equal steps of all coordinates to the given sum."""
    missing = total - points.sum(axis=1)
    return points + missing[:, None] / points.shape[1]


def dykstra(
    points: np.ndarray,
    total: np.ndarray,
    radius: float,
    *,
    max_iter: int = 10_000,
    tol: float = 1e-12,
) -> np.ndarray:
    """Project like `project`, by alternating projections: the published way, for reference.

    Grah & Thouvenot (2020), Algorithm 2, with the index of alpha corrected and the ball
    left alone by points within it; Boyle & Dykstra (1986). It converges slowly where
    the ball touches the hyperplane almost tangentially.

    Parameters
    ----------
    points, total, radius
        As for `project`.
    max_iter : int, default=10_000
    tol : float, default=1e-12
        Stop when an iteration moves no coordinate by more.

    Returns
    -------
    projected : ndarray of shape (r, p, k)

    Examples
    --------
    >>> import numpy as np
    >>> dykstra(
    ...     np.array([[[3.0], [-1.0]]]), total=np.array([[0.0]]), radius=1.0
    ... ).ravel().round(4)
    array([ 0.7071, -0.7071])
    """
    alpha, from_ball, from_plane = points, np.zeros_like(points), np.zeros_like(points)
    for _ in range(max_iter):
        shifted = alpha + from_ball
        length = np.sqrt((shifted**2).sum(axis=1, keepdims=True))
        beta = shifted * np.where(
            length > radius, radius / np.maximum(length, 1e-300), 1.0
        )
        from_ball = shifted - beta
        following = on_hyperplane(beta + from_plane, total)
        from_plane = beta + from_plane - following
        moved = np.abs(following - alpha).max(initial=0.0)
        alpha = following
        if moved <= tol:
            break
    return alpha
