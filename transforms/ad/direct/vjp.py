"""Reverse mode written out directly: the vector-Jacobian product of a function in two sweeps, without a linear program.

The forward sweep emits the function itself, with loops that record residuals. The reverse sweep walks the active ops backward and emits
the adjoint of each, as Tapenade (Hascoet and Pascual, 2013), Enzyme (Moses and Churavy, 2020) and Futhark (Schenck et al., 2022)
do. It gives the same function as ``vjp``, which linearizes and transposes; the two are implemented independently, and tested against each other.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

import wengert.transforms.ad.direct.adjoints  # noqa: F401  # pyright: ignore[reportUnusedImport]  (fills the table of adjoints)
from wengert.transforms.ad.direct.activity import active_in
from wengert.transforms.ad.direct.sweep import Sweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, finish_function, place_cotangents, place_primals, tangent_places
from wengert.transforms.ad.linear.cotangents import Cotangents
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.rewrites.guards import expand_guards


def direct_vjp_function(request: Request, name: str) -> FuncOp:
    """``(inputs, cotangents of of) -> (outputs, cotangents of wrt)`` under a new name. See :func:`vjp_function`."""
    expand_guards(request.module)
    inputs = [arg.type for arg in request.block.args]
    block = Block(arg_types=[*inputs, *(request.results[j].type for j in request.of)])
    b = begin_function(block, request.function, "vjp-direct")
    wrt = [request.block.args[i] for i in request.wrt]
    sweep = Sweep(b, request.module, active_in(request.block, wrt, [request.results[j] for j in request.of]))
    primals = block.args[: len(inputs)]
    place_primals(request.function, primals)
    place_cotangents(request.function, request.of, block.args[len(inputs) :], b.pass_name)
    sweep.bind(request.block.args, primals)
    sweep.forward(request.ops)
    cotangents = Cotangents(b, primal=True, places=tangent_places(request.function, request.wrt, primals, b.pass_name))
    for j, y_bar in zip(request.of, block.args[len(inputs) :], strict=True):
        value = sweep.primal(request.results[j])
        if sweep.has_cotangent(value):
            cotangents.add(value, y_bar)
    sweep.reverse(b, cotangents)
    outputs = [sweep.primal(value) for value in request.results]
    x_bars = [materialized(b, cotangents.take(primals[i]), inputs[i]) for i in request.wrt]
    return finish_function(block, [*outputs, *x_bars], name, request.function)
