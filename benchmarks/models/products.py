"""The flops of the products and convolutions in a training step, read off the loss as JAX traces it.

Each product of the loss has one more of its size in the gradient for each operand that depends on a weight. What JAX's own derivative would compute
again, and zeros of padding and dilation, do not count, so that the figure says what any system has to compute.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import jax
from benchmarks.problems.workloads import Array, Function


def product_flops(loss: Function, inputs: Sequence[Array], wrt: Sequence[int]) -> float:
    """Flops of the value and the gradients by the inputs at ``wrt``, two for a multiply-add."""
    closed: Any = jax.make_jaxpr(loss)(*inputs)
    return _flops(closed.jaxpr, [n in wrt for n in range(len(inputs))])[0]


def _flops(jaxpr: Any, active: Sequence[bool]) -> tuple[float, list[bool]]:
    """Flops of a jaxpr whose arguments depend on weights or not, and which of its results do."""
    known = dict(zip(jaxpr.invars, active, strict=True))
    total = 0.0
    for equation in jaxpr.eqns:
        operands = [not hasattr(v, "val") and known.get(v, False) for v in equation.invars]  # a literal has a value
        name = equation.primitive.name
        depends = [any(operands)] * len(equation.outvars)
        if name == "dot_general":
            total += _product(equation) * (1 + sum(operands))
        elif name == "conv_general_dilated":
            total += _convolution(equation) * (1 + sum(operands))
        elif name == "scan":
            flops, depends = _scan(equation, operands)
            total += flops
        elif inner := equation.params.get("jaxpr") or equation.params.get("call_jaxpr"):
            flops, depends = _flops(getattr(inner, "jaxpr", inner), operands)
            total += flops
        known |= dict(zip(equation.outvars, depends, strict=True))
    return total, [known.get(v, False) if not hasattr(v, "val") else False for v in jaxpr.outvars]


def _scan(equation: Any, operands: list[bool]) -> tuple[float, list[bool]]:
    """A loop; what is carried depends on weights if it does after some iteration."""
    params, body = equation.params, equation.params["jaxpr"].jaxpr
    constants, carried = params["num_consts"], params["num_carry"]
    while True:
        flops, depends = _flops(body, operands)
        state = [a or b for a, b in zip(operands[constants : constants + carried], depends, strict=False)]
        if state == operands[constants : constants + carried]:
            return flops * params["length"], [*state, *depends[carried:]]
        operands = [*operands[:constants], *state, *operands[constants + carried :]]


def _product(equation: Any) -> float:
    left = equation.invars[0].aval.shape
    (contracted, _), _ = equation.params["dimension_numbers"]
    return 2.0 * prod(equation.outvars[0].aval.shape) * prod(left[d] for d in contracted)


def _convolution(equation: Any) -> float:
    kernel = equation.invars[1].aval.shape
    outputs = equation.params["dimension_numbers"].rhs_spec[0]
    return 2.0 * prod(equation.outvars[0].aval.shape) * prod(kernel) / kernel[outputs]
