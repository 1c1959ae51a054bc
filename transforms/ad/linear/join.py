"""Joining the halves of a derivative: the forward function, and behind it its linear part, transposed or not.

``forward(x) -> (outputs, residuals)`` and ``linear(residuals, y) -> z`` become ``(x, y) -> (outputs, z)``: the Jacobian-vector product if
``linear`` is what ``linearize`` made, the vector-Jacobian product if it was transposed. What the linear part computes from residuals
and the forward part has computed already is used as it is, unless recomputation was asked for (``ad.recompute``): then the linear part
sees the residuals through a barrier, as what JAX's ``checkpoint`` computes again does, and no later pass takes one for the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.dialects import stablehlo as hlo
from wengert.dialects.ad_parts import RECOMPUTE, Parts, linear_arguments
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import replace_uses
from wengert.ir.traversal import ops_in
from wengert.transforms.ad.function import begin_function, finish_body, function_of, opened, take_return


def join_function(parts: Parts, name: str) -> FuncOp:
    """The function that two parts make together. It is made of their bodies, which they give up."""
    active = linear_arguments(parts.linear)
    assert active is not None, "the linear part says in what it is linear"
    recompute = RECOMPUTE in parts.linear.attributes
    forward = opened(parts.forward)
    b = begin_function(forward, parts.forward, "join")
    for op in ops_in(forward):
        b.remember(op)
    body = join_bodies(b, forward, opened(parts.linear), parts.residuals, active, recompute)
    return function_of(body, name, parts.forward)


def join_bodies(b: OpBuilder, forward: Block, linear: Block, residuals: Sequence[int], active: Sequence[int], recompute: bool) -> Block:
    """Puts a linear body behind a forward one, in place; the builder builds there, and knows what was made.

    The results ``residuals`` of the forward body are taken by the arguments of the linear one that are not ``active``.
    """
    values = take_return(forward)
    taken = [values[k] for k in residuals]
    given = iter(behind_barrier(b, taken) if recompute else taken)
    for i, argument in enumerate(linear.args):
        replace_uses(argument, forward.insert_arg(argument.type, len(forward.args)) if i in active else next(given))
    *body, returned = ops_in(linear)
    for op in body:
        b.take(op)
    outputs = [value for k, value in enumerate(values) if k not in residuals]
    z = list(returned.operands)  # read now that equal ops have become one
    returned.drop_all_references()
    return finish_body(forward, [*outputs, *z])


def behind_barrier(b: OpBuilder, values: Sequence[Value]) -> list[Value]:
    """The values as later passes must not recognise them. Tapes stay as they are: nothing that is written on one is computed from it."""
    held = [value for value in values if isinstance(value.type, TensorType)]
    passed = iter(b.create(hlo.OptimizationBarrierOp, held, [value.type for value in held])) if held else iter(())
    return [next(passed) if isinstance(value.type, TensorType) else value for value in values]
