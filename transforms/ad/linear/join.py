"""Joins the halves of a derivative: the forward function, followed by its linear part, transposed or not.

``forward(x) -> (outputs, residuals)`` and ``linear(residuals, y) -> z`` become ``(x, y) -> (outputs, z)``: the Jacobian-vector product if
``linear`` is a result of ``linearize``, the vector-Jacobian product if it was transposed. Values that the linear part recomputes from residuals
are shared with the forward part, unless recomputation was requested (``ad.recompute``): then the residuals
pass through an optimization barrier, as in JAX's ``checkpoint``, and no later pass merges the two.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.dialects import stablehlo as hlo
from wengert.dialects.ad_parts import RECOMPUTE, Parts, linear_arguments
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import destroy, replace_uses
from wengert.ir.traversal import ops_in
from wengert.transforms.ad.function import begin_function, detach_body, finish_body, function_of, pop_return


def join_function(parts: Parts, name: str) -> FuncOp:
    """The composition of a forward function and its linear part. Takes over their bodies."""
    active = linear_arguments(parts.linear)
    assert active is not None, "a linear part declares its linear arguments"
    recompute = RECOMPUTE in parts.linear.attributes
    forward = detach_body(parts.forward)
    b = begin_function(forward, parts.forward, "join")
    for op in ops_in(forward):
        b.remember(op)
    body = join_bodies(b, forward, detach_body(parts.linear), parts.residuals, active, recompute)
    return function_of(body, name, parts.forward)


def join_bodies(b: OpBuilder, forward: Block, linear: Block, residuals: Sequence[int], active: Sequence[int], recompute: bool) -> Block:
    """Appends a linear body to a forward one, in place; the builder ``b`` appends to the forward body, and shares its ops.

    The results ``residuals`` of the forward body become the arguments of the linear body that are not ``active``.
    """
    values = pop_return(forward)
    taken = [values[k] for k in residuals]
    given = iter(behind_barrier(b, taken) if recompute else taken)
    for i, argument in enumerate(linear.args):
        if i in active:
            moved = forward.insert_arg(argument.type, len(forward.args))
            moved.location = argument.location
            replace_uses(argument, moved)
        else:
            replace_uses(argument, next(given))
    *body, returned = ops_in(linear)
    for op in body:
        b.take(op)
    outputs = [value for k, value in enumerate(values) if k not in residuals]
    z = list(returned.operands)  # read after equal ops have been merged
    destroy(returned)
    return finish_body(forward, [*outputs, *z])


def behind_barrier(b: OpBuilder, values: Sequence[Value]) -> list[Value]:
    """Passes tensors through an optimization barrier, so that no later pass merges what is computed from them. Tapes need none: what is
    recorded on them is not recomputed."""
    tensors = [value for value in values if isinstance(value.type, TensorType)]
    passed = iter(b.create(hlo.OptimizationBarrierOp, tensors, [value.type for value in tensors])) if tensors else iter(())
    return [next(passed) if isinstance(value.type, TensorType) else value for value in values]
