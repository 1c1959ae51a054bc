"""Transposition of a linear function: ``f(residuals, x) = A(residuals) x`` becomes ``(residuals, y) -> A(residuals)^T y``.

The linear arguments are given, or declared by the function; that the body is linear in them is checked op by op. The transpose
declares that it is linear in the cotangents, so that it can be transposed again, and joined with the forward function.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.ad_parts import RECOMPUTE, linear_arguments, mark_linear
from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import destroy, detach, erase_arguments
from wengert.ir.location.locations import Role, derived_at
from wengert.ir.tensor_types import is_differentiable
from wengert.ir.traversal import operands_of, ops_in
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, detach_body, finish_body, function_of, pop_return
from wengert.transforms.ad.linear.affine import adds_a_constant
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.linear.transpose_ops import affine_op, transpose_ops
from wengert.transforms.ad.linear.zeros import is_zero
from wengert.transforms.ad.requests.request import Request


def transpose_function(request: Request, name: str) -> FuncOp:
    """The transpose in the arguments ``request.wrt``: (other arguments, cotangents of the results) -> cotangents of those.

    Takes over the body of the function.
    """
    function, outputs = request.function, len(request.results)
    recompute, declared = RECOMPUTE in function.attributes, linear_arguments(function) == tuple(request.wrt)
    body = detach_body(function)
    transposed = function_of(transpose_body(body, request.wrt, function, "transpose", declared=declared), name, function)
    mark_linear(transposed, range(len(body.args) - outputs, len(body.args)), recompute=recompute)
    return transposed


def transpose_body(block: Block, wrt: Sequence[int], origin: FuncOp, pass_name: str, *, declared: bool) -> Block:
    """Transposes a body that is linear in its arguments ``wrt``, in place: ops that do not depend on these stay.

    A result that does not depend on them is linear in them only if it is zero. This holds for the output of ``linearize`` (``declared``), and is checked
    for other functions.
    """
    tangents, results = [block.args[i] for i in wrt], pop_return(block)
    b = begin_function(block, origin, pass_name)
    linear_ops, linear = _take_linear_ops(b, block, tangents)
    cotangents = Cotangents(b)
    for result in results:
        y_bar = block.insert_arg(result.type, len(block.args))
        y_bar.location = derived_at(origin.location, "result", Role.COTANGENT, pass_name)
        if result in linear:
            if is_differentiable(result.type):
                cotangents.add(result, y_bar)
        elif not (declared or is_zero(result)):
            raise refuse(origin, f"cannot be transposed: a result of @{origin.sym_name.data} does not depend on its linear arguments")
    transpose_ops(b, reversed(linear_ops), linear, cotangents)
    x_bars = [materialized(b, cotangents.take(x), x.type) for x in tangents]
    for op in linear_ops:
        destroy(op)
    erase_arguments(block, tangents)
    return finish_body(block, x_bars)


def _take_linear_ops(b: OpBuilder, block: Block, tangents: Sequence[SSAValue]) -> tuple[list[Operation], set[SSAValue]]:
    """Detaches the ops that depend on tangents from a block, and registers the others with the builder; also returns the values that depend on tangents.

    Raises a DiagnosticError for an op that adds a nonzero term that does not, as far as this can be decided.
    """
    linear, taken = set(tangents), list[Operation]()
    for op in ops_in(block):
        operands = operands_of(op)
        if linear.isdisjoint(operands):
            b.remember(op)
            continue
        if adds_a_constant(op, operands, [operand in linear for operand in operands]):
            raise affine_op(op)
        linear.update(op.results)
        detach(op)
        taken.append(op)
    return taken, linear
