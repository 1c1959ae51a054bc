"""Gradients of a differential equation's end by its parameters in three ways: the steps differentiated, the same with checkpoints, and the continuous adjoint.

The Lorenz system is integrated by steps of Runge and Kutta's method (order 4), and the gradient is that of a function of its state at the end.

- *discrete*: reverse mode through the loop over steps, exact for the steps as they are; what each step needs is kept, so memory grows with their number.
- *checkpointed*: the loop in segments of the root of that number, each an ``ad.checkpoint``: the same gradient to rounding, one more evaluation, memory of the root.
- *continuous*: the adjoint equation is integrated backwards, and the state with it (R. T. Q. Chen et al., "Neural Ordinary Differential Equations",
  NeurIPS 2018): memory of one state. But the state that comes back is not the one that went forth: a volume of states of this system shrinks by exp(13.7)
  in a unit of time, and grows by as much on the way back, and so do the errors of the steps.

    python examples/ode_adjoints.py
"""

from __future__ import annotations

import numpy as np

import wengert as wg
import wengert.numpy as wnp

START, PARAMETERS = np.array([1.0, 1.0, 20.0]), np.array([10.0, 28.0, 8.0 / 3.0])
END, SEGMENTS = 1.0, 20
STEPS = SEGMENTS**2


def lorenz(state, parameters):
    """The rate of change of a state."""
    x, y, z = state[0], state[1], state[2]
    sigma, rho, beta = parameters[0], parameters[1], parameters[2]
    return wnp.stack([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def runge_kutta(rate, state, h):
    """One step of order 4, of a state that is an array."""
    k1 = rate(state)
    k2 = rate(state + h / 2 * k1)
    k3 = rate(state + h / 2 * k2)
    k4 = rate(state + h * k3)
    return state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def integrated(state, parameters, steps, h):
    """The state after some steps."""
    return wg.fori_loop(0, steps, lambda _, s: runge_kutta(lambda y: lorenz(y, parameters), s, h), state)


def objective(state):
    """What the gradient is of."""
    return wnp.sum(state * state) / 2


def discrete(parameters):
    """The objective at the end, of all steps in one loop."""
    return objective(integrated(START, parameters, STEPS, END / STEPS))


def checkpointed(parameters):
    """The same, of which only the state before each segment is kept."""
    segment = wg.checkpoint(lambda state, parameters: integrated(state, parameters, SEGMENTS, END / STEPS))
    return objective(wg.fori_loop(0, SEGMENTS, lambda _, state: segment(state, parameters), START))


@wg.jit
def continuous(parameters):
    """The gradient by the adjoint equation: state, adjoint and gradient go back from the end together."""
    end = integrated(START, parameters, STEPS, END / STEPS)

    def backwards(both):
        state, adjoint = both[:3], both[3:6]
        rate, pullback = wg.vjp(lorenz, state, parameters)
        state_bar, parameters_bar = pullback(adjoint)
        return wnp.concat([-rate, state_bar, parameters_bar])

    begin = wnp.concat([end, wg.grad(objective)(end), wnp.zeros(3)])
    return wg.fori_loop(0, STEPS, lambda _, both: runge_kutta(backwards, both, END / STEPS), begin)


def main() -> dict[str, float]:
    """Prints the gradients' distance from one with eight times as many steps, and the memory that each takes; returns the distances."""
    gradients = {"discrete": wg.grad(discrete)(PARAMETERS), "checkpointed": wg.grad(checkpointed)(PARAMETERS), "continuous": continuous(PARAMETERS)[6:]}
    exact = wg.grad(lambda p: objective(integrated(START, p, 8 * STEPS, END / STEPS / 8)))(PARAMETERS)
    programs = {
        "discrete": wg.grad(discrete).program(PARAMETERS),
        "checkpointed": wg.grad(checkpointed).program(PARAMETERS),
        "continuous": continuous.program(PARAMETERS),
    }
    scale = np.abs(exact).max()
    print(f"{STEPS} steps of order 4; relative distance from the gradient of the steps, and from that of the equation; peak of live bytes")
    distances: dict[str, float] = {}
    for name, gradient in gradients.items():
        distances[name] = float(np.abs(gradient - gradients["discrete"]).max() / scale)
        off = np.abs(gradient - exact).max() / scale
        print(f"{name:>12}: {distances[name]:.1e}  {off:.1e}  {programs[name].memory().peak:>7} bytes")
    return distances


if __name__ == "__main__":
    main()
