"""Derivatives that functions declare themselves, and derivatives of the ops of the ad dialect.

A call of a function with ``ad.custom_jvp = @f_jvp`` is differentiated by inlining ``f_jvp``: ops that depend on
tangents become part of the linear program (they have to be linear, which transposition checks op by op), the others are its
coefficients. A call of one with ``ad.custom_vjp = [@f_fwd, @f_bwd]`` runs ``f_fwd`` for the residuals; only the transpose ``f_bwd`` of its
linear map is known, so it is ``ad.transposed_call @f_bwd`` in the linear program. The primal values are those of ``f_jvp`` and
``f_fwd``, not of the call, so that second derivatives are those of the declaration (as in JAX).

A zero tangent is passed to ``f_jvp`` as an explicit zero, as in JAX's ``custom_jvp``: times an infinite coefficient it is NaN.
With ``ad.symbolic_zeros`` on the function it is absent instead, and so are the results of linear ops on it.

``ad.not_differentiable = ["", "reason"]`` has a text for each operand that may not have a tangent; differentiating by it is an error with that text.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ArrayAttr, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.attributes import int_array, int_attr, ints
from wengert.ir.tensor_types import is_differentiable, rank, shape
from wengert.transforms.ad.errors import refuse
from wengert.transforms.ad.forward.tangents import has_tangent, materialized
from wengert.transforms.ad.linear.transpose_ops import copy_linear
from wengert.transforms.ad.linear.zeros import copy_without_zeros
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.ad.rule import STEPS, LinearMap, Tangent, derivative, scale, sum_of, transpose
from wengert.transforms.core.closing import copy_ops
from wengert.transforms.core.inline import CUSTOM_DERIVATIVES

if TYPE_CHECKING:
    from wengert.transforms.ad.forward.sweep import ForwardSweep

CUSTOM_JVP, CUSTOM_VJP, REFUSED = CUSTOM_DERIVATIVES
SYMBOLIC_ZEROS = "ad.symbolic_zeros"


def _step(sweep: ForwardSweep, call: CallOp) -> None:
    """Differentiates a call with an active operand; a call of a function that declares no derivative is refused (it should be inlined)."""
    if not any(has_tangent(result.type) and result.first_use is not None and result not in sweep.invariant for result in call.results):
        sweep.bind(call.results, sweep.b.copy(call, [sweep.primal(x) for x in call.operands]), [None] * len(call.results))
        return
    callee = function_named(sweep.module, call.callee.string_value())
    check_differentiable(call, callee, [sweep.tangent(x) is not None for x in call.operands])
    if (jvp := callee.attributes.get(CUSTOM_JVP)) is not None:
        _by_jvp(sweep, call, function_named(sweep.module, cast(SymbolRefAttr, jvp).string_value()), SYMBOLIC_ZEROS in callee.attributes)
    elif (vjp := callee.attributes.get(CUSTOM_VJP)) is not None:
        forward, backward = (function_named(sweep.module, cast(SymbolRefAttr, symbol).string_value()) for symbol in cast("ArrayAttr[Attribute]", vjp))
        _by_vjp(sweep, call, forward, backward)
    else:
        raise refuse(call, f"of @{callee.sym_name.data} was not inlined, and the function declares no derivative of its own")


STEPS[CallOp] = _step


def _linear_step(sweep: ForwardSweep, op: ad.LinearCallOp) -> None:
    """The same call on tangents, if only arguments in which the function is linear have one; else its declared derivative, or that of its text."""
    callee, count = function_named(sweep.module, op.callee.string_value()), op.others
    tangents = [sweep.tangent(x) for x in op.operands]
    primals = [sweep.primal(x) for x in op.operands]
    if not any(x_dot is not None for x_dot in tangents[:count]):
        values = sweep.b.create(ad.LinearCallOp, primals, [r.type for r in op.results], op.properties)
        x_dots = [materialized(sweep.lb, x_dot, x.type) for x_dot, x in zip(tangents[count:], op.operands[count:], strict=True)]
        y_dots = sweep.lb.create(ad.LinearCallOp, [*primals[:count], *x_dots], [r.type for r in op.results], op.properties)
        _set(sweep, op, values, y_dots)
    elif (jvp := callee.attributes.get(CUSTOM_JVP)) is not None:
        check_differentiable(op, callee, [x_dot is not None for x_dot in tangents])
        _by_jvp(sweep, op, function_named(sweep.module, cast(SymbolRefAttr, jvp).string_value()), SYMBOLIC_ZEROS in callee.attributes)
    else:
        check_differentiable(op, callee, [x_dot is not None for x_dot in tangents])
        *body, last = callee.body.block.ops
        sweep.bind(callee.body.block.args, primals, tangents)
        sweep.run(body)
        sweep.bind(op.results, [sweep.primal(y) for y in last.operands], [sweep.tangent(y) for y in last.operands])


STEPS[ad.LinearCallOp] = _linear_step


@transpose(ad.LinearCallOp)
def linear_call(b: OpBuilder, op: ad.LinearCallOp, linear: Sequence[bool], y_bars: Sequence[Tangent]) -> Sequence[Tangent]:
    """The function that is named, which names this one as its transpose."""
    if any(linear[: op.others]):
        raise refuse(op, "is not linear in its operands that depend on a tangent, so it has no transpose")
    if op.transpose is None:
        raise refuse(op, f"of @{op.callee.string_value()} has no transpose: {op.because.data if op.because is not None else 'it names none'}")
    others, types = op.arguments[: op.others], [x.type for x in op.arguments[op.others :]]
    given = [materialized(b, y_bar, result.type) for y_bar, result in zip(y_bars, op.results, strict=True)]
    properties: dict[str, Attribute] = {"callee": op.transpose, "transpose": op.callee, "linear": int_attr(len(given))}
    return [*[None] * len(others), *b.create(ad.LinearCallOp, [*others, *given], types, properties)]


def check_differentiable(call: Operation, callee: FuncOp, active: Sequence[bool]) -> None:
    """Raises a DiagnosticError if the function refuses the tangent of an active operand."""
    for position, reason in enumerate(cast("ArrayAttr[StringAttr]", callee.attributes.get(REFUSED, ArrayAttr([])))):
        if reason.data and active[position]:
            raise refuse(call, f"of @{callee.sym_name.data} is not differentiable by operand #{position}: {reason.data}")


def _by_jvp(sweep: ForwardSweep, call: Operation, jvp: FuncOp, symbolic_zeros: bool) -> None:
    operands, count = [sweep.primal(x) for x in call.operands], len(call.results)
    check_inputs(call, jvp, [*(x.type for x in operands), *(x.type for x in operands if is_differentiable(x.type))])
    env: dict[SSAValue, SSAValue] = dict(zip(jvp.body.block.args, [*operands, *_explicit_tangents(sweep, call, operands)], strict=True))
    *body, last = jvp.body.block.ops
    if symbolic_zeros:
        x_dots = jvp.body.block.args[len(operands) :]
        copy_without_zeros(body, env, sweep.lb, {x_dot for x_dot in x_dots if env[x_dot] not in sweep.lb.linear}, affine=sweep.fused)
    else:
        copy_linear(body, env, sweep.lb, affine=sweep.fused)
    outputs = [env[o] for o in last.operands]
    if not sweep.lb.linear.isdisjoint(outputs[:count]):
        raise refuse(call, f"has a declared derivative, @{jvp.sym_name.data}, whose values depend on tangents")
    _set(sweep, call, outputs[:count], outputs[count:])


def _by_vjp(sweep: ForwardSweep, call: CallOp, forward: FuncOp, backward: FuncOp) -> None:
    operands = [sweep.primal(x) for x in call.operands]
    check_inputs(call, forward, [x.type for x in operands])
    outputs = inline_body(sweep.b, forward, operands)
    residuals = outputs[len(call.results) :]
    y_types = [result.type for result in call.results if is_differentiable(result.type)]
    check_inputs(call, backward, [*(r.type for r in residuals), *y_types])
    wrt = range(len(residuals), len(residuals) + len(y_types))
    properties: dict[str, Attribute] = {"callee": SymbolRefAttr(backward.sym_name.data), "wrt": int_array(wrt)}
    y_dots = sweep.lb.create(ad.TransposedCallOp, [*residuals, *_explicit_tangents(sweep, call, operands)], y_types, properties)
    _set(sweep, call, outputs[: len(call.results)], y_dots)


def _explicit_tangents(sweep: ForwardSweep, call: Operation, operands: Sequence[Value]) -> list[Value]:
    """Tangents of all differentiable operands, with explicit zeros."""
    pairs = [(sweep.tangent(x), new) for x, new in zip(call.operands, operands, strict=True) if is_differentiable(x.type)]
    return [materialized(sweep.lb, x_dot, x.type) for x_dot, x in pairs]


def _set(sweep: ForwardSweep, call: Operation, values: Sequence[Value], y_dots: Sequence[Value]) -> None:
    """Binds the results to the values that the declared derivative computes, so that second derivatives differentiate these."""
    pending = iter(y_dots)
    tangents = [next(pending) if is_differentiable(result.type) else None for result in call.results]
    linear = sweep.lb.linear
    sweep.bind(call.results, values, [y_dot if y_dot in linear and y not in sweep.invariant else None for y, y_dot in zip(call.results, tangents, strict=True)])


def check_inputs(call: Operation, function: FuncOp, expected: list[Attribute]) -> None:
    """Raises a DiagnosticError for a call whose declared derivative takes arguments of other types than ``expected``."""
    declared = list(function.function_type.inputs)
    if declared != expected:
        shown = [", ".join(map(str, types)) for types in (expected, declared)]
        raise refuse(call, f"cannot use @{function.sym_name.data}: it should take ({shown[0]}), but takes ({shown[1]})")


def inline_body(b: OpBuilder, function: FuncOp, arguments: Sequence[Value]) -> list[Value]:
    """Inlines the body of a function on these arguments; returns its results."""
    block = function.body.block
    mapped: dict[SSAValue, SSAValue] = dict(zip(block.args, arguments, strict=True))
    *body, last = block.ops
    copy_ops(b, body, mapped)
    return [mapped[o] for o in last.operands]


@transpose(ad.TransposedCallOp)
def transposed_call(b: OpBuilder, op: ad.TransposedCallOp, linear: Sequence[bool], y_bars: Sequence[Tangent]) -> Sequence[Tangent]:
    """The transpose of the transpose of f is f."""
    residuals = op.arguments[: ints(op.wrt)[0]]
    arguments = [*residuals, *(materialized(b, y_bar, result.type) for y_bar, result in zip(y_bars, op.results, strict=True))]
    types = [o.type for o in op.arguments[len(residuals) :]]
    call = b.insert(CallOp.create(operands=arguments, result_types=types, properties={"callee": op.callee}))
    return [*[None] * len(residuals), *call.results]


@derivative(ad.StopGradientOp)
def stop_gradient(b: OpBuilder, op: ad.StopGradientOp) -> LinearMap:
    """The derivative is zero by definition."""
    return lambda lb, tangents: [None]


@derivative(ad.PartialsOp)
def partials(b: OpBuilder, op: ad.PartialsOp) -> LinearMap:
    """dy = c1 dx1 + ... + cn dxn."""
    count = len(op.operands) // 2
    return sum_of([None, *(scale(c) for c in op.operands[1 + count :]), *[None] * count])


@transpose(ad.GuardOp)
def guard_transpose(b: OpBuilder, op: ad.GuardOp, linear: Sequence[bool], y_bars: Sequence[Value]) -> Sequence[Tangent]:
    """Inactive batch elements have a zero cotangent."""
    return [guarded_cotangent(b, op, y_bars[0]), None]


def guarded_cotangent(b: OpBuilder, op: ad.GuardOp, y_bar: Value) -> Value:
    """The cotangent where the mask holds, else zero."""
    holds = b.broadcast_in_dim(op.mask, range(rank(op.mask)), shape(y_bar))
    return b.select(holds, y_bar, b.full_like(y_bar, 0))


@derivative(hlo.OptimizationBarrierOp)
def optimization_barrier(b: OpBuilder, op: hlo.OptimizationBarrierOp) -> LinearMap:
    """Tangents pass through a barrier of their own."""

    def apply(lb: OpBuilder, tangents: Sequence[Tangent]) -> Sequence[Tangent]:
        present = [x_dot for x_dot in tangents if x_dot is not None]
        passed = iter(lb.create(hlo.OptimizationBarrierOp, present, [x_dot.type for x_dot in present]))
        return [None if x_dot is None else next(passed) for x_dot in tangents]

    return apply


@transpose(hlo.OptimizationBarrierOp)
def optimization_barrier_transpose(b: OpBuilder, op: hlo.OptimizationBarrierOp, linear: Sequence[bool], y_bars: Sequence[Tangent]) -> Sequence[Tangent]:
    """So do cotangents."""
    present = [y_bar for y_bar in y_bars if y_bar is not None]
    passed = iter(b.create(hlo.OptimizationBarrierOp, present, [y_bar.type for y_bar in present]))
    return [None if y_bar is None else next(passed) for y_bar in y_bars]
