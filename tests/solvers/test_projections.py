import numpy as np
import pytest

from skshapley.solvers._least_squares import project

from .dykstra import dykstra, on_hyperplane

RNG = np.random.default_rng(20200825)


def random_cases(n, p, k=2):
    """Points, sums and one radius that is feasible for all; a tenth of them near tangential."""
    points = RNG.normal(size=(n, p, k)) * RNG.choice([0.1, 1.0, 10.0], size=(n, 1, 1))
    total = RNG.normal(size=(n, k))
    radius = np.abs(total).max() / np.sqrt(p) * RNG.choice([1.0001, 1.5, 4.0])
    return points, total, radius


def kkt_residual(points, projected, total, radius):
    """How far x - y is from a combination of the normals of K at x, over the size of y.

    x is the projection of y on K if and only if x is in K and y - x = a 1 + b x with b
    >= 0, and b = 0 inside of the ball.
    """
    p = points.shape[1]
    norm = np.linalg.norm(projected, axis=1)
    infeasible = np.abs(projected.sum(axis=1) - total) / (1 + np.abs(total))
    outside = np.maximum(norm - radius, 0) / radius
    residual = points - projected
    flat = residual - residual.mean(axis=1, keepdims=True)
    direction = projected - (total / p)[:, None]
    square = np.maximum((direction**2).sum(axis=1), 1e-300)
    multiplier = (flat * direction).sum(axis=1) / square
    on_sphere = norm > radius * (1 - 1e-9)
    multiplier = np.where(on_sphere, multiplier, 0.0)
    rest = np.linalg.norm(flat - multiplier[:, None] * direction, axis=1)
    scale = 1 + np.linalg.norm(points, axis=1)
    assert (multiplier > -1e-12).all()
    return max(infeasible.max(), outside.max(), (rest / scale).max())


@pytest.mark.parametrize("p", [2, 3, 16, 300])
def test_projection_is_optimal(p):
    for _ in range(20):
        points, total, radius = random_cases(50, p)
        assert (
            kkt_residual(points, project(points, total, radius), total, radius) < 1e-12
        )


def test_optimality_check_sees_a_wrong_point():
    points, total, radius = random_cases(50, 5)
    assert (
        kkt_residual(points, project(points, total, 1.01 * radius), total, radius)
        > 1e-3
    )
    assert kkt_residual(points, on_hyperplane(points, total), total, radius) > 1e-3


def test_agrees_with_dykstra():
    points, total, _ = random_cases(50, 6)
    radius = 1.5 * np.abs(total).max() / np.sqrt(6)
    np.testing.assert_allclose(
        dykstra(points, total, radius),
        project(points, total, radius),
        rtol=0,
        atol=1e-9,
    )


def test_points_of_the_set_are_unchanged():
    points = RNG.normal(size=(3, 4, 2))
    np.testing.assert_allclose(
        project(points, points.sum(axis=1), 100.0), points, rtol=0, atol=1e-14
    )


def test_without_a_ball_points_are_projected_on_the_hyperplane():
    points, total = RNG.normal(size=(3, 4, 2)), RNG.normal(size=(3, 2))
    np.testing.assert_allclose(
        project(points, total, 1e9), on_hyperplane(points, total), rtol=0, atol=1e-14
    )


def test_a_ball_tangent_to_the_hyperplane_leaves_one_point():
    total = np.array([[2.0]])
    projected = project(RNG.normal(size=(1, 4, 1)), total, 1.0)
    np.testing.assert_allclose(projected, 0.5, rtol=0, atol=1e-14)
