"""Functions with sparse derivatives, of any namespace of arrays, and the directions that asdex takes for them: ``PYTHON benchmarks/problems/sparse.py``.

asdex (a library for JAX that detects patterns in its programs and colours them) brings its own LLVM, so it runs in an environment of its own, of which
PYTHON is the interpreter: ``pip install asdex``. ``python -m benchmarks.strategies --only sparsity`` prints ours.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

Function = Callable[[Any, Any], Any]
"""(namespace, x) -> y"""


def brusselator(xp: Any, x: Any) -> Any:
    """Two species that react and diffuse on a periodic grid."""
    side = round((x.shape[0] // 2) ** 0.5)
    u, v = xp.reshape(x[: side * side], (side, side)), xp.reshape(x[side * side :], (side, side))

    def spread(w: Any) -> Any:
        return xp.roll(w, 1, axis=0) + xp.roll(w, -1, axis=0) + xp.roll(w, 1, axis=1) + xp.roll(w, -1, axis=1) - 4 * w

    rates = 1 + u**2 * v - 4.4 * u + 0.1 * spread(u), 3.4 * u - u**2 * v + 0.1 * spread(v)
    return xp.concat([xp.reshape(rate, (side * side,)) for rate in rates])


def bratu(xp: Any, x: Any) -> Any:
    """The residual of Bratu's problem on a square with a boundary."""
    side = round(x.shape[0] ** 0.5)
    grid = xp.pad(xp.reshape(x, (side, side)), ((1, 1), (1, 1)))
    inner = grid[1:-1, 1:-1]
    residual = grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:] - 4 * inner + xp.exp(inner)
    return xp.reshape(residual, (side * side,))


def tridiagonal(xp: Any, x: Any) -> Any:
    """Broyden's tridiagonal function."""
    y = xp.pad(x, (1, 1))
    return (3 - 2 * x) * x - y[:-2] - 2 * y[2:] + 1


def banded(xp: Any, x: Any) -> Any:
    """Broyden's banded function: five neighbours below, one above."""
    size, y = x.shape[0], xp.pad(x, (5, 1))
    near = sum((y[k : k + size] * (1 + y[k : k + size]) for k in (0, 1, 2, 3, 4, 6)), 0 * x)
    return x * (2 + 5 * x**2) + 1 - near


def arrowhead(xp: Any, x: Any) -> Any:
    """A full row, a full column and the diagonal."""
    return xp.concat([xp.sum(x**2)[None], x[1:] * x[0] + x[1:] ** 2])


def rosenbrock(xp: Any, x: Any) -> Any:
    """Rosenbrock's function, chained."""
    return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def energy(xp: Any, x: Any) -> Any:
    """The energy of a membrane on a square: neighbours in both directions."""
    side = round(x.shape[0] ** 0.5)
    grid = xp.reshape(x, (side, side))
    down, across = grid[1:, :] - grid[:-1, :], grid[:, 1:] - grid[:, :-1]
    return xp.sum(xp.sqrt(1 + down**2)) + xp.sum(xp.sqrt(1 + across**2)) + xp.sum(xp.cos(grid))


def star(xp: Any, x: Any) -> Any:
    """One variable that meets all others."""
    return xp.sum(x[0] * x**2)


JACOBIANS: dict[str, tuple[Function, int]] = {
    "Brusselator": (brusselator, 2 * 24 * 24),
    "Bratu": (bratu, 30 * 30),
    "tridiagonal": (tridiagonal, 1000),
    "banded": (banded, 1000),
    "arrowhead": (arrowhead, 200),
}
HESSIANS: dict[str, tuple[Function, int]] = {"Rosenbrock": (rosenbrock, 1000), "membrane": (energy, 24 * 24), "star": (star, 200)}


def main() -> None:
    """Prints the directions that asdex takes."""
    import asdex  # pyright: ignore[reportMissingImports]
    import jax

    numpy: Any = jax.numpy
    library: Any = asdex
    for name, (function, size) in JACOBIANS.items():
        print(f"{name}: {library.jacobian_coloring(partial(function, numpy), numpy.ones(size)).num_colors}")
    for name, (function, size) in HESSIANS.items():
        print(f"Hessian of {name}: {library.hessian_coloring(partial(function, numpy), numpy.ones(size)).num_colors}")


if __name__ == "__main__":
    main()


def bundle_adjustment(np: Any, cameras: Any, points: Any, weights: Any, of_camera: Any, of_point: Any, features: Any) -> Any:
    """Reprojection errors of observations, each of a point by a camera that indices name, and what keeps weights near 1.

    Args:
        np: a namespace of arrays.
        cameras: ``[m, 9]``: a rotation as a vector, a centre, a focal length, two coefficients of distortion.
        points: ``[k, 3]``.
        weights: ``[n]``, of the observations.
        of_camera, of_point: ``[n]`` of integers.
        features: ``[n, 2]``: where the points are seen.
    """
    camera, point = cameras[of_camera], points[of_point]
    angle = np.sqrt(np.sum(camera[:, :3] ** 2, axis=1))[:, None]
    axis = camera[:, :3] / angle
    ax, ay, az = (axis[:, d] for d in range(3))
    px, py, pz = (point[:, d] for d in range(3))
    crossed = np.stack([ay * pz - az * py, az * px - ax * pz, ax * py - ay * px], axis=1)
    along = np.sum(axis * point, axis=1)[:, None]
    turned = point * np.cos(angle) + crossed * np.sin(angle) + axis * along * (1 - np.cos(angle)) + camera[:, 3:6]
    seen = turned[:, :2] / turned[:, 2:]
    squared = np.sum(seen**2, axis=1)
    distortion = 1 + camera[:, 7] * squared + camera[:, 8] * squared**2
    projected = (camera[:, 6] * distortion)[:, None] * seen
    return weights[:, None] * (projected - features), 1 - weights**2
