"""Linearization: splits a function's derivative at a point into what the point determines and what is linear.

``f(x)`` becomes ``forward(x) -> (outputs, residuals)`` and ``linear(residuals, tangents of wrt) -> tangents of of``. The linear function
contains linear ops and what a policy has computed again of their coefficients; the residuals are the values that these are computed from
(:mod:`wengert.transforms.ad.residuals.plan`). This is the forward sweep with the linear ops going to another block. Which arguments of the
linear function are tangents, and which results of the forward function it takes, is part of the text (:mod:`wengert.dialects.ad_parts`).
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue

from wengert.dialects.ad_parts import connect, mark_linear
from wengert.dialects.builder import OpBuilder
from wengert.ir.construction import append, detach, rename_operands
from wengert.transforms.ad.forward.jvp import forward_over
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, finish_body, function_of
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.plan import Plan, prune, residuals_of
from wengert.transforms.ad.residuals.policies import AUTO, Policy, Site
from wengert.transforms.ad.rewrites.guards import settle_guards
from wengert.transforms.ad.rule import Tangent
from wengert.transforms.core.closing import copy_ops


class Halves(Struct, frozen=True):
    """The bodies of the forward and the linear function."""

    forward: Block
    """Returns the outputs, then the residuals."""
    linear: Block
    """Takes the residuals, then the tangents."""
    residuals: int
    builder: OpBuilder
    """What made the forward body, which goes on from there without making anything twice."""


def linearize(asked: Request, policy: Policy, pass_name: str) -> Halves:
    """Splits a function in two bodies; the policy says what of the first is kept for the second."""
    settle_guards(asked.module)
    forward = Block(arg_types=[arg.type for arg in asked.block.args])
    linear = Block(arg_types=[asked.block.args[i].type for i in asked.wrt])
    b = begin_function(forward, asked.function, pass_name)
    sweep = forward_over(asked, b, linear, list(forward.args), list(linear.args), policy)
    y_dots = [sweep.tangent(asked.results[j]) for j in asked.of]
    y_dots = [y_dot if y_dot in sweep.lb.linear else None for y_dot in y_dots]
    linear_ops = prune(linear, [y_dot for y_dot in y_dots if y_dot is not None])
    chosen = policy.plan(Site(forward, residuals_of(linear_ops, (), sweep.lb.linear)))
    outputs = [sweep.primal(value) for value in asked.results]
    closed = _closed(asked, linear, linear_ops, y_dots, chosen, pass_name)
    return Halves(finish_body(forward, [*outputs, *chosen.kept]), closed, len(chosen.kept), b)


def linearize_function(asked: Request, forward_name: str, linear_name: str, policy: Policy = AUTO, pass_name: str = "linearize") -> tuple[FuncOp, FuncOp]:
    """The forward function, which also returns the residuals, and the linear function; each says how it belongs to the other."""
    halves = linearize(asked, policy, pass_name)
    forward, linear = function_of(halves.forward, forward_name, asked.function), function_of(halves.linear, linear_name, asked.function)
    count, outputs = halves.residuals, len(asked.results)
    mark_linear(linear, range(count, count + len(asked.wrt)), recompute=policy.marks)
    connect(forward, linear, range(outputs, outputs + count))
    return forward, linear


def _closed(asked: Request, old: Block, linear_ops: Sequence[Operation], y_dots: Sequence[Tangent], chosen: Plan, pass_name: str) -> Block:
    """A body of the linear ops and what is computed again for them, which takes what is kept as arguments."""
    block = Block(arg_types=[*(r.type for r in chosen.kept), *(t.type for t in old.args)])
    b = begin_function(block, asked.function, pass_name)
    env: dict[SSAValue, SSAValue] = dict(zip([*chosen.kept, *old.args], block.args, strict=True))
    copy_ops(b, chosen.recomputed, env)
    _move(linear_ops, block, env)
    results = [materialized(b, None if y_dot is None else env.get(y_dot, y_dot), asked.results[j].type) for j, y_dot in zip(asked.of, y_dots, strict=True)]
    append(block, ReturnOp.create(operands=results))
    return block


def _move(ops: Sequence[Operation], target: Block, env: dict[SSAValue, SSAValue]) -> None:
    """Moves ops of another block to the end of this one, renaming what they use."""
    for op in ops:
        detach(op)
        rename_operands(op, env)
        append(target, op)
