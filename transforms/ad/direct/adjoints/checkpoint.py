"""Adjoints of checkpoints: the reverse sweep runs both sweeps over the called function, from its arguments.

The arguments pass through an optimization barrier, so that no later pass merges the second evaluation with the first.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.transforms.ad.direct.activity import active_in
from wengert.transforms.ad.direct.adjoint import Pullback, step
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.function import terminator_operands
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.requests.custom import inline_body
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.ad.rule import Tangent


@step(ad.CheckpointOp)
def checkpoint(sweep: Sweep, op: ad.CheckpointOp) -> Pullback:
    function = function_named(sweep.module, op.callee.string_value())
    block, arguments = function.body.block, [sweep.primal(x) for x in op.arguments]
    sweep.bind(op.results, inline_body(sweep.b, function, arguments))
    varied = [a for a, x in zip(block.args, op.arguments, strict=True) if x in sweep.active]
    useful = [y for y, result in zip(terminator_operands(block), op.results, strict=True) if result in sweep.active]

    def pullback(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        barred = b.create(hlo.OptimizationBarrierOp, arguments, [x.type for x in arguments])
        inner = Sweep(b, sweep.module, active_in(block, varied, useful))
        inner.bind(block.args, barred)
        inner.forward(list(block.ops)[:-1])
        bars = Cotangents(b, primal=True)
        for value, y_bar in zip(terminator_operands(block), y_bars, strict=True):
            if inner.has_cotangent(inner.primal(value)):
                bars.add(inner.primal(value), y_bar)
        inner.reverse(b, bars)
        for x, again in zip(arguments, barred, strict=True):
            if sweep.has_cotangent(x):
                cotangents.add(x, bars.take(again))

    return pullback
