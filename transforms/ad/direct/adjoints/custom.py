"""Adjoints of calls of functions that declare their own derivative.

Both halves of a custom VJP are inlined: ``f_fwd`` in the forward sweep, ``f_bwd`` in the reverse sweep. A custom JVP is inlined and
transposed op by op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, SSAValue

from wengert.dialects import ad
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import is_differentiable, type_of
from wengert.transforms.ad.direct.adjoint import Pullback, step
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.linear.transpose_ops import copy_linear, transpose_ops
from wengert.transforms.ad.requests.custom import CUSTOM_JVP, CUSTOM_VJP, check_differentiable, check_inputs, inline_body
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.ad.rule import Tangent


@step(CallOp)
def call(sweep: Sweep, op: CallOp) -> Pullback:
    callee = function_named(sweep.module, op.callee.string_value())
    check_differentiable(op, callee, [sweep.has_cotangent(sweep.primal(v)) for v in op.operands])
    if (jvp := callee.attributes.get(CUSTOM_JVP)) is not None:
        return _by_jvp(sweep, op, function_named(sweep.module, cast(SymbolRefAttr, jvp).string_value()))
    if (vjp := callee.attributes.get(CUSTOM_VJP)) is not None:
        forward, backward = (function_named(sweep.module, cast(SymbolRefAttr, symbol).string_value()) for symbol in cast("ArrayAttr[Attribute]", vjp))
        return _by_vjp(sweep, op, forward, backward)
    raise refuse(op, f"of @{callee.sym_name.data} was not inlined, and the function declares no derivative of its own")


@step(ad.LinearCallOp)
def linear_call(sweep: Sweep, op: ad.LinearCallOp) -> Pullback:
    """By the function's declared derivative."""
    callee = function_named(sweep.module, op.callee.string_value())
    check_differentiable(op, callee, [sweep.has_cotangent(sweep.primal(v)) for v in op.operands])
    if (jvp := callee.attributes.get(CUSTOM_JVP)) is not None:
        return _by_jvp(sweep, op, function_named(sweep.module, cast(SymbolRefAttr, jvp).string_value()))
    raise refuse(op, f"of @{callee.sym_name.data} declares no derivative of its own")


def _by_vjp(sweep: Sweep, op: CallOp, forward: FuncOp, backward: FuncOp) -> Pullback:
    operands = [sweep.primal(v) for v in op.operands]
    check_inputs(op, forward, [v.type for v in operands])
    values = inline_body(sweep.b, forward, operands)
    residuals = values[len(op.results) :]
    differentiable = [j for j, result in enumerate(op.results) if is_differentiable(result.type)]
    check_inputs(op, backward, [*(v.type for v in residuals), *(op.results[j].type for j in differentiable)])
    sweep.bind(op.results, values[: len(op.results)])

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        bars = [materialized(b, y_bars[j], op.results[j].type) for j in differentiable]
        x_bars = iter(inline_body(b, backward, [*residuals, *bars]))
        for x in operands:
            if is_differentiable(x.type):
                x_bar = next(x_bars)
                if sweep.has_cotangent(x):
                    cotangents.add(x, x_bar)

    return pullback


def _by_jvp(sweep: Sweep, op: CallOp | ad.LinearCallOp, jvp: FuncOp) -> Pullback:
    operands = [sweep.primal(v) for v in op.operands]
    differentiable = [x for x in operands if is_differentiable(x.type)]
    check_inputs(op, jvp, [v.type for v in (*operands, *differentiable)])
    active = [x for x in dict.fromkeys(differentiable) if sweep.has_cotangent(x)]
    scratch = sweep.scratch_block([x.type for x in active])
    lb = LinearBuilder(scratch, sweep.b, scratch.args)
    dots: dict[Value, Value] = dict(zip(active, scratch.args, strict=True))
    x_dots = [dots[x] if x in dots else sweep.b.zeros(type_of(x)) for x in differentiable]
    env: dict[SSAValue, SSAValue] = dict(zip(jvp.body.block.args, (*operands, *x_dots), strict=True))
    copy_linear(list(jvp.body.block.ops)[:-1], env, lb)
    outputs = [env[v] for v in terminator_operands(jvp.body.block)]
    if not lb.linear.isdisjoint(outputs[: len(op.results)]):
        raise refuse(op, f"has a declared derivative, @{jvp.sym_name.data}, whose values depend on tangents")
    sweep.bind(op.results, outputs[: len(op.results)])
    y_dots = iter(outputs[len(op.results) :])
    by_result = [next(y_dots) if is_differentiable(result.type) else None for result in op.results]

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        linear = Cotangents(b)
        for y_dot, y_bar in zip(by_result, y_bars, strict=True):
            if y_dot is not None and y_dot in lb.linear:
                linear.add(y_dot, y_bar)
        transpose_ops(b, reversed(list(scratch.ops)), lb.linear, linear)
        for x, x_dot in dots.items():
            cotangents.add(x, linear.take(x_dot))

    return pullback
