"""Linearization: splits a function's derivative at a point into what the point determines and what is linear.

``f(x)`` becomes ``primal(x) -> (outputs, residuals)`` and ``linear(residuals, tangents of wrt) -> tangents of of``. The
linear function contains linear ops and what is cheap to compute of their coefficients; the residuals are the values that these are
computed from (:mod:`wengert.transforms.ad.residuals`). This is the forward sweep with the linear ops going to another block.
"""

from __future__ import annotations

from msgspec import Struct
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, SSAValue

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.construction import erase
from wengert.transforms.ad.forward import ForwardSweep
from wengert.transforms.ad.function import begin_function, discard, finish_function
from wengert.transforms.ad.guards import settle_guards
from wengert.transforms.ad.jvp import forward_over
from wengert.transforms.ad.request import Request
from wengert.transforms.ad.residuals import Plan, plan
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.ad.tangents import materialized


class Linearized(Struct, frozen=True):
    """The two halves while they still share values: linear ops in ``block`` use primal values as they are."""

    sweep: ForwardSweep
    block: Block
    outputs: list[Value]
    y_dots: list[Tangent]

    @property
    def linear_values(self) -> set[SSAValue]:
        """Every value that depends on a tangent."""
        return self.sweep.lb.linear

    def residuals(self) -> list[SSAValue]:
        """The primal values that the linear ops use, in order of first use."""
        seen: dict[SSAValue, None] = {}
        for op in self.block.ops:
            for operand in op.operands:
                if operand not in self.linear_values:
                    seen[operand] = None
        return list(seen)


def linearize_into(b: OpBuilder, asked: Request, primals: list[Value]) -> Linearized:
    """Emits the primal half of a function through ``b`` and collects the linear half in a block of its own."""
    types = [asked.block.args[i].type for i in asked.wrt]
    block = Block(arg_types=types)
    sweep = forward_over(asked, b, block, primals, list(block.args))
    outputs = [sweep.primal(value) for value in asked.results]
    return Linearized(sweep, block, outputs, [sweep.tangent(asked.results[j]) for j in asked.of])


def linearize_function(asked: Request, primal_name: str, linear_name: str) -> tuple[FuncOp, FuncOp]:
    """The primal function, which also returns the residuals, and the linear function."""
    settle_guards(asked.module)
    inputs = [arg.type for arg in asked.block.args]
    block = Block(arg_types=inputs)
    b = begin_function(block, asked.function, "linearize")
    halves = linearize_into(b, asked, list(block.args))
    drop_unused_linear(halves)
    kept = plan(block, halves.residuals(), ())
    linear = _linear_function(asked, halves, kept, linear_name)
    discard(halves.block)
    return finish_function(block, [*halves.outputs, *kept.kept], primal_name, asked.function), linear


def drop_unused_linear(halves: Linearized) -> None:
    """Erases linear ops that no result depends on, so that their coefficients do not count as residuals."""
    needed: set[SSAValue] = {y_dot for y_dot in halves.y_dots if y_dot is not None}
    for op in reversed(list(halves.block.ops)):
        if needed.isdisjoint(op.results):
            erase(op)
        else:
            needed.update(op.operands)


def _linear_function(asked: Request, halves: Linearized, kept: Plan, name: str) -> FuncOp:
    tangents = halves.block.args
    block = Block(arg_types=[*(r.type for r in kept.kept), *(t.type for t in tangents)])
    b = begin_function(block, asked.function, "linearize")
    mapped: dict[SSAValue, SSAValue] = dict(zip([*kept.kept, *tangents], block.args, strict=True))
    for op in [*kept.recomputed, *halves.block.ops]:
        mapped.update(zip(op.results, b.copy(op, [mapped[o] for o in op.operands]), strict=True))
    y_dots: list[Value] = []
    for j, y_dot in zip(asked.of, halves.y_dots, strict=True):
        y_dots.append(materialized(b, None if y_dot is None else mapped[y_dot], asked.results[j].type))
    return finish_function(block, y_dots, name, asked.function)
