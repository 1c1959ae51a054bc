"""Checkpoints: calls whose intermediate values the reverse sweep recomputes.

Forward mode inlines the call. Linearization evaluates the call and stores its arguments only: the
linear op is the function's pushforward at them, and its transpose the pullback, which evaluates the function again. The arguments
of the second evaluation pass through an optimization barrier, so that no later pass merges it with the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.ir.attributes import int_array, ints
from wengert.transforms.ad.forward.activity import active_values
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.requests.custom import inline_body
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.ad.rule import STEPS, Tangent, transpose


def _step(sweep: ForwardSweep, op: ad.CheckpointOp) -> None:
    """d f(x) by the rules of the ops of f, which reverse mode computes again."""
    block = function_named(sweep.module, op.callee.string_value()).body.block
    *body, end = block.ops
    primals, x_dots = [sweep.primal(x) for x in op.arguments], [sweep.tangent(x) for x in op.arguments]
    if sweep.fused:
        inner = ForwardSweep(sweep.b, sweep.lb, sweep.module)
        inner.bind(block.args, primals, x_dots)
        inner.run(body)
        sweep.bind(op.results, [inner.primal(y) for y in end.operands], [inner.tangent(y) for y in end.operands])
        return
    outputs = inline_body(sweep.b, function_named(sweep.module, op.callee.string_value()), primals)
    wrt = [i for i, x_dot in enumerate(x_dots) if x_dot is not None]
    active = active_values(block, [block.args[i] for i in wrt])
    of = [j for j, y in enumerate(end.operands) if y in active]
    properties: dict[str, Attribute] = {"callee": op.callee, "wrt": int_array(wrt), "of": int_array(of)}
    tangents = [x_dot for x_dot in x_dots if x_dot is not None]
    y_dots = sweep.lb.create(ad.PushforwardOp, [*primals, *tangents], [outputs[j].type for j in of], properties)
    by_position = dict(zip(of, y_dots, strict=True))
    sweep.set(op.results, outputs, [by_position.get(j) for j in range(len(outputs))])


STEPS[ad.CheckpointOp] = _step


@transpose(ad.PushforwardOp)
def pushforward_transpose(b: OpBuilder, op: ad.PushforwardOp, linear: Sequence[bool], y_bars: Sequence[Tangent]) -> Sequence[Tangent]:
    # the pushforward <-> the pullback, at the same arguments
    wrt, of = ints(op.wrt), ints(op.of)
    count = len(op.arguments) - len(wrt)
    barred = b.create(hlo.OptimizationBarrierOp, op.arguments[:count], [x.type for x in op.arguments[:count]])
    present = [(j, y_bar) for j, y_bar in zip(of, y_bars, strict=True) if y_bar is not None]
    properties: dict[str, Attribute] = {"callee": op.callee, "wrt": int_array(wrt), "of": int_array([j for j, _ in present])}
    types = [x_dot.type for x_dot in op.arguments[count:]]
    x_bars = b.create(ad.PullbackOp, [*barred, *(y_bar for _, y_bar in present)], types, properties)
    return [*[None] * count, *x_bars]
