"""Linearization: splits a function's derivative into a part that depends on the point and a linear part.

``f(x)`` becomes ``forward(x) -> (outputs, residuals)`` and ``linear(residuals, tangents of wrt) -> tangents of of``. The linear function
contains linear ops and those of their coefficients that the policy recomputes; the residuals are the values that these are computed from
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
from wengert.transforms.ad.forward.jvp import sweep_function
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, finish_body, function_of, place_primals, place_tangents
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.plan import Plan, prune, residuals_of
from wengert.transforms.ad.residuals.policies import AUTO, Policy, Site
from wengert.transforms.ad.rewrites.guards import expand_guards
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
    """The builder of the forward body, which can append to it and shares its ops."""
    recomputed: int
    """The number of ops, but for constants, that the linear function computes again."""


def linearize(request: Request, policy: Policy, pass_name: str) -> Halves:
    """Splits a function into two bodies; the policy decides which values of the first are residuals."""
    expand_guards(request.module)
    forward = Block(arg_types=[arg.type for arg in request.block.args])
    linear = Block(arg_types=[request.block.args[i].type for i in request.wrt])
    b = begin_function(forward, request.function, pass_name)
    place_primals(request.function, forward.args)
    place_tangents(request.function, request.wrt, linear.args, pass_name)
    sweep = sweep_function(request, b, linear, list(forward.args), list(linear.args), policy)
    y_dots = [sweep.tangent(request.results[j]) for j in request.of]
    y_dots = [y_dot if y_dot in sweep.lb.linear else None for y_dot in y_dots]
    linear_ops = prune(linear, [y_dot for y_dot in y_dots if y_dot is not None])
    plan = policy.plan(Site(forward, residuals_of(linear_ops, (), sweep.lb.linear)))
    outputs = [sweep.primal(value) for value in request.results]
    closed = _linear_body(request, linear, linear_ops, y_dots, plan, pass_name)
    return Halves(finish_body(forward, [*outputs, *plan.stored]), closed, len(plan.stored), b, sum(1 for op in plan.recomputed if op.operands))


def linearize_function(request: Request, forward_name: str, linear_name: str, policy: Policy = AUTO, pass_name: str = "linearize") -> tuple[FuncOp, FuncOp]:
    """The forward function, which also returns the residuals, and the linear function; attributes connect the two."""
    halves = linearize(request, policy, pass_name)
    forward, linear = function_of(halves.forward, forward_name, request.function), function_of(halves.linear, linear_name, request.function)
    count, outputs = halves.residuals, len(request.results)
    mark_linear(linear, range(count, count + len(request.wrt)), recompute=policy.marks)
    connect(forward, linear, range(outputs, outputs + count))
    return forward, linear


def _linear_body(request: Request, old: Block, linear_ops: Sequence[Operation], y_dots: Sequence[Tangent], plan: Plan, pass_name: str) -> Block:
    """The body of the linear function: recomputed coefficients and linear ops; its arguments are the residuals and the tangents."""
    block = Block(arg_types=[*(r.type for r in plan.stored), *(t.type for t in old.args)])
    b = begin_function(block, request.function, pass_name)
    place_tangents(request.function, request.wrt, block.args[len(plan.stored) :], pass_name)
    env: dict[SSAValue, SSAValue] = dict(zip([*plan.stored, *old.args], block.args, strict=True))
    copy_ops(b, plan.recomputed, env)
    _move(linear_ops, block, env)
    results = [materialized(b, None if y_dot is None else env.get(y_dot, y_dot), request.results[j].type) for j, y_dot in zip(request.of, y_dots, strict=True)]
    append(block, ReturnOp.create(operands=results))
    return block


def _move(ops: Sequence[Operation], target: Block, env: dict[SSAValue, SSAValue]) -> None:
    """Moves ops of another block to the end of this one, with their operands renamed by ``env``."""
    for op in ops:
        detach(op)
        rename_operands(op, env)
        append(target, op)
