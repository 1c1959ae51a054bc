"""Reverse mode: the vector-Jacobian product of a function, as a function.

``(inputs, cotangents of of) -> (outputs, cotangents of wrt)``: linearize, then transpose the linear half right behind the
primal half, so that residuals are simply values of the same block.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.transforms.ad.backward import transpose_ops
from wengert.transforms.ad.cotangents import Cotangents
from wengert.transforms.ad.function import begin_function, discard, finish_function
from wengert.transforms.ad.guards import settle_guards
from wengert.transforms.ad.linearize import linearize_into
from wengert.transforms.ad.request import Request
from wengert.transforms.ad.tangents import materialized


def vjp_function(asked: Request, name: str) -> FuncOp:
    """The VJP of a function under a new name."""
    settle_guards(asked.module)
    inputs = [arg.type for arg in asked.block.args]
    block = Block(arg_types=[*inputs, *(asked.results[j].type for j in asked.of)])
    b = begin_function(block, asked.function, "vjp")
    halves = linearize_into(b, asked, list(block.args[: len(inputs)]))
    cotangents = Cotangents(b)
    for y_dot, y_bar in zip(halves.y_dots, block.args[len(inputs) :], strict=True):
        if y_dot is not None:
            cotangents.add(y_dot, y_bar)
    transpose_ops(b, reversed(list(halves.block.ops)), halves.linear_values, cotangents)
    x_bars = [materialized(b, cotangents.take(x_dot), x_dot.type) for x_dot in halves.block.args]
    discard(halves.block)
    return finish_function(block, [*halves.outputs, *x_bars], name, asked.function)
