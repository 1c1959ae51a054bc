"""Builds counted loops whose bodies are elementwise ops, reductions and reads at computed positions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Block, Region

from wengert.dialects import core, stablehlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_attr
from wengert.ir.tensor_types import i1, i32, i64, tensor

Step = Callable[[OpBuilder, Value, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""Builds an iteration, of its number (``tensor<i32>``, from 0), the constants and what is carried; returns what is carried on."""
Test = Callable[[OpBuilder, Sequence[Value], Sequence[Value]], Value]
"""Builds the condition (``tensor<i1>``) of a loop, of the constants and what is carried."""


def counted_loop(b: OpBuilder, count: int, constants: Sequence[Value], initial: Sequence[Value], step: Step) -> Sequence[Value]:
    """Runs a step ``count`` times: a ``core.for``. Returns what is carried last."""
    block = Block(arg_types=[tensor((), i64), *(value.type for value in (*constants, *initial))])
    inner = OpBuilder(block, location=b.location, pass_name=b.pass_name)
    iteration, *arguments = block.args
    values = step(inner, inner.convert(iteration, i32), arguments[: len(constants)], arguments[len(constants) :])
    block.add_op(stablehlo.ReturnOp.create(operands=list(values)))
    operands = [b.scalar(count, i64), *constants, *initial]
    return b.create(core.ForOp, operands, [value.type for value in initial], {"constants": int_attr(len(constants))}, [Region([block])])


def bounded_while(b: OpBuilder, most: int, constants: Sequence[Value], initial: Sequence[Value], test: Test, step: Step) -> Sequence[Value]:
    """Runs a step as long as a condition holds, but at most ``most`` times: a ``core.while``. Returns what is carried last."""
    zero = b.scalar(0, i32)
    types = [value.type for value in (*constants, zero, *initial)]
    condition, body = Block(arg_types=types), Block(arg_types=types)
    n = len(constants)
    inner = OpBuilder(condition, location=b.location, pass_name=b.pass_name)
    below = inner.compare("LT", condition.args[n], inner.scalar(most, i32))
    holds = inner.and_(below, test(inner, condition.args[:n], condition.args[n + 1 :]))
    assert holds.type == tensor((), i1)
    condition.add_op(stablehlo.ReturnOp.create(operands=[holds]))
    inner = OpBuilder(body, location=b.location, pass_name=b.pass_name)
    number = body.args[n]
    values = step(inner, number, body.args[:n], body.args[n + 1 :])
    body.add_op(stablehlo.ReturnOp.create(operands=[inner.add(number, inner.scalar(1, i32)), *values]))
    operands = [*constants, zero, *initial]
    carried = [value.type for value in operands[n:]]
    return b.create(core.WhileOp, operands, carried, {"constants": int_attr(n)}, [Region([condition]), Region([body])])[1:]
