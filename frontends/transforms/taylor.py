"""Taylor mode of traced functions: the value at a point and the Taylor coefficients along a direction, and from these all high derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb
from typing import Any

import numpy as np

from wengert.frontends.pytrees import flatten, matching_leaves, unflatten
from wengert.frontends.tracing.context import current_trace
from wengert.frontends.tracing.errors import value_error
from wengert.frontends.transforms.jit import Traceable, jit
from wengert.frontends.transforms.shapes import eval_shape
from wengert.runtime.program import Array, Program


def taylor(function: Traceable, primals: Any, directions: Any, order: int) -> tuple[Any, Any]:
    """The value of a function, and its Taylor coefficients of orders 1 to ``order`` along ``x + t v``.

    Args:
        function: a traceable function.
        primals: its argument, or a tuple of its arguments.
        directions: a direction of the same form; leaves for arguments that are no floats are not looked at.
        order: the highest order, at least 1.

    Returns:
        The value, and a tree like it of arrays with the order in front: the i-th entry is the i-th derivative by t over i factorial.

    Raises:
        TracedValueError: inside of a trace; ``p.taylor`` makes a program that can be differentiated further.
        InputError: the order is below 1.

    >>> import numpy as np
    >>> import wengert as wg
    >>> value, coefficients = wg.taylor(wg.numpy.exp, np.array(0.0), np.array(1.0), 3)
    >>> [round(float(c), 4) for c in coefficients]
    [1.0, 0.5, 0.1667]
    """
    arguments: tuple[Any, ...] = primals if isinstance(primals, tuple) else (primals,)  # pyright: ignore[reportUnknownVariableType]
    moved: tuple[Any, ...] = directions if isinstance(directions, tuple) else (directions,)  # pyright: ignore[reportUnknownVariableType]
    if current_trace() is not None:
        raise value_error("wg.taylor is called inside of a trace", "make the program with p.taylor(order), which can be differentiated and batched")
    program = jit(function).program(*arguments)
    leaves, spec = flatten(arguments)
    along = matching_leaves(spec, moved)
    wrt, of = program.resolve()
    seeds = [np.asarray(along[i], program.signature.arguments[i].dtype) for i in wrt]
    results = program.taylor(order, wrt, of)(*leaves, *seeds)
    count = len(program.signature.results)
    _, out = flatten(eval_shape(function, *arguments))
    by_position = dict(zip(of, results[count:], strict=True))
    return unflatten(out, results[:count]), unflatten(out, [by_position.get(j) for j in range(count)])


def derivative_tensor(program: Program, order: int, point: Sequence[Any], argument: int = 0, result: int = 0) -> Array:
    """All derivatives of one order of a result by an argument with n elements.

    By interpolation: the derivative of a multi-index is a combination of Taylor coefficients of this order along the ``C(n + order - 1, order)``
    directions that are multi-indices of this order themselves (A. Griewank, J. Utke, A. Walther, "Evaluating Higher Derivative Tensors by Forward
    Propagation of Univariate Taylor Series", Mathematics of Computation 69, 2000). All directions are one batch.

    Args:
        program: the function.
        order: the order of the derivatives, at least 1.
        point: the inputs.
        argument: the position of the argument.
        result: the position of the result.

    Returns:
        An array of the shape of the result and then n, ..., n, ``order`` times, symmetric in these.

    Raises:
        InputError: as :meth:`wengert.Program.taylor`.
    """
    parameter = program.signature.arguments[argument]
    n, shape = int(np.prod(parameter.shape)), program.signature.results[result].shape
    rays = [ray for ray in product(range(order + 1), repeat=n) if sum(ray) == order]
    seeds = np.array(rays, parameter.dtype).reshape(len(rays), *parameter.shape)
    inputs = len(program.signature.arguments)
    batched = program.taylor(order, argument, result).vmap([None] * inputs + [0], size=len(rays))
    coefficients = batched(*point, seeds)[-1][:, order - 1]
    listed: dict[tuple[int, ...], Array] = {}
    for index in rays:
        weights = np.array([_weight(index, ray) for ray in rays])
        listed[index] = np.tensordot(weights, coefficients, 1)
    whole = np.empty((*shape, *[n] * order), coefficients.dtype)
    for at in product(range(n), repeat=order):
        whole[(..., *at)] = listed[tuple(at.count(k) for k in range(n))]
    return whole


def _weight(index: tuple[int, ...], ray: tuple[int, ...]) -> float:
    """What the Taylor coefficient along a ray contributes to the derivative of a multi-index of the same order.

    Equation 13.13 of Griewank and Walther, "Evaluating Derivatives", which is for Taylor coefficients, times what makes derivatives of them.
    """
    order = sum(index)
    total = 0.0
    for k in product(*(range(i + 1) for i in index)):
        size = sum(k)
        if size == 0:
            continue
        sign = (-1) ** (order - size)
        term = 1.0
        for i, part, r in zip(index, k, ray, strict=True):
            term *= comb(i, part) * _binomial(order * part / size, r)
        total += sign * term * (size / order) ** order
    return total


def _binomial(x: float, k: int) -> float:
    """The generalised binomial coefficient."""
    value = 1.0
    for i in range(k):
        value *= (x - i) / (i + 1)
    return value
