"""Forward mode: the Jacobian-vector product of a function, as a function.

``(inputs, tangents of wrt) -> (outputs, tangents of of)``: primal and tangent ops side by side, in one walk.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from wengert.dialects.builder import OpBuilder, Value
from wengert.ir.tensor_types import size
from wengert.transforms.ad.forward.linear_builder import LinearBuilder
from wengert.transforms.ad.forward.sweep import ForwardSweep
from wengert.transforms.ad.forward.tangents import materialized
from wengert.transforms.ad.function import begin_function, finish_function
from wengert.transforms.ad.requests.request import Request
from wengert.transforms.ad.residuals.policies import AUTO, Policy


def jvp_function(asked: Request, name: str, pass_name: str = "jvp") -> FuncOp:
    """The JVP of a function under a new name; primal ops keep their locations, derived ops say what they derive from."""
    old = asked.block
    inputs = [arg.type for arg in old.args]
    block = Block(arg_types=[*inputs, *(inputs[i] for i in asked.wrt)])
    b = begin_function(block, asked.function, pass_name)
    primals, tangents = block.args[: len(inputs)], block.args[len(inputs) :]
    sweep = forward_over(asked, b, block, list(primals), list(tangents))
    outputs = [sweep.primal(value) for value in asked.results]
    y_dots = [materialized(b, sweep.tangent(asked.results[j]), asked.results[j].type) for j in asked.of]
    return finish_function(block, [*outputs, *y_dots], name, asked.function)


def forward_over(asked: Request, b: OpBuilder, linear_block: Block, primals: list[Value], tangents: list[Value], policy: Policy = AUTO) -> ForwardSweep:
    """Sweeps over the function's body with its arguments bound to primals and those in wrt to tangents.

    Arguments without elements do not move: what is made of them, such as padding around nothing, is constant.
    """
    sweep = ForwardSweep(b, LinearBuilder(linear_block, b, tangents), asked.module, policy)
    by_position = {i: x_dot for i, x_dot in zip(asked.wrt, tangents, strict=True) if size(x_dot)}
    sweep.bind(asked.block.args, primals, [by_position.get(i) for i in range(len(primals))])
    sweep.run(asked.ops)
    return sweep
