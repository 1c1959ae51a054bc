"""Integrates a planet around its sun by Taylor series, and compares with the exact orbit after a revolution.

The series of the solution of ``y' = f(y)`` follows from that of f: coefficient j of ``f(y(t))`` over ``j + 1`` is coefficient j + 1 of y. One
program, ``f`` in Taylor mode along a path, gives one more coefficient each time it is called; steps are chosen from the size of the last two (A.
Jorba, M. Zou, "A software package for the numerical integration of ODEs by means of high-order Taylor methods", Experimental Mathematics 14, 2005).

    python examples/taylor_integrator.py
"""

from __future__ import annotations

import numpy as np

import wengert as wg
import wengert.numpy as wnp

ORDER = 16
TOLERANCE = 1e-12


@wg.jit
def motion(state):
    """Position and velocity to velocity and acceleration."""
    position, velocity = state[:2], state[2:]
    squared = wnp.sum(position * position)
    return wnp.concatenate([velocity, -position / (squared * wnp.sqrt(squared))])


RATE = motion.program(np.ones(4)).taylor(ORDER, series=True)


def coefficients(state: np.ndarray) -> np.ndarray:
    """The Taylor coefficients 1 to ORDER of the solution through a state."""
    path = np.zeros((ORDER, 4))
    for j in range(ORDER):
        rate, rates = RATE(state, path)
        path[j] = (rate if j == 0 else rates[j - 1]) / (j + 1)
    return path


def integrate(state: np.ndarray, end: float) -> tuple[np.ndarray, int]:
    """The state at a time, and how many steps that took."""
    time, steps = 0.0, 0
    while time < end:
        path = coefficients(state)
        sizes = [np.abs(path[j]).max() ** (-1 / (j + 1)) for j in (ORDER - 2, ORDER - 1)]
        step = min(min(sizes) * TOLERANCE ** (1 / ORDER), end - time)
        state = state + sum(path[j] * step ** (j + 1) for j in range(ORDER))
        time, steps = time + step, steps + 1
    return state, steps


def main() -> None:
    """Prints how far the planet is from where it began after a revolution of an eccentric orbit."""
    eccentricity = 0.5
    start = np.array([1.0 - eccentricity, 0.0, 0.0, np.sqrt((1 + eccentricity) / (1 - eccentricity))])
    state, steps = integrate(start, 2 * np.pi)
    print(f"one revolution at eccentricity {eccentricity}: {steps} steps of order {ORDER}, off by {np.abs(state - start).max():.1e}")


if __name__ == "__main__":
    main()
