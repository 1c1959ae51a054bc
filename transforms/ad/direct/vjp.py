"""Reverse mode written out directly: the vector-Jacobian product of a function in two sweeps, without a linear program.

The forward sweep is the function itself, and what its loops record. The reverse sweep walks the active ops backward and emits
the adjoint of each, as Tapenade (Hascoet and Pascual, 2013), Enzyme (Moses and Churavy, 2020) and Futhark (Schenck et al., 2022)
do. It gives the same function as ``vjp``, which linearizes and transposes; the two are written apart, and check each other.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

import wengert.transforms.ad.direct.adjoints  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the table of adjoints)
from wengert.transforms.ad.direct.activity import active_in
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.rewrites.guards import settle_guards


def direct_vjp_function(asked: Request, name: str) -> FuncOp:
    """``(inputs, cotangents of of) -> (outputs, cotangents of wrt)`` under a new name. See :func:`vjp_function`."""
    settle_guards(asked.module)
    inputs = [arg.type for arg in asked.block.args]
    block = Block(arg_types=[*inputs, *(asked.results[j].type for j in asked.of)])
    b = begin_function(block, asked.function, "vjp-direct")
    wrt = [asked.block.args[i] for i in asked.wrt]
    sweep = Sweep(b, asked.module, active_in(asked.block, wrt, [asked.results[j] for j in asked.of]))
    primals = block.args[: len(inputs)]
    sweep.bind(asked.block.args, primals)
    sweep.forward(asked.ops)
    cotangents = Cotangents(b)
    for j, y_bar in zip(asked.of, block.args[len(inputs) :], strict=True):
        value = sweep.primal(asked.results[j])
        if sweep.has_cotangent(value):
            cotangents.add(value, y_bar)
    sweep.reverse(b, cotangents)
    outputs = [sweep.primal(value) for value in asked.results]
    x_bars = [materialized(b, cotangents.take(primals[i]), inputs[i]) for i in asked.wrt]
    return finish_function(block, [*outputs, *x_bars], name, asked.function)
