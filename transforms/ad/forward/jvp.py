"""Forward mode: the Jacobian-vector product of a function, as a function.

``(inputs, tangents of wrt) -> (outputs, tangents of of)``: primal and tangent ops interleaved, in one forward sweep.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import size
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, finish_function, place_primals, place_tangents
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.policies import AUTO, Policy


def jvp_function(request: Request, name: str, pass_name: str = "jvp") -> FuncOp:
    """The JVP of a function under a new name; primal ops keep their locations, locations of derived ops name the primal op."""
    old = request.block
    inputs = [arg.type for arg in old.args]
    block = Block(arg_types=[*inputs, *(inputs[i] for i in request.wrt)])
    b = begin_function(block, request.function, pass_name)
    primals, tangents = block.args[: len(inputs)], block.args[len(inputs) :]
    place_primals(request.function, primals)
    place_tangents(request.function, request.wrt, tangents, pass_name)
    sweep = sweep_function(request, b, block, list(primals), list(tangents))
    outputs = [sweep.primal(value) for value in request.results]
    y_dots = [materialized(b, sweep.tangent(request.results[j]), request.results[j].type) for j in request.of]
    return finish_function(block, [*outputs, *y_dots], name, request.function)


def sweep_function(request: Request, b: OpBuilder, linear_block: Block, primals: list[Value], tangents: list[Value], policy: Policy = AUTO) -> ForwardSweep:
    """Sweeps over the function's body, with its arguments bound to ``primals`` and those in ``wrt`` to ``tangents``.

    Arguments without elements have no tangent: what is computed from them, such as padding, is constant.
    """
    sweep = ForwardSweep(b, LinearBuilder(linear_block, b, tangents), request.module, policy)
    by_position = {i: x_dot for i, x_dot in zip(request.wrt, tangents, strict=True) if size(x_dot)}
    sweep.bind(request.block.args, primals, [by_position.get(i) for i in range(len(primals))])
    sweep.run(request.ops)
    return sweep
