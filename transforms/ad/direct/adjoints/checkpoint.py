"""Adjoints of checkpoints: both sweeps over the function that is called, in the reverse sweep, from its arguments.

The arguments pass a barrier, so that no later pass takes the second evaluation for the first one.
"""

from __future__ import annotations

from collections.abc import Sequence

from wengert.dialects import ad
from wengert.dialects import stablehlo as hlo
from wengert.dialects.builder import OpBuilder
from wengert.transforms.ad.direct.activity import active_in, returned
from wengert.transforms.ad.direct.adjoint import Back, step
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.requests.custom import take_in
from wengert.transforms.ad.requests.request import function_named
from wengert.transforms.ad.rule import Tangent


@step(ad.CheckpointOp)
def checkpoint(sweep: Sweep, op: ad.CheckpointOp) -> Back:
    function = function_named(sweep.module, op.callee.string_value())
    block, arguments = function.body.block, [sweep.primal(x) for x in op.arguments]
    sweep.bind(op.results, take_in(sweep.b, function, arguments))
    varied = [a for a, x in zip(block.args, op.arguments, strict=True) if x in sweep.active]
    useful = [y for y, result in zip(returned(block), op.results, strict=True) if result in sweep.active]

    def back(b: OpBuilder, y_bars: Sequence[Tangent], cotangents: Cotangents) -> None:
        held = b.create(hlo.OptimizationBarrierOp, arguments, [x.type for x in arguments])
        inner = Sweep(b, sweep.module, active_in(block, varied, useful))
        inner.bind(block.args, held)
        inner.forward(list(block.ops)[:-1])
        bars = Cotangents(b)
        for value, y_bar in zip(returned(block), y_bars, strict=True):
            if inner.has_cotangent(inner.primal(value)):
                bars.add(inner.primal(value), y_bar)
        inner.reverse(b, bars)
        for x, again in zip(arguments, held, strict=True):
            if sweep.has_cotangent(x):
                cotangents.add(x, bars.take(again))

    return back
